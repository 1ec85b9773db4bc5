"""What the files and registries of all sources hold: a fix each, or a problem.

Example::

    entries_of(find(environ={"PRTOGGLE_PATH": "/my/fixes"}).files)      # [Fix(...), Problem(...)]
    registry_entries(sglang.INTEGRATION, Path("/site-packages/sglang"))
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prtoggle.errors import MalformedError, Place, RefusedError
from prtoggle.integrations import Integration
from prtoggle.registry import read, registry_file
from prtoggle.runtime.packagelines import package_names
from prtoggle.runtime.sources import FixFile
from prtoggle.runtime.sources import read as read_file
from prtoggle.spec import Fix, Origin
from prtoggle.yamlfile import load as load_file

_SOURCES = "choosing#where-fixes-come-from"


@dataclass(frozen=True)
class Problem:
    """A reverse patch that does not load.

    Attributes:
        error: all that is wrong with it.
        number: the number that it would have, or empty where that is not known.
        packages: the packages that its lines name.
    """

    error: MalformedError
    number: str
    packages: tuple[str, ...]
    origin: Origin
    path: str


def entries_of(files: Sequence[FixFile]) -> list[Fix | Problem]:
    """What each of ``files`` holds, in their order."""
    return _without_twins([_load(file) for file in files], files)


def _load(file: FixFile) -> Fix | Problem:
    origin = Origin(file.kind, file.where)
    try:
        return load_file(file.path, origin=origin)
    except MalformedError as error:
        return Problem(error, file.number, _names_in(file.path), origin, file.path)


def _names_in(path: str) -> tuple[str, ...]:
    try:
        return package_names(read_file(path).decode("utf-8", "replace"))
    except OSError:
        return ()


def _without_twins(entries: list[Fix | Problem], files: Sequence[FixFile]) -> list[Fix | Problem]:
    """``entries``, with those that have one number, one project and one source made a problem that names them all.

    All distributions are one source: nobody chose the order in which they lie in a folder.
    """
    twins: dict[tuple[str, str, str, str], list[int]] = {}
    for index, (entry, file) in enumerate(zip(entries, files, strict=True)):
        if isinstance(entry, Fix):
            where = "" if file.kind == "entry-point" else file.where
            twins.setdefault((file.kind, where, entry.id, entry.project.lower()), []).append(index)
    for indices in twins.values():
        if len(indices) > 1:
            error = MalformedError((_twins_error([files[index] for index in indices]),))
            for index in indices:
                entry, file = entries[index], files[index]
                origin = Origin(file.kind, file.where)
                entries[index] = Problem(error, file.number, entry.packages, origin, file.path)
    return entries


def _twins_error(files: Sequence[FixFile]) -> RefusedError:
    number, place = files[0].number, Place(files[0].path)
    distributions = tuple(dict.fromkeys(file.where for file in files))
    if len(distributions) > 1:
        return RefusedError(
            f"{len(distributions)} distributions have a fix {number}: {' and '.join(distributions)}, expected one",
            place=place,
            hint="uninstall one; or name the folder that is meant with --fixes or PRTOGGLE_PATH, which come first",
            page=_SOURCES,
        )
    folders = " and ".join(os.path.dirname(file.path) for file in files)
    return RefusedError(f"two folders are for {number}: {folders}, expected one", place=place, page=_SOURCES)


def registry_entries(integration: Integration, root: Path) -> list[Fix | Problem]:
    """The fixes of the registry that the package in ``root`` carries, and what of it cannot be read."""
    file = registry_file(integration, root)
    try:
        source = file.read_bytes()
    except FileNotFoundError:  # releases before the registry
        return []
    except OSError as failure:
        error = RefusedError(f"cannot be read: {failure.strerror or failure}", place=Place(str(file)))
        return [_registry_problem(integration, file, "", MalformedError((error,)))]
    registry = read(source, name=str(file), integration=integration)
    problems = [_registry_problem(integration, file, each.number, each.error) for each in registry.problems]
    return [*registry.fixes, *problems]


def _registry_problem(integration: Integration, file: Path, number: str, error: MalformedError) -> Problem:
    return Problem(error, number, (integration.package,), Origin("registry", integration.package), str(file))
