"""Whole lines: where an edit's ``match`` stands in its scope, and what comes in its place.

- Indentation is relative: the match, dedented, must stand there with every line at the same relative depth. In a file
  indented by tabs, a match written with spaces is read level by level.
- Never inside a string literal: a place that starts or ends within a multi-line string is none. A multi-line string
  that lies wholly within the match must be equal byte for byte.
- Blank lines compare as blank, white space at line ends does not count (outside strings), and blank lines at the start
  and end of ``match`` and ``text`` do not belong to them.
- The text comes dedented to the place's indentation; lines that begin inside a string are kept as they are. Lines that
  match and replacement share at their start and end are left alone, so that another edit may touch them.

Example::

    locate(SourceText("if a:\\n    x = 1\\n"), scope, LinesEdit("x = 1", "replace", "x = 2"))
    == Found((Replacement(6, 16, "    x = 2\\n"),), line=2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prtoggle.edits.kinds import LinesEdit
from prtoggle.edits.nearest import nearest
from prtoggle.edits.outcome import Already, Found, Missing, Outcome, Replacement, Several
from prtoggle.edits.rows import (
    BLANK,
    Row,
    fragment_rows,
    indent_of,
    margin_of,
    placed,
    source_rows,
    tabbed,
    to_tabs,
    unit_of,
)
from prtoggle.edits.scope import Scope, enclosing
from prtoggle.edits.text import SourceText


@dataclass(frozen=True)
class Fit:
    """A window of rows in which a match stands, and the indentation of its margin and its first line."""

    start: int
    end: int
    base: str
    first: str


@dataclass(frozen=True)
class Near:
    """A window with the match's words that is no match, and why."""

    start: int
    reason: str


def locate(source: SourceText, scope: Scope, edit: LinesEdit) -> Outcome:
    """Where ``edit`` stands in ``scope``, and the replacement that makes it."""
    match, text = fragment_rows(edit.match), fragment_rows(edit.text)
    if not match:
        return Missing("the match is empty")
    if edit.action != "replace" and not text:
        return Missing(f"there is nothing to {edit.action}")
    if not _looks_there(source, scope.first, scope.last, match):
        return _missing(source, scope, edit, ())
    rows = source_rows(source, scope.first, scope.last)
    fits, near = fit(rows, match)
    if not fits:
        return _missing(source, scope, edit, near)
    if len(fits) > 1:
        lines = tuple(scope.first + found.start for found in fits)
        return Several(lines, f"the match stands {len(lines)} times in {scope.qualname or 'the module'}")
    found = fits[0]
    new = written(rows, found, edit)
    if edit.action == "replace":
        return _replace(source, scope, rows, found, new)
    at = found.start if edit.action == "prepend" else found.end
    beside = rows[max(at - len(new), 0) : at] if edit.action == "prepend" else rows[at : at + len(new)]
    if len(beside) == len(new) and all(_equal(*pair) for pair in zip(_ends(beside), _ends(new), strict=True)):
        line = scope.first + at - (len(new) if edit.action == "prepend" else 0)
        return Already(line, f"the lines to {edit.action} stand beside the match already")
    offset = source.starts[scope.first - 1 + at]
    return Found((Replacement(offset, offset, _joined(new)),), scope.first + found.start)


def fit(rows: Sequence[Row], match: Sequence[Row]) -> tuple[list[Fit], list[Near]]:
    """All windows in which ``match`` stands, and those that only look like it."""
    unit = unit_of(match) if tabbed(rows) else 0
    fits: list[Fit] = []
    near: list[Near] = []
    for start in _starts([row.text for row in rows], match):
        found = _fit_at(rows, start, match, 0)
        if isinstance(found, Near) and unit:
            found = _fit_at(rows, start, match, unit)
        if isinstance(found, Fit):
            fits.append(found)
        else:
            near.append(found)
    return fits, near


def written(rows: Sequence[Row], found: Fit, edit: LinesEdit) -> list[Row]:
    """The edit's text as it is written at the place ``found`` in ``rows``."""
    match, text = fragment_rows(edit.match), fragment_rows(edit.text)
    unit = unit_of(match, text) if tabbed(rows) else 0
    return placed(text, found.first if edit.action == "prepend" else found.base, unit)


def _starts(lines: Sequence[str], match: Sequence[Row]) -> list[int]:
    """Where the match stands if white space at the ends of lines did not count."""
    wanted = [row.text.strip(BLANK) for row in match]
    bare = [line.strip(BLANK) for line in lines]
    count = len(wanted)
    return [k for k, line in enumerate(bare) if line == wanted[0] and bare[k : k + count] == wanted]


