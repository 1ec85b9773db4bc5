"""Drifts of how a function is written: its lines, its head, what encloses it."""

from __future__ import annotations

import ast
import random
import re
import textwrap

from benchmarks.drifts.state import State, cut, within
from benchmarks.drifts.surroundings import around, lines_of_statement
from benchmarks.port_reverts import Place, holds_long_string, reindented
from benchmarks.port_trees import definitions, parsed, same


def reformatted(state: State, chance: random.Random) -> State | None:
    def change(text: str) -> str | None:
        before, function, after = cut(text, state.qualname)
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
        before, function, after = cut(text, state.qualname)
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
        before, function, after = cut(text, state.qualname)
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


def annotation_added(state: State, chance: random.Random) -> State | None:
    found = around(state)
    if found is None:
        return None
    place, block, index = found
    node = block[index]
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return None
    end = place.source.span(node.targets[0])[1]
    return within(state, end, end, ": object")
