"""No process is left behind: finds all that a trial started, whatever it did to get away, and ends it.

A worker becomes the one to whom orphans below it are given (``PR_SET_CHILD_SUBREAPER``), so that a process that forked
twice, called ``setsid`` and cleared its environment is still below the worker. Where a worker was killed itself, what
it started is found by its session and by the mark in the environment.

Example::

    adopt()
    ...                                   # run something
    end(lambda: below(os.getpid()))
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable

MARK = "PRTOGGLE_BISECT"
"""In the environment of everything that a trial starts: the trial's folder."""
GRACE = 2.0
"""Seconds between asking and killing."""
_SUBREAPER = 36


def adopt() -> None:
    """Have orphans below this process become its children (Linux; elsewhere the mark alone finds them)."""
    try:
        ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        pass


def below(pid: int) -> set[int]:
    """Every process that descends from ``pid`` and is alive."""
    children: dict[int, list[int]] = {}
    dead = set()
    for each, (parent, _, state) in _processes().items():
        children.setdefault(parent, []).append(each)
        if state in "ZX":
            dead.add(each)
    found: set[int] = set()
    todo = [pid]
    while todo:
        for child in children.get(todo.pop(), ()):
            if child not in found:
                found.add(child)
                todo.append(child)
    return found - dead


def of_trial(worker: int, folder: str) -> set[int]:
    """Every process of the session of ``worker``, or with the mark of the trial in ``folder``."""
    wanted = f"{MARK}={folder}".encode()
    found = set()
    for pid, (_, session, state) in _processes().items():
        if pid == os.getpid() or state in "ZX":
            continue
        if session == worker or wanted in _environ(pid):
            found.add(pid)
    return found | {pid for one in tuple(found) for pid in below(one)}


def end(find: Callable[[], set[int]], *, grace: float = GRACE, limit: float = 10.0, reap: bool = False) -> bool:
    """End all that ``find`` finds, until it finds nothing; whether that came true within ``limit`` seconds.

    ``reap`` takes leave of every child of this process that ended, adopted ones too: for who waits for none of them.
    """
    begun = time.monotonic()
    asked: set[int] = set()
    while True:
        found = find()
        if reap:
            _reap()
        if not found:
            return True
        late = time.monotonic() - begun
        if late > limit:
            return False
        for pid in found:
            if late >= grace:
                _send(pid, signal.SIGKILL)
            elif pid not in asked:
                _send(pid, signal.SIGTERM)
        asked |= found
        time.sleep(0.02)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except OSError:
        pass


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass


def _processes() -> dict[int, tuple[int, int, str]]:
    """Every process: its parent, its session, its state."""
    found = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return {}
    for name in names:
        if name.isdigit():
            words = _file(name, "stat").rpartition(b")")[2].split()
            if len(words) > 3:
                found[int(name)] = (int(words[1]), int(words[3]), words[0].decode())
    return found


def _environ(pid: int) -> list[bytes]:
    return _file(str(pid), "environ").split(b"\0")


def _file(pid: str, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""
