"""Wait for a command as a shell would have it: signals passed on once, its processes watched, a time limit kept.

The command is in prtoggle's own process group, so that the terminal's Ctrl-C, Ctrl-\\ and Ctrl-Z reach it without
help, and a signal to the group as a whole ends both. What the kernel sends for the terminal is therefore not passed
on; what a process sends to prtoggle alone is, unless the command's own processes sent it.

Example::

    with Signals() as signals:
        process = subprocess.Popen(command, preexec_fn=signals.restore)
        end = wait(process, watch, signals)
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from prtoggle.descendants import Watch

PASSED_ON = tuple(
    getattr(signal, name)
    for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
FROM_TERMINAL = ("SIGINT", "SIGQUIT")
GRACE = 5.0
"""Seconds between asking processes to end and ending them."""
_SI_KERNEL = 0x80
_SOON, _LATER = 0.05, 0.2
"""Seconds between two looks at the processes: in the first seconds, and after."""


@dataclass(frozen=True)
class End:
    """How a command ended: its code as a shell gives it, and what cut it short."""

    code: int
    interrupted: int = 0
    timed_out: bool = False


class Signals:
    """Holds back, in the main thread, the signals that are passed on, from before the command starts until it has
    ended.

    One that is ignored here (``nohup``) stays ignored, here and in the command.
    """

    def __init__(self) -> None:
        main = threading.current_thread() is threading.main_thread()
        self.held = main and hasattr(signal, "sigtimedwait")
        self._handled = main and not self.held
        self._before: set[signal.Signals] | None = None
        self._handlers: dict[int, object] = {}
        self._arrived: list[int] = []
        self._wanted: set[int] = set()

    def __enter__(self) -> Signals:
        self._wanted = {number for number in PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN}
        if self.held:
            self._wanted.add(signal.SIGCHLD)
            self._before = signal.pthread_sigmask(signal.SIG_BLOCK, self._wanted)  # type: ignore[assignment]
        elif self._handled:
            for number in self._wanted:
                self._handlers[number] = signal.signal(number, lambda number, frame: self._arrived.append(number))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._before)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def restore(self) -> None:
        """In the child, before the command: the signals as they were."""
        if self._before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def next(self, process: subprocess.Popen[bytes], seconds: float) -> tuple[int, int, bool] | None:
        """The next signal within ``seconds``: its number, who sent it (0: nobody told), whether the terminal did. None
        also where the process ended meanwhile."""
        if self.held:
            info = signal.sigtimedwait(self._wanted, seconds)
            if info is None or info.si_signo == signal.SIGCHLD:
                return None
            return info.si_signo, info.si_pid, info.si_code == _SI_KERNEL
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        if not self._arrived:
            return None
        number = self._arrived.pop(0)
        return number, 0, signal.Signals(number).name in FROM_TERMINAL and os.isatty(0)


def wait(
    process: subprocess.Popen[bytes],
    watch: Watch,
    signals: Signals,
    *,
    timeout: float | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> End:
    """Wait until ``process`` has ended."""
    begun = time.monotonic()
    received = 0
    cut_short = False
    timed_out = False
    while process.poll() is None:
        watch.look()
        now = time.monotonic() - begun
        late = timeout is not None and now >= timeout
        if not cut_short and (late or stop()):
            cut_short, timed_out = True, late
            end_all(process, watch)
            continue
        seconds = _SOON if now < GRACE else _LATER
        came = signals.next(process, seconds if timeout is None else max(0.0, min(seconds, timeout - now)))
        if came is not None:
            number, sender, from_terminal = came
            received = number
            if not from_terminal and sender not in watch.ours:
                _send(process, number)
    code = process.returncode
    watch.look()
    ended_by = -code if code < 0 else code - 128
    interrupted = received if received and ended_by == received else 0
    return End(128 - code if code < 0 else code, interrupted, timed_out)


def _send(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        process.send_signal(number)
    except OSError:
        pass  # another user's by now (sudo), and its own to end


def end_all(process: subprocess.Popen[bytes], watch: Watch) -> None:
    """Ask the command and every process of it to end; end those that have not after :data:`GRACE` seconds."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        watch.look()
        _send(process, number)
        watch.send(number)
        until = time.monotonic() + GRACE
        while time.monotonic() < until:
            if process.poll() is not None and not watch.still_running():
                return
            time.sleep(0.02)
            watch.look()
