"""Drifts that rename, or move a function elsewhere."""

from __future__ import annotations

import ast
import builtins
import random
import re

from benchmarks.drifts.state import State, changed_span, cut, fresh, names_replaced
from benchmarks.drifts.surroundings import around
from benchmarks.port_reverts import Place
from benchmarks.port_trees import Function, definitions, parsed
from prtoggle.edits.text import SourceText


def function_renamed(state: State, chance: random.Random) -> State | None:
    prefix, _, name = state.qualname.rpartition(".")
    if name.startswith("__"):
        return None
    new = fresh(state, chance.choice((f"{name}_impl", f"_{name}", f"{name}_for_batch", f"do_{name.lstrip('_')}")))
    return state.both(lambda text: names_replaced(text, name, new), f"{prefix}.{new}" if prefix else new)


def local_renamed(state: State, chance: random.Random) -> State | None:
    place = Place(state.fixed, state.qualname)
    names = {node.id for node in ast.walk(place.node) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    outside = {
        each
        for node in ast.walk(place.node)
        if isinstance(node, ast.Global | ast.Nonlocal | ast.JoinedStr | ast.Lambda | Function)
        and node is not place.node
        for inner in ast.walk(node)
        for each in ([inner.id] if isinstance(inner, ast.Name) else getattr(inner, "names", ()))
    }
    params = {arg.arg for arg in ast.walk(place.node.args) if isinstance(arg, ast.arg)}
    usable = sorted(name for name in names - outside - params)
    if not usable:
        return None
    old = chance.choice(usable)
    new = fresh(state, chance.choice((f"{old}_local", f"cur_{old}", f"{old}s")))

    def change(text: str) -> str:
        source, node = SourceText(text), definitions(parsed(text))[state.qualname]
        spans = sorted(source.span(n) for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == old)
        for start, end in reversed(spans):
            text = text[:start] + new + text[end:]
        return text

    return state.both(change)


def moved_to_base_class(state: State, chance: random.Random) -> State | None:
    prefix, _, name = state.qualname.rpartition(".")
    if not prefix or "." in prefix:
        return None
    new = fresh(state, f"{prefix}Base")

    def change(text: str) -> str | None:
        before, method, after = cut(text, state.qualname)
        text = before + after
        try:
            tree = parsed(text)
        except SyntaxError:
            return None  # it was the only thing in the class
        source = SourceText(text)
        node = next(each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == prefix)
        if node.bases:
            at = source.span(node.bases[0])[0]
            text = text[:at] + f"{new}, " + text[at:]
        else:
            at = source.span(node)[0] + text[source.span(node)[0] :].index(prefix) + len(prefix)
            rest = re.match(r"\(\s*\)", text[at:])
            text = text[:at] + f"({new})" + text[at + (rest.end() if rest else 0) :]
            if not rest and node.keywords:
                return None
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        at = source.starts[first - 1]
        return text[:at] + f"class {new}:\n{method.rstrip()}\n\n\n" + text[at:]

    return state.both(change, f"{new}.{name}")


def moved_to_class_below(state: State, chance: random.Random) -> State | None:
    prefix, _, name = state.qualname.rpartition(".")
    if not prefix or "." in prefix:
        return None
    new = fresh(state, f"{prefix}V2")

    def change(text: str) -> str:
        before, method, after = cut(text, state.qualname)
        rest = before + after
        if not rest.endswith("\n"):
            rest += "\n"
        return f"{rest}\n\nclass {new}({prefix}):\n    version = 2\n\n{method.rstrip()}\n"

    return state.both(change, f"{new}.{name}")


def moved_to_new_module(state: State, chance: random.Random) -> State | None:
    if "." in state.qualname:
        return None
    new = state.home + "_ops"
    if new in state.modules:
        return None
    results: list[tuple[str, str]] = []
    for text in (state.fixed, state.reverted):
        before, function, after = cut(text, state.qualname)
        source = SourceText(text)
        imports = [node for node in parsed(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
        header = "".join(
            "".join(source.lines[node.lineno - 1 : node.end_lineno])
            for node in imports
            if getattr(node, "module", "") != "__future__"
        )
        kept = before + f"from {new} import {state.qualname}  # noqa\n" + after
        results.append((kept, f"{header}\n\n{function}"))
    (fixed, new_fixed), (reverted, new_reverted) = results
    if fixed != reverted:
        return None
    modules = {**state.modules, state.home: (fixed, reverted), new: (new_fixed, new_reverted)}
    return State(modules, new, state.qualname)


def moved_to_other_module(state: State, chance: random.Random) -> State | None:
    if "." in state.qualname:
        return None
    others = [
        name
        for name, (text, _) in sorted(state.modules.items())
        if name != state.home and state.qualname not in text and text.strip()
    ]
    if not others:
        return None
    other = chance.choice(others)
    there = state.modules[other][0]
    results = []
    for text in (state.fixed, state.reverted):
        before, function, after = cut(text, state.qualname)
        results.append((before + after, there.rstrip() + "\n\n\n" + function.rstrip() + "\n"))
    (fixed, new_fixed), (reverted, new_reverted) = results
    if fixed != reverted:
        return None
    modules = {**state.modules, state.home: (fixed, reverted), other: (new_fixed, new_reverted)}
    return State(modules, other, state.qualname)


def module_renamed(state: State, chance: random.Random) -> State | None:
    new = state.home.rpartition(".")[0] + "." + chance.choice(("core_", "new_", "v2_")) + state.home.rpartition(".")[2]
    if new in state.modules:
        return None
    modules = {new if name == state.home else name: texts for name, texts in state.modules.items()}
    return State(modules, new, state.qualname)


def name_renamed_everywhere(state: State, chance: random.Random) -> State | None:
    """A name or attribute of the changed statement is another one in the whole module."""
    found = around(state)
    if found is None:
        return None
    _, block, index = found
    names = {node.attr for node in ast.walk(block[index]) if isinstance(node, ast.Attribute)}
    names |= {node.id for node in ast.walk(block[index]) if isinstance(node, ast.Name)}
    first, last, other_last = changed_span(state.fixed, state.reverted)
    touched = set(re.findall(r"\w+", state.fixed[first:last] + " " + state.reverted[first:other_last]))
    usable = sorted(name for name in names - set(dir(builtins)) - touched - {"self"} if not name.startswith("__"))
    if not usable:
        return None
    old = chance.choice(usable)
    new = fresh(state, chance.choice((f"{old}_tensor", f"new_{old}", f"{old}2")))
    return state.both(lambda text: names_replaced(text, old, new))
