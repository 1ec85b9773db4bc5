"""Watches which Python processes descend from a command, through ``/proc`` (Linux), while it runs.

A process belongs to the command when a parent of it does, or when its environment names the run's journal (one that
left the family by forking twice). What it has seen stays known after the process is gone.

Example::

    watch = Watch(process.pid, journal_folder)
    while running:
        watch.look()
    unreached(watch.pythons, entries, ...)

A process that lives for less than the time between two looks may be missed; :data:`BLIND_SPOTS` says what else may be.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prtoggle.dependencies import install_line
from prtoggle.journals import Entry
from prtoggle.runtime.journal import VARIABLE as JOURNAL

REVERT = "PRTOGGLE_REVERT"
SEES = sys.platform.startswith("linux")
BLIND_SPOTS = (
    "Pythons that lived for less than a fifth of a second",
    "other machines, containers and users",
    "what a service started earlier starts for the command (Ray workers)",
)
_PYTHONS = ("python", "pypy")
_OPTIONS_WITH_VALUE = "WXcm"
_YOUNG = 1.0
"""Seconds in which a Python may still be on its way to its first journal line."""


Image = tuple[int, int, int]
"""Where the arguments and the environment of a program stand in its memory."""
_HIDDEN: Image = (0, 0, 0)


@dataclass
class Seen:
    """One process as it was last seen.

    Attributes:
        argv, environ: those with which its program was started, whatever the program made of them since (setproctitle).
            ``environ`` is None where it may not be read.
        images: what told its program's memory image from others: a fork has its parent's, ``exec`` makes a new one.
        age: seconds that it had lived for.
    """

    pid: int
    start: int
    ppid: int
    exe: str = ""
    argv: tuple[str, ...] = ()
    environ: Mapping[str, str] | None = None
    age: float = 0.0
    images: tuple[Image, ...] = ()
    parent: Seen | None = field(default=None, repr=False)

    @property
    def is_python(self) -> bool:
        """Whether its executable is called as Pythons are."""
        name = os.path.basename(self.exe or (self.argv[0] if self.argv else ""))
        return name.startswith(_PYTHONS)


@dataclass(frozen=True)
class Unreached:
    """A Python that descends from the command and in which prtoggle did not start."""

    pid: int
    argv: tuple[str, ...]
    reason: str


class Watch:
    """Everything seen so far of the processes that descend from ``pid``."""

    def __init__(self, pid: int, journal: str) -> None:
        self.journal = journal
        self.ours: dict[int, Seen] = {}
        self.gone: list[Seen] = []
        self._others: set[int] = set()
        self._ticks = os.sysconf("SC_CLK_TCK") if SEES else 100
        if SEES:
            root = self._first_sight(pid)
            if root is not None:
                self.ours[pid] = root

    @property
    def pythons(self) -> tuple[Seen, ...]:
        """Every Python seen, those that ended first."""
        return tuple(seen for seen in (*self.gone, *self.ours.values()) if seen.is_python)

    def look(self) -> None:
        """Look once at all processes."""
        if not SEES:
            return
        try:
            pids = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        except OSError:
            return
        for pid in [pid for pid in self.ours if pid not in pids]:
            self._bury(pid)
        self._others &= pids
        for pid in pids & self.ours.keys():
            self._refresh(self.ours[pid])
        new = [seen for seen in map(self._first_sight, pids - self._others - self.ours.keys()) if seen is not None]
        while True:  # until no new process has a parent among ours: children may be listed before their parents
            strangers = [seen for seen in new if not self._takes(seen)]
            if len(strangers) == len(new):
                break
            new = strangers
        self._others.update(seen.pid for seen in new)

    def still_running(self, *, helpers: bool = True) -> tuple[int, ...]:
        """The processes that go on now, zombies not counted, and on demand those not in which none of the command's
        code runs: multiprocessing's resource tracker, which outlives its process by a moment, and prtoggle's own."""
        found = []
        for seen in self.ours.values():
            tracker = any("multiprocessing.resource_tracker" in word for word in seen.argv)
            if not helpers and (tracker or _is_helper(seen)):
                continue
            stat = _stat(seen.pid)
            if stat is not None and stat.start == seen.start and not stat.zombie:
                found.append(seen.pid)
        return tuple(sorted(found))

    def send(self, number: int) -> None:
        """Send a signal to all of them."""
        for pid in self.still_running():
            try:
                os.kill(pid, number)
            except OSError:
                pass

    def _takes(self, seen: Seen) -> bool:
        """Whether ``seen`` is of the command; then it is kept."""
        seen.parent = self.ours.get(seen.ppid)
        if seen.parent is None and not (seen.environ is not None and seen.environ.get(JOURNAL) == self.journal):
            return False
        self.ours[seen.pid] = seen
        return True

    def _bury(self, pid: int) -> None:
        seen = self.ours.pop(pid)
        self.gone.append(seen)

    def _first_sight(self, pid: int) -> Seen | None:
        stat = _stat(pid)
        if stat is None:
            return None
        seen = Seen(pid, stat.start, stat.ppid)
        self._read(seen, stat.image)
        return seen

    def _refresh(self, seen: Seen) -> None:
        stat = _stat(seen.pid)
        if stat is None or stat.start != seen.start:
            self._bury(seen.pid)  # and where the number is in use again, its new owner is met at the next look
            return
        self._read(seen, stat.image)

    def _read(self, seen: Seen, image: Image) -> None:
        """Take up what changed at ``exec``; what cannot be read (a zombie, another user's) stays as it was."""
        seen.age = _uptime() - seen.start / self._ticks
        if seen.images and image in (seen.images[-1], _HIDDEN):
            return
        line = _bytes(seen.pid, "cmdline")
        if not line or (image != _HIDDEN and not all(image)):
            return  # in the middle of exec, or a zombie
        seen.argv = tuple(os.fsdecode(word) for word in line.removesuffix(b"\0").split(b"\0"))
        try:
            seen.exe = os.readlink(f"/proc/{seen.pid}/exe").removesuffix(" (deleted)")
        except OSError:
            pass
        environ = _bytes(seen.pid, "environ")
        if environ is not None:
            pairs = (os.fsdecode(pair).partition("=") for pair in environ.split(b"\0") if pair)
            seen.environ = {name: value for name, _, value in pairs}
        if image != _HIDDEN:
            seen.images = (*seen.images, image)


@dataclass(frozen=True)
class _Stat:
    ppid: int
    start: int
    zombie: bool
    image: Image


def _stat(pid: int) -> _Stat | None:
    data = _bytes(pid, "stat")
    if not data:
        return None
    words = data.rpartition(b")")[2].split()
    try:
        image = (int(words[45]), int(words[47]), int(words[48])) if len(words) > 48 else _HIDDEN
        return _Stat(int(words[1]), int(words[19]), words[0] in (b"Z", b"X"), image)
    except (IndexError, ValueError):
        return None


def _bytes(pid: int, name: str) -> bytes | None:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return None


def _uptime() -> float:
    try:
        with open("/proc/uptime", "rb") as file:
            return float(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 0.0


def unreached(
    pythons: Iterable[Seen],
    entries: Iterable[Entry],
    *,
    selection: str,
    journal: str,
) -> tuple[Unreached, ...]:
    """The Pythons among ``pythons`` that no entry of the journal tells of, each with the likely reason.

    Left out: prtoggle's own helpers; copies (forks) of a process that is told of anyway; and a Python too young to
    have said anything, where nothing speaks against it.
    """
    by_id = {(entry.pid, entry.start): entry for entry in entries}
    # In a container of its own a process has another pid for itself than from here.
    booted = {(entry.start, argv) for entry in by_id.values() for argv in entry.booted}
    found: list[Unreached] = []
    for seen in pythons:
        if _is_helper(seen) or _is_copy(seen) or (seen.start, seen.argv) in booted:
            continue
        # One that forked, or booted, and replaced itself by another Python since has an entry that says nothing of it.
        entry = by_id.get((seen.pid, seen.start))
        reason = _reason(seen, selection, journal)
        if reason or (seen.age >= _YOUNG and not (entry and entry.booted)):
            found.append(Unreached(seen.pid, seen.argv, reason or _unknown(seen)))
    return tuple(found)


def _is_helper(seen: Seen) -> bool:
    """The process in which prtoggle resolves a selection: no code of the target runs there."""
    return any("prtoggle.runtime.resolver" in word for word in seen.argv[1:4])


def _is_copy(seen: Seen) -> bool:
    """A fork, or a process between fork and exec: what holds for its parent holds for it."""
    parent = seen.parent
    if parent is None:
        return False
    if seen.images and parent.images:
        return seen.images[-1] in parent.images
    return (seen.exe, seen.argv, seen.environ) == (parent.exe, parent.argv, parent.environ)


def _reason(seen: Seen, selection: str, journal: str) -> str:
    """What certainly kept prtoggle out, or an empty string."""
    if "S" in flags(seen.argv):
        return "started with -S, so that Python reads no .pth file"
    if seen.environ is not None:
        value = seen.environ.get(REVERT)
        if value is None:
            return f"its environment lacks {REVERT}: it was cleared or replaced on the way"
        if value != selection:
            return f"its environment says {REVERT}={value}: it was changed on the way"
        if seen.environ.get(JOURNAL) != journal:
            return "it belongs to another `prtoggle run`, started by the command"
        if not has_pth(seen.exe, seen.argv, seen.environ):
            python = _python(seen.exe, seen.argv, seen.environ)
            return f"prtoggle is not installed for its Python, {python}: {install_line(python)}; then prtoggle doctor"
    return ""


def _unknown(seen: Seen) -> str:
    return f"no reason seen; is prtoggle installed for {seen.exe or 'its Python'}? (prtoggle doctor)"


def flags(argv: tuple[str, ...]) -> str:
    """The one-letter options that Python itself was given: ``IS`` for ``python -I -S x.py -v``."""
    found = ""
    words = iter(argv[1:])
    for word in words:
        if not word.startswith("-") or word in ("-", "--"):
            break
        if word.startswith("--"):
            if word == "--check-hash-based-pycs":
                next(words, None)
            continue
        for index, letter in enumerate(word[1:], 1):
            found += letter
            if letter in _OPTIONS_WITH_VALUE:
                if letter in "cm":
                    return found
                if index == len(word) - 1:
                    next(words, None)
                break
    return found


def _named(argv: tuple[str, ...], environ: Mapping[str, str]) -> str:
    """The program as it was named, found on PATH where it has no folder; empty where it is not there."""
    named = argv[0] if argv else ""
    if named and os.sep not in named:
        folders = environ.get("PATH", os.defpath).split(os.pathsep)
        named = next((path for path in (os.path.join(folder, named) for folder in folders) if os.path.exists(path)), "")
    return named


def _python(exe: str, argv: tuple[str, ...], environ: Mapping[str, str]) -> str:
    """The Python to name to a person: in a virtual environment the link there, not what it points to."""
    named = _named(argv, environ)
    return named if os.path.isabs(named) else exe


def has_pth(exe: str, argv: tuple[str, ...], environ: Mapping[str, str]) -> bool:
    """Whether a Python started so would find a ``prtoggle.pth``, as far as its folders tell."""
    named = _named(argv, environ)
    bases = {os.path.dirname(os.path.dirname(path)) for path in (named, exe) if os.path.isabs(path)}
    if not bases:
        return True  # nothing is known of it, so nothing is said
    if environ.get("HOME"):
        bases.add(os.path.join(environ["HOME"], ".local"))
    if environ.get("PYTHONUSERBASE"):
        bases.add(environ["PYTHONUSERBASE"])
    places = (
        "lib/python*/site-packages",
        "lib64/python*/site-packages",
        "lib/python*/dist-packages",
        "local/lib/python*/dist-packages",
    )
    return any(glob.glob(os.path.join(glob.escape(base), place, "prtoggle.pth")) for base in bases for place in places)
