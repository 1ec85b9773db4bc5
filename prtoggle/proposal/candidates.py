"""Edits that could make one atom, the shortest and steadiest first: what is found in the text decides which of them
is taken.

Contract: pure; a candidate is a proposal, neither unique nor right until :mod:`prtoggle.proposal.writing` has tried it.

Example::

    next(candidates(atom, fixed, reverted)).kind      # PatternEdit(find='cache_loc = cache_loc[:, :n]', put='')
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from prtoggle.edits.kinds import EditKind, LinesEdit, PatternEdit
from prtoggle.edits.rows import placed, source_rows
from prtoggle.edits.text import SourceText
from prtoggle.proposal.atoms import DEFINITIONS, Atom, blocks, deletes
from prtoggle.proposal.spelled import (
    definition,
    drifted,
    first_and_last,
    short_call,
    spell,
    unparsed,
    with_holes,
    with_runs,
)

_CONTEXT = 6
_WEIGHT = 3
_SAYING = (ast.Name, ast.Attribute, ast.Constant, ast.keyword, ast.arg)


@dataclass(frozen=True)
class Candidate:
    """An edit; ``looks`` are patterns of how its place could look once it is made, the best first; ``inside`` says
    that it is for the definition itself that the atom is the header of."""

    kind: EditKind
    looks: tuple[str, ...] = ()
    inside: bool = False


def candidates(atom: Atom, fixed: SourceText, reverted: SourceText, earlier: Atom | None = None) -> Iterator[Candidate]:
    """What could make ``atom`` of ``fixed``. ``earlier`` is the same atom in the release that the revert comes from."""
    for index, (old, new) in enumerate(atom.exprs):
        if _weight(old) < _WEIGHT:
            continue
        was = earlier.exprs[index][0] if earlier is not None and index < len(earlier.exprs) else None
        wider = [spell(reverted, each) for _, each in atom.exprs[index + 1 :]]
        wider += [] if atom.header else [spell(reverted, *atom.new)]
        for candidate in _expressions(old, new, was, fixed, reverted):
            yield replace(candidate, looks=(*candidate.looks, *wider))
    if atom.old and not atom.header:
        yield from _statements(atom.old, () if deletes(atom) else atom.new, earlier, fixed, reverted)
    if not atom.old:
        yield from _insertions(atom, fixed, reverted)
    if atom.header:
        yield from _header(atom, fixed, reverted)
    for parent, into in reversed(atom.parents):
        if not isinstance(parent, DEFINITIONS):
            yield from _kept((parent,), (into,), reverted)
    yield from _lines(atom, fixed, reverted)
    for parent, into in reversed(atom.parents):
        yield from _kept((parent,), (into,), reverted)


def rewrites(old: ast.stmt, new: ast.stmt, fixed: SourceText, reverted: SourceText) -> Iterator[Candidate]:
    """All lines of a definition from the first to the last that differ: for a rewrite that has no smaller pieces."""
    (a, b), (c, d) = first_and_last(fixed, [old]), first_and_last(reverted, [new])
    most = min(b - a, d - c)
    before = next((k for k in range(most) if fixed.line(a + k) != reverted.line(c + k)), most)
    behind = next((k for k in range(most - before) if fixed.line(b - k) != reverted.line(d - k)), most - before)
    for more in range(_CONTEXT):
        first, last = max(before - more, 0), max(behind - more, 0)
        match, text = _dedented(fixed, a + first, b - last), _dedented(reverted, c + first, d - last)
        if match.strip() and text.strip():
            yield Candidate(LinesEdit(match, "replace", text))


def _weight(node: ast.AST) -> int:
    return sum(isinstance(each, _SAYING) for each in ast.walk(node))


def _expressions(
    old: ast.expr, new: ast.expr, was: ast.expr | None, fixed: SourceText, reverted: SourceText
) -> Iterator[Candidate]:
    plain = spell(reverted, new)
    if short := short_call(old, new):
        yield Candidate(PatternEdit(*short), (short[1], plain))
    if holes := _holed(old, new, was):
        yield Candidate(PatternEdit(*holes), (holes[1], plain))
    yield Candidate(PatternEdit(spell(fixed, old), plain), (plain,))


def _holed(old: ast.AST, new: ast.AST, was: ast.AST | None) -> tuple[str, str] | None:
    """Both with a hole for what drifted since ``was``; None where nothing did, or little else is left."""
    drift = drifted(old, was) if was is not None else None
    if not drift or _weight(old) - sum(map(_weight, drift)) < _WEIGHT:
        return None
    return unparsed(with_holes(old, drift)), unparsed(with_holes(new, drift))


def _statements(
    old: Sequence[ast.stmt], new: Sequence[ast.stmt], earlier: Atom | None, fixed: SourceText, reverted: SourceText
) -> Iterator[Candidate]:
    if not new:
        if len(old) == 1 and isinstance(old[0], DEFINITIONS):
            yield Candidate(PatternEdit(definition(old[0]), ""))
        elif len(old) == 1 and not any(blocks(old[0])):
            was = earlier.old[0] if earlier is not None and len(earlier.old) == 1 and not earlier.exprs else None
            if was is not None and (drift := drifted(old[0], was)) and _weight(old[0]) - sum(map(_weight, drift)) >= 2:
                yield Candidate(PatternEdit(unparsed(with_holes(old[0], drift)), ""))
        yield Candidate(PatternEdit(spell(fixed, *old), ""))
        return
    yield from _kept(old, new, reverted)
    if len(old) == len(new) == 1 and not any(blocks(old[0])):
        was = earlier.old[0] if earlier is not None and len(earlier.old) == 1 else None
        if holes := _holed(old[0], new[0], was):
            yield Candidate(PatternEdit(*holes), (holes[1], spell(reverted, *new)))
    text = spell(reverted, *new)
    yield Candidate(PatternEdit(spell(fixed, *old), text), (text,))


def _kept(old: Sequence[ast.stmt], new: Sequence[ast.stmt], reverted: SourceText) -> Iterator[Candidate]:
    if runs := with_runs(old, new):
        yield Candidate(PatternEdit(*runs), (runs[1], spell(reverted, *new)))


def _insertions(atom: Atom, fixed: SourceText, reverted: SourceText) -> Iterator[Candidate]:
    first, last = first_and_last(reverted, atom.new)
    text = _dedented(reverted, first, last)
    if atom.before is not None and not any(blocks(atom.before)):
        yield Candidate(LinesEdit(_dedented(fixed, *first_and_last(fixed, [atom.before])), "append", text))
    if atom.behind is not None:
        start, end = first_and_last(fixed, [atom.behind])
        inner = next((block for _, block in blocks(atom.behind)), None)
        end = end if inner is None else max(start, first_and_last(fixed, inner)[0] - 1)
        yield Candidate(LinesEdit(_dedented(fixed, start, end), "prepend", text))


def _header(atom: Atom, fixed: SourceText, reverted: SourceText) -> Iterator[Candidate]:
    texts = []
    for source, [statement] in ((fixed, atom.old), (reverted, atom.new)):
        inner = next((block for _, block in blocks(statement)), None)
        if inner is None:
            return
        start, end = first_and_last(source, [statement])[0], first_and_last(source, inner)[0] - 1
        while end > start and source.line(end).strip().startswith("#"):
            end -= 1
        if end < start:
            return
        texts.append(_dedented(source, start, end))
    for inside in (True, False) if isinstance(atom.old[0], DEFINITIONS) else (False,):
        yield Candidate(LinesEdit(texts[0], "replace", texts[1]), inside=inside)


def _lines(atom: Atom, fixed: SourceText, reverted: SourceText) -> Iterator[Candidate]:
    """Whole lines around the change, a line more of them each time."""
    if not atom.old or not atom.new or atom.header:
        owner = atom.parents[-1] if atom.parents else None
        if owner is None or (atom.old and not atom.new):
            return
    old = first_and_last(fixed, atom.old) if atom.old else None
    new = first_and_last(reverted, atom.new)
    if old is None:
        anchor = atom.before or atom.behind
        if anchor is None:
            return
        line = first_and_last(fixed, [anchor])
        at = line[1] + 1 if anchor is atom.before else line[0]
        old = (at, at - 1)
    for more in range(_CONTEXT):
        a, b = old[0] - more, old[1] + more
        if b < a:
            continue
        if a < 1 or b > len(fixed.lines):
            return
        before, after = _dedented(fixed, a, b), _dedented(reverted, new[0] - more, new[1] + more)
        if before.strip() and after.strip():
            yield Candidate(LinesEdit(before, "replace", after))


def _dedented(source: SourceText, first: int, last: int) -> str:
    rows = placed(source_rows(source, first, last), "")
    text = "".join(row.text + "\n" for row in rows)
    return text.rstrip("\n") if text.count("\n") == 1 else text
