"""``prtoggle check --prove``: whether each fix does in each release what it claims, as a matrix like that of ``check``.

Example::

    prtoggle check --prove 27360 --against 'sglang>=0.5.13'
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from prtoggle.caserun import COULD_NOT_RUN, NOT_PROVEN, PROVEN
from prtoggle.check import UNAVAILABLE, Subject
from prtoggle.cli import releasematrix, render
from prtoggle.cli.annotations import annotation
from prtoggle.cli.prove import ended_as_interrupted
from prtoggle.errors import InconclusiveError, MalformedError, PrtoggleError
from prtoggle.library import problems_of
from prtoggle.realproof import ABSENT, Cell, prove, survey
from prtoggle.selection import Selection

SHORT = {PROVEN: "proven", NOT_PROVEN: "NOT", COULD_NOT_RUN: "?", ABSENT: "-"}
"""What a verdict is called in the matrix."""
SHOWN = (NOT_PROVEN, COULD_NOT_RUN)


def prove_all(
    subjects: Sequence[Subject],
    selection: Selection,
    fixes: Sequence[Path],
    *,
    jobs: int | None,
    as_json: bool,
    github: bool,
) -> int:
    """Prove, print, and return the exit code."""
    dirs = tuple(map(os.fspath, fixes))
    with render.progress() as say:
        say("comparing syntax trees")
        wanted = survey(subjects, selection, dirs)
    with ended_as_interrupted(), render.progress() as say:
        cells = prove(
            wanted, jobs=jobs or os.cpu_count() or 1, on_done=lambda done, of: say(f"{done} of {of} cases done")
        )
    gone = [subject for subject in subjects if subject.package is None]
    problems: dict[str, PrtoggleError] = {}
    if selection.everything:
        problems = {str(p): p for s in subjects if s.catalog is not None for p in problems_of(s.catalog)}
    code = exit_code(cells, bool(gone), bool(problems))
    if as_json:
        render.json({"cells": [cell.data() for cell in cells], "exit_code": code})
    else:
        show(cells)
    for line in _annotations(cells, gone) if github else ():
        render.words(line)
    for subject in gone:
        render.words(f"prtoggle: {subject.problem}")
    for problem in problems.values():
        render.words(f"prtoggle: {problem}")
    return code


def exit_code(cells: Sequence[Cell], gone: bool, problems: bool) -> int:
    """3 where a file does not load, 1 where something is not proven, 4 where something could not be had or run, else
    0."""
    verdicts = {cell.verdict for cell in cells}
    if problems:
        return MalformedError.exit_code
    if NOT_PROVEN in verdicts:
        return 1
    return InconclusiveError.exit_code if gone or COULD_NOT_RUN in verdicts or not cells else 0


def show(cells: Sequence[Cell]) -> None:
    """A matrix for each package, what its words mean, and why something is not proven."""
    if not cells:
        render.out(
            "nothing to prove: no fix is for a release that is here (prtoggle prove runs what comes with prtoggle)"
        )
        return
    for package in dict.fromkeys(cell.package for cell in cells):
        releasematrix.draw(package, [cell for cell in cells if cell.package == package], _short)
    used = {cell.verdict for cell in cells}
    words = [f"{short} {verdict}" for verdict, short in SHORT.items() if verdict in used and verdict != short]
    if words:
        render.out("\n" + ", ".join(words))
    for group in _groups(cells):
        _explain(group)
    good = sum(cell.verdict == PROVEN for cell in cells)
    here = sum(cell.verdict != ABSENT for cell in cells)
    render.out(f"\n{good} of {here} proven: expected syntax tree, and the release's own code ran fixed and reverted")


def _groups(cells: Sequence[Cell]) -> list[list[Cell]]:
    """What is not proven, those that say the same of several releases together."""
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        if cell.verdict in SHOWN:
            groups.setdefault((cell.row, cell.verdict, cell.reason), []).append(cell)
    return list(groups.values())


def _annotations(cells: Sequence[Cell], gone: Sequence[Subject]) -> Iterator[str]:
    for group in _groups(cells):
        first = group[0]
        kind = "error" if first.verdict == NOT_PROVEN else "warning"
        text = f"{', '.join(cell.release for cell in group)}: {first.reason}"
        yield annotation(kind, f"{first.name}: {first.verdict}", text, first.fix.place)
    for subject in gone:
        yield annotation("warning", f"{subject.label}: {UNAVAILABLE}", str(subject.problem or UNAVAILABLE))


def _short(cell: Cell | None) -> str:
    return SHORT[cell.verdict] if cell is not None else ""


def _explain(cells: Sequence[Cell]) -> None:
    first = cells[-1]
    releases = ", ".join(cell.version or releasematrix.bare(cell.release, cell.package) for cell in cells)
    render.out(f"\n{render.colour(first.name, bold=True)}: {first.verdict} in {first.package} {releases}")
    render.out(f"  {first.reason}")
    if first.hint:
        render.out(f"  hint: {first.hint}")
