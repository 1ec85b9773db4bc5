"""Where a line of the original stands in the reverted text.

Example::

    shift = LineShift(original, reverted)
    shift(55)      # the first line of the reverted text that stands where line 55 of the original stood
"""

from __future__ import annotations

import difflib

_LONG = 20_000


class LineShift:
    """Maps line numbers (from 1) of one text to another, by their difference."""

    def __init__(self, original: bytes, reverted: bytes) -> None:
        old, new = original.splitlines(), reverted.splitlines()
        shortest, head, tail = min(len(old), len(new)), 0, 0
        while head < shortest and old[head] == new[head]:
            head += 1
        while tail < shortest - head and old[-1 - tail] == new[-1 - tail]:
            tail += 1
        inner = old[head : len(old) - tail], new[head : len(new) - tail]
        # The matcher's time is the product of how often lines repeat, so it sees only what lies between the changes.
        matcher = difflib.SequenceMatcher(None, *inner, autojunk=len(inner[0]) > _LONG)
        moved = [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in matcher.get_opcodes()]
        first = [("equal", 0, head, 0, head)] if head else []
        last = [("equal", len(old) - tail, len(old), len(new) - tail, len(new))] if tail else []
        self._codes = [*first, *moved, *last]

    def __call__(self, line: int) -> int:
        """The line of the reverted text; for a deleted line the one that follows the deletion."""
        index = line - 1
        for tag, i1, i2, j1, j2 in self._codes:
            if tag == "insert" and i1 == index:
                return j1 + 1
            if i1 <= index < i2:
                return (j1 + index - i1 if tag == "equal" else min(j1 + index - i1, max(j2 - 1, j1))) + 1
        return (self._codes[-1][4] if self._codes else 0) or 1
