"""Drifts of what stands around the place of a revert: statements, arguments, neighbours."""

from __future__ import annotations

import ast
import random

from benchmarks.drifts.state import State, changed_lines, shared, within
from benchmarks.port_reverts import SIMPLE, Place
from benchmarks.port_reverts import reverted as small_change
from benchmarks.port_trees import Function, same

_INSERTED = ("self.step_count += 1", "logger.debug('here')", "check_bounds(batch, stream=1)", "seen = True")


def lines_of_statement(node: ast.stmt) -> int:
    """The first line of a statement, its decorators included."""
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])


def around(state: State) -> tuple[Place, list[ast.stmt], int] | None:
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


def statement_before(state: State, chance: random.Random) -> State | None:
    return _inserted_beside(state, chance, before=True)


def statement_after(state: State, chance: random.Random) -> State | None:
    return _inserted_beside(state, chance, before=False)


def _inserted_beside(state: State, chance: random.Random, before: bool) -> State | None:
    found = around(state)
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
        after = shared(now, small_change(now.fixed, now.qualname, how, chance))
        if after is not None:
            now, made = after, made + 1
        if made >= 4:
            break
    return now if made >= 2 else None


def neighbour_changed(state: State, chance: random.Random) -> State | None:
    """The statements right before and after the change are reworded."""
    found = around(state)
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
            step = shared(now, now.fixed[:start] + new + now.fixed[end:])
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
    found = around(state)
    if found is None:
        return None
    place, block, index = found
    start, end = place.line_span(block[index])
    sites = [site for site in _call_sites(state) if start <= site[0] < end]
    chance.shuffle(sites)
    for at, new in sites:
        after = within(state, at, at, new)
        if after is not None:
            return after
    return None


def arguments_added_around(state: State, chance: random.Random) -> State | None:
    now = state
    for at, new in sorted(_call_sites(state), reverse=True)[:6]:
        now = within(now, at, at, new) or now
    return now if now is not state else None


def differing_runs(state: State) -> tuple[list[Place], list[int], int] | None:
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
    found = differing_runs(state)
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
