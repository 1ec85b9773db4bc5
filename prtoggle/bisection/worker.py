"""One trial, in a process of its own: ``python -m prtoggle.bisection.worker FOLDER``.

``FOLDER/job.json`` says what to run; ``FOLDER/result.json`` is written whole or not at all. The worker's standard input
is a pipe from whoever started it: when that is closed, also because its other end was killed, the trial is ended with
all its processes. For as long as the worker lives it holds the lock on ``FOLDER/lock``.

Example::

    process = Popen([sys.executable, "-m", "prtoggle.bisection.worker", folder], stdin=PIPE, start_new_session=True)
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from prtoggle import wholefile
from prtoggle.bisection import reaper
from prtoggle.bisection.values import NOT_REACHED, Job, TrialRecord, job_of, plain
from prtoggle.bisection.verdict import End, executed, idle, in_force, judge, void
from prtoggle.errors import PrtoggleError

GPUS = "CUDA_VISIBLE_DEVICES"
JOB, RESULT, LOCK = "job.json", "result.json", "lock"
NOT_BEGUN = 75
"""The exit code of a worker that was told to end before it began."""
ROOM = 1 << 20
"""Bytes that have to be free where a trial writes: with less, what fails may have failed for that."""
LOOKING = 60.0
"""Seconds that it may take to look for a pattern in what a trial showed, and as many again for each GB of it."""
_OOM = Path("/sys/fs/cgroup/memory.events")


def main(folder: str) -> int:
    """Run the job in ``folder``; 0 where its result is written."""
    path = Path(folder)
    held = lock(path)
    if held is None or _closed():
        return NOT_BEGUN
    reaper.adopt()
    try:
        job = job_of(json.loads((path / JOB).read_text(encoding="utf-8")))
        write(path / RESULT, run(job, stop=_closed))
    finally:
        reaper.end(lambda: reaper.below(os.getpid()), reap=True)
    return 0


def run(job: Job, *, stop: Callable[[], bool] = lambda: False) -> TrialRecord:
    """Run ``job`` to its end. Processes that outlive the command are not ended here."""
    from prtoggle.trial import CommandError, Trial
    from prtoggle.trial import run as run_trial

    stopped = False

    def asked() -> bool:
        nonlocal stopped
        stopped = stopped or stop()
        return stopped

    folder = Path(job.folder)
    began, killed = time.time(), _oom_kills()
    env = {**job.env, reaper.MARK: job.folder, **({GPUS: ",".join(job.gpus)} if job.gpus else {})}
    output = (folder / "stderr", folder / "stdout") if not job.metric else (folder / "stdout", folder / "stderr")
    try:
        journals = folder / "journals"
        journals.mkdir(parents=True, exist_ok=True)
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            trial = Trial(
                job.selection,
                job.command,
                env=env,
                fixes=job.fixes,
                trace=job.trace,
                quiet=True,
                cwd=job.cwd or None,
                folder=journals,
                timeout=job.timeout,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                own_session=True,
            )
            result = run_trial(trial, stop=asked)
    except CommandError as error:
        return _record(job, "infrastructure", began, code=error.exit_code, why=str(error))
    except PrtoggleError as error:
        return _record(job, "void", began, why=str(error))
    except OSError as error:
        return _record(job, "infrastructure", began, why=f"{type(error).__name__}: {error}")
    end = End(result.code, result.timed_out)
    kind, why, metric = "", "", None
    if stopped or result.interrupted:
        kind, why = "interrupted", "ended before its end"
    elif end.signal == 9 and _oom_kills() > killed:
        kind, why = "infrastructure", "out of memory: the kernel killed a process of this container"
    else:
        why = void(job, result)
        kind = "void" if why else ""
    if not kind:
        try:
            with _limited(LOOKING * (1 + sum(map(_size, output)) / 1e9), asked):
                judgement = judge(job, end, output)
            kind, why, metric = judgement.kind, judgement.why, judgement.metric
        except _TooLong as late:
            kind, why = ("interrupted", "ended before its end") if stopped else ("infrastructure", str(late))
        if kind in ("bad", "skip") and full(folder):
            kind, why = "infrastructure", f"no room is left in {folder.parent}"
        if result.unreached and not why:
            why = f"{NOT_REACHED}: {result.unreached[0].reason}"
    return _record(
        job,
        kind,
        began,
        code=end.code,
        signal=end.signal,
        metric=metric,
        seconds=result.seconds,
        in_force=in_force(result),
        executed=executed(result),
        idle=idle(job, result),
        why=why,
    )


def _record(job: Job, kind: str, began: float, **more: object) -> TrialRecord:
    return TrialRecord(
        job.number,
        job.phase,
        job.reverted,
        job.selection,
        kind,
        began=began,
        worker=job.worker,
        gpus=job.gpus,
        folder=job.folder,
        **more,  # type: ignore[arg-type]
    )


def write(path: Path, record: TrialRecord) -> None:
    """Write a result, whole or not at all, so that it is there also after the power went."""
    wholefile.replace(path, json.dumps(plain(record)).encode(), durable=True)


def lock(folder: Path, *, seconds: float = 0.0) -> int | None:
    """The lock of a trial's folder, as a file descriptor that holds it; None where another has it for ``seconds``."""
    import fcntl

    held = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return held
        except OSError:
            if time.monotonic() >= until:
                os.close(held)
                return None
            time.sleep(0.02)


def full(folder: Path) -> bool:
    """Whether there is no room left to write in ``folder``."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    free = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
    return free * disk.f_frsize < ROOM or (disk.f_files > 0 and disk.f_ffree == 0)


class _TooLong(Exception):
    """To look for a pattern takes too long, or nobody wants to know any more."""


@contextmanager
def _limited(seconds: float, stop: Callable[[], bool]) -> Iterator[None]:
    """Raise :class:`_TooLong` within, after ``seconds`` or once ``stop`` says so: ``(a+)+$`` may take for ever.

    The search for a regular expression lets signals in now and then; only the main thread gets any.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    until = time.monotonic() + seconds

    def look(number: int, frame: object) -> None:
        if stop() or time.monotonic() > until:
            raise _TooLong(f"to look for the pattern in its output took more than {seconds:.0f} s: take a simpler one")

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.5, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _closed() -> bool:
    """Whether whoever started this closed the pipe, or is gone."""
    try:
        readable, _, _ = select.select([0], [], [], 0)
        return bool(readable) and os.read(0, 1) == b""
    except OSError:
        return True


def _oom_kills() -> int:
    """How often the kernel killed for memory in this container so far."""
    try:
        lines = _OOM.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
