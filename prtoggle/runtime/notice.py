"""What a process says of its reverts on stderr: one line each, with the process it comes from.

Example::

    notice.say("27360/slice reverted in sglang 0.5.16")     # silent under PRTOGGLE_QUIET=1
    notice.error("...")                                     # never silent
"""

from __future__ import annotations

import os
import sys


def say(text: str) -> None:
    """One line on stderr, unless ``PRTOGGLE_QUIET=1``."""
    if os.environ.get("PRTOGGLE_QUIET") != "1":
        _write(text)


def error(text: str) -> None:
    """One line on stderr, also under ``PRTOGGLE_QUIET=1``: something that was asked for is not in force."""
    _write(f"ERROR: {text}")


def describe(values: dict[str, str | None]) -> str:
    """The selecting variables that are set, as typed."""
    return " ".join(f"{name}={value}" for name, value in values.items() if value is not None)


def _write(text: str) -> None:
    argv = list(getattr(sys, "orig_argv", None) or [])[1:]
    command = " ".join(" ".join(argv).split())
    command = command if len(command) <= 60 else command[:57] + "..."
    line = f"prtoggle: {text} [pid {os.getpid()}{': ' + command if command else ''}]\n"
    try:
        own = sys.__stderr__
        if own is not None and sys.stderr is own:
            # Past the buffer: what a full disk does not take would stay in it, and end the process with 120.
            own.flush()
            os.write(own.fileno(), line.encode(own.encoding, "backslashreplace"))
        elif sys.stderr is not None:
            sys.stderr.write(line)
            sys.stderr.flush()
    except (OSError, ValueError):
        pass
