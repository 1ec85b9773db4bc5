"""What is known of a tree whose files were changed: frozen values, and how they are written as JSON.

Each file has three texts that it may have: ``before`` (the fixed one, kept), ``was`` (before the last change) and
``goal`` (after it). Which of them it has now is told by its bytes.

Example::

    journal.entries[0].path, journal.entries[0].goal     # ("sglang/srt/x.py", "9f86d0...")
    read_journal(written(journal)) == journal
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

from prtoggle.selection import Choice, Selection

FORMAT = 1


@dataclass(frozen=True)
class Look:
    """A file as it was: the hash of its bytes, its mode, owner and time."""

    sha256: str
    mode: int
    uid: int
    gid: int
    mtime_ns: int


@dataclass(frozen=True)
class Compiled:
    """A ``.pyc`` that was there before, kept as well; ``path`` from the tree's root."""

    path: str
    look: Look


@dataclass(frozen=True)
class Entry:
    """One file.

    Attributes:
        path: from the tree's root, with slashes; no link is on it.
        modules: the paths by which Python finds it: itself, and links that lead to it.
        parts: what changes it.
        before: how it was when nothing was reverted.
        was: the hash of its bytes before the last change.
        goal: and after it.
        compiled: what Python had compiled of it.
    """

    path: str
    modules: tuple[str, ...]
    parts: tuple[str, ...]
    before: Look
    was: str
    goal: str
    compiled: tuple[Compiled, ...] = ()

    @property
    def known(self) -> frozenset[str]:
        """The hashes that it may have where nobody else changed it."""
        return frozenset((self.before.sha256, self.was, self.goal))


@dataclass(frozen=True)
class Out:
    """A part that is out: ``name`` as messages have it, the fix's project, and the package."""

    name: str
    project: str
    package: str

    @property
    def choice(self) -> Choice:
        """The same as a selection names it."""
        if is_diff(self.name):
            return Choice("diff", path=self.name)
        number, _, part = self.name.partition("/")
        return Choice("fix", self.project, int(number), (part,) if part else None)


def is_diff(name: str) -> bool:
    """Whether a part's name is the path of a diff."""
    return name.lower().endswith((".diff", ".patch"))


def selection_of(parts: tuple[Out, ...]) -> Selection:
    """All of ``parts`` as one selection."""
    return Selection(tuple(part.choice for part in parts))


@dataclass(frozen=True)
class Journal:
    """All that is known of a tree. ``was`` and ``parts`` are what was out before the last change, and after it;
    ``packages`` their packages with versions."""

    by: str
    time: str
    packages: tuple[tuple[str, str], ...]
    was: tuple[Out, ...]
    parts: tuple[Out, ...]
    entries: tuple[Entry, ...]


def written(journal: Journal) -> bytes:
    """The journal's bytes."""
    return json.dumps({"format": FORMAT, **asdict(journal)}, indent=1).encode("ascii") + b"\n"


def read_journal(data: bytes) -> Journal:
    """The journal of ``data``. Raises ValueError where it is none, or names a path outside the tree."""
    try:
        found: dict[str, Any] = json.loads(data)
        if found["format"] != FORMAT:
            raise OtherFormatError(f"its format is {found['format']}, and this version of prtoggle reads {FORMAT}")
        return Journal(
            _text(found["by"]),
            _text(found["time"]),
            tuple((_text(name), _text(version)) for name, version in found["packages"]),
            tuple(map(_out, found["was"])),
            tuple(map(_out, found["parts"])),
            tuple(map(_entry, found["entries"])),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


class OtherFormatError(ValueError):
    """A journal that another version of prtoggle wrote."""


def _entry(found: dict[str, Any]) -> Entry:
    return Entry(
        _inside(found["path"]),
        tuple(map(_inside, found["modules"])),
        tuple(map(_text, found["parts"])),
        _look(found["before"]),
        _text(found["was"]),
        _text(found["goal"]),
        tuple(Compiled(_inside(each["path"]), _look(each["look"])) for each in found["compiled"]),
    )


def _look(found: dict[str, Any]) -> Look:
    numbers = (_number(found[name]) for name in ("mode", "uid", "gid", "mtime_ns"))
    return Look(_text(found["sha256"]), *numbers)


def _out(found: dict[str, Any]) -> Out:
    name = _text(found["name"])
    if not is_diff(name) and not name.partition("/")[0].isdecimal():
        raise ValueError(f"{name!r} is the name of no part")
    return Out(name, _text(found["project"]), _text(found["package"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} stands where a text is expected")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise ValueError(f"{value!r} stands where a number is expected")
    return value


def _inside(value: object) -> str:
    path = _text(value)
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in path:
        raise ValueError(f"{path!r} leads out of the tree")
    return path
