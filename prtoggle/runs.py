"""The folders of past runs, under the cache: one private folder a run, with its journals and a ``run.json``.

Example::

    folder = create()                     # ~/.cache/prtoggle/runs/20260101T120000.123456-4711
    describe(folder, {"command": ["python"], "selection": "27360"})
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prtoggle import wholefile
from prtoggle.errors import RefusedError
from prtoggle.runtime import cache

KEPT = 20
"""How many past runs are kept."""
FILE = "run.json"


def root() -> Path | None:
    """Where runs are kept; None where there is no such place."""
    base = cache.root()
    return Path(base) / "runs" if base else None


def create(base: Path | None = None, *, keep: int = KEPT) -> Path:
    """A new folder that only the user can read, under ``base`` (:func:`root`), or a temporary one where there is no
    room; refused where there is neither."""
    base = base or root()
    if base is not None:
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            made = _make(base)
        except OSError:
            pass  # a read-only or full disk: the run itself does not depend on it
        else:
            prune(base, keep=keep)
            return made
    try:
        return Path(tempfile.mkdtemp(prefix="prtoggle-run-"))
    except OSError as error:
        raise RefusedError(
            "no folder can be written, neither the cache nor a temporary one, so what processes do cannot be reported",
            hint="set PRTOGGLE_CACHE to a folder that can be; setting PRTOGGLE_REVERT for the command alone needs none",
            page="guides/containers#a-read-only-root-another-user",
        ) from error


def _make(base: Path) -> Path:
    while True:
        now = time.time()
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now)) + f".{int(now % 1 * 1e6):06d}"
        folder = base / f"{stamp}-{os.getpid()}"
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return folder


def past(base: Path | None = None) -> tuple[Path, ...]:
    """The folders of runs, oldest first."""
    base = base or root()
    try:
        return tuple(sorted(entry for entry in base.iterdir() if _is_run(entry))) if base is not None else ()
    except OSError:
        return ()


def discard(folder: Path) -> None:
    """Delete the folder of a run that never was."""
    shutil.rmtree(folder, ignore_errors=True)


def stamped(name: str) -> bool:
    """Whether ``name`` is a time and a process, as what is kept in the cache is called."""
    stamp, _, pid = name.rpartition("-")
    return pid.isdigit() and stamp[:8].isdigit()


def _is_run(folder: Path) -> bool:
    return stamped(folder.name) and folder.is_dir() and not folder.is_symlink()


def prune(base: Path, *, keep: int = KEPT) -> int:
    """Delete the oldest runs beyond ``keep``, but none that still goes on. Returns how many."""
    runs = past(base)
    gone = 0
    for folder in runs[: max(0, len(runs) - keep)]:
        if not goes_on(folder):
            shutil.rmtree(folder, ignore_errors=True)
            gone += 1
    return gone


def goes_on(folder: Path) -> bool:
    """Whether the run has not ended yet."""
    described = load(folder)
    if described and described.get("end") is not None:
        return False
    try:
        os.kill(int(folder.name.rpartition("-")[2]), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def describe(folder: Path, described: Mapping[str, Any]) -> None:
    """Write ``run.json``, whole or not at all. A disk that does not take it is no error."""
    with contextlib.suppress(OSError):
        wholefile.replace(folder / FILE, (json.dumps(described, indent=1) + "\n").encode())


def load(folder: Path) -> dict[str, Any] | None:
    """What ``run.json`` says, None where there is none."""
    try:
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
