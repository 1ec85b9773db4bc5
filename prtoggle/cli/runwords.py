"""The words of ``prtoggle run``: options and a selection, then the command, with dashes between or without.

Options go before the selection, or behind it up to the command. What is plainly a slip (no selection before the
dashes, several selections) is said as one.

Example::

    in_order(["27360", "--trace", "--", "x"], takes_value=set())    # ["--trace", "27360", "--", "x"]
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence

from prtoggle.errors import PrtoggleError, UsageError


def in_order(words: Sequence[str], takes_value: Collection[str]) -> list[str]:
    """``words`` with all options of ``run`` before the selection.

    Args:
        takes_value: the options that are followed by a value.

    Raises:
        UsageError: the selection is missing, or several are given.
    """
    at, options = _options(words, 0, takes_value)
    if at < len(words) and words[at] == "--":
        raise UsageError(
            "the selection is missing before --",
            hint="prtoggle run SELECTION -- COMMAND; with nothing reverted: prtoggle run none -- COMMAND",
        )
    if at >= len(words):
        return list(words)
    selection = words[at]
    start, more = _options(words, at + 1, takes_value)
    rest = list(words[start:])
    _one_selection(selection, rest)
    return [*options, *more, selection, *rest]


def _options(words: Sequence[str], at: int, takes_value: Collection[str]) -> tuple[int, list[str]]:
    """Index of the first word from ``at`` on that is no option nor the value of one, and the words before it."""
    start = at
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
        at += 2 if words[at] in takes_value else 1
    return min(at, len(words)), list(words[start:at])


def _one_selection(selection: str, rest: Sequence[str]) -> None:
    more = []
    for word in rest:
        if word == "--" or not _selects(word) or shutil.which(word):
            break
        more.append(word)
    if more and _selects(selection):
        raise UsageError(
            "several fixes are one argument, with commas between them",
            nearest=",".join([selection, *more]),
        )


def _selects(word: str) -> bool:
    from prtoggle.selection import parse

    try:
        return bool(parse(word).choices)
    except PrtoggleError:
        return False
