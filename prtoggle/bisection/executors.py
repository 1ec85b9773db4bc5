"""Who runs the trials: on this machine, a worker each, several at a time, GPUs dealt out among them.

Example::

    executor = Local(2, deal(("0", "1", "2", "3"), jobs=2, each=None))
    executor.submit(job)
    while (record := executor.finished(1.0)) is None: ...
    executor.stop()
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prtoggle.bisection import reaper
from prtoggle.bisection.values import Job, TrialRecord, plain, record_of
from prtoggle.bisection.worker import GPUS, JOB, NOT_BEGUN, RESULT
from prtoggle.errors import UsageError
from prtoggle.selection import VARIABLE

PATIENCE = 20.0
"""Seconds that a worker is given to end its trial before it is killed: it asks, waits, and kills in less."""
_LOOK = 0.02


def gpus_here(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The GPUs that may be used: those of ``CUDA_VISIBLE_DEVICES``, else all that ``nvidia-smi`` lists."""
    visible = environ.get(GPUS)
    if visible is not None:
        named = dict.fromkeys(each.strip() for each in visible.split(","))  # one that is named twice is one
        return tuple(each for each in named if each and each != "-1")
    if shutil.which("nvidia-smi", path=environ.get("PATH")) is None:
        return ()
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(done.stdout.split()) if done.returncode == 0 else ()


def deal(gpus: Sequence[str], *, jobs: int, each: int | None) -> tuple[tuple[str, ...], ...]:
    """The GPUs of each of ``jobs`` slots; none named where every trial may see them all.

    Raises UsageError where there are not enough.
    """
    if each == 0 or (each is None and (jobs == 1 or not gpus)):
        return ((),) * jobs
    count = len(gpus) // jobs if each is None else each
    if count * jobs > len(gpus) or not count:
        wanted = f"{jobs} trials at a time with {count or 1} each"
        hint = "--gpus-per-trial 0 lets all trials share them"
        if count and len(gpus) >= count:
            hint = f"--jobs {len(gpus) // count}, or {hint}"
        raise UsageError(
            f"{wanted} take more GPUs than the {len(gpus)} that are here", hint=hint, page="guides/bisect#one-command"
        )
    return tuple(tuple(gpus[slot * count : (slot + 1) * count]) for slot in range(jobs))


@dataclass
class _Running:
    job: Job
    slot: int
    process: subprocess.Popen[bytes]


class Local:
    """Trials as processes of this machine. Contract: :class:`prtoggle.bisection.values.Executor`."""

    def __init__(self, jobs: int = 1, gpus: Sequence[Sequence[str]] = ()) -> None:
        self.width = jobs
        self._gpus = [tuple(each) for each in gpus] or [()] * jobs
        self._free = deque(range(jobs))
        self._waiting: deque[Job] = deque()
        self._running: list[_Running] = []
        self._ended: deque[TrialRecord] = deque()

    def submit(self, job: Job) -> None:
        """Start ``job``, or keep it until there is room."""
        self._waiting.append(job)
        self._fill()

    def finished(self, timeout: float) -> TrialRecord | None:
        """The next trial that ended; None where none did within ``timeout`` seconds."""
        until = time.monotonic() + timeout
        while True:
            self._look()
            if self._ended:
                return self._ended.popleft()
            left = until - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(_LOOK, left))

    def stop(self) -> None:
        """End everything that runs; what had ended by then can still be asked for."""
        self._waiting.clear()
        for running in self._running:
            _hang_up(running.process)
        until = time.monotonic() + PATIENCE
        while self._running and time.monotonic() < until:
            self._look()
            time.sleep(_LOOK)
        for running in self._running:
            running.process.kill()
            running.process.wait()
        self._look()

    def _fill(self) -> None:
        while self._waiting and self._free:
            job, slot = self._waiting.popleft(), self._free.popleft()
            job = replace(job, worker=f"local {slot + 1}", gpus=self._gpus[slot])
            try:
                process = _start(job)
            except OSError as error:  # no memory, no processes, a full disk
                self._free.append(slot)
                self._ended.append(_lost(job, f"its worker could not be started: {error}"))
            else:
                self._running.append(_Running(job, slot, process))

    def _look(self) -> None:
        for running in [each for each in self._running if each.process.poll() is not None]:
            self._running.remove(running)
            self._free.append(running.slot)
            _hang_up(running.process)
            self._ended.append(_result(running))
        self._fill()


def _start(job: Job) -> subprocess.Popen[bytes]:
    folder = Path(job.folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / JOB).write_text(json.dumps(plain(job)), encoding="utf-8")
    # The worker is a Python too: what is selected here is not for it.
    env = {name: value for name, value in os.environ.items() if name != VARIABLE}
    with (folder / "worker.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "prtoggle.bisection.worker", job.folder],
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _hang_up(process: subprocess.Popen[bytes]) -> None:
    """Close the worker's pipe: for it the end of its trial."""
    if process.stdin is not None:
        try:
            process.stdin.close()
        except OSError:
            pass


def _result(running: _Running) -> TrialRecord:
    job, code = running.job, running.process.returncode
    if code != 0:  # a worker that was killed could not clear up
        reaper.end(lambda: reaper.of_trial(running.process.pid, job.folder), grace=0.5)
    found = taken(Path(job.folder))
    if found is not None:
        return found
    if code == NOT_BEGUN:
        return replace(_lost(job, "ended before it began"), kind="interrupted")
    if not os.path.isdir(job.folder):
        return _lost(job, f"its folder {job.folder} was deleted")
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return _lost(job, f"its worker ended without a result ({how}) {_said(job)}".strip())


def _lost(job: Job, why: str) -> TrialRecord:
    """A trial of which nothing is known."""
    return TrialRecord(
        job.number,
        job.phase,
        job.reverted,
        job.selection,
        "infrastructure",
        began=time.time(),
        worker=job.worker,
        gpus=job.gpus,
        why=why,
        folder=job.folder,
    )


def _said(job: Job) -> str:
    try:
        lines = (Path(job.folder) / "worker.log").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


def taken(folder: Path) -> TrialRecord | None:
    """The result in a trial's folder, None where there is none."""
    try:
        return record_of(json.loads((folder / RESULT).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
