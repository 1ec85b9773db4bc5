"""The survey of this place, remembered: a second ``prtoggle list`` reads no YAML and parses no module.

A remembered survey counts where nothing that it was made from changed: every reverse patch that can be seen, where each
package lies, the metadata beside it, and every source file that was looked at. All of that is compared by content or by
place.

Example::

    surveyed().fixes[0].id
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from prtoggle.installed import search_path
from prtoggle.integrations import Integration, all_integrations
from prtoggle.packages import TREE_FOLDER
from prtoggle.runtime import cache, packagelines, sources
from prtoggle.runtime.ownstate import own_state
from prtoggle.survey import Survey

FORMAT = b"2"
_KIND = "survey"
_METADATA = (".dist-info", ".egg-info")


def surveyed(dirs: Sequence[Path] = ()) -> Survey:
    """The survey of the packages and fixes that can be seen from here."""
    path = search_path()
    found = sources.find(dirs=dirs, sys_path=path)
    key = _key(found, path)
    kept = cache.read(_KIND, key)
    if isinstance(kept, dict) and all(_digest(file) == known for file, known in kept["read"]):
        return Survey.from_data(kept["survey"])
    made, read = _survey(dirs, path)
    cache.write(_KIND, key, {"survey": _plain(made.data()), "read": tuple(read)})
    return made


def _survey(dirs: Sequence[Path], path: Sequence[str]) -> tuple[Survey, list[tuple[str, str]]]:
    from prtoggle.library import Library
    from prtoggle.sources import Sources
    from prtoggle.survey import survey

    library = Library(dirs, path)
    known = library.here
    packages = {name: library.find(name) for name in library.package_names}
    looked = {name: Sources(package) for name, package in packages.items() if package is not None}
    made = survey(known, packages, looked)
    read: dict[str, str] = {}
    for name, source in looked.items():
        locations = [str(location) for location in source.package.locations]
        for module in source.read:
            # All places that a module can be at, in order: one that comes to be counts, too.
            for file in _candidates(name, locations, module):
                read[file] = _digest(file)
    return made, list(read.items())


def _key(found: sources.FoundFiles, path: Sequence[str]) -> str:
    integrations = all_integrations()
    parts = [
        FORMAT,
        own_state().encode(),
        repr((path, sys.version_info[:3], sys.implementation.cache_tag)).encode("utf-8", "replace"),
    ]
    names = {integration.package for integration in integrations}
    for file in found.files:
        data = _read(file.path)
        parts += [repr((file.kind, file.where, file.path)).encode("utf-8", "replace"), data or b"\0unreadable"]
        names.update(packagelines.package_names((data or b"").decode("utf-8", "replace")))
    parts.append(repr(found.bad).encode("utf-8", "replace"))
    for name in sorted(names):
        locations = _locations(name, path)
        parts.append(
            repr((name, locations, [_metadata(location) for location in locations])).encode("utf-8", "replace")
        )
        parts += [
            _digest(os.path.join(os.path.dirname(each), TREE_FOLDER, "journal.json")).encode() for each in locations
        ]
        for integration in integrations:
            if integration.package == name:
                parts.extend(_registry(integration, locations))
    return cache.digest(*parts)


def _registry(integration: Integration, locations: Sequence[str]) -> Iterable[bytes]:
    for file in _candidates(integration.package, locations, integration.registry_module):
        yield _digest(file).encode()


def _candidates(package: str, locations: Sequence[str], module: str) -> list[str]:
    """The files that ``module`` can be, in the order of the search."""
    relative = module.partition(".")[2].replace(".", os.sep)
    if not relative:
        return [os.path.join(location, "__init__.py") for location in locations]
    bases = [os.path.join(location, relative) for location in locations]
    return [name for base in bases for name in (os.path.join(base, "__init__.py"), base + ".py")]


def _locations(name: str, path: Sequence[str]) -> list[str]:
    """Where package ``name`` lies: :func:`prtoggle.packages.locate` without the version."""
    portions = []
    for entry in path:
        folder = os.path.join(entry, name)
        if os.path.isfile(os.path.join(folder, "__init__.py")) or os.path.isfile(folder + ".py"):
            return [folder]
        if os.path.isdir(folder):
            portions.append(folder)
    return portions


def _metadata(location: str) -> list[tuple[str, int, int]]:
    """What of the metadata beside a package can decide its version."""
    parent = os.path.dirname(location)
    found = []
    try:
        names = sorted(name for name in os.listdir(parent) if name.endswith(_METADATA))
    except OSError:
        return []
    for name in names:
        for part in ("METADATA", "RECORD"):
            try:
                stat = os.stat(os.path.join(parent, name, part))
            except OSError:
                continue
            found.append((f"{name}/{part}", stat.st_mtime_ns, stat.st_size))
    return found


def _digest(file: str) -> str:
    data = _read(file)
    return "" if data is None else cache.digest(data)


def _read(file: str) -> bytes | None:
    try:
        with open(file, "rb") as handle:
            return handle.read()
    except OSError:
        return None


def _plain(value: Any) -> Any:
    """``value`` as marshal takes it: text that is a subclass of str, say, is none."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(_plain(item) for item in value)
    return value if value is None or isinstance(value, (bool, int)) else str(value)
