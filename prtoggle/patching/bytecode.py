"""What Python compiled of a file: the ``.pyc`` files that could be run in place of a text that changed.

Python believes a ``.pyc`` whose recorded time (in whole seconds) and size are those of the source, or, where it is of
the unchecked kind, without a look. So those of a file are taken away with its text (and kept, to come back with it),
and the new file's time is one that no text of it had.

Example::

    compiled(root / "pkg" / "core.py")    # (root/pkg/__pycache__/core.cpython-311.pyc,)
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

FOLDER = "__pycache__"


def compiled(module: Path) -> tuple[Path, ...]:
    """Every ``.pyc`` of the module whose file is at ``module``, of all Pythons, in order."""
    folder = module.parent / FOLDER
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ()
    head = f"{module.stem}."
    return tuple(folder / name for name in names if name.startswith(head) and name.endswith(".pyc"))


def another_time(taken: Iterable[int]) -> int:
    """The time now in nanoseconds, or soon, whose second is that of none of ``taken`` (in nanoseconds)."""
    seconds = {each // 1_000_000_000 for each in taken}
    now = time.time_ns()
    while now // 1_000_000_000 in seconds:
        now += 1_000_000_000
    return now
