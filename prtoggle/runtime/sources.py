"""Which files hold fixes, and where each came from: paths only, nothing of them is read.

Sources in order: the folders named (``--fixes``), those of ``PRTOGGLE_PATH``, the bundled folder, and what other
distributions announce. Each is a folder of folders ``pr<number>_<slug>`` with a ``revert.yaml`` in each; a folder
named or in ``PRTOGGLE_PATH`` may also be one of the latter itself.

Example::

    find(environ={"PRTOGGLE_PATH": "/my/fixes"}).files[0]
    # FixFile("path", "/my/fixes", "/my/fixes/pr7_x/revert.yaml")

A registry that a package carries itself is not a file of ours; :mod:`prtoggle.registry` reads those.
"""

from __future__ import annotations

import os
import sys

from prtoggle.runtime.entrypoints import entry_points
from prtoggle.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

VARIABLE = "PRTOGGLE_PATH"
FILE = "revert.yaml"
BUNDLED = "prtoggle_fixes"
MOST = 64 << 20
_KIND, _REGULAR, _INVALID = 0o170000, 0o100000, 22  # as in stat and errno, which cost an import


class FixFile(Value):
    """A reverse patch on disk. ``kind`` and ``where`` are those of its origin: ``dir``, ``path``, ``bundled`` or
    ``entry-point``, and the folder or the distribution."""

    _fields = ("kind", "where", "path")
    __slots__ = _fields
    kind: str
    where: str
    path: str

    def __init__(self, kind: str, where: str, path: str) -> None:
        self._set(kind, where, path)

    @property
    def number(self) -> str:
        """The PR number that its folder's name gives, or an empty string."""
        return folder_number(self.path)


class BadSource(Value):
    """A source that was named and cannot be read: ``where`` names it, ``what`` is wrong with it."""

    _fields = ("kind", "where", "what")
    __slots__ = _fields
    kind: str
    where: str
    what: str

    def __init__(self, kind: str, where: str, what: str) -> None:
        self._set(kind, where, what)


class FoundFiles(Value):
    """All files, in the order of their sources, and the sources that could not be read."""

    _fields = ("files", "bad")
    __slots__ = _fields
    files: tuple[FixFile, ...]
    bad: tuple[BadSource, ...]

    def __init__(self, files: tuple[FixFile, ...], bad: tuple[BadSource, ...]) -> None:
        self._set(files, bad)


def find(
    *,
    dirs: Sequence[str | os.PathLike[str]] = (),
    environ: Mapping[str, str] | None = None,
    sys_path: Sequence[str] | None = None,
) -> FoundFiles:
    """Every reverse patch of every source. A folder that two sources share counts for the first."""
    files: list[FixFile] = []
    bad: list[BadSource] = []
    seen: set[str] = set()
    for kind, where, folder, missing in _folders(dirs, os.environ if environ is None else environ, sys_path):
        if missing:
            bad.append(BadSource(kind, where, missing))
            continue
        real = os.path.realpath(folder)
        if real in seen:
            continue
        seen.add(real)
        try:
            files.extend(FixFile(kind, where, path) for path in _files(folder))
        except OSError as error:
            if kind == "bundled" and isinstance(error, FileNotFoundError):
                continue
            bad.append(BadSource(kind, where, f"no folder of fixes: {error.strerror or error}"))
    return FoundFiles(tuple(files), tuple(bad))


def fix_files(
    *,
    dirs: Sequence[str | os.PathLike[str]] = (),
    environ: Mapping[str, str] | None = None,
    sys_path: Sequence[str] | None = None,
) -> tuple[FixFile, ...]:
    """The files of :func:`find` alone."""
    return find(dirs=dirs, environ=environ, sys_path=sys_path).files


_listed: tuple[object, list[tuple[str, str]], tuple[BadSource, ...]] | None = None


def listed(fix_path: str) -> list[tuple[str, str]]:
    """Kind and path of every reverse patch that this process can see, ``fix_path`` being ``PRTOGGLE_PATH``.

    Remembered, and looked for again where ``sys.path`` changed since.
    """
    global _listed
    seen = (fix_path, list(sys.path))
    if _listed is None or _listed[0] != seen:
        found = find(environ={VARIABLE: fix_path})
        _listed = (seen, [(file.kind, file.path) for file in found.files], found.bad)
    return _listed[1]


def unreadable(fix_path: str) -> tuple[BadSource, ...]:
    """The sources that :func:`listed` could not read."""
    listed(fix_path)
    assert _listed is not None
    return _listed[2]


def read(path: str | os.PathLike[str]) -> bytes:
    """The contents of a regular file of at most :data:`MOST` bytes. Raises OSError for all else: a pipe would wait for
    ever, and a device has no end."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        found = os.fstat(handle)
        if found.st_mode & _KIND != _REGULAR:
            raise OSError(_INVALID, "not a regular file", os.fspath(path))
        if found.st_size > MOST:
            raise OSError(_INVALID, f"longer than {MOST >> 20} MiB", os.fspath(path))
        data = os.read(handle, found.st_size + 1)  # open() and its buffer cost more than all of the rest
        while len(data) != found.st_size and len(data) <= MOST and (more := os.read(handle, MOST + 1 - len(data))):
            data += more
        return data
    finally:
        os.close(handle)


def folder_number(path: str | os.PathLike[str]) -> str:
    """The number in the name ``pr<number>_<slug>`` of the folder that ``path``, a file, stands in; else an empty
    string."""
    name = os.path.basename(os.path.dirname(os.path.abspath(path)))
    number, sign, slug = name[2:].partition("_")
    good = name[:2] == "pr" and sign and slug and number.isascii() and number.isdigit() and number[0] != "0"
    return number if good else ""


def bundled_folder() -> str:
    """The folder of the fixes that come with prtoggle: found by path, so that a module called ``fixes`` breaks
    nothing."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return os.path.join(os.path.dirname(package), BUNDLED)


def _folders(
    dirs: Sequence[str | os.PathLike[str]], environ: Mapping[str, str], sys_path: Sequence[str] | None
) -> Iterator[tuple[str, str, str, str]]:
    """Kind, name and folder of each source, in order; and why it has no folder, where it has none."""
    for folder in dirs:
        folder = os.path.abspath(folder)
        yield "dir", folder, folder, ""
    for entry in environ.get(VARIABLE, "").split(os.pathsep):
        if entry.strip():
            folder = os.path.abspath(entry)
            yield "path", folder, folder, ""
    yield "bundled", bundled_folder(), bundled_folder(), ""
    for point in entry_points(sys_path):
        lost = f"the package {point.value} that it names for prtoggle.fixes is not installed"
        if not point.value:
            lost = f"its entry point {point.name} names no package for prtoggle.fixes"
        yield "entry-point", point.distribution, point.folder, "" if point.folder else lost


def _files(folder: str) -> list[str]:
    """What is called ``revert.yaml`` and is no file counts too: reading it says so, passing over it would not."""
    itself = os.path.join(folder, FILE)
    if os.path.lexists(itself):
        return [itself]
    files = [os.path.join(folder, name, FILE) for name in sorted(os.listdir(folder))]
    return [file for file in files if os.path.lexists(file)]
