"""Findings as GitHub workflow commands, which the runner turns into annotations: one a part, since GitHub shows few.

Example::

    for line in workflow_commands(report): print(line, file=sys.stderr)
    # ::error file=fixes/pr1_x/revert.yaml,line=12,title=1/slice%3A rot::sglang 0.5.23: ...
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from prtoggle.check import UNAVAILABLE, Cell, Report
from prtoggle.errors import Place


def wanted(environ: Mapping[str, str]) -> bool:
    """Whether this runs in a GitHub workflow."""
    return environ.get("GITHUB_ACTIONS") == "true"


def workflow_commands(report: Report, root: str = "") -> Iterator[str]:
    """One line a part and verdict that is not healthy; places are relative to ``root`` where inside it."""
    root = root or os.environ.get("GITHUB_WORKSPACE") or os.getcwd()
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in report.unhealthy:
        groups.setdefault((cell.name, cell.verdict), []).append(cell)
    for (name, verdict), cells in groups.items():
        first = cells[0]
        text = [f"{cell.release}: {cell.reason}" for cell in cells]
        if first.nearest:
            text.append(f"nearest: {first.nearest}")
        if first.hint:
            text.append(f"hint: {first.hint}")
        place = Place(first.where, first.line, first.column)
        yield annotation("error", f"{name}: {verdict}", "\n".join(text), place, root)
    for subject in report.unavailable:
        yield annotation("warning", f"{subject.label}: {UNAVAILABLE}", str(subject.problem or UNAVAILABLE))


def annotation(kind: str, title: str, text: str, place: Place | None = None, root: str = "") -> str:
    """One workflow command; ``place`` is relative to ``root`` where inside it."""
    root = root or os.environ.get("GITHUB_WORKSPACE") or os.getcwd()
    place = place or Place("")
    properties = [f"file={_value(_relative(place.file, root))}"] if place.file else []
    properties += [f"line={place.line}"] if place.line else []
    properties += [f"col={place.column}"] if place.line and place.column else []
    properties.append(f"title={_value(title)}")
    return f"::{kind} {','.join(properties)}::{_message(text)}"


def _relative(file: str, root: str) -> str:
    path = Path(os.path.abspath(file))
    try:
        return path.relative_to(os.path.abspath(root)).as_posix()
    except ValueError:
        return file


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
