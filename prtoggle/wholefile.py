"""A file replaced at once, and what of it is on the disk then.

What is promised, by which function:

- whole (:func:`replace`): whoever opens the path, at any moment, also after a kill, finds the bytes from before or all
  of the new ones. Where it fails, those from before are there and nothing lies beside them; after a kill, a file may
  whose name begins with ``.prtoggle-`` and ends with ``.tmp``. Another name of the old file (a hard link) keeps the old
  bytes; of a link it is the link that is replaced.
- mode: the one that is given; or that of the file that was there, and its owner where the system lets us; or the
  ordinary one. At no moment is the new file open to more people than it will be.
- durable (``durable=True``, :func:`make`): the bytes are on the disk, and with :func:`replace` the name too, when the
  function returns: also after the power went. Without it, a machine that goes down may bring back what was before.

The standard library only, and little of it: a target's process imports this where it keeps a plan.

Example::

    replace("revert.yaml", b"prtoggle: 1\\n", durable=True)
"""

from __future__ import annotations

import os
import stat

HEAD, TAIL = ".prtoggle-", ".tmp"

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_ORDINARY, _PRIVATE = 0o666, 0o600


def replace(path: str | os.PathLike[str], data: bytes, *, mode: int | None = None, durable: bool = False) -> None:
    """Have ``data`` at ``path``, whole or not at all. Raises OSError where it cannot be."""
    path = os.fspath(path)
    aside = os.path.join(os.path.dirname(path), f"{HEAD}{os.getpid()}-{os.urandom(6).hex()}{TAIL}")
    there = None if mode is not None else _look(path)
    try:
        make(aside, data, _ORDINARY if mode is None and there is None else _PRIVATE, durable=durable)
        if there is not None:
            _dress(aside, there)
        elif mode not in (None, _PRIVATE):
            os.chmod(aside, mode)
        os.replace(aside, path)
    except BaseException:
        try:
            os.unlink(aside)
        except OSError:
            pass
        raise
    if durable:
        sync_folder(os.path.dirname(path) or os.curdir)


def make(path: str | os.PathLike[str], data: bytes, mode: int = _PRIVATE, *, durable: bool = True) -> None:
    """A new file with ``data``, of which a kill may leave a part. Raises FileExistsError where there is one."""
    descriptor = os.open(path, _NEW, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: str | os.PathLike[str]) -> None:
    """The bytes of ``path`` are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: str | os.PathLike[str]) -> None:
    """The names in ``path`` are on the disk; some file systems cannot be asked."""
    try:
        sync_file(path)
    except OSError:
        pass


def _look(path: str) -> os.stat_result | None:
    """The regular file that is there."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _dress(new: str, like: os.stat_result) -> None:
    found = os.lstat(new)
    if (found.st_uid, found.st_gid) != (like.st_uid, like.st_gid):
        try:
            os.chown(new, like.st_uid, like.st_gid)
        except (OSError, AttributeError):
            pass  # only root may
    if stat.S_IMODE(os.lstat(new).st_mode) != stat.S_IMODE(like.st_mode):  # else a system without modes would refuse it
        os.chmod(new, stat.S_IMODE(like.st_mode))
