"""``prtoggle check``: the verdict for every part, fix and release."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from prtoggle.check import UNAVAILABLE, Cell, Report
from prtoggle.cli import render
from prtoggle.cli.context import against_options, fixes_option, json_option, parse_all

SHORT = {
    "applies": "applies",
    "contains is wrong": "WRONG",
    "not in this release (seen)": "-seen",
    "already reverted": "ALREADY",
    "half reverted": "HALF",
    "not in this release (declared)": "-decl",
    "not in this release (by version)": "-ver",
    "rot": "ROT",
    UNAVAILABLE: "?",
}
"""What a verdict is called in the matrix."""

UNUSED = "rot*"
"""A dead reverse patch that nothing uses: a source before it has the same number, and applies."""

BELOW = " (below)"
PIPED = 120
"""How wide a matrix may be where stdout is no terminal, before what says the same is folded."""

_EPILOG = """\b
Examples:
  prtoggle check
  prtoggle check 24401 27360 --against 'sglang>=0.5.13'
  prtoggle check 27360/slice --against sglang==0.5.16 --against ./checkout
  prtoggle check --fixes ./my-fixes --against engine-1.2-py3-none-any.whl --json

\b
Exit codes: 0 nothing is wrong; 1 rot, a wrong `contains`, half or already
reverted; 3 a file of fixes is malformed; 4 a release could not be had.
"""


@click.command("check", epilog=_EPILOG)
@click.argument("selections", metavar="[SELECTION]...", nargs=-1)
@click.option(
    "--against",
    metavar="WHAT",
    multiple=True,
    help="A requirement ('sglang>=0.5.13': every release in its range), a wheel or a folder; repeatable. "
    "Without it: what is installed.",
)
@click.option("--github", is_flag=True, help="GitHub annotations on stderr; the default where GITHUB_ACTIONS=true.")
@against_options
@fixes_option
@json_option
def command(
    selections: tuple[str, ...],
    against: tuple[str, ...],
    github: bool,
    python_version: str | None,
    platform: str | None,
    refresh: bool,
    fixes: tuple[Path, ...],
    as_json: bool,
) -> int:
    """The verdict for every part, fix and release. Without SELECTION: all fixes.

    Also looks at the release just below the range that a fix's `contains` names, which must not have the fix.
    """
    from prtoggle.check import check
    from prtoggle.cli.annotations import wanted, workflow_commands
    from prtoggle.library import Library
    from prtoggle.releases import Index
    from prtoggle.subjects import absent, installed, named

    selection = parse_all(selections)
    library = Library(fixes)
    with render.progress() as say:
        index = Index(python_version=python_version, platform=platform, refresh=refresh, say=say, note=_note)
        subjects = named(against, library, index, selection) if against else installed(library, selection)
    if not any(subject.package for subject in subjects):
        library.known(selection)
    with render.progress() as say:
        report = check(subjects, selection, say=say)
    _render(report, as_json)
    if not against:
        for name in absent(library, selection):
            render.words(f"prtoggle: {name} is not installed, so not checked; --against takes releases of it")
    if github or wanted(os.environ):
        for line in workflow_commands(report):
            render.words(line)
    for problem in report.problems:
        render.words(f"prtoggle: {problem}")
    return report.exit_code


def _note(text: str) -> None:
    render.words(f"prtoggle: {text}")


def _render(report: Report, as_json: bool) -> None:
    if as_json:
        render.json({"cells": [cell.data() for cell in report.cells], "exit_code": report.exit_code})
        return
    if not report.cells and not report.unavailable:
        render.out("nothing to check: no fix is for a package that is here")
    for package in dict.fromkeys(cell.package for cell in report.cells):
        _matrix(package, [cell for cell in report.cells if cell.package == package])
    _legend(report.cells)
    for cells in _groups(report.unhealthy):
        render.out()
        _explain(cells)
    for subject in report.unavailable:
        render.words(f"prtoggle: {subject.problem}")


def _matrix(package: str, cells: list[Cell]) -> None:
    releases = dict.fromkeys(sorted({(cell.release, cell.version) for cell in cells}, key=_age))
    # A column for a release that is looked at only because it stands below `contains` says so.
    listed = {cell.release for cell in cells if not cell.below}
    columns = [
        (version or _bare(release, package)) + ("" if release in listed else BELOW) for release, version in releases
    ]
    rows: dict[tuple[str, str, str, str], dict[str, Cell]] = {}
    for cell in cells:
        rows.setdefault(cell.row, {})[cell.release] = cell
    lines = [
        (next(iter(row.values())).name, [_short(row.get(release)) for release, _ in releases]) for row in rows.values()
    ]
    if render.matrix_width(package, columns, lines) > (render.width() or PIPED):
        columns, lines = _folded(columns, lines)
    render.matrix(package, columns, lines)


def _folded(columns: list[str], lines: list[tuple[str, list[str]]]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Neighbours that say the same in every row as one column: ``0.1.3 ... 0.5.12``."""
    runs: list[list[int]] = []
    for at in range(len(columns)):
        said = [cells[at] for _, cells in lines]
        if runs and said == [cells[runs[-1][0]] for _, cells in lines] and not columns[at].endswith(BELOW):
            runs[-1].append(at)
        else:
            runs.append([at])
    names = [columns[run[0]] + (f" ... {columns[run[-1]]} ({len(run)})" if len(run) > 1 else "") for run in runs]
    return names, [(name, [cells[run[0]] for run in runs]) for name, cells in lines]


def _bare(release: str, package: str) -> str:
    """The label of a release without the package's name, which stands beside it anyway."""
    return release.removeprefix(f"{package} ")


def _short(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.instead:
        return UNUSED
    return SHORT[cell.verdict] + ("!" if cell.below and not cell.healthy and cell.verdict == "applies" else "")


def _age(release: tuple[str, str]) -> tuple[int, object, str]:
    from packaging.version import InvalidVersion, Version

    try:
        return (0, Version(release[1]), release[0])
    except InvalidVersion:
        return (1, 0, release[0])


def _legend(cells: Sequence[Cell]) -> None:
    used = {cell.verdict for cell in cells if SHORT[cell.verdict] != cell.verdict and not cell.instead}
    words = [f"{short} {verdict}" for verdict, short in SHORT.items() if verdict in used]
    if any(cell.instead for cell in cells):
        words.append(f"{UNUSED} dead there and not used: another source's applies")
    if any(cell.below for cell in cells):
        words.append(f"{BELOW.strip()} just below contains: the fix must not be in it")
    if words:
        render.out("\n" + ", ".join(words))


def _groups(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Cells that say the same of several releases, together."""
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.row, cell.verdict, cell.reason), []).append(cell)
    return list(groups.values())


def _explain(cells: list[Cell]) -> None:
    first = cells[-1]  # the newest release: the place that a repair starts from
    releases = ", ".join(cell.version or _bare(cell.release, cell.package) for cell in cells)
    below = " (just below contains)" if first.below else ""
    verdict = render.colour(first.verdict, first.verdict)
    render.out(f"{render.colour(first.name, bold=True)}: {verdict} in {first.package} {releases}{below}")
    place = f"{first.where}:{first.line}: " if first.where and first.line else ""
    render.out(f"  {place}{first.reason}")
    if first.nearest:
        render.out(f"  nearest: {first.nearest}")
    if first.hint:
        render.out(f"  hint: {first.hint}")
