"""Cells of parts and releases as a matrix: a row for each part, a column for each release, oldest first.

Example::

    releasematrix.draw("sglang", cells, short=lambda cell: cell.verdict if cell else "")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from prtoggle.cli import render

BELOW = " (below)"
PIPED = 120
"""How wide a matrix may be where stdout is no terminal, before what says the same is folded."""


class Cell(Protocol):
    """What is known of one part in one release."""

    @property
    def row(self) -> tuple[str, str, str, str]: ...
    @property
    def name(self) -> str: ...
    @property
    def release(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def below(self) -> bool: ...


C = TypeVar("C", bound=Cell)


def draw(package: str, cells: Sequence[C], short: Callable[[C | None], str]) -> None:
    """The matrix of one package's cells."""
    releases = dict.fromkeys(sorted({(cell.release, cell.version) for cell in cells}, key=_age))
    # A column for a release that is looked at only because it stands below `contains` says so.
    listed = {cell.release for cell in cells if not cell.below}
    columns = [
        (version or bare(release, package)) + ("" if release in listed else BELOW) for release, version in releases
    ]
    rows: dict[tuple[str, str, str, str], dict[str, C]] = {}
    for cell in cells:
        rows.setdefault(cell.row, {})[cell.release] = cell
    lines = [
        (name, [short(row.get(release)) for release, _ in releases])
        for name, row in zip(_names(rows), rows.values(), strict=True)
    ]
    if render.matrix_width(package, columns, lines) > (render.width() or PIPED):
        columns, lines = _folded(columns, lines)
    render.matrix(package, columns, lines)


def _names(rows: Mapping[tuple[str, str, str, str], Mapping[str, Cell]]) -> list[str]:
    """What each row is called; with its source where several have the name: the kind alone if that tells them apart."""
    named: dict[str, list[str]] = {}
    for key, row in rows.items():
        named.setdefault(next(iter(row.values())).name, []).append(key[2])
    found = []
    for key, row in rows.items():
        name = next(iter(row.values())).name
        kind = key[2].partition(" ")[0]
        kinds = [source.partition(" ")[0] for source in named[name]]
        found.append(name if len(kinds) == 1 else f"{name} ({kind if kinds.count(kind) == 1 else key[2]})")
    return found


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


def bare(release: str, package: str) -> str:
    """The label of a release without the package's name, which stands beside it anyway."""
    return release.removeprefix(f"{package} ")


def _age(release: tuple[str, str]) -> tuple[int, object, str]:
    from packaging.version import InvalidVersion, Version

    try:
        return (0, Version(release[1]), release[0])
    except InvalidVersion:
        return (1, 0, release[0])
