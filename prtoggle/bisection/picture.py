"""Pictures of a bisection, as SVG: the trials over time, and what was reverted in each.

Colours come from the page's style, by class, so that light and dark are one picture. Everything that a picture shows on
hover also stands in the page as text.

Example::

    over_time(told.trials)      # '<svg viewBox="0 0 1000 64" ...'
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from prtoggle.bisection.account import Accused, duration
from prtoggle.bisection.values import TrialRecord

WIDTH, LEFT, RIGHT = 1000, 150, 12
ROW, BAR, AXIS = 26, 18, 26
HIGH = 160
PAUSE = 30.0
"""Seconds without a trial that are shown as long as they were."""
CELL_MOST, CELL_ROW = 18.0, 18
ROWS_MOST = 150
"""Candidates that the second picture shows; more would not be seen."""
_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def safe(text: str) -> str:
    """``text`` for HTML and SVG, attributes too; what would not be seen, or turns text round, is written out."""
    shown = "".join(
        char
        if char in "\t\n" or (char >= " " and char not in "\x7f" + _BIDI and not "\x80" <= char < "\xa0")
        else _code(char)
        for char in text.encode("utf-8", "backslashreplace").decode("utf-8")
    )
    return escape(shown, quote=True)


def said(record: TrialRecord, begin: float) -> str:
    """A trial in one line."""
    what = ", ".join(record.reverted) or "nothing"
    why = f"; {record.why}" if record.why else ""
    number = "" if record.metric is None else f" {record.metric:g}"
    at = f"at {duration(max(0.0, record.began - begin))} " if record.began else ""
    head = f"trial {record.number} ({record.phase}): {record.kind}{number}"
    return f"{head}; {at}for {duration(record.seconds)}; reverted: {what}{why}"


@dataclass(frozen=True)
class _Axis:
    """Time to place, with the pauses between trials cut short."""

    pieces: tuple[tuple[float, float, float, float], ...]  # from, to (seconds), from, to (places)
    cuts: tuple[float, ...]  # places

    def place(self, time: float) -> float:
        for begin, end, left, right in self.pieces:
            if time <= end:
                return left + (right - left) * max(0.0, time - begin) / max(end - begin, 1e-9)
        return self.pieces[-1][3]

    def time(self, place: float) -> float:
        for begin, end, left, right in self.pieces:
            if place <= right + 1e-6:
                return begin + (end - begin) * (place - left) / max(right - left, 1e-9)
        return self.pieces[-1][1]


def over_time(records: Sequence[TrialRecord]) -> str:
    """Workers from top to bottom, time from left to right, a trial as a bar in the colour of its outcome."""
    timed = [record for record in records if record.began]
    if not timed:
        return ""
    begin = min(record.began for record in timed)
    axis = _axis(timed)
    workers = sorted({record.worker for record in timed}, key=_natural)
    height = len(workers) * ROW + AXIS
    out = [_head(height, f"{len(timed)} trials over time, a row for each worker")]
    for row, worker in enumerate(workers):
        y = row * ROW
        out.append(f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y + ROW}" y2="{y + ROW}"/>')
        out.append(_label(worker or "here", y + ROW / 2 + 4))
    for record in timed:
        left, right = axis.place(record.began), axis.place(record.began + record.seconds)
        top = workers.index(record.worker) * ROW + (ROW - BAR) / 2
        wide = max(1.5, right - left - 0.8)  # a hair less, so that trials that follow each other stay two
        out.append(
            f'<rect class="{_class(record)}" x="{left:.1f}" y="{top:.0f}" width="{wide:.1f}" height="{BAR}" rx="2">'
            f"<title>{safe(said(record, begin))}</title></rect>"
        )
    return "".join([*out, *_ticks(axis, begin, len(workers) * ROW), "</svg>"])


def subsets(records: Sequence[TrialRecord], candidates: Sequence[str], marked: Iterable[str] = ()) -> str:
    """Candidates from top to bottom, trials from left to right: a cell where the candidate was reverted, in the colour
    of the outcome. ``marked`` are those that the answer is about; they come first."""
    names = [*dict.fromkeys(name for name in marked if name in set(candidates))]
    names += [name for name in candidates if name not in names]
    names += sorted({name for record in records for name in record.reverted} - set(names))  # parts
    shown = names[:ROWS_MOST]
    if not records or not shown:
        return ""
    cell = min(CELL_MOST, (WIDTH - LEFT - RIGHT) / len(records))
    top = CELL_ROW
    height = top + len(shown) * CELL_ROW + AXIS
    out = [_head(height, f"what was reverted in each of {len(records)} trials")]
    known = set(marked)
    begin = min((record.began for record in records if record.began), default=0.0)
    for column, record in enumerate(records):
        x, kind = LEFT + column * cell, _class(record)
        out.append(
            f"<g><title>{safe(said(record, begin))}</title>"
            f'<rect class="ghost" x="{x:.2f}" y="0" width="{cell:.2f}" height="{top + len(shown) * CELL_ROW}"/>'
            f'<rect class="{kind}" x="{x:.2f}" y="2" width="{cell * 0.85:.2f}" height="{top - 6}"/>'
            f"{_column(record, shown, x, cell, top)}</g>"
        )
    out.append(_label("outcome", top - 5))
    for row, name in enumerate(shown):
        out.append(_label(name, top + row * CELL_ROW + 13, bold=name in known))
    bottom = top + len(shown) * CELL_ROW
    step = max(1, math.ceil(max(30 / cell, len(records) / 12)))
    for column in range(0, len(records), step):
        x = LEFT + (column + 0.425) * cell
        out.append(
            f'<text class="tick" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{records[column].number}</text>'
        )
    return "".join([*out, "</svg>"])


def numbers(records: Sequence[TrialRecord], culprits: Sequence[Accused], *, fixed: bool = False) -> str:
    """What was measured in each trial, from bottom to top. A dot has the colour of bad where a culprit was reverted, or
    where one was in: ``fixed``, if that is what makes it worse."""
    shown = [record for record in records if record.metric is not None and math.isfinite(record.metric)]
    if not shown:
        return ""
    values = [record.metric for record in shown if record.metric is not None]
    low, high = min(values), max(values)
    begin = min((record.began for record in shown if record.began), default=0.0)
    out = [_head(HIGH + AXIS, f"what was measured in {len(shown)} trials")]
    for value, y in ((high, 12.0), (low, HIGH - 12.0)):
        out.append(f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.0f}" y2="{y:.0f}"/>')
        out.append(_label(f"{value:g}", y + 4))
    for place, (record, value) in enumerate(zip(shown, values, strict=True)):
        x = LEFT + 8 + (WIDTH - RIGHT - LEFT - 16) * (place / max(1, len(shown) - 1))
        y = 12 + (HIGH - 24) * ((high - value) / (high - low) if high > low else 0.5)
        taken = {name.partition("/")[0] for name in record.reverted} | set(record.reverted)
        blamed = any(
            taken.isdisjoint(culprit.fixes) if fixed else taken.issuperset(culprit.fixes) for culprit in culprits
        )
        out.append(
            f'<circle class="{"k-bad" if blamed else "k-good"}" cx="{x:.1f}" cy="{y:.1f}" r="4">'
            f"<title>{safe(said(record, begin))}</title></circle>"
        )
    out.append(f'<text class="tick" x="{LEFT}" y="{HIGH + 17}">trial {shown[0].number}</text>')
    last = f'<text class="tick" x="{WIDTH - RIGHT}" y="{HIGH + 17}" text-anchor="end">{shown[-1].number}</text>'
    return "".join([*out, last, "</svg>"])


def _column(record: TrialRecord, shown: Sequence[str], x: float, cell: float, top: int) -> str:
    """One path for all cells of a trial: a page of many trials stays small."""
    taken = set(record.reverted)
    wide = cell * 0.85
    moves = [
        f"M{x:.2f} {top + row * CELL_ROW + 2}h{wide:.2f}v{CELL_ROW - 4}h-{wide:.2f}z"
        for row, name in enumerate(shown)
        if name in taken
    ]
    return f'<path class="{_class(record)}" d="{"".join(moves)}"/>' if moves else ""


def _axis(records: Sequence[TrialRecord]) -> _Axis:
    busy: list[list[float]] = []
    for begin, end in sorted((record.began, record.began + record.seconds) for record in records):
        if busy and begin <= busy[-1][1]:
            busy[-1][1] = max(busy[-1][1], end)
        else:
            busy.append([begin, end])
    worked = sum(end - begin for begin, end in busy) or 1e-3
    most = 0.05 * worked
    lengths: list[tuple[float, float, float]] = []
    for number, (begin, end) in enumerate(busy):
        if number:
            before = busy[number - 1][1]
            pause = begin - before
            lengths.append((before, begin, pause if pause <= max(most, PAUSE) else most))
        lengths.append((begin, end, end - begin))
    scale = (WIDTH - LEFT - RIGHT) / (sum(length for _, _, length in lengths) or 1e-3)
    pieces, cuts, place = [], [], float(LEFT)
    for begin, end, length in lengths:
        wide = length * scale
        if end - begin > length:
            cuts.append(place + wide / 2)
        pieces.append((begin, end, place, place + wide))
        place += wide
    return _Axis(tuple(pieces), tuple(cuts))


def _ticks(axis: _Axis, begin: float, y: int) -> list[str]:
    out = [f'<line class="cut" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{y}"/>' for x in axis.cuts]
    for step in range(6):
        place = LEFT + (WIDTH - RIGHT - LEFT) * step / 5
        anchor = "start" if step == 0 else "end" if step == 5 else "middle"
        words = safe(duration(axis.time(place) - begin))
        out.append(f'<text class="tick" x="{place:.1f}" y="{y + 17}" text-anchor="{anchor}">{words}</text>')
    return out


def _head(height: float, label: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{safe(label)}">'


def _label(text: str, y: float, *, bold: bool = False) -> str:
    shown = text if len(text) <= 22 else "…" + text[-21:]
    kind = "label strong" if bold else "label"
    inner = f"{safe(shown)}<title>{safe(text)}</title>"
    return f'<text class="{kind}" x="{LEFT - 10}" y="{y:.0f}" text-anchor="end">{inner}</text>'


def _class(record: TrialRecord) -> str:
    return f"k-{record.kind}" if re.fullmatch("[a-z]+", record.kind) else "k-void"


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(piece), "") if piece.isdigit() else (0, piece) for piece in re.split(r"(\d+)", name)]


def _code(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
