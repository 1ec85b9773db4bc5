"""Asks running processes, over their control sockets, to revert, restore, or say how they are.

Example::

    for answer in toggle("revert", "27360", pids=tree(launcher_pid), timeout=2.0):
        answer.pid, answer.ok, answer.result, answer.error

Nothing changes in any process unless all of them can be asked; where one of them refuses, what the others did is
undone.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from prtoggle.descendants import SEES, Watch
from prtoggle.errors import PrtoggleError, RefusedError, UsageError
from prtoggle.runtime import control
from prtoggle.runtime.journal import start_time

ANSWER_LIMIT = 16 * 1024 * 1024
RESOLVING = 300.0
"""Seconds that a process may take to resolve a selection and to change, besides waiting for its threads."""
SETTLING = 1.0
"""Seconds in which a process that is about to begin, or to run another program, or to end, has done so."""
_PAGE = "live#from-outside"
_OPT_IN = f"start it with {control.VARIABLE}=1 in its environment"


@dataclass(frozen=True)
class Answer:
    """What one process said.

    Attributes:
        result: what it did or knows, where ``ok``.
        error: why not, otherwise; ``page`` explains it, ``exit_code`` is that of a command that ends with it.
        undone: whether what it did was undone, since another process refused.
    """

    pid: int
    ok: bool
    result: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    page: str = ""
    exit_code: int = 0
    undone: bool = False


def ask(pid: int, do: str, selection: str = "", *, timeout: float = 2.0, force: bool = False) -> Answer:
    """Ask one process. Raises RefusedError where it cannot be asked, or does not answer."""
    if "\n" in selection:
        raise UsageError("a selection is one line")
    lines = [control.HELLO, f"do {do}"]
    if do != "status":
        lines += [f"selection {selection}", f"timeout {timeout!r}", f"force {int(force)}"]
    with _connect(pid) as connection:
        try:
            connection.settimeout(timeout + RESOLVING)
            connection.sendall(("\n".join(lines) + "\n\n").encode())
            said = b""
            while not said.endswith(b"\n") and len(said) < ANSWER_LIMIT:
                more = connection.recv(65536)
                if not more:
                    break
                said += more
            answer = json.loads(said)
            words = answer.get("error", ""), answer.get("page", ""), answer.get("exit_code", 0)
            return Answer(pid, answer["ok"], answer.get("result", {}), *words)
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = str(error) if isinstance(error, OSError) else "it closed the connection without an answer"
            raise RefusedError(
                f"process {pid} did not answer: {why}", hint="prtoggle status says what it runs", page=_PAGE
            ) from None


def toggle(
    do: str, selection: str, *, pids: Sequence[int], timeout: float = 2.0, force: bool = False
) -> tuple[Answer, ...]:
    """Have all of ``pids`` revert or restore ``selection``; all or none. One answer a process."""
    answers: list[Answer] = []
    for pid in _reachable(pids):
        try:
            answers.append(ask(pid, do, selection, timeout=timeout, force=force))
        except PrtoggleError as error:
            if start_time(pid) == 0:
                continue  # ended meanwhile
            answers.append(_failed(pid, error))
    if all(answer.ok for answer in answers):
        return tuple(answers)
    return tuple(_undone(answer, timeout, force) if answer.ok else answer for answer in answers)


def _reachable(pids: Sequence[int]) -> list[int]:
    """Those of ``pids`` that are to be asked, now that each of them can be."""
    found: list[int] = []
    limit = time.monotonic() + SETTLING
    for pid in pids:
        while True:
            try:
                _connect(pid).close()
            except PrtoggleError:
                gone = start_time(pid) == 0 or (pid != pids[0] and not _runs_python(pid))
                if gone and (found or pid != pids[-1]):
                    break
                if gone or time.monotonic() > limit:
                    raise
                time.sleep(0.05)
            else:
                found.append(pid)
                break
    return found


def _runs_python(pid: int) -> bool:
    """Whether code of the user runs there: a copy of a Python process may have become another program since."""
    watch = Watch(pid, "\0no journal")
    watch.look()
    return pid in {seen.pid for seen in watch.pythons} & set(watch.still_running(helpers=False))


def _undone(answer: Answer, timeout: float, force: bool) -> Answer:
    from prtoggle.runtime.targets import written

    for changed, opposite in (("reverted", "restore"), ("restored", "revert")):
        parts = answer.result.get(changed) or []
        if parts:
            try:
                back = ask(answer.pid, opposite, written(parts), timeout=timeout, force=force)
                error = back.error
            except PrtoggleError as problem:
                error = problem.said
            if error:
                what = f"could not be undone, though another process refused: {error}"
                return Answer(answer.pid, False, answer.result, what, _PAGE, 3)
    return Answer(answer.pid, True, answer.result, undone=True)


def statuses(pids: Sequence[int]) -> tuple[Answer, ...]:
    """What each process runs."""
    answers = []
    for pid in pids:
        try:
            answers.append(ask(pid, "status"))
        except PrtoggleError as error:
            answers.append(_failed(pid, error))
    return tuple(answers)


def _failed(pid: int, error: PrtoggleError) -> Answer:
    return Answer(pid, False, error=error.said, page=error.page, exit_code=error.exit_code)


def tree(pid: int) -> tuple[int, ...]:
    """``pid`` and every Python below it, helpers of multiprocessing left out."""
    if not SEES:
        raise RefusedError("processes can be looked at on Linux alone", page=_PAGE)
    if start_time(pid) == 0:
        raise _no_process(pid)
    watch = Watch(pid, "\0no journal")
    watch.look()
    running = set(watch.still_running(helpers=False))
    pythons = {seen.pid for seen in watch.pythons}
    found = [each for each in sorted(running & pythons) if each != pid]
    # A launcher may be a shell; where it is a Python, it has to be asked too.
    return (pid, *found) if pid in pythons or not found else tuple(found)


def listening() -> tuple[int, ...]:
    """Every other process of this user that takes requests."""
    try:
        names = os.listdir(control.folder())
    except OSError:
        return ()
    pids = (int(name.partition("-")[0]) for name in names if name.partition("-")[0].isdigit())
    found = {pid for pid in pids if pid != os.getpid() and os.path.basename(control.address(pid)) in names}
    return tuple(pid for pid in sorted(found) if control.answers(control.address(pid)))


def _no_process(pid: int) -> UsageError:
    return UsageError(f"there is no process {pid}", hint="prtoggle status lists those that can be asked", page=_PAGE)


def _connect(pid: int) -> socket.socket:
    """A connection to a process of this user that takes requests, or a RefusedError that says why not."""
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        raise _no_process(pid) from None
    if owner != os.geteuid():
        raise RefusedError(f"process {pid} is another user's", hint="toggle it as that user", page=_PAGE)
    path = control.address(pid)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(control.PATIENCE)
        if os.stat(path).st_uid != owner:
            raise RefusedError(f"{path} is another user's", page=_PAGE)
        limit = time.monotonic() + control.PATIENCE
        while True:
            try:
                made.connect(path)
                break
            except BlockingIOError:  # as many as may wait there do
                if time.monotonic() > limit:
                    raise
                time.sleep(0.05)
    except (FileNotFoundError, ConnectionRefusedError):  # refused: it runs another program by now (exec)
        made.close()
        raise RefusedError(f"process {pid} takes no requests", hint=_OPT_IN, page=_PAGE) from None
    except OSError as error:
        made.close()
        what = f"process {pid} cannot be asked: {error.strerror or error}"
        raise RefusedError(what, hint=_OPT_IN, page=_PAGE) from None
    except RefusedError:
        made.close()
        raise
    return made
