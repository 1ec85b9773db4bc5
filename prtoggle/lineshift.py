"""Where a line of the original stands in the reverted text.

Example::

    shift = LineShift(original, reverted)
    shift(55)      # the first line of the reverted text that stands where line 55 of the original stood
"""

from __future__ import annotations

import difflib


class LineShift:
    """Maps line numbers (from 1) of one text to another, by their difference."""

    def __init__(self, original: bytes, reverted: bytes) -> None:
        matcher = difflib.SequenceMatcher(None, original.splitlines(), reverted.splitlines(), autojunk=False)
        self._codes = matcher.get_opcodes()

    def __call__(self, line: int) -> int:
        """The line of the reverted text; for a deleted line the one that follows the deletion."""
        index = line - 1
        for tag, i1, i2, j1, j2 in self._codes:
            if tag == "insert" and i1 == index:
                return j1 + 1
            if i1 <= index < i2:
                return (j1 + index - i1 if tag == "equal" else min(j1 + index - i1, max(j2 - 1, j1))) + 1
        return (self._codes[-1][4] if self._codes else 0) or 1