def _looks_there(source: SourceText, first: int, last: int, match: Sequence[Row]) -> bool:
    """Whether it is worth asking which lines begin inside strings, which takes a tokenizer."""
    return bool(_starts([line.rstrip("\r\n") for line in source.lines[first - 1 : last]], match))


def _fit_at(rows: Sequence[Row], start: int, match: Sequence[Row], unit: int) -> Fit | Near:
    """The window at ``start``, whose lines are known to be equal but for white space at their ends."""
    end = start + len(match)
    window = rows[start:end]
    after = end < len(rows) and rows[end].inside
    if window[0].inside or after:
        return Near(start, "it starts or ends inside a string literal")
    # The source says which lines belong to strings; the match is compared as if it had them too.
    same = [Row(row.text, own.inside) for row, own in zip(match, window, strict=True)]
    margin = margin_of(same)
    base: str | None = None
    for number, (own, row) in enumerate(zip(window, same, strict=True)):
        opens = number + 1 < len(window) and window[number + 1].inside
        if own.inside or opens:
            left, right = (own.text, row.text) if own.inside else (own.text.lstrip(BLANK), row.text.lstrip(BLANK))
            if not opens:
                left, right = left.rstrip(BLANK), right.rstrip(BLANK)
            if left != right:
                return Near(start, "a multi-line string in it is not the same, byte for byte")
        if own.inside or own.blank:
            continue
        relative = indent_of(row.text)[len(margin) :]
        relative = to_tabs(relative, unit) if unit else relative
        indent = indent_of(own.text)
        if base is None and indent.endswith(relative):
            base = indent[: len(indent) - len(relative)]
        if base is None or indent != base + relative:
            return Near(start, "its lines stand at other relative depths")
    assert base is not None
    return Fit(start, end, base, indent_of(window[0].text))


def _replace(source: SourceText, scope: Scope, rows: Sequence[Row], found: Fit, new: Sequence[Row]) -> Outcome:
    old_ends, new_ends = _ends(rows[found.start : found.end]), _ends(new)
    head = 0
    while head < min(len(old_ends), len(new_ends)) and _equal(old_ends[head], new_ends[head]):
        head += 1
    tail = 0
    while tail < min(len(old_ends), len(new_ends)) - head and _equal(old_ends[-1 - tail], new_ends[-1 - tail]):
        tail += 1
    if head == len(old_ends) == len(new_ends):
        return Already(scope.first + found.start, "the replacement is the same as the match")
    first = scope.first - 1 + found.start + head
    last = scope.first - 1 + found.end - tail
    text = _joined(new[head : len(new) - tail])
    return Found((Replacement(source.starts[first], source.starts[last], text),), min(first + 1, len(source.lines)))


def _ends(rows: Sequence[Row]) -> list[tuple[Row, bool]]:
    """Each row with whether a string goes on behind it, which makes the white space at its end count."""
    following = [row.inside for row in rows[1:]] + [False]
    return list(zip(rows, following, strict=False))


def _equal(one: tuple[Row, bool], other: tuple[Row, bool]) -> bool:
    (left, left_open), (right, right_open) = one, other
    if left.inside != right.inside or left_open != right_open:
        return False
    if left.text == right.text or (left.blank and right.blank):
        return True
    return not left_open and left.text.rstrip(BLANK) == right.text.rstrip(BLANK)


def _joined(rows: Sequence[Row]) -> str:
    return "".join(row.text + "\n" for row in rows)


def _missing(source: SourceText, scope: Scope, edit: LinesEdit, near: Sequence[Near]) -> Missing:
    match, text = fragment_rows(edit.match), fragment_rows(edit.text)
    where = scope.qualname or "the module"

    def passage(line: int, count: int) -> str:
        return "\n".join(source.line(number) for number in range(line, line + count))

    if near:
        line = scope.first + near[0].start
        what = f"the match is not in {where} as it is written: at line {line} {near[0].reason}"
        return Missing(what, passage(line, len(match)), line)
    reason = f"the match is not in {where}"
    if edit.action == "replace" and text and _looks_there(source, scope.first, scope.last, text):
        there, _ = fit(source_rows(source, scope.first, scope.last), text)
        if len(there) == 1:
            line = scope.first + there[0].start
            return Missing(f"{reason}; its replacement stands at line {line}", passage(line, len(text)), line)
    if scope.qualname and _looks_there(source, 1, len(source.lines), match):
        elsewhere, _ = fit(source_rows(source, 1, len(source.lines)), match)
        if elsewhere:
            line = elsewhere[0].start + 1
            owner = enclosing(source, line) or "the module itself"
            return Missing(f"{reason}; it stands in {owner}", passage(line, len(match)), line)
    lines = [source.line(number) for number in range(scope.first, scope.last + 1)]
    close = nearest(lines, [row.text for row in match])
    return Missing(reason, close[1], scope.first + close[0]) if close else Missing(reason)
