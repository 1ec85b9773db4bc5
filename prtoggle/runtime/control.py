"""The control socket: takes requests to revert and restore, from the same user's other processes.

A process opts in with ``PRTOGGLE_CONTROL=1``; the ``.pth`` file then calls :func:`start`. The socket stands in a folder
that only this user may enter, is itself for this user alone (0600), and the user of whoever connects is checked. A
request is a few lines of text, an answer one JSON object in one line. Both are bounded in size and time, and each
connection has a thread of its own: a client that is dead, slow or mad harms nobody else. A forked child gets a socket
of its own.

Example of a request::

    prtoggle 1
    do revert
    selection 27360
    timeout 2.0
    <an empty line>
"""

from __future__ import annotations

import os
import sys
import time
from _thread import allocate_lock, start_new_thread

from prtoggle.errors import PrtoggleError, UsageError
from prtoggle.runtime import journal, notice
from prtoggle.runtime.refused import RevertRefusedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket
    from typing import Any, Protocol

    class Controlled(Protocol):
        """What carries the requests out: :mod:`prtoggle.runtime.live`."""

        def revert(self, selection: str, *, timeout: float, force: bool) -> dict[str, Any]: ...
        def restore(self, selection: str, *, timeout: float, force: bool) -> dict[str, Any]: ...
        def status(self) -> dict[str, Any]: ...


_PAGE = "live#from-outside"


VARIABLE = "PRTOGGLE_CONTROL"
HELLO = "prtoggle 1"
REQUEST_LIMIT = 64 * 1024
"""Bytes of a request."""
PATIENCE = 5.0
"""Seconds in which a request must be there, and in which an answer must be taken."""
LONGEST = 600.0
"""Seconds that a toggle may be told to wait for threads."""
AT_ONCE = 16
"""Connections at a time."""

_server: Server | None = None


def folder() -> str:
    """Where this user's sockets are. Not after TMPDIR: who asks may have another than who is asked."""
    return f"/tmp/prtoggle-{os.geteuid()}"


def address(pid: int) -> str:
    """The socket of process ``pid``; named after its start too, since numbers of processes come again."""
    return os.path.join(folder(), f"{pid}-{journal.start_time(pid)}.sock")


def start(controlled: Controlled | None = None) -> None:
    """Listen, where the variable says so. Never raises: what is wrong is said on stderr. Safe to call again."""
    value = os.environ.get(VARIABLE, "").strip()
    if value in ("", "0") or _is_helper():
        return
    if value != "1":
        notice.error(f"{VARIABLE}={value} is neither 1 nor 0: this process takes no requests")
        return
    global _server
    if _server is not None:
        return
    try:
        import threading  # noqa: F401 - here, in the main thread: it takes the thread that imports it for that

        _server = Server(controlled)
        _server.listen()
    except Exception as error:
        notice.error(f"{VARIABLE}=1, but this process takes no requests: {type(error).__name__}: {error}")
        return
    import atexit

    atexit.register(_server.close)
    os.register_at_fork(after_in_child=_forked)


def _is_helper() -> bool:
    """Whether this is a process in which prtoggle resolves a selection."""
    return any("prtoggle.runtime.resolver" in word for word in sys.orig_argv[1:4])


def _forked() -> None:
    """The parent's socket is the parent's; a child has its own."""
    if _server is None:
        return
    try:
        _server.forget()
        _server.listen()
    except Exception as error:
        notice.error(f"{VARIABLE}=1, but this forked process takes no requests: {type(error).__name__}: {error}")


class Server:
    """The socket of this process, and the thread that waits at it."""

    def __init__(self, controlled: Controlled | None = None) -> None:
        self.controlled = controlled
        self.path = ""
        self.pid = 0
        self.socket: Any = None
        self.lock = allocate_lock()
        self.busy = 0

    def listen(self) -> None:
        """Make the socket and wait at it, in a thread."""
        import _socket

        if not hasattr(_socket, "SO_PEERCRED"):
            raise OSError("this system does not tell which user connects (SO_PEERCRED)")
        where = folder()
        _private(where)
        _sweep(where)
        self.pid = os.getpid()
        self.path = address(self.pid)
        made = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            # Bound under another name and given its mode before it gets its own: nobody finds it half made.
            young = f"{self.path}.new"
            for path in (young, self.path):
                if os.path.lexists(path):
                    os.unlink(path)  # of this very process, before exec
            made.bind(young)
            os.chmod(young, 0o600)
            made.listen(128)
            os.rename(young, self.path)
        except BaseException:
            made.close()
            raise
        self.socket = made
        start_new_thread(self._accept, (made,))

    def forget(self) -> None:
        """In a forked child: drop what is the parent's."""
        if self.socket is not None:
            self.socket.close()
        self.socket, self.path, self.busy = None, "", 0
        self.lock = allocate_lock()

    def close(self) -> None:
        """Take the socket away."""
        import _socket

        if not self.path or self.pid != os.getpid():
            return
        listening, self.socket = self.socket, None
        try:
            os.unlink(self.path)
            listening.shutdown(_socket.SHUT_RDWR)  # wakes the thread that waits at it
            listening.close()
        except OSError:
            pass

    def _accept(self, listening: Any) -> None:
        import _socket

        while True:
            try:
                handle, _ = listening._accept()
                peer = _socket.socket(fileno=handle)
            except OSError:
                if self.socket is not listening:
                    return
                time.sleep(0.1)  # out of file handles, most likely
                continue
            with self.lock:
                room = self.busy < AT_ONCE
                self.busy += room
            if not room:
                peer.close()
                continue
            try:
                start_new_thread(self._serve, (peer,))
            except RuntimeError:
                self._done(peer)

    def _serve(self, peer: Any) -> None:
        try:
            if _user(peer) == os.geteuid():
                _send(peer, self.answer(_receive(peer)))
        except OSError:
            pass  # gone, or too slow to be told so
        finally:
            self._done(peer)

    def _done(self, peer: Any) -> None:
        with self.lock:
            self.busy -= 1
        try:
            peer.close()
        except OSError:
            pass

    def answer(self, request: bytes) -> bytes:
        """One line of JSON for any request whatever."""
        try:
            said: dict[str, Any] = {"ok": True, "result": self._carry_out(_parse(request))}
        except PrtoggleError as error:
            said = {"ok": False, "error": error.said, "page": error.page, "exit_code": error.exit_code}
        except RevertRefusedError as error:
            said = {"ok": False, "error": str(error), "exit_code": 3}
        except BaseException as error:  # SystemExit too: this thread answers for what it did
            said = {"ok": False, "error": f"a bug in prtoggle: {type(error).__name__}: {error}", "exit_code": 70}
        said["pid"] = os.getpid()
        return (journal.to_json(said) + "\n").encode("utf-8", "backslashreplace")

    def _carry_out(self, fields: dict[str, str]) -> dict[str, Any]:
        live = self.controlled
        if live is None:
            from prtoggle.runtime import live as module

            live = module
        if fields["do"] == "status":
            return live.status()
        timeout, force = _seconds(fields.get("timeout", "2.0")), fields.get("force", "0") == "1"
        if not fields.get("selection"):
            raise UsageError("the request names no selection", page=_PAGE)
        act = live.revert if fields["do"] == "revert" else live.restore
        return act(fields["selection"], timeout=timeout, force=force)


