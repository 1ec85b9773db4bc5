"""A private store of marshalled values, keyed by content. A miss is always possible and never an error.

Written atomically, readable and writable only by the user, checked on reading: a file that another user could have
written, that is cut short or altered, is a miss. Where the folder cannot be had (read-only, full disk, no home) every
read misses and every write is dropped.

Example::

    cache.write("plan", key, {"modules": ()})
    cache.read("plan", key)     # the value, or None
"""

from __future__ import annotations

import _imp
import marshal
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL, which costs milliseconds
except ImportError:  # pragma: no cover - a build without the accelerator
    from hashlib import blake2b

_MAGIC = b"prtoggle 2\n"
_SIZE = 20
_KEY = 0x7072746F67676C65
_LIMIT = 512
_folder: str | None = None
_looked = False


def digest(*parts: bytes) -> str:
    """A content key over ``parts``; where one part ends matters."""
    state = blake2b(digest_size=_SIZE)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def content(data: bytes | memoryview) -> str:
    """What identifies ``data``, fast: the keyed hash that CPython's own hash-based bytecode files use (PEP 552).

    Stable within one Python version only, so it is kept with the version's cache tag in the key and shown to nobody.
    """
    return _imp.source_hash(_KEY, data).hex()


def root(environ: os._Environ[str] | dict[str, str] | None = None) -> str | None:
    """The folder for everything prtoggle caches: ``PRTOGGLE_CACHE``, else the user's cache folder; None when there is
    none."""
    env = os.environ if environ is None else environ
    if env.get("PRTOGGLE_CACHE"):
        return os.path.abspath(env["PRTOGGLE_CACHE"])
    if env.get("XDG_CACHE_HOME"):
        return os.path.join(os.path.abspath(env["XDG_CACHE_HOME"]), "prtoggle")
    home = os.path.expanduser("~")
    return os.path.join(home, ".cache", "prtoggle") if os.path.isabs(home) else None


def folder() -> str | None:
    """The private folder of this store, made if need be; None where it cannot be had."""
    global _folder, _looked
    if not _looked:
        base = root()
        _folder = _private(os.path.join(base, "runtime")) if base else None
        _looked = True
    return _folder


def _private(path: str) -> str | None:
    try:
        os.makedirs(path, 0o700, exist_ok=True)
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return None
    if hasattr(os, "geteuid") and (found.st_uid != os.geteuid() or found.st_mode & 0o022):
        return None
    return path


def read(kind: str, key: str) -> object | None:
    """The value written under ``kind`` and ``key``, or None."""
    where = folder()
    if where is None:
        return None
    try:
        handle = os.open(
            os.path.join(where, f"{kind}-{key}"),
            os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0),
        )
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return None
        if hasattr(os, "geteuid") and (found.st_uid != os.geteuid() or found.st_mode & 0o022):
            return None
        data = _read_all(handle, found.st_size)
    except OSError:
        return None
    finally:
        os.close(handle)
    head = len(_MAGIC) + 16
    payload = memoryview(data)[head:]
    if not data.startswith(_MAGIC) or data[len(_MAGIC) : head] != content(payload).encode():
        return None
    try:
        value: object = marshal.loads(payload)
    except (ValueError, EOFError, TypeError):
        return None
    return value


def _read_all(handle: int, size: int) -> bytes:
    chunks: list[bytes] = []
    while True:
        chunk = os.read(handle, max(size, 1) + 1)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)


def write(kind: str, key: str, value: Any) -> bool:
    """Keep ``value`` (what marshal takes) under ``kind`` and ``key``; False where it could not be kept."""
    where = folder()
    if where is None:
        return False
    payload = marshal.dumps(value)
    data = _MAGIC + content(payload).encode() + payload
    final = os.path.join(where, f"{kind}-{key}")
    from prtoggle import wholefile  # here: most processes only read

    try:
        wholefile.replace(final, data, mode=0o600)
    except OSError:
        return False
    return True


def prune(keep: int = _LIMIT) -> int:
    """Delete the oldest entries beyond ``keep``, and what a killed process left half written. Returns how many."""
    where = folder()
    if where is None:
        return 0
    entries = []
    try:
        with os.scandir(where) as found:
            for entry in found:
                entries.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
    except OSError:
        return 0
    entries.sort()
    newest = entries[-1][0] if entries else 0.0
    doomed = [path for when, path in entries if path.endswith(".tmp") and newest - when > 3600]
    doomed += [path for _, path in entries[: max(0, len(entries) - keep)] if path not in doomed]
    gone = 0
    for path in doomed:
        try:
            os.unlink(path)
            gone += 1
        except OSError:
            pass
    return gone
