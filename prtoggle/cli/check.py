"""``prtoggle check``: the verdict for every part, fix and release."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from prtoggle.check import UNAVAILABLE, Cell, Report
from prtoggle.cli import completion, render
from prtoggle.cli import releasematrix as matrix
from prtoggle.cli.context import against_options, fixes_option, index_of, json_option, parse_all
from prtoggle.errors import see

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

_EPILOG = """\b
Examples:
  prtoggle check
  prtoggle check 24401 27360 --against 'sglang>=0.5.13'
  prtoggle check 27360/slice --against sglang==0.5.16 --against ./checkout
  prtoggle check --fixes ./my-fixes --against engine-1.2-py3-none-any.whl --json
  prtoggle check --prove 27360 --against 'sglang>=0.5.16'

\b
Exit codes: 0 nothing is wrong; 1 rot, a wrong `contains`, half or already
reverted, not proven; 3 a file of fixes is malformed; 4 a release could not be
had, or a case could not be run.
"""


@click.command("check", epilog=_EPILOG)
@click.argument("selections", metavar="[SELECTION]...", nargs=-1, shell_complete=completion.selection)
@click.option(
    "--against",
    metavar="WHAT",
    multiple=True,
    help="A requirement ('sglang>=0.5.13': every release in its range), a wheel or a folder; repeatable. "
    "Without it: what is installed.",
)
@click.option("--github", is_flag=True, help="GitHub annotations on stderr; the default where GITHUB_ACTIONS=true.")
@click.option(
    "--prove",
    is_flag=True,
    help="Run the releases' own code, fixed and reverted, and compare the reverted definitions' syntax trees.",
)
@click.option("--jobs", metavar="N", type=click.IntRange(1), help="How many cases of --prove run at a time.")
@against_options
@fixes_option
@json_option
def command(
    selections: tuple[str, ...],
    against: tuple[str, ...],
    github: bool,
    prove: bool,
    jobs: int | None,
    python_version: str | None,
    platform: str | None,
    refresh: bool,
    fixes: tuple[Path, ...],
    as_json: bool,
) -> int:
    """The verdict for every part, fix and release. Without SELECTION: all fixes.

    Also looks at the release just below the range that a fix's `contains` names, which must not have the fix.
    With --prove: whether each fix does in each release what it claims to do.
    """
    from prtoggle.check import check
    from prtoggle.cli.annotations import wanted, workflow_commands
    from prtoggle.library import Library
    from prtoggle.subjects import absent, installed, named

    selection = parse_all(selections)
    library = Library(fixes)
    with render.progress() as say:
        index = index_of(say, python_version=python_version, platform=platform, refresh=refresh)
        subjects = named(against, library, index, selection) if against else installed(library, selection)
    if not any(subject.package for subject in subjects):
        library.known(selection)
    if prove:
        from prtoggle.cli.checkproof import prove_all

        return prove_all(subjects, selection, fixes, jobs=jobs, as_json=as_json, github=github or wanted(os.environ))
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


def _render(report: Report, as_json: bool) -> None:
    if as_json:
        render.json({"cells": [cell.data() for cell in report.cells], "exit_code": report.exit_code})
        return
    if not report.cells and not report.unavailable:
        render.out("nothing to check: no fix is for a package that is here")
    for package in dict.fromkeys(cell.package for cell in report.cells):
        matrix.draw(package, [cell for cell in report.cells if cell.package == package], _short)
    _legend(report.cells)
    for cells in _groups(report.unhealthy):
        render.out()
        _explain(cells)
    pages = dict.fromkeys(cell.page for cell in report.unhealthy if cell.page)
    for page in pages:
        render.out(see(page))
    for subject in report.unavailable:
        render.words(f"prtoggle: {subject.problem}")


def _short(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.instead:
        return UNUSED
    return SHORT[cell.verdict] + ("!" if cell.below and not cell.healthy and cell.verdict == "applies" else "")


def _legend(cells: Sequence[Cell]) -> None:
    used = {cell.verdict for cell in cells if SHORT[cell.verdict] != cell.verdict and not cell.instead}
    words = [f"{short} {verdict}" for verdict, short in SHORT.items() if verdict in used]
    if any(cell.instead for cell in cells):
        words.append(f"{UNUSED} dead there and not used: another source's applies")
    if any(cell.below for cell in cells):
        words.append(f"{matrix.BELOW.strip()} just below contains: the fix must not be in it")
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
    releases = ", ".join(cell.version or matrix.bare(cell.release, cell.package) for cell in cells)
    below = " (just below contains)" if first.below else ""
    verdict = render.colour(first.verdict, first.verdict)
    render.out(f"{render.colour(first.name, bold=True)}: {verdict} in {first.package} {releases}{below}")
    place = f"{first.where}:{first.line}: " if first.where and first.line else ""
    render.out(f"  {place}{first.reason}")
    if first.nearest:
        render.out(f"  nearest: {first.nearest}")
    if first.hint:
        render.out(f"  hint: {first.hint}")
