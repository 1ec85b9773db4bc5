"""One process at a time changes a tree: a lock that ends with the process that holds it.

Example::

    with locked(store, seconds=2.0):
        ...
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prtoggle.errors import RefusedError
from prtoggle.patching import writing

_PAGE = "guides/edit-the-files-of-a-tree#when-it-is-refused"

_STEP = 0.05


@contextmanager
def locked(file: Path, *, seconds: float, tree: Path) -> Iterator[None]:
    """Hold ``file``, which is made where it is not there. Raises RefusedError where another process holds it longer
    than ``seconds``."""
    descriptor = _acquire(file, time.monotonic() + seconds, tree)
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    except OSError:
        pass  # a full disk: then nobody is told our number
    try:
        yield
    finally:
        os.close(descriptor)


def _acquire(file: Path, until: float, tree: Path) -> int:
    try:
        import fcntl
    except ImportError:
        raise RefusedError(
            "files of a tree are changed on Linux and macOS alone: there is no fcntl here", page=_PAGE
        ) from None
    while True:
        try:
            descriptor = _opened(file)
        except FileNotFoundError:  # whoever held it took the folder away
            file.parent.mkdir(exist_ok=True)
            continue
        except OSError as error:
            raise RefusedError(
                f"{file} cannot be opened: {error.strerror}", hint=writing.hint(error), page=_PAGE
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            if time.monotonic() >= until:
                who = f"process {holder}" if holder.isdecimal() else "another process"
                raise RefusedError(
                    f"{who} is changing {tree}", hint="try again when it has ended", page=_PAGE
                ) from None
            time.sleep(_STEP)
            continue
        except OSError as error:
            os.close(descriptor)
            raise RefusedError(f"{file} cannot be locked: {error.strerror}", page=_PAGE) from error
        if _still_there(descriptor, file):
            return descriptor
        os.close(descriptor)  # whoever held it took it away: what we hold has no name any more


def _opened(file: Path) -> int:
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:  # another user made it: to hold it, reading is enough
        return os.open(file, os.O_RDONLY)


def _still_there(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(file))
    except OSError:
        return False
