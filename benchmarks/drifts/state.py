"""A release in its two states, and changes made to either text of it."""

from __future__ import annotations

import io
import random
import re
import tokenize
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.port_trees import definitions, lines_of, parsed
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


def shared(state: State, drifted: str | None) -> State | None:
    """A drift that is found in the fixed text, and stands in lines that the reverted text has too."""
    return state.with_texts(drifted, carried_over(state, drifted))


def within(state: State, start: int, end: int, new: str) -> State | None:
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


def cut(text: str, qualname: str) -> tuple[str, str, str]:
    """The text before, of, and after a definition, in whole lines."""
    source = SourceText(text)
    first, last = lines_of(definitions(parsed(text))[qualname])
    start, end = source.starts[first - 1], source.starts[last]
    return text[:start], text[start:end], text[end:]


def fresh(state: State, word: str) -> str:
    while any(re.search(rf"\b{word}\b", text) for texts in state.modules.values() for text in texts):
        word += "_2"
    return word


def names_replaced(text: str, old: str, new: str) -> str:
    """Every name token ``old`` as ``new``, in the whole text."""
    source, spans = SourceText(text), []
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        if token.type == tokenize.NAME and token.string == old:
            start = source.starts[token.start[0] - 1] + token.start[1]
            spans.append(start)
    for start in reversed(spans):
        text = text[:start] + new + text[start + len(old) :]
    return text
