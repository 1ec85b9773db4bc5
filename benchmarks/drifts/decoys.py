"""Copies that look like the place of a revert; and releases in which there is nothing to take out any more."""

from __future__ import annotations

import random
import re

from benchmarks.drifts.extraction import expression_extracted
from benchmarks.drifts.moves import function_renamed
from benchmarks.drifts.state import State, changed_span, cut, fresh
from benchmarks.drifts.surroundings import around
from benchmarks.port_reverts import reverted as small_change
from benchmarks.port_trees import definitions, parsed


def decoy_added(state: State, chance: random.Random) -> State | None:
    """A near copy of the fixed function under another name; the revert is of the first one alone."""
    return _decoy(state, chance, above=False)


def decoy_added_above(state: State, chance: random.Random) -> State | None:
    return _decoy(state, chance, above=True)


def _decoy(state: State, chance: random.Random, above: bool) -> State | None:
    _, _, name = state.qualname.rpartition(".")
    new = fresh(state, f"{name}_fast")
    how = chance.choice(("statement deleted", "constant changed", "statement added", "method renamed"))
    changed = small_change(state.fixed, state.qualname, how, chance)
    if changed is None:
        return None
    decoy = re.sub(rf"def {name}\b", f"def {new}", cut(changed, state.qualname)[1], count=1)

    def change(text: str) -> str:
        before, function, after = cut(text, state.qualname)
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
        before, function, after = cut(text, state.qualname)
        indent = re.match(r"[ \t]*", function)[0]  # type: ignore[index]
        return f"{before}{indent}gone = True\n{after}"

    return state.both(change)


def gone_function_near_copy(state: State, chance: random.Random) -> State | None:
    """The function is deleted; a relative that lacks the fixed statements stays, under another name."""
    name = state.qualname.rpartition(".")[2]
    new = fresh(state, f"{name}_other")
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
    found = around(state)
    first, last, _ = changed_span(state.fixed, state.reverted)
    if found is None or first == last:
        return None
    place, block, index = found
    node = block[index]
    indent = place.indent(node)
    start, end = place.line_span(node)
    text = place.put(start, end, f"{indent}self.rebuild(plan, width=7)\n{indent}notify('rebuilt')\n")
    return state.with_texts(text, text)
