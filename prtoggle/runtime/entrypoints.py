"""The fix folders that other distributions announce, as entry points of the group ``prtoggle.fixes``.

The value of such an entry point names a package, whose folder holds ``pr<number>_<slug>/revert.yaml``. The folder is
located without importing anything: on the path, through the finder that an editable install wrote, or in its project's
own folder.

Example, in a distribution's ``entry_points.txt``::

    [prtoggle.fixes]
    mine = my_fixes

gives ``EntryPoint("mine", "my_fixes", "my-distribution", "/site-packages/my_fixes")``.

Only ``os`` and ``sys`` are imported: ``importlib.metadata`` costs more than all of this. (``ast`` and ``json`` are,
where an editable install asks for them.)
"""

from __future__ import annotations

import os
import sys

from prtoggle.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GROUP = "prtoggle.fixes"


class EntryPoint(Value):
    """One announcement. ``folder`` is empty where the package that ``value`` names is nowhere to be found."""

    _fields = ("name", "value", "distribution", "folder")
    __slots__ = _fields
    name: str
    value: str
    distribution: str
    folder: str

    def __init__(self, name: str, value: str, distribution: str, folder: str) -> None:
        self._set(name, value, distribution, folder)


def entry_points(sys_path: Sequence[str] | None = None) -> tuple[EntryPoint, ...]:
    """All announcements on ``sys_path`` (default: the running one), in its order.

    As for an import, the first copy of a distribution hides later ones.
    """
    path = [entry or os.curdir for entry in (sys.path if sys_path is None else sys_path) if isinstance(entry, str)]
    found = []
    for info, distribution, text in _announcing(path):
        for name, value in _entries(text):
            found.append(EntryPoint(name, value, distribution, _locate(value, path, info)))
    return tuple(found)


def _announcing(path: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """The metadata folder, the name and the ``entry_points.txt`` of each distribution that speaks of our group."""
    group, seen = GROUP.encode(), set()
    for entry in dict.fromkeys(path):
        try:
            names = os.listdir(entry)
        except OSError:
            continue
        for name in sorted(name for name in names if name.endswith((".dist-info", ".egg-info"))):
            distribution = name.rpartition(".")[0].partition("-")[0].replace("_", "-").replace(".", "-").lower()
            if distribution in seen:
                continue
            seen.add(distribution)
            info = f"{entry}{os.sep}{name}"  # not os.path.join: for hundreds of them it counts at a target's start
            data = _read(f"{info}{os.sep}entry_points.txt")
            if group in data:
                yield info, distribution, data.decode("utf-8", "replace")


def _read(file: str) -> bytes:
    """The contents of ``file``, or nothing. Unbuffered: most of the hundreds of files asked for are short or not
    there."""
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError:
        return b""
    pieces = []
    try:
        while piece := os.read(descriptor, 1 << 12):
            pieces.append(piece)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return b"".join(pieces)


def _entries(text: str) -> Iterator[tuple[str, str]]:
    inside = False
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and line and line[0] not in "#;":
            name, sign, value = line.partition("=")
            if sign:
                yield name.strip(), value.partition("[")[0].partition(":")[0].strip()


def _locate(package: str, path: Sequence[str], info: str) -> str:
    """The folder of ``package``, or an empty string."""
    if not package or not all(piece.isidentifier() for piece in package.split(".")):
        return ""
    relative = package.replace(".", os.sep)
    for entry in path:
        folder = os.path.join(entry, relative)
        if os.path.isdir(folder):
            return os.path.abspath(folder)
    for folder in _editable_folders(package, relative, info):
        if os.path.isdir(folder):
            return os.path.abspath(folder)
    return ""


def _editable_folders(package: str, relative: str, info: str) -> Iterator[str]:
    """Where an editable install that puts nothing on the path says that ``package`` is."""
    site = os.path.dirname(info)
    for name in sorted(os.listdir(site)):
        if name.startswith("__editable__") and name.endswith("_finder.py"):
            for known, folder in _mapping(_read(os.path.join(site, name)).decode("utf-8", "replace")):
                if known == package:
                    yield folder
                elif package.startswith(known + "."):
                    yield os.path.join(folder, package[len(known) + 1 :].replace(".", os.sep))
    project = _editable_project(_read(os.path.join(info, "direct_url.json")))
    if project:
        yield os.path.join(project, relative)
        yield os.path.join(project, "src", relative)


def _mapping(finder: str) -> Iterator[tuple[str, str]]:
    """The package -> folder pairs that setuptools writes into the finder of an editable install."""
    import ast

    for line in finder.splitlines():
        if line.startswith("MAPPING") and "=" in line:
            try:
                pairs = ast.literal_eval(line.partition("=")[2].strip())
            except (ValueError, SyntaxError):
                return
            if isinstance(pairs, dict):
                yield from ((str(known), str(folder)) for known, folder in pairs.items())


def _editable_project(direct_url: bytes) -> str:
    """The folder of the project that an editable install points to, or an empty string."""
    if b'"editable"' not in direct_url:
        return ""
    import json
    from urllib.parse import unquote

    try:
        url = json.loads(direct_url)["url"]
    except (ValueError, LookupError, TypeError):
        return ""
    scheme = "file://"
    return unquote(url[len(scheme) :]) if isinstance(url, str) and url.startswith(scheme) else ""
