"""``prtoggle list``: the fixes, their parts, and what each would do to what is installed here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from prtoggle.cli import render
from prtoggle.cli.context import fixes_option, json_option
from prtoggle.survey import FixHere, PackageHere, Survey
from prtoggle.surveyed import surveyed

_EPILOG = """\b
Examples:
  prtoggle list
  prtoggle list --fixes ./my-fixes
  prtoggle list --json | jq '.fixes[].id'

\b
Exit codes: 0, also where a file of fixes does not load: it is named on stderr;
2 a folder that --fixes names is not there.
"""


@click.command("list", epilog=_EPILOG)
@fixes_option
@json_option
def command(fixes: tuple[Path, ...], as_json: bool) -> None:
    """The fixes, their parts, and what each would do to what is installed here, and why not.

    A part that a bare number takes out is marked with a star. The package prtoggle_fixes is prtoggle's own:
    a small copy of the code of each bundled fix, for the demo and for trying things out. A version is not
    relied on where no installed distribution says that the files are its own; the text alone decides then.
    """
    here = surveyed(fixes)
    if as_json:
        render.json(_data(here))
    else:
        _show(here)
    for problem in here.problems:
        render.words(f"prtoggle: {problem}")


def _data(here: Survey) -> dict[str, Any]:
    data = here.data()
    for fix in data["fixes"]:
        fix["parts"] = dict(fix["parts"])
        fix["origin"] = {"kind": fix.pop("origin_kind"), "where": fix.pop("origin_where")}
    for package in data["packages"]:
        package["installed"] = bool(package["where"])
    return data


def _show(here: Survey) -> None:
    for package in here.packages:
        believed = "" if package.believed or not package.where else "; its version is not relied on"
        render.out(f"{package.label}  {package.where}{believed}" if package.where else package.label)
    for fix in here.fixes:
        render.out()
        _show_fix(fix, here)
    if not here.fixes:
        render.out("no fixes")


def _show_fix(fix: FixHere, here: Survey) -> None:
    render.out(f"{render.colour(fix.id, bold=True)}  {fix.title}  [{origin(fix)}]")
    labels = {package.name: package.label for package in here.packages}
    rows = [
        (labels[package.package] if index == 0 else "", star(fix, part.part), part.verdict, _why(package, index))
        for package in fix.packages
        for index, part in enumerate(package.parts)
    ]
    if rows:
        render.table(rows, indent="  ")
    for name in fix.absent:
        if not fix.packages:
            render.out(f"  {', '.join(star(fix, part) for part, _ in fix.parts)}: {name} is not installed")
        else:
            render.out(f"  {name} is not installed")


def origin(fix: FixHere) -> str:
    """Where a fix came from, in a word or two."""
    if fix.origin_kind == "bundled":
        return "bundled"
    return f"{fix.origin_kind} {fix.origin_where}"


def star(fix: FixHere, part: str) -> str:
    """The part's name, with a star where it is not alone and a bare number means it."""
    return f"{part}*" if part in fix.default and len(fix.parts) > 1 else part


def _why(package: PackageHere, index: int) -> str:
    restore = package.parts[index].restore
    return _state(package, index) + (f"; {restore} puts it back" if restore else "")


def _state(package: PackageHere, index: int) -> str:
    part = package.parts[index]
    if package.shadowed_by:
        if part.applies:
            return f"not used: {package.shadowed_by} comes first"
        state = part.verdict if part.healthy else "dead here"
        return f"{state}, not used: {package.shadowed_by} applies; {part.reason}"
    if part.applies:
        return ""
    return (
        part.reason if part.healthy or not part.nearest else f"{part.reason} (nearest: {part.nearest.splitlines()[0]})"
    )
