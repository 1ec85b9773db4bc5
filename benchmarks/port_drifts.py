"""Mechanical drifts with exactly known answers: the same change made to the fixed and to the reverted text of a module.

A drift is applied to both texts, so that what a port must give is known without asking anybody: the drifted reverted
text. Those that touch a place do so in text that both share, or do the same thing to either, whatever it says.

Example::

    after = DRIFTS["function renamed"](State({"pkg.a": ("def f(): ...", "def f(): ...")}, "pkg.a", "f"), random.Random(0))
"""

from __future__ import annotations

import ast
import builtins
import io
import random
import re
import textwrap
import tokenize
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.port_reverts import SIMPLE, Place, holds_long_string, reindented
from benchmarks.port_reverts import reverted as small_change
from benchmarks.port_trees import Function, definitions, lines_of, parsed, same
from prtoggle.edits.text import SourceText


@dataclass(frozen=True)
class State:
    """A release in both states: module -> fixed and reverted text; the function that the revert is in."""

    modules: Mapping[str, tuple[str, str]]
    home: str
    qualname: str

    @property
    def fixed(self) -> str:
        return self.modules[self.home][0]

    @property
    def reverted(self) -> str:
        return self.modules[self.home][1]

    def with_texts(self, fixed: str | None, reverted: str | None, qualname: str = "") -> State | None:
        """The home module with other texts; None where one is None."""
        if fixed is None or reverted is None:
            return None
        modules = {**self.modules, self.home: (fixed, reverted)}
        return replace(self, modules=modules, qualname=qualname or self.qualname)

    def both(self, change: Callable[[str], str | None], qualname: str = "") -> State | None:
        """The same change made to either text."""
        return self.with_texts(change(self.fixed), change(self.reverted), qualname)


Drift = Callable[[State, random.Random], State | None]


def changed_span(one: Sequence[str], other: Sequence[str]) -> tuple[int, int, int]:
    """Start, end in ``one`` and end in ``other`` of what differs: all before and after is the same."""
    short = min(len(one), len(other))
    start = _most(short, lambda count: one[:count] == other[:count])
    end = _most(short - start, lambda count: one[len(one) - count :] == other[len(other) - count :])
    return start, len(one) - end, len(other) - end


