"""A folder to oneself, among processes that ask for it too.

Example::

    with alone(Path("fixes")):
        ...         # look, and write what follows from it
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Whoever else asks for ``folder`` waits until the end. The lock goes with the process; a system or a file system
    without locks has none."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # not every file system has locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
