"""What Python compiled of a file: the ``.pyc`` files that could be run in place of a text that changed.

Python believes a ``.pyc`` whose recorded time (in whole seconds) and size are those of the source, or, where it is of
the unchecked kind, without a look. So those of a file are taken away with its text (and kept, to come back with it),
and the new file's time is one that no text of it had. Those below a ``PYTHONPYCACHEPREFIX`` lie outside of the tree:
where it is set for this process too they are taken away, and made anew by Python; of any other the time has to do.

Example::

    compiled(root / "pkg" / "core.py")    # (root/pkg/__pycache__/core.cpython-311.pyc,)
    elsewhere(root / "pkg" / "core.py")   # (/prefix/root/pkg/core.cpython-311.pyc,)
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from importlib.util import cache_from_source
from pathlib import Path

FOLDER = "__pycache__"

_SECOND = 1_000_000_000
_UNCHECKED = 1


def compiled(module: Path) -> tuple[Path, ...]:
    """Every ``.pyc`` of the module whose file is at ``module``, of all Pythons, in order."""
    return _named(module.parent / FOLDER, module)


def elsewhere(module: Path) -> tuple[Path, ...]:
    """The same below the prefix that this process was started with."""
    if not sys.pycache_prefix:
        return ()
    return _named(Path(cache_from_source(os.fspath(module))).parent, module)


def unchecked(pyc: Path) -> bool:
    """Whether Python runs it whatever the source is."""
    try:
        with open(pyc, "rb") as file:
            return int.from_bytes(file.read(8)[4:], "little") == _UNCHECKED
    except OSError:
        return True  # it could be


def _named(folder: Path, module: Path) -> tuple[Path, ...]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ()
    head = f"{module.stem}."
    return tuple(folder / name for name in names if name.startswith(head) and name.endswith(".pyc"))


def another_time(taken: Iterable[int], *, after: int = 0) -> int:
    """The time now in nanoseconds, or soon, whose second is that of none of ``taken``, and later than that of ``after``
    (all in nanoseconds)."""
    seconds = {each // _SECOND for each in taken}
    now = max(time.time_ns(), after + _SECOND)
    while now // _SECOND in seconds:
        now += _SECOND
    return now