def _most(limit: int, holds: Callable[[int], bool]) -> int:
    """The greatest number up to ``limit`` for which ``holds``, which is true up to some number and false above."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def changed_lines(one: str, other: str) -> tuple[int, int, int]:
    """As :func:`changed_span`, in lines from 0."""
    return changed_span(one.splitlines(True), other.splitlines(True))


def carried_over(state: State, drifted: str | None) -> str | None:
    """The reverted text with the change that turned the fixed text into ``drifted``; None where the two would touch."""
    if drifted is None or drifted == state.fixed:
        return None
    before, after = state.fixed.splitlines(True), drifted.splitlines(True)
    old = state.reverted.splitlines(True)
    start, end, new_end = changed_lines(state.fixed, drifted)
    first, last, _ = changed_lines(state.fixed, state.reverted)
    if end < first or (end == first and start < end):
        at, until = start, end
    elif start > last or (start == last and start < end):
        at, until = start + len(old) - len(before), end + len(old) - len(before)
    else:
        return None
    return "".join(old[:at] + after[start:new_end] + old[until:])


def _shared(state: State, drifted: str | None) -> State | None:
    """A drift that is found in the fixed text, and stands in lines that the reverted text has too."""
    return state.with_texts(drifted, carried_over(state, drifted))


def _within(state: State, start: int, end: int, new: str) -> State | None:
    """A replacement in the fixed text that may stand in a changed line, away from what differs."""
    first, last, _ = changed_span(state.fixed, state.reverted)
    more = len(state.reverted) - len(state.fixed)
    if end < first:
        shift = 0
    elif start > last:
        shift = more
    else:
        return None
    old = state.reverted
    return state.with_texts(
        state.fixed[:start] + new + state.fixed[end:], old[: start + shift] + new + old[end + shift :]
    )


def _cut(text: str, qualname: str) -> tuple[str, str, str]:
    """The text before, of, and after a definition, in whole lines."""
    source = SourceText(text)
    first, last = lines_of(definitions(parsed(text))[qualname])
    start, end = source.starts[first - 1], source.starts[last]
    return text[:start], text[start:end], text[end:]


def _fresh(state: State, word: str) -> str:
    while any(re.search(rf"\b{word}\b", text) for texts in state.modules.values() for text in texts):
        word += "_2"
    return word


def _names_replaced(text: str, old: str, new: str) -> str:
    """Every name token ``old`` as ``new``, in the whole text."""
    source, spans = SourceText(text), []
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        if token.type == tokenize.NAME and token.string == old:
            start = source.starts[token.start[0] - 1] + token.start[1]
            spans.append(start)
    for start in reversed(spans):
        text = text[:start] + new + text[start + len(old) :]
    return text


def function_renamed(state: State, chance: random.Random) -> State | None:
    prefix, _, name = state.qualname.rpartition(".")
    if name.startswith("__"):
        return None
    new = _fresh(state, chance.choice((f"{name}_impl", f"_{name}", f"{name}_for_batch", f"do_{name.lstrip('_')}")))
    return state.both(lambda text: _names_replaced(text, name, new), f"{prefix}.{new}" if prefix else new)


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
    new = _fresh(state, chance.choice((f"{old}_local", f"cur_{old}", f"{old}s")))

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
    new = _fresh(state, f"{prefix}Base")

    def change(text: str) -> str | None:
        before, method, after = _cut(text, state.qualname)
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
    new = _fresh(state, f"{prefix}V2")

    def change(text: str) -> str:
        before, method, after = _cut(text, state.qualname)
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
        before, function, after = _cut(text, state.qualname)
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
        before, function, after = _cut(text, state.qualname)
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


def reformatted(state: State, chance: random.Random) -> State | None:
    def change(text: str) -> str | None:
        before, function, after = _cut(text, state.qualname)
        node = definitions(parsed(text))[state.qualname]
        if holds_long_string(node):
            return None
        indent = re.match(r"[ \t]*", function)[0]  # type: ignore[index]
        return before + textwrap.indent(ast.unparse(node), indent) + "\n" + after

    return state.both(change)


def wrapped_over_lines(state: State, chance: random.Random) -> State | None:
    def change(text: str) -> str:
        place = Place(text, state.qualname)
        calls: list[ast.Call] = []
        for node in place.expressions():
            inside = any(_holds(call, node) for call in calls)
            if isinstance(node, ast.Call) and len(node.args) + len(node.keywords) > 1 and not inside:
                calls.append(node)
        for node in sorted(calls, key=lambda call: place.source.span(call), reverse=True):
            if holds_long_string(node):
                continue
            start, end = place.source.span(node)
            line = place.source.line(node.lineno)
            indent = " " * (len(line) - len(line.lstrip()))
            arguments = [place.text(each) for each in node.args]
            arguments += [place.text(each) for each in node.keywords]
            if node.lineno != node.end_lineno or any("\n" in each for each in arguments):
                new = ast.unparse(node)
            else:
                inner = "".join(f"\n{indent}    {each}," for each in arguments)
                new = f"{place.text(node.func)}({inner}\n{indent})"
            text = text[:start] + new + text[end:]
        return text

    after = state.both(change)
    if after is None or after.fixed == state.fixed or not same(parsed(after.fixed), parsed(state.fixed)):
        return None
    return after


def _holds(outer: ast.expr, inner: ast.expr) -> bool:
    return (outer.lineno, outer.col_offset) <= (inner.lineno, inner.col_offset) and (
        inner.end_lineno or 0,
        inner.end_col_offset or 0,
    ) <= (outer.end_lineno or 0, outer.end_col_offset or 0)


def comments_dropped(state: State, chance: random.Random) -> State | None:
    def change(text: str) -> str:
        before, function, after = _cut(text, state.qualname)
        lines = [line for line in function.splitlines(True) if not line.lstrip().startswith("#")]
        return before + "".join(lines) + after

    after = state.both(change)
    if after is None or after.fixed == state.fixed or not same(parsed(after.fixed), parsed(state.fixed)):
        return None
    return after


def _headers(chance: random.Random) -> str:
    return chance.choice(
        (
            "if self.enabled:",
            "with torch.no_grad():",
            "if not is_idle():",
            "with record_function('step'):",
            "for _ in range(2):",
            "try:",
        )
    )


def body_enclosed(state: State, chance: random.Random) -> State | None:
    """The whole body gets an `if`, a `with` or the like around it."""
    return _run_enclosed(state, _headers(chance), 1 << 20, 1 << 20)


def _enclosed(place: Place, body: list[ast.stmt], header: str) -> str | None:
    if not body or any(holds_long_string(each) for each in body):
        return None
    first = min([body[0].lineno, *(each.lineno for each in getattr(body[0], "decorator_list", ()))])
    if first == place.node.lineno:
        return None
    start, end = place.source.starts[first - 1], place.line_span(body[-1])[1]
    indent = place.indent(body[0])
    new = f"{indent}{header}\n" + reindented(place.source.text[start:end], indent + "    ")
    if header == "try:":
        new += f"{indent}finally:\n{indent}    release()\n"
    return place.put(start, end, new)


def run_enclosed(state: State, chance: random.Random) -> State | None:
    """A run of statements around the change gets an `if` or `with` of its own, the rest of the function not."""
    return _run_enclosed(state, _headers(chance), chance.randrange(3), chance.randrange(3))


def _run_enclosed(state: State, header: str, before: int, after: int) -> State | None:
    places = [Place(text, state.qualname) for text in (state.fixed, state.reverted)]
    bodies = [place.node.body for place in places]
    least = min(map(len, bodies))
    documented = ast.get_docstring(places[0].node, clean=False) is not None
    start = 0
    while start < least and same(bodies[0][start], bodies[1][start]):
        start += 1
    shared = 0
    while shared < least - start and same(bodies[0][-1 - shared], bodies[1][-1 - shared]):
        shared += 1
    low, rest = max(start - before, 1 if documented else 0), max(shared - after, 0)
    if low > start:
        return None
    if len(bodies[0]) - shared == start and (low == start or rest == shared):
        return None  # whether what the revert adds stands inside or outside cannot be known
    results = [
        _enclosed(place, body[low : len(body) - rest], header) for place, body in zip(places, bodies, strict=True)
    ]
    return state.with_texts(*results)


def decorator_added(state: State, chance: random.Random) -> State | None:
    def change(text: str) -> str:
        before, function, after = _cut(text, state.qualname)
        indent = re.match(r"[ \t]*", function)[0]  # type: ignore[index]
        return f"{before}{indent}@traced\n{function}{after}"

    return state.both(change)


def parameter_added(state: State, chance: random.Random) -> State | None:
    def change(text: str) -> str | None:
        place = Place(text, state.qualname)
        args = place.node.args
        if args.vararg or args.kwarg or args.kwonlyargs or not args.args:
            return None
        last = max([*args.args, *args.defaults], key=lambda node: (node.lineno, node.col_offset))
        _, end = place.source.span(last)
        return place.put(end, end, ", stream=None")

    return state.both(change)


def docstring_changed(state: State, chance: random.Random) -> State | None:
    def change(text: str) -> str | None:
        place = Place(text, state.qualname)
        first = place.node.body[0]
        if first.lineno == place.node.lineno:
            return None
        indent = place.indent(first)
        if ast.get_docstring(place.node, clean=False) is None:
            start = place.source.starts[lines_of_statement(first) - 1]
            return place.put(start, start, f'{indent}"""Does what its name says."""\n')
        return place.put(*place.line_span(first), f'{indent}"""Does what its name says, since the last release."""\n')

    return state.both(change)


def lines_of_statement(node: ast.stmt) -> int:
    """The first line of a statement, its decorators included."""
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])


def _around(state: State) -> tuple[Place, list[ast.stmt], int] | None:
    """The innermost statement of the fixed text that holds all that differs, as its block and index."""
    place = Place(state.fixed, state.qualname)
    first, last, _ = changed_lines(state.fixed, state.reverted)
    best = None
    for block, index in place.statements():
        node = block[index]
        if node.lineno - 1 <= first and (node.end_lineno or 0) >= max(last, first + 1):
            size = (node.end_lineno or 0) - node.lineno
            if best is None or size <= best[0]:
                best = (size, block, index)
    return (place, best[1], best[2]) if best else None


_INSERTED = ("self.step_count += 1", "logger.debug('here')", "check_bounds(batch, stream=1)", "seen = True")


def statement_before(state: State, chance: random.Random) -> State | None:
    return _inserted_beside(state, chance, before=True)


def statement_after(state: State, chance: random.Random) -> State | None:
    return _inserted_beside(state, chance, before=False)


def _inserted_beside(state: State, chance: random.Random, before: bool) -> State | None:
    found = _around(state)
    if found is None:
        return None
    place, block, index = found
    at = place.line_span(block[index])[0 if before else 1]
    first, last, _ = changed_lines(state.fixed, state.reverted)
    line = place.source.line_of(at) - 1
    if first == last and line in (first, last):
        return None  # whether it stands before or after what the revert adds cannot be known
    new = f"{place.indent(block[index])}{chance.choice(_INSERTED)}\n"
    if line <= first:
        shift = 0
    elif line >= last:
        shift = len(state.reverted) - len(state.fixed)
    else:
        return None
    fixed = place.put(at, at, new)
    at += shift
    return state.with_texts(fixed, state.reverted[:at] + new + state.reverted[at:])


def surroundings_changed(state: State, chance: random.Random) -> State | None:
    """Several small changes elsewhere in the function."""
    now, made = state, 0
    for _ in range(12):
        how = chance.choice(
            (
                "statement deleted",
                "statement added",
                "constant changed",
                "expression replaced",
                "method renamed",
                "condition inverted",
            )
        )
        after = _shared(now, small_change(now.fixed, now.qualname, how, chance))
        if after is not None:
            now, made = after, made + 1
        if made >= 4:
            break
    return now if made >= 2 else None


def neighbour_changed(state: State, chance: random.Random) -> State | None:
    """The statements right before and after the change are reworded."""
    found = _around(state)
    if found is None:
        return None
    place, block, index = found
    now: State | None = state
    for other in (index + 1, index - 1):
        if 0 <= other < len(block) and isinstance(block[other], SIMPLE) and place.alone(block[other]):
            node = block[other]
            new = f"{place.indent(node)}{chance.choice(_INSERTED)}\n"
            assert now is not None
            start, end = place.line_span(node)
            step = _shared(now, now.fixed[:start] + new + now.fixed[end:])
            now = step or now
    return now if now is not state else None


def _call_sites(state: State) -> list[tuple[int, str]]:
    """Where an argument can be added to a call, as an offset and the text to put there."""
    place, found = Place(state.fixed, state.qualname), []
    for node in place.expressions():
        if isinstance(node, ast.Call) and not any(isinstance(arg, ast.GeneratorExp) for arg in node.args):
            end = place.source.span(node)[1] - 1
            inner = place.source.text[place.source.span(node.func)[1] + 1 : end]
            if "#" in inner:
                continue
            bare = inner.rstrip()
            at = end - (len(inner) - len(bare))
            comma = "" if not bare or bare.endswith(",") else ", "
            found.append((at, f"{comma}stream_{len(found)}{end % 97}=stream_of(batch)"))
    return found


def argument_added(state: State, chance: random.Random) -> State | None:
    """To the call that the change stands in."""
    found = _around(state)
    if found is None:
        return None
    place, block, index = found
    start, end = place.line_span(block[index])
    sites = [site for site in _call_sites(state) if start <= site[0] < end]
    chance.shuffle(sites)
    for at, new in sites:
        after = _within(state, at, at, new)
        if after is not None:
            return after
    return None


def arguments_added_around(state: State, chance: random.Random) -> State | None:
    now = state
    for at, new in sorted(_call_sites(state), reverse=True)[:6]:
        now = _within(now, at, at, new) or now
    return now if now is not state else None


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
    helper = _fresh(state, f"_part_of_{state.qualname.rpartition('.')[2].strip('_')}")
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
    new = _fresh(state, f"_{name.strip('_')}_impl")

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
        before, function, after = _cut(text, state.qualname)
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


def _differing_runs(state: State) -> tuple[list[Place], list[int], int] | None:
    """For either text its place; where the runs of top statements that differ end; and where both start."""
    places = [Place(text, state.qualname) for text in (state.fixed, state.reverted)]
    bodies = [place.node.body for place in places]
    least = min(map(len, bodies))
    start = 0
    while start < least and same(bodies[0][start], bodies[1][start]):
        start += 1
    shared = 0
    while shared < least - start and same(bodies[0][-1 - shared], bodies[1][-1 - shared]):
        shared += 1
    return (places, [len(body) - shared for body in bodies], start) if shared else None


def swapped_with_next(state: State, chance: random.Random) -> State | None:
    """What the revert changes moves behind the statement that followed it."""
    found = _differing_runs(state)
    if found is None or found[1][0] == found[2]:
        return None
    places, ends, start = found
    results = []
    for place, end in zip(places, ends, strict=True):
        body = place.node.body
        if not all(
            place.alone(each) and not isinstance(each, Function | ast.ClassDef) for each in body[start : end + 1]
        ):
            return None
        if isinstance(body[end], ast.Return | ast.Raise):
            return None
        at, (low, high) = place.source.starts[body[start].lineno - 1], place.line_span(body[end])
        text = place.source.text
        results.append(text[:at] + text[low:high] + text[at:low] + text[high:])
    return state.with_texts(*results)


def run_moved_to_helper(state: State, chance: random.Random) -> State | None:
    """Some statements, those that the revert changes among them, become a function of their own."""
    found = _differing_runs(state)
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
    helper = _fresh(state, f"_some_of_{state.qualname.rpartition('.')[2].strip('_')}")
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


def name_renamed_everywhere(state: State, chance: random.Random) -> State | None:
    """A name or attribute of the changed statement is another one in the whole module."""
    found = _around(state)
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
    new = _fresh(state, chance.choice((f"{old}_tensor", f"new_{old}", f"{old}2")))
    return state.both(lambda text: _names_replaced(text, old, new))


def annotation_added(state: State, chance: random.Random) -> State | None:
    found = _around(state)
    if found is None:
        return None
    place, block, index = found
    node = block[index]
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return None
    end = place.source.span(node.targets[0])[1]
    return _within(state, end, end, ": object")


def decoy_added(state: State, chance: random.Random) -> State | None:
    """A near copy of the fixed function under another name; the revert is of the first one alone."""
    return _decoy(state, chance, above=False)


def decoy_added_above(state: State, chance: random.Random) -> State | None:
    return _decoy(state, chance, above=True)


def _decoy(state: State, chance: random.Random, above: bool) -> State | None:
    _, _, name = state.qualname.rpartition(".")
    new = _fresh(state, f"{name}_fast")
    how = chance.choice(("statement deleted", "constant changed", "statement added", "method renamed"))
    changed = small_change(state.fixed, state.qualname, how, chance)
    if changed is None:
        return None
    decoy = re.sub(rf"def {name}\b", f"def {new}", _cut(changed, state.qualname)[1], count=1)

    def change(text: str) -> str:
        before, function, after = _cut(text, state.qualname)
        if not function.endswith("\n"):
            function += "\n"
        return before + (f"{decoy}\n{function}" if above else f"{function}\n{decoy}") + after

    return state.both(change)


def renamed_beside_decoy(state: State, chance: random.Random) -> State | None:
    """A near copy, and the function itself renamed, so that no name says which is which."""
    after = _decoy(state, chance, above=chance.random() < 0.5)
    return after and function_renamed(after, chance)


def shared_helper(state: State, chance: random.Random) -> State | None:
    """The expression that the change is in moves into a helper that others call too: the helper is not to be changed."""
    after = expression_extracted(state, chance)
    if after is None:
        return None
    arguments = ", ".join(arg.arg for arg in definitions(parsed(after.fixed))[after.qualname].args.args)
    text = f"{after.fixed.rstrip()}\n\n\ndef another_user({arguments}):\n    return [{after.qualname}({arguments})]\n"
    return state.with_texts(text, text)


def gone_function(state: State, chance: random.Random) -> State | None:
    """The function is deleted: there is nothing to carry to."""

    def change(text: str) -> str:
        before, function, after = _cut(text, state.qualname)
        indent = re.match(r"[ \t]*", function)[0]  # type: ignore[index]
        return f"{before}{indent}gone = True\n{after}"

    return state.both(change)


def gone_function_near_copy(state: State, chance: random.Random) -> State | None:
    """The function is deleted; a relative that lacks the fixed statements stays, under another name."""
    name = state.qualname.rpartition(".")[2]
    new = _fresh(state, f"{name}_other")
    text = state.reverted
    for how in ("statement deleted", "expression replaced"):
        text = small_change(text, state.qualname, how, chance) or text

    def change(_: str) -> str:
        return re.sub(rf"def {name}\b", f"def {new}", text, count=1)

    return state.both(change)


def fix_taken_out(state: State, chance: random.Random) -> State | None:
    """The release has the reverted text already."""
    return state.with_texts(state.reverted, state.reverted)


def fix_rewritten(state: State, chance: random.Random) -> State | None:
    """The place that the revert changes is changed otherwise: what reverted would mean there nobody can say."""
    found = _around(state)
    first, last, _ = changed_span(state.fixed, state.reverted)
    if found is None or first == last:
        return None
    place, block, index = found
    node = block[index]
    indent = place.indent(node)
    start, end = place.line_span(node)
    text = place.put(start, end, f"{indent}self.rebuild(plan, width=7)\n{indent}notify('rebuilt')\n")
    return state.with_texts(text, text)


DRIFTS: dict[str, Drift] = {
    "function renamed": function_renamed,
    "local renamed": local_renamed,
    "moved to a base class": moved_to_base_class,
    "moved to a subclass": moved_to_class_below,
    "moved to a new module": moved_to_new_module,
    "moved to another module": moved_to_other_module,
    "module renamed": module_renamed,
    "reformatted": reformatted,
    "wrapped over lines": wrapped_over_lines,
    "comments dropped": comments_dropped,
    "body enclosed": body_enclosed,
    "run enclosed": run_enclosed,
    "decorator added": decorator_added,
    "parameter added": parameter_added,
    "docstring changed": docstring_changed,
    "statement before": statement_before,
    "statement after": statement_after,
    "surroundings changed": surroundings_changed,
    "neighbours changed": neighbour_changed,
    "argument added": argument_added,
    "arguments added around": arguments_added_around,
    "expression extracted": expression_extracted,
    "other expression extracted": other_expression_extracted,
    "body moved into a helper": body_moved_to_helper,
    "swapped with the next": swapped_with_next,
    "run moved into a helper": run_moved_to_helper,
    "name renamed everywhere": name_renamed_everywhere,
    "annotation added": annotation_added,
    "decoy added": decoy_added,
    "decoy added above": decoy_added_above,
    "renamed beside a decoy": renamed_beside_decoy,
}
"""Drifts after which the revert can be told."""

GONE: dict[str, Drift] = {
    "expression in a shared helper": shared_helper,
    "function gone": gone_function,
    "function gone, a relative stays": gone_function_near_copy,
    "fix taken out": fix_taken_out,
    "fix rewritten": fix_rewritten,
}
"""Drifts after which there is nothing to take out: every proposal is wrong."""


def drifted(state: State, how: str, chance: random.Random) -> State | None:
    """The state after the drift called ``how``; None where it has no place, or where the result does not parse."""
    try:
        after = {**DRIFTS, **GONE}[how](state, chance)
        if after is None or after.modules == state.modules:
            return None
        for name, texts in after.modules.items():
            for text in {*texts} if texts != state.modules.get(name) else ():
                compile(text, "<drifted>", "exec", dont_inherit=True)
        if how in DRIFTS:
            fixed, other = parsed(after.fixed), parsed(after.reverted)
            known = definitions(fixed)
            if same(fixed, other) or after.qualname not in known or after.qualname not in definitions(other):
                return None
    except (SyntaxError, ValueError, KeyError, tokenize.TokenError):
        return None
    return after
