"""Unified diffs: hunks found by what they say, not by line numbers; fuzz is 0.

Every line of a hunk must stand there, white space included; only line ends are free. A hunk that stands in several
places is placed by the order of the hunks where exactly one assignment keeps that order; otherwise it is ``Several``.
Only changed lines are replaced, so that another edit may touch the context. Whether a file ends with a line end is left
as it is.

Example::

    locate(SourceText("a\\nb\\nc\\n"), None, DiffEdit((Hunk(("a", "b", "c"), ("a", "c")),)))
    == Found((Replacement(2, 4, ""),), line=2)
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from prtoggle.edits.kinds import DiffEdit, Hunk
from prtoggle.edits.nearest import nearest
from prtoggle.edits.outcome import Already, Found, Missing, Outcome, Replacement, Several
from prtoggle.edits.scope import Scope
from prtoggle.edits.text import SourceText


def locate(source: SourceText, scope: Scope | None, edit: DiffEdit) -> Outcome:
    """Where the hunks of ``edit`` stand in ``scope`` (None: in the whole file)."""
    first, last = (scope.first, scope.last) if scope else (1, len(source.lines))
    lines = [line.rstrip("\r\n") for line in source.lines[first - 1 : last]]
    hunks = edit.hunks
    if not hunks:
        return Missing("the diff has no hunk for this file")
    for number, hunk in enumerate(hunks, 1):
        if not hunk.old:
            return Missing(f"{_name(number, hunk)} has no line that is there already, so nothing says where it goes")
    where = _index(lines)
    old = [_places(lines, where, hunk.old) for hunk in hunks]
    new = [_places(lines, where, hunk.new) for hunk in hunks]
    lacking = [k for k, places in enumerate(old) if not places]
    if lacking:
        return _lacking(hunks, lines, first, old, new, lacking)
    chosen = _assign(hunks, old)
    if not chosen:
        stated = ", ".join(f"{_name(k + 1, hunk)} at line {first + old[k][0]}" for k, hunk in enumerate(hunks))
        return Missing(f"the hunks stand in another order than in the diff: {stated}", line=first + old[0][0])
    if len(chosen) > 1:
        one, other = chosen
        k = next(k for k in range(len(hunks)) if one[k] != other[k])
        return Several(tuple(first + place for place in old[k]), f"{_name(k + 1, hunks[k])} stands in several places")
    replacements: list[Replacement] = []
    for hunk, place in zip(hunks, chosen[0], strict=True):
        replacements += _replacements(source, hunk, first - 1 + place)
    if not replacements:
        return Already(first + chosen[0][0], "the diff changes no line")
    return Found(tuple(replacements), source.line_of(replacements[0].start))


def _lacking(
    hunks: Sequence[Hunk],
    lines: Sequence[str],
    first: int,
    old: Sequence[Sequence[int]],
    new: Sequence[Sequence[int]],
    lacking: Sequence[int],
) -> Outcome:
    """The outcome where at least one hunk's old lines do not stand in the text."""
    if all(new[k] and _shows(hunks[k]) for k in lacking):
        # A hunk that changes nothing stands as old and as new.
        undone = [k for k in range(len(hunks)) if k not in lacking and hunks[k].old != hunks[k].new]
        results = [Hunk(hunk.new, ()) for hunk in hunks]
        if not undone and len(done := _assign(results, new)) == 1:
            return Already(first + done[0][0], "what the diff would make stands there already")
        if undone:
            made = ", ".join(f"{_name(k + 1, hunks[k])} (line {first + new[k][0]})" for k in lacking)
            open_ = ", ".join(f"{_name(k + 1, hunks[k])} (line {first + old[k][0]})" for k in undone)
            return Missing(f"half: {made} made already, {open_} not", line=first + old[undone[0]][0])
    k = next((k for k in lacking if not new[k]), lacking[0])
    reason = f"{_name(k + 1, hunks[k])} does not stand in the text"
    close = nearest(lines, hunks[k].old)
    if not close:
        return Missing(reason)
    # Of the nearest passage, the first line that is not as the diff has it.
    start = close[0]
    window = lines[start : start + len(hunks[k].old)]
    at = next((at for at, (has, wants) in enumerate(zip(window, hunks[k].old, strict=False)) if has != wants), None)
    if at is None:
        return Missing(f"{reason}: it goes on behind the last line there", window[-1], first + start + len(window) - 1)
    return Missing(f"{reason}: {hunks[k].old[at].strip()!r} is another line there", window[at], first + start + at)


def _shows(hunk: Hunk) -> bool:
    """Whether a hunk's new lines say that it was made: they hold added lines, or close the gap between two contexts."""
    if any(line not in hunk.old for line in hunk.new):
        return True
    return bool(hunk.old and hunk.new) and hunk.old[0] == hunk.new[0] and hunk.old[-1] == hunk.new[-1]


def _name(number: int, hunk: Hunk) -> str:
    return f"hunk {number}" + (f" (@@ {hunk.line})" if hunk.line else "")


def _index(lines: Sequence[str]) -> dict[str, list[int]]:
    where: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        where.setdefault(line, []).append(number)
    return where


def _places(lines: Sequence[str], where: dict[str, list[int]], block: Sequence[str]) -> list[int]:
    """Indices at which ``block`` stands in ``lines``."""
    if not block:
        return []
    rarest = min(range(len(block)), key=lambda k: len(where.get(block[k], ())))
    wanted = list(block)
    starts = [at - rarest for at in where.get(block[rarest], ()) if at >= rarest]
    return [start for start in starts if lines[start : start + len(block)] == wanted]


def _assign(hunks: Sequence[Hunk], places: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Up to two ways to give each hunk one of its places, in order and without overlap.

    The earliest and the latest way: where the two are the same, there is no third.
    """
    earliest: list[int] = []
    end = 0
    for hunk, its in zip(hunks, places, strict=True):
        place = next((place for place in its if place >= end), None)
        if place is None:
            return []
        earliest.append(place)
        end = place + len(hunk.old)
    latest: list[int] = []
    limit: int | None = None
    for hunk, its in zip(reversed(hunks), reversed(places), strict=True):
        fitting = [place for place in its if limit is None or place + len(hunk.old) <= limit]
        latest.append(fitting[-1])
        limit = fitting[-1]
    latest.reverse()
    return [tuple(earliest)] if earliest == latest else [tuple(earliest), tuple(latest)]


def _replacements(source: SourceText, hunk: Hunk, start: int) -> list[Replacement]:
    """The changed lines of a hunk whose old lines begin at index ``start`` of the file."""
    old, new = hunk.old, hunk.new
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    result = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, inner_old, inner_new, False).get_opcodes():
        if tag != "equal":
            text = "".join(line + "\n" for line in inner_new[j1:j2])
            result.append(Replacement(source.starts[start + head + i1], source.starts[start + head + i2], text))
    return result
