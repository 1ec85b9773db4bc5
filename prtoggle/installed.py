"""Which packages are installed here, as a target started in this folder would find them; nothing of them is imported.

Example::

    find("sglang").label        # "sglang 0.5.16"
    registries()                # ((Integration sglang, Path(".../site-packages/sglang")),)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from prtoggle.integrations import Integration, all_integrations
from prtoggle.packages import Package, from_locations, locate


def search_path() -> list[str]:
    """What ``python -m target`` would search when started here: this folder, then ``sys.path`` without our script's."""
    path = list(sys.path)
    if path and path[0] and not getattr(sys.flags, "safe_path", False):
        # `python -m` puts the current folder first, a console script its own folder.
        script = os.path.dirname(os.path.abspath(sys.argv[0])) if sys.argv and sys.argv[0] else ""
        if os.path.realpath(path[0]) in (os.path.realpath(script), os.path.realpath(os.getcwd())):
            path = path[1:]
    return list(dict.fromkeys([os.getcwd(), *(entry for entry in path if entry)]))


def find(name: str, path: Sequence[str] | None = None) -> Package | None:
    """The copy of package ``name`` that a target would import; None where there is none."""
    package = locate(name, search_path() if path is None else path)
    return package or _by_finders(name)


def _by_finders(name: str) -> Package | None:
    """What the finders of editable installs say, which stand behind the search of the path."""
    for finder in sys.meta_path:
        kind = finder if isinstance(finder, type) else type(finder)
        if kind.__module__.startswith(("prtoggle.", "_frozen_importlib", "importlib")):
            continue
        try:
            spec = finder.find_spec(name, None, None)
        except Exception:
            continue  # somebody else's hook: what it cannot say is not here
        if spec is not None:
            return from_locations(
                name, list(spec.submodule_search_locations or ()), spec.origin if spec.has_location else None
            )
    return None


def registries(path: Sequence[str] | None = None) -> tuple[tuple[Integration, Path], ...]:
    """The integrations whose package is installed, each with the package's folder."""
    found = []
    for integration in all_integrations():
        package = find(integration.package, path)
        if package is not None and package.locations:
            found.append((integration, package.locations[0]))
    return tuple(found)
