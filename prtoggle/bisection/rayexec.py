"""Trials on a Ray cluster: as on this machine, with a worker of the cluster in between.

A process of Ray's takes the environment of the node's raylet, not of whoever submits to it. So nothing is left to
Ray's environment: the job says what is selected, and the variables of this process go along with it, except those that
belong to a node. What a trial wrote comes back as files into its folder here. prtoggle has to be installed on every
node, and what the command reads has to have the same path there.

When the bisection is killed, Ray kills its own process for a trial, and that one's children with it, but not theirs.
So the trial's worker is no child of Ray's process: it only has a pipe from it, and ends all that it started when that
is closed.

Example::

    executor = Ray(4, gpus=1)       # RAY_ADDRESS, or the cluster that runs here
    executor.submit(job)
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from prtoggle.bisection import reaper
from prtoggle.bisection.executors import PATIENCE, taken
from prtoggle.bisection.values import Job, TrialRecord, job_of, plain, record_of
from prtoggle.bisection.worker import GPUS, JOB, LOCK, RESULT, lock, write
from prtoggle.errors import UsageError
from prtoggle.selection import VARIABLE

_PAGE = "guides/bisect#one-command"

ADDRESS = "RAY_ADDRESS"
MOST = 16 << 20
"""Bytes of each file that come back, its end where it is longer."""
_OF_A_NODE = (
    GPUS,
    "NVIDIA_VISIBLE_DEVICES",
    "HOSTNAME",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "SSH_CONNECTION",
    "SSH_CLIENT",
    "SSH_TTY",
)
_OF_RAY = "RAY_"
_FOLDER, _OLD = "prtoggle-bisect-", 3600.0


class Ray:
    """Contract: :class:`prtoggle.bisection.values.Executor`. Trials that the cluster has no room for wait for some."""

    def __init__(self, jobs: int = 1, gpus: int = 0) -> None:
        """``gpus`` are those of each trial; with none, trials see all of their node.

        Raises:
            UsageError: Ray is not installed here, no cluster runs, or no node of it has so many GPUs.
        """
        self.width = jobs
        self._ray = _connected(gpus)
        self._gpus = gpus
        self._free = deque(range(jobs))
        self._waiting: deque[Job] = deque()
        self._running: dict[Any, tuple[Job, Any, int]] = {}  # by what Ray promised
        self._ended: deque[TrialRecord] = deque()
        self._trial = self._ray.remote(_Trial)

    def submit(self, job: Job) -> None:
        """Start ``job``, or keep it until there is room."""
        self._waiting.append(job)
        self._fill()

    def finished(self, timeout: float) -> TrialRecord | None:
        """The next trial that ended; None where none did within ``timeout`` seconds."""
        if not self._ended:
            self._look(timeout)
        return self._ended.popleft() if self._ended else None

    def stop(self) -> None:
        """End everything that runs, wherever it does; what had ended by then can still be asked for."""
        self._waiting.clear()
        for _, actor, _ in self._running.values():
            actor.stop.remote()
        until = time.monotonic() + PATIENCE + 5
        while self._running and time.monotonic() < until:
            self._look(0.5)
        for promise in tuple(self._running):
            self._take(promise, "it did not end when it was asked to")

    def _fill(self) -> None:
        while self._waiting and self._free:
            job, slot = self._waiting.popleft(), self._free.popleft()
            # A process of Ray's for each trial: one that waits for room keeps no trial from the room that others have.
            actor = self._trial.options(
                num_cpus=1, num_gpus=self._gpus, max_concurrency=2, max_restarts=0, scheduling_strategy="SPREAD"
            ).remote()
            promise = actor.run.remote(plain(job), slot, travelling(os.environ))
            self._running[promise] = (job, actor, slot)

    def _look(self, timeout: float) -> None:
        if not self._running:
            time.sleep(max(0.0, timeout))
            return
        ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=max(0.0, timeout))
        for promise in ready:
            self._take(promise)
        self._fill()

    def _take(self, promise: Any, lost: str = "") -> None:
        job, actor, slot = self._running.pop(promise)
        self._free.append(slot)
        record, files = _lost(job, lost), {}
        if not lost:
            try:
                data, files = self._ray.get(promise)
                record = replace(record_of(data), folder=job.folder)
            except Exception as error:  # of Ray's kinds: the node is gone, prtoggle is not installed there, no memory
                record = _lost(job, f"lost by Ray: {_first_line(error)}")
        self._ray.kill(actor)
        _keep(Path(job.folder), files, record)
        self._ended.append(record)


class _Trial:
    """One trial, in a process of Ray's on some node."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def stop(self) -> None:
        """End the trial. Called while :meth:`run` runs, in a thread of its own."""
        self._asked.set()

    def run(self, data: dict[str, Any], slot: int, theirs: dict[str, str]) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The record of the trial, and the files that it left."""
        ray = importlib.import_module("ray")
        job = job_of(data)
        worker = f"ray {slot + 1} {ray.util.get_node_ip_address()}"
        absent = [each for each in (job.cwd, *job.fixes) if each and not os.path.isdir(each)]
        if absent:
            why = f"{', '.join(absent)} is not there on every node of the cluster"
            return plain(replace(_lost(job, why), worker=worker)), {}
        gpus = tuple(map(str, ray.get_gpu_ids()))
        _sweep()
        folder = tempfile.mkdtemp(prefix=_FOLDER)
        try:
            environ = {**_of_node(os.environ), **theirs}
            record = _through_a_worker(replace(job, folder=folder, worker=worker, gpus=gpus), environ, self._asked)
            return plain(record), _files(Path(folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


_AWAY = (
    "import os, sys\n"
    "if os.fork(): os._exit(0)\n"
    "os.execv(sys.executable, [sys.executable, '-m', 'prtoggle.bisection.worker', sys.argv[1]])"
)
"""A program that becomes the worker, as nobody's child."""


