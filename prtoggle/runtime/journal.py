"""What this process did about its reverts, written for ``prtoggle run`` to read: one JSON object a line, one file a
process.

Nothing is written unless ``PRTOGGLE_JOURNAL`` names a folder. Every line is one ``write`` to a file opened for
appending, so that a kill loses at most the line being written. A forked child gets a file of its own.

Events, each with ``pid`` and ``time`` (seconds since the epoch): ``booted``, ``forked``, ``planned``, ``reverted``,
``refused``, ``executed``, ``traced``, ``toggled`` (by a live toggle), ``ended``.
"""

from __future__ import annotations

import os
import sys
import time

VARIABLE = "PRTOGGLE_JOURNAL"
RANKS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "SLURM_PROCID", "RAY_WORKER_RANK", "CUDA_VISIBLE_DEVICES")
"""The variables that tell one process of many from the others."""
_registered = False


def wanted() -> bool:
    """Whether anything is written."""
    return bool(os.environ.get(VARIABLE))


def start() -> None:
    """Write ``booted``, and see to it that forked children write ``forked``."""
    global _registered
    if not wanted():
        return
    record("booted", **_self())
    if not _registered and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: record("forked", **_self()))
        _registered = True


def _self() -> dict[str, object]:
    return {
        "ppid": os.getppid(),
        "argv": list(getattr(sys, "orig_argv", None) or getattr(sys, "argv", [])),
        "executable": sys.executable or "",
        "start": start_time(os.getpid()),
        "version": ".".join(map(str, sys.version_info[:3])),
        "ranks": ranks(),
    }


def ranks() -> dict[str, str]:
    """The rank variables of this process."""
    return {name: os.environ[name] for name in RANKS if name in os.environ}


def start_time(pid: int) -> int:
    """When ``pid`` started, in clock ticks since boot, where /proc tells; else 0. With the pid it names a process for
    good."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return int(stat.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def record(event: str, **data: object) -> None:
    """Append one line. Never raises for a disk that does not take it."""
    where = os.environ.get(VARIABLE)
    if not where:
        return
    pid = os.getpid()
    line = to_json({"event": event, "pid": pid, "time": time.time(), **data}) + "\n"
    try:
        handle = os.open(
            os.path.join(where, f"{pid}-{start_time(pid)}.jsonl"),
            os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0),
            0o600,
        )
    except OSError:
        return
    try:
        os.write(handle, line.encode("utf-8", "backslashreplace"))
    except OSError:
        pass
    finally:
        os.close(handle)


def to_json(value: object) -> str:
    """JSON text of plain values. The json package costs up to 10 ms to import, this a few microseconds."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_string(str(key))}: {to_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(to_json(item) for item in value) + "]"
    return _string(str(value))


def _string(text: str) -> str:
    try:
        from _json import encode_basestring_ascii as encode
    except ImportError:  # pragma: no cover - a build without the accelerator
        from json.encoder import encode_basestring_ascii as encode
    return encode(text)
