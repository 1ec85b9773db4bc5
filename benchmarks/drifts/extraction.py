"""Drifts that take code out of a function, into a variable or a helper."""

from __future__ import annotations

import ast
import builtins
import random
import re
from dataclasses import replace

from benchmarks.drifts.state import State, changed_span, cut, fresh
from benchmarks.drifts.surroundings import differing_runs, lines_of_statement
from benchmarks.port_reverts import Place, holds_long_string, reindented
from benchmarks.port_trees import parsed


def _free_names(node: ast.expr, known: set[str]) -> list[str] | None:
    """The local names that an expression reads; None where it cannot be moved out of its function."""
    barred = ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr | ast.Lambda | ast.JoinedStr
    comprehended = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    for each in ast.walk(node):
        if isinstance(each, barred | comprehended) or (
            isinstance(each, ast.Name) and each.id in ("super", "__class__")
        ):
            return None
    return sorted({each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id in known})


def _extraction(state: State, chance: random.Random, around: bool) -> State | None:
    place = Place(state.fixed, state.qualname)
    first, last, _ = changed_span(state.fixed, state.reverted)
    more = len(state.reverted) - len(state.fixed)
    stored = {n.id for n in ast.walk(place.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    known = (stored | {arg.arg for arg in ast.walk(place.node.args) if isinstance(arg, ast.arg)}) - set(dir(builtins))
    candidates: list[tuple[int, int, int]] = []
    for node in place.expressions():
        if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del) or isinstance(
            node, ast.Name | ast.Constant | ast.Starred | ast.Slice
        ):
            continue
        if holds_long_string(node) or len(place.text(node)) < 8 or "#" in place.text(node):
            continue
        start, end = place.source.span(node)
        if around and start <= first and last <= end:
            candidates.append((start, end, more))
        elif not around and (end < first or start > last):
            candidates.append((start, end, 0))
    if not candidates:
        return None
    start, end, grown = chance.choice(candidates)
    shift = more if not around and start > last else 0
    old_fixed = state.fixed[start:end]
    old_reverted = state.reverted[start + shift : end + shift + grown]
    try:
        nodes = [ast.parse(f"({text})", mode="eval").body for text in (old_fixed, old_reverted)]
    except SyntaxError:
        return None
    names = [_free_names(node, known) for node in nodes]
    if names[0] is None or names[1] is None:
        return None
    arguments = ", ".join(sorted({*names[0], *names[1]}))
    helper = fresh(state, f"_part_of_{state.qualname.rpartition('.')[2].strip('_')}")
    top = next(node for node in parsed(state.fixed).body if node.lineno <= place.node.lineno <= (node.end_lineno or 0))
    at = place.source.starts[lines_of_statement(top) - 1]
    results = []
    for text, low, high in (
        (state.fixed, start, end),
        (state.reverted, start + shift, end + shift + grown),
    ):
        part = text[low:high]
        changed = text[:low] + f"{helper}({arguments})" + text[high:]
        results.append(changed[:at] + f"def {helper}({arguments}):\n    return ({part})\n\n\n" + changed[at:])
    after = state.with_texts(*results)
    if after is None or not around:
        return after
    return replace(after, qualname=helper)


def expression_extracted(state: State, chance: random.Random) -> State | None:
    """The expression that the change is in moves into a helper."""
    return _extraction(state, chance, around=True)


def other_expression_extracted(state: State, chance: random.Random) -> State | None:
    return _extraction(state, chance, around=False)


def body_moved_to_helper(state: State, chance: random.Random) -> State | None:
    """The old name calls a new one, which holds the body."""
    prefix, _, name = state.qualname.rpartition(".")
    if name.startswith("__"):
        return None
    new = fresh(state, f"_{name.strip('_')}_impl")

    def change(text: str) -> str | None:
        place = Place(text, state.qualname)
        node = place.node
        args = node.args
        if args.vararg or args.kwarg or node.decorator_list or isinstance(node, ast.AsyncFunctionDef):
            return None
        if any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node)):
            return None
        if node.body[0].lineno == node.lineno:
            return None
        before, function, after = cut(text, state.qualname)
        names = [arg.arg for arg in [*args.posonlyargs, *args.args]]
        words = names[1:] if prefix else names
        words += [f"{arg.arg}={arg.arg}" for arg in args.kwonlyargs]
        owner = f"{names[0]}." if prefix and names else ""
        start = place.source.starts[node.lineno - 1]
        head = text[start : place.source.starts[lines_of_statement(node.body[0]) - 1]]
        head = "".join(line for line in head.splitlines(True) if not line.lstrip().startswith("#"))
        indent = place.indent(node)
        call = f"{head}{indent}    return {owner}{new}({', '.join(words)})\n\n"
        renamed = re.sub(rf"def {name}\b", f"def {new}", function, count=1)
        return before + call + renamed + after

    return state.both(change, f"{prefix}.{new}" if prefix else new)


def run_moved_to_helper(state: State, chance: random.Random) -> State | None:
    """Some statements, those that the revert changes among them, become a function of their own."""
    found = differing_runs(state)
    if found is None:
        return None
    places, ends, start = found
    documented = ast.get_docstring(places[0].node, clean=False) is not None
    low = max(start - 1 - chance.randrange(2), 1 if documented else 0)
    more = 1 + chance.randrange(2)
    if low >= start or any(end + more > len(place.node.body) for place, end in zip(places, ends, strict=True)):
        return None
    runs = [place.node.body[low : end + more] for place, end in zip(places, ends, strict=True)]
    barred = ast.Return | ast.Break | ast.Continue | ast.Yield | ast.YieldFrom | ast.Await | ast.Global | ast.Nonlocal
    if any(isinstance(node, barred) for run in runs for each in run for node in ast.walk(each)):
        return None
    if any(
        holds_long_string(each) or not place.alone(each)
        for place, run in zip(places, runs, strict=True)
        for each in run
    ):
        return None
    local = {arg.arg for arg in ast.walk(places[0].node.args) if isinstance(arg, ast.arg)}
    local |= {n.id for n in ast.walk(places[0].node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names = {n.id for run in runs for each in run for n in ast.walk(each) if isinstance(n, ast.Name)}
    stored = {
        n.id
        for run in runs
        for each in run
        for n in ast.walk(each)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    if "super" in names or "__class__" in names:
        return None
    arguments, given = ", ".join(sorted(names & local)), ", ".join(sorted(stored))
    helper = fresh(state, f"_some_of_{state.qualname.rpartition('.')[2].strip('_')}")
    results = []
    for place, run in zip(places, runs, strict=True):
        text = place.source.text
        first, last = place.source.starts[lines_of_statement(run[0]) - 1], place.line_span(run[-1])[1]
        call = f"{place.indent(run[0])}{given + ' = ' if given else ''}{helper}({arguments})\n"
        body = reindented(text[first:last], "    ") + (f"    return {given}\n" if given else "")
        top = next(node for node in place.tree.body if node.lineno <= place.node.lineno <= (node.end_lineno or 0))
        at = place.source.starts[lines_of_statement(top) - 1]
        results.append(f"{text[:at]}def {helper}({arguments}):\n{body}\n\n{text[at:first]}{call}{text[last:]}")
    after = state.with_texts(*results)
    return after and replace(after, qualname=helper)