def _through_a_worker(job: Job, environ: Mapping[str, str], asked: threading.Event) -> TrialRecord:
    """The trial's record; the trial is ended once that is ``asked`` for."""
    folder = Path(job.folder)
    (folder / JOB).write_text(json.dumps(plain(job)), encoding="utf-8")
    with (folder / "worker.log").open("wb") as log:
        launcher = subprocess.Popen(
            [sys.executable, "-c", _AWAY, job.folder],
            cwd=folder,
            env={name: value for name, value in environ.items() if name != VARIABLE},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,  # nothing is written there: that it ends says that the worker did
            stderr=log,
            start_new_session=True,
        )
    assert launcher.stdin is not None and launcher.stdout is not None
    launcher.wait()
    until = float("inf")
    with launcher.stdin, launcher.stdout:
        while not select.select([launcher.stdout], [], [], 0.1)[0] and time.monotonic() < until:
            if asked.is_set() and until == float("inf"):
                launcher.stdin.close()
                until = time.monotonic() + PATIENCE
    found = taken(folder)
    if found is None:  # the worker was killed, and could not clear up
        reaper.end(lambda: reaper.of_trial(launcher.pid, job.folder), grace=0.5)
        why = "its worker ended without a result"
        found = _lost(job, why) if not asked.is_set() else replace(_lost(job, why), kind="interrupted")
        found = replace(found, worker=job.worker, gpus=job.gpus)
    return found


def travelling(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a trial has from here: all but those of a node, and of Ray."""
    return {name: value for name, value in environ.items() if name not in _OF_A_NODE and not name.startswith(_OF_RAY)}


def _of_node(environ: Mapping[str, str]) -> dict[str, str]:
    """The node's environment without what Ray told its own process: a trial that uses Ray is a program of its own, and
    one for which no GPUs were asked sees them all."""
    return {name: value for name, value in environ.items() if name != GPUS and not name.startswith(_OF_RAY)}


def _sweep() -> None:
    """Remove what trials left here whose process of Ray's was killed; nobody holds their locks any more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        try:
            if time.time() - folder.stat().st_mtime > _OLD and (held := lock(folder)) is not None:
                os.close(held)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue


def _connected(gpus: int) -> Any:
    try:
        ray = importlib.import_module("ray")
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise UsageError("--executor ray needs Ray", hint="pip install ray", page=_PAGE) from None
    address = os.environ.get(ADDRESS, "")
    if not ray.is_initialized():
        _answering(address)
        try:
            with _signals_kept():
                ray.init(address=address or "auto", log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise UsageError(f"no Ray cluster: {_first_line(error)}", hint=_START, page=_PAGE) from None
    # Standard output is data; Ray prints there what it thinks of a process that died, and has no setting for it.
    worker: Any = importlib.import_module("ray._private.worker")
    if hasattr(worker, "_worker_logs_enabled"):
        worker._worker_logs_enabled = False
    most = max((int(node["Resources"].get("GPU", 0)) for node in ray.nodes() if node["Alive"]), default=0)
    if gpus > most:
        hint = "--gpus-per-trial 0 lets trials see all that their node has"
        raise UsageError(
            f"{gpus} GPUs for a trial are more than any node of the cluster has ({most})", hint=hint, page=_PAGE
        )
    return ray


def _answering(address: str) -> None:
    """Raises UsageError where nobody listens at ``host:port``: Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        except OSError as error:
            what = f"no Ray cluster at {ADDRESS}={address}: {error.strerror or error}"
            raise UsageError(what, hint=_START, page=_PAGE) from None


_START = f"ray start --head starts one here; {ADDRESS} names another"


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray takes SIGTERM for itself; whoever had it before has it again."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _lost(job: Job, why: str) -> TrialRecord:
    kind = "infrastructure"
    return TrialRecord(job.number, job.phase, job.reverted, job.selection, kind, why=why, folder=job.folder)


def _files(folder: Path) -> dict[str, bytes]:
    """What a trial left, by path from its folder."""
    return {
        str(path.relative_to(folder)): _end_of(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and path.name not in (RESULT, LOCK, JOB)
    }


def _end_of(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MOST))
        left_out = f"[{size - MOST} bytes left out]\n".encode() if size > MOST else b""
        return left_out + file.read(MOST)


def _keep(folder: Path, files: Mapping[str, bytes], record: TrialRecord) -> None:
    """Put a trial's files where a trial of this machine would have left them; its result last."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if files:
        write(folder / RESULT, record)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
