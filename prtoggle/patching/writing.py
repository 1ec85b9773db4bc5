"""One file replaced at once, and so that it is on the disk: the new one beside it, synced, then renamed over it.

The new file gets the mode, extended attributes (access lists among them) and, where the system lets us, the owner of
the old one. A file is never written through: another name of it (a hard link into a package manager's cache) keeps the
old text.

Example::

    temporary = stage(root / "a.py", b"x = 1\\n", mode=0o644, owner=(0, 0), mtime_ns=later)
    os.replace(temporary, root / "a.py")
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
from pathlib import Path

from prtoggle import wholefile
from prtoggle.errors import RefusedError
from prtoggle.patching.values import Look


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read(path: Path) -> bytes | None:
    """The bytes of a regular file, no link followed at its end; None where there is none. Raises RefusedError for one
    that is there and cannot be read: it is not to be taken for one that is gone."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        if error.errno in _NO_FILE:
            return None
        raise _unreadable(path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(descriptor)


_NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)
"""What is said of a name that is not there, or is that of something else: a link, a socket."""


def _unreadable(path: Path, error: OSError) -> RefusedError:
    return RefusedError(
        f"{path} cannot be read: {error.strerror}",
        hint="run it as the user that the files belong to" if isinstance(error, PermissionError) else "",
        page="guides/edit-the-files-of-a-tree#when-it-is-refused",
    )


def look(path: Path, data: bytes) -> Look:
    """How the file at ``path`` is, whose bytes are ``data``."""
    found = os.lstat(path)
    return Look(sha256(data), stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid, found.st_mtime_ns)


def temporary(path: Path) -> Path:
    """Where the new file for ``path`` is made ready: always the same name, so that one left behind can be found."""
    return path.with_name(f"{wholefile.HEAD}{sha256(os.fsencode(path.name))[:16]}{wholefile.TAIL}")


def stage(path: Path, source: bytes | Path, like: Look, mtime_ns: int) -> Path:
    """A new file beside ``path``, ready to be renamed over it: with ``source`` as its bytes, or as a second name of the
    kept file ``source``, which takes no room on the disk."""
    new = temporary(path)
    remove(new)
    if isinstance(source, Path):
        try:
            os.link(source, new)
            _dress(new, path, like, mtime_ns)
            return new
        except OSError:  # no links on this file system, or the kept file belongs to somebody else
            remove(new)
            source = source.read_bytes()
    wholefile.make(new, source)
    _dress(new, path, like, mtime_ns)
    wholefile.sync_file(new)
    return new


def _dress(new: Path, old: Path, like: Look, mtime_ns: int) -> None:
    try:
        shutil.copystat(old, new, follow_symlinks=False)  # extended attributes; what follows is better known
    except OSError:
        pass  # there is no old one, or its attributes are not ours to give
    found = os.lstat(new)
    if (found.st_uid, found.st_gid) != (like.uid, like.gid):
        try:
            os.chown(new, like.uid, like.gid, follow_symlinks=False)
        except OSError:
            pass  # only root may; `changed_owner` says so
    os.chmod(new, like.mode)
    os.utime(new, ns=(mtime_ns, mtime_ns))


def changed_owner(path: Path, like: Look) -> str:
    """That the file belongs to somebody else than it did, or an empty string."""
    found = os.lstat(path)
    if found.st_uid == like.uid:
        return ""
    return f"{path}: belongs to user {found.st_uid} now, and to {like.uid} before: only root can keep the owner"


def remove(path: Path) -> None:
    """``path`` is not there afterwards."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def discard(path: Path) -> bool:
    """As :func:`remove`, where it can be; whether it could."""
    try:
        remove(path)
    except OSError:
        return False
    return True


def hint(error: OSError) -> str:
    """What can be done about what the system refused, or an empty string."""
    return _HINTS.get(error.errno or 0, "")


_HINTS = {
    errno.EACCES: "run it as the user that the files belong to",
    errno.EPERM: "run it as the user that the files belong to",
    errno.EROFS: "change the files where the image, or the environment, is made",
    errno.ENOSPC: "make room on the disk",
}
