"""Past bisections in the cache: each a log and the folder of its trials. The oldest are deleted, as runs are.

Contract: kept are the newest, whatever was written to within ``RECENT`` (somebody may resume it), and whatever is open
or has a trial that still runs. Only what has a name that prtoggle gave, in its own cache, is looked at.

Example::

    prune(Path("~/.cache/prtoggle/bisections").expanduser())        # 3: so many are gone
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

from prtoggle import runs
from prtoggle.bisection.worker import LOCK, lock

RECENT = 30 * 86400.0
"""Seconds for which a bisection can surely be gone on with after its last trial."""
_SUFFIX = ".jsonl"


def past(base: Path) -> tuple[Path, ...]:
    """The logs in ``base``, oldest first."""
    try:
        found = [entry for entry in base.iterdir() if entry.suffix == _SUFFIX and runs.stamped(entry.stem)]
        return tuple(sorted(entry for entry in found if entry.is_file() and not entry.is_symlink()))
    except OSError:
        return ()


def prune(base: Path, *, keep: int = runs.KEPT) -> int:
    """Delete the oldest bisections beyond ``keep`` that nobody uses or may soon resume. Returns how many."""
    logs = past(base)
    return sum(_deleted(log) for log in logs[: max(0, len(logs) - keep)])


def _deleted(log: Path) -> bool:
    import fcntl

    trials = log.with_name(log.name + ".trials")
    with contextlib.suppress(OSError):
        file = os.open(log, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # also fails where there are no locks: then nothing goes
            if time.time() - os.fstat(file).st_mtime < RECENT or _runs(trials):
                return False
            shutil.rmtree(trials, ignore_errors=True)
            log.unlink()
            return True
        finally:
            os.close(file)
    return False


def _runs(trials: Path) -> bool:
    """Whether a worker of a bisection that was killed still has a trial."""
    for held in trials.glob(f"*/{LOCK}"):
        taken = lock(held.parent)
        if taken is None:
            return True
        os.close(taken)
    return False
