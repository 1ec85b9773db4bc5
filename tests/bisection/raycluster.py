"""A real Ray cluster on this machine, whose environment is not that of whoever uses it.

Example::

    with cluster(tmp_path, nodes=2) as env:     # RAY_ADDRESS and what else a program needs that is to find it
        subprocess.run([PYTHON, "program.py"], env=env)
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from prtoggle.bisection import reaper

PYTHON = os.environ.get("PRTOGGLE_RAY_PYTHON") or (sys.executable if find_spec("ray") else "")
"""A Python that has Ray and prtoggle."""
needs_ray = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PYTHON, reason="Ray is not installed here, and PRTOGGLE_RAY_PYTHON names no Python that has it"
    ),
]


def ray(*words: str, env: dict[str, str]) -> None:
    done = subprocess.run(
        [PYTHON, "-m", "ray.scripts.scripts", *words], env=env, capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def cluster(folder: Path, nodes: int = 2, **its_own: str) -> Iterator[dict[str, str]]:
    """The environment of a program that finds the cluster; two tasks at a time on each node, and two GPUs, or so Ray
    believes, on each but the first. ``its_own`` are variables of the cluster alone."""
    # One at a time on a machine: tests run in several processes, and some of Ray's ports are always the same.
    alone = (Path(tempfile.gettempdir()) / "prtoggle-ray-tests.lock").open("w")
    fcntl.flock(alone, fcntl.LOCK_EX)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PRTOGGLE_", "RAY_", "PYTHON", "SGLANG_"))
    }
    # A token that the user has for another cluster must not count here.
    open_to_all = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    env = {
        **clean,
        **open_to_all,
        "RAY_DISABLE_IMPORT_WARNING": "1",
        "TMPDIR": str(folder),
        **its_own,
    }
    small = ("--num-cpus=2", "--object-store-memory=80000000", "--disable-usage-stats")
    # A short folder: the paths of its sockets have a limit.
    home = Path("/tmp") / f"prt-ray-{os.getpid()}"
    head = ("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={home}", "--num-gpus=0")
    # Ray believes what it is told of GPUs, and deals them out.
    more = (f"--address=127.0.0.1:{port}", "--num-gpus=2")
    try:
        for words in (head, *[more] * (nodes - 1)):
            ray("start", *words, "--node-ip-address=127.0.0.1", *small, env=env)
        yield {**clean, **open_to_all, "HOME_OF_RAY": str(home), "RAY_ADDRESS": f"127.0.0.1:{port}"}
    finally:
        for pid in processes(home):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(home, ignore_errors=True)
        alone.close()


def processes(home: Path) -> set[int]:
    """Processes of the cluster whose folder is ``home``: they name it, or are below one that does."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    named = {pid for pid in pids if str(home).encode() in command_line(pid) and pid != os.getpid()}
    return named.union(*map(reaper.below, named))


def command_line(pid: int) -> bytes:
    """The command line of a process; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