def _parse(request: bytes) -> dict[str, str]:
    """The request's lines as a dictionary. Raises UsageError."""
    try:
        lines = request.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise UsageError("the request is not UTF-8", page=_PAGE) from None
    if lines[0] != HELLO:
        raise UsageError(
            f"the request does not begin with {HELLO!r}", hint="use the prtoggle of the process's version", page=_PAGE
        )
    if lines[-2:] != ["", ""] or len(request) > REQUEST_LIMIT:
        raise UsageError(
            f"the request does not end with an empty line within {REQUEST_LIMIT} bytes and {PATIENCE:g} s", page=_PAGE
        )
    fields: dict[str, str] = {}
    for line in lines[1:-2]:
        name, space, value = line.partition(" ")
        if name not in ("do", "selection", "timeout", "force") or not space or name in fields:
            raise UsageError(f"not a line of a request: {line[:60]!r}", page=_PAGE)
        fields[name] = value
    if fields.get("do") not in ("revert", "restore", "status"):
        raise UsageError("the request says neither `do revert` nor `do restore` nor `do status`", page=_PAGE)
    if fields.get("force", "0") not in ("0", "1"):
        raise UsageError("force is 0 or 1", page=_PAGE)
    return fields


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST:
        raise UsageError(f"timeout is a number of seconds up to {LONGEST:g}, not {text[:20]!r}", page=_PAGE)
    return seconds


def _user(peer: Any) -> int:
    """Whose process is on the other side."""
    import _socket
    import struct

    credentials = peer.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[1])


def _receive(peer: socket) -> bytes:
    """What the peer sends up to an empty line, its end, the size limit or the time limit."""
    limit = time.monotonic() + PATIENCE
    request = b""
    while b"\n\n" not in request and len(request) <= REQUEST_LIMIT:
        left = limit - time.monotonic()
        if left <= 0:
            break
        peer.settimeout(left)
        try:
            more = peer.recv(4096)
        except TimeoutError:
            break
        if not more:
            break
        request += more
    return request


def _send(peer: socket, answer: bytes) -> None:
    """All of the answer, as far as the peer takes it in time."""
    import _socket

    limit = time.monotonic() + PATIENCE
    while answer:
        left = limit - time.monotonic()
        if left <= 0:
            return
        peer.settimeout(left)
        # MSG_NOSIGNAL: a program that wants SIGPIPE's default would end with its client.
        answer = answer[peer.send(answer, _socket.MSG_NOSIGNAL) :]


def _private(where: str) -> None:
    """Make the folder, or see that it is a folder that is this user's alone."""
    try:
        os.mkdir(where, 0o700)
    except FileExistsError:
        pass
    stat = os.lstat(where)
    if stat.st_mode & 0o170000 != 0o040000 or stat.st_uid != os.geteuid() or stat.st_mode & 0o077:
        raise PermissionError(f"{where} is not a folder that belongs to this user alone (mode 0700)")


def answers(path: str) -> bool:
    """Whether a process waits at the socket ``path``."""
    import _socket

    trial = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        trial.setblocking(False)
        trial.connect(path)
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except OSError:  # as many as may wait there do
        return True
    finally:
        trial.close()
    return True


def _sweep(where: str) -> None:
    """Remove the sockets of processes that ended without a chance to."""
    for name in os.listdir(where):
        pid, _, start = name.partition(".")[0].partition("-")
        if not (pid.isdigit() and start.isdigit()) or journal.start_time(int(pid)) == int(start):
            continue
        if not answers(os.path.join(where, name)):  # else it is of another container, which counts otherwise
            try:
                os.unlink(os.path.join(where, name))
            except OSError:
                pass
