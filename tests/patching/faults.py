"""Commands that are killed, or that the system refuses something, at the n-th thing that they write.

Each runs in a forked child under an audit hook, which Python calls before it opens, renames, links or removes a file: the
product knows nothing of it. ``KILL`` ends the child there as kill -9 does; an error number makes that one call fail, and
``FULL`` every call from there on that would need room on the disk.

Example::

    for n in count(1):
        ended = at(n, lambda: project.revert("7"), project.site, KILL)
        if ended is Ended.NEVER: break
"""

from __future__ import annotations

import enum
import errno
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from prtoggle.errors import RefusedError

KILL = -1
FULL = -2
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
CHANGES = frozenset(
    f"os.{name}"
    for name in ("rename", "remove", "mkdir", "rmdir", "link", "chmod", "chown", "utime", "truncate", "setxattr")
)


class Ended(enum.Enum):
    DONE = 0
    REFUSED = 3
    HALF = 4
    KILLED = 9
    NEVER = 1
    """Done, and the fault did not come: the command writes less often."""


Fault = int | Callable[[], object]
"""What comes: an error number, ``KILL``, ``FULL``, or what somebody else does at that moment."""


def at(n: int, command: Callable[[], object], tree: Path, fault: Fault) -> Ended:
    """How ``command`` ends where ``fault`` comes at its ``n``-th change below ``tree``."""
    hook = _Hook(n, tree, fault)
    return _forked(command, lambda: sys.addaudithook(hook), lambda: hook.left <= 0)


def with_files_up_to(size: int, command: Callable[[], object], *, killed: bool) -> Ended:
    """How ``command`` ends where no file can grow beyond ``size``: killed in the middle of a write, or told of it."""

    def prepare() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if killed else signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return _forked(command, prepare, lambda: True)


class _Hook:
    def __init__(self, n: int, tree: Path, fault: Fault) -> None:
        self.left, self.tree, self.fault = n, os.fspath(tree), fault

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            change = isinstance(flags, int) and bool(flags & WRITING)
        else:
            path = arguments[0] if arguments else None
            change = event in CHANGES
        if not change or not isinstance(path, str | bytes) or not os.fsdecode(path).startswith(self.tree):
            return
        self.left -= 1
        if self.left > 0:
            return
        if callable(self.fault):
            if self.left == 0:
                self.left = -1
                self.fault()
        elif self.fault == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.fault == FULL:
            if event == "open" and flags & os.O_CREAT:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        elif self.left == 0:
            raise OSError(self.fault, os.strerror(self.fault), path)


def _forked(command: Callable[[], object], prepare: Callable[[], None], came: Callable[[], bool]) -> Ended:
    child = os.fork()
    if child == 0:
        _child(command, prepare, came)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXFSZ), status
        return Ended.KILLED
    return Ended(os.WEXITSTATUS(status))


def _child(command: Callable[[], object], prepare: Callable[[], None], came: Callable[[], bool]) -> NoReturn:
    code = 99
    try:
        prepare()
        command()
        code = (Ended.DONE if came() else Ended.NEVER).value
    except RefusedError as error:
        code = Ended.HALF.value if "half changed" in str(error) else Ended.REFUSED.value
    except BaseException as error:
        import traceback

        traceback.print_exception(error)
    finally:
        sys.stderr.flush()
        os._exit(code)
