"""The control socket: what it is asked, by whom, and what it survives."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prtoggle import remote
from prtoggle.errors import RefusedError, UsageError
from prtoggle.runtime import control

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs SO_PEERCRED and /proc")

STATUS = b"prtoggle 1\ndo status\n\n"
REVERT = b"prtoggle 1\ndo revert\nselection 27360\ntimeout 0.5\nforce 1\n\n"


class Recorded:
    """Stands where :mod:`prtoggle.runtime.live` does, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.raises: BaseException | None = None
        self.padding = 0

    def revert(self, selection: str, *, timeout: float, force: bool) -> dict[str, Any]:
        self.asked.append(("revert", selection, timeout, force))
        if self.raises:
            raise self.raises
        return {"reverted": (selection,), "restored": ()}

    def restore(self, selection: str, *, timeout: float, force: bool) -> dict[str, Any]:
        self.asked.append(("restore", selection, timeout, force))
        return {"reverted": (), "restored": (selection,)}

    def status(self) -> dict[str, Any]:
        return {"pid": os.getpid(), "parts": [], "padding": "x" * self.padding}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    where = tmp_path / "sockets"
    monkeypatch.setattr(control, "folder", lambda: str(where))
    return where


@pytest.fixture
def live() -> Recorded:
    return Recorded()


@pytest.fixture
def server(folder: Path, live: Recorded) -> Iterator[control.Server]:
    made = control.Server(live)
    made.listen()
    yield made
    made.close()


def connected(server: control.Server) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(20)
    for _ in range(400):
        try:
            made.connect(server.path)
            return made
        except BlockingIOError:
            time.sleep(0.05)
    raise AssertionError("nobody accepts")


def say(server: control.Server, request: bytes, *, end: bool = True) -> Any:
    """The answer to ``request``; None where the connection is closed without one."""
    with connected(server) as made:
        try:
            made.sendall(request)
            if end:
                made.shutdown(socket.SHUT_WR)
            said = b"".join(iter(lambda: made.recv(65536), b""))
        except (ConnectionResetError, BrokenPipeError):
            return None
    return json.loads(said) if said else None


def test_a_request_is_carried_out_and_answered(server: control.Server, live: Recorded) -> None:
    answer = say(server, REVERT, end=False)
    assert answer == {"ok": True, "result": {"reverted": ["27360"], "restored": []}, "pid": os.getpid()}
    assert live.asked == [("revert", "27360", 0.5, True)]


def test_what_is_refused_is_answered_with_its_words_and_exit_code(server: control.Server, live: Recorded) -> None:
    live.raises = RefusedError("not while it runs", hint="restart")
    answer = say(server, REVERT)
    assert (answer["ok"], answer["exit_code"]) == (False, 3)
    assert answer["error"] == "not while it runs\n  hint: restart"


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(0), KeyboardInterrupt(), MemoryError()])
def test_whatever_is_raised_is_answered_and_survived(
    server: control.Server, live: Recorded, error: BaseException
) -> None:
    live.raises = error
    answer = say(server, REVERT)
    assert (answer["ok"], answer["exit_code"]) == (False, 70)
    assert type(error).__name__ in answer["error"]
    assert say(server, STATUS)["ok"]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (b"", "does not begin with"),
        (b"GET / HTTP/1.1\r\n\r\n", "does not begin with"),
        (b"prtoggle 2\ndo status\n\n", "does not begin with"),
        (b"\xff\xfe\n\n", "not UTF-8"),
        (b"prtoggle 1\ndo status\n", "does not end"),
        (b"prtoggle 1\n\n", "neither"),
        (b"prtoggle 1\ndo sing\n\n", "neither"),
        (b"prtoggle 1\ndo revert\n\n", "names no selection"),
        (b"prtoggle 1\ndo status\ndo status\n\n", "not a line of a request"),
        (b"prtoggle 1\ndo revert\nselection 1\nspeed 9\n\n", "not a line of a request"),
        (b"prtoggle 1\ndo revert\nselection 1\ntimeout nan\n\n", "timeout is a number"),
        (b"prtoggle 1\ndo revert\nselection 1\ntimeout 1e9\n\n", "timeout is a number"),
        (b"prtoggle 1\ndo revert\nselection 1\ntimeout -1\n\n", "timeout is a number"),
        (b"prtoggle 1\ndo revert\nselection 1\nforce yes\n\n", "force is 0 or 1"),
    ],
)
def test_a_malformed_request_is_answered_and_nothing_done(
    server: control.Server, live: Recorded, request_: bytes, words: str
) -> None:
    answer = say(server, request_)
    assert (answer["ok"], answer["exit_code"]) == (False, 2)
    assert words in answer["error"]
    assert live.asked == []


lines = st.sampled_from(
    [
        b"prtoggle 1",
        b"do revert",
        b"do restore",
        b"do status",
        b"selection 1",
        b"timeout 1",
        b"force 1",
        b"",
        b"do",
        b" ",
    ]
) | st.binary(max_size=40)
requests = st.binary(max_size=300) | st.lists(lines, max_size=8).map(b"\n".join)


@settings(max_examples=2000, deadline=None)
@given(requests)
def test_any_bytes_have_an_answer(request_: bytes) -> None:
    live = Recorded()
    answer = json.loads(control.Server(live).answer(request_))
    assert answer["ok"] or answer["exit_code"] == 2
    if live.asked:
        assert request_.startswith(b"prtoggle 1\n") and request_.endswith(b"\n\n")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(requests)
def test_any_bytes_over_the_socket_are_answered_and_survived(server: control.Server, request_: bytes) -> None:
    answer = say(server, request_)
    assert answer is None or isinstance(answer["ok"], bool)
    assert say(server, STATUS)["ok"]


def test_an_oversized_request_is_refused_without_being_read_whole(server: control.Server, live: Recorded) -> None:
    say(server, b"prtoggle 1\ndo revert\nselection " + b"9" * 10_000_000)
    assert live.asked == []
    assert say(server, STATUS)["ok"]


def test_a_client_that_says_nothing_keeps_nobody_waiting(server: control.Server) -> None:
    with connected(server), connected(server):
        start = time.monotonic()
        assert say(server, STATUS)["ok"]
        assert time.monotonic() - start < 2


def test_a_client_that_says_nothing_is_answered_after_a_while(
    server: control.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "PATIENCE", 0.2)
    answer = say(server, b"prtoggle 1\ndo status\n", end=False)
    assert "does not end with an empty line" in answer["error"]


def test_clients_that_are_gone_before_the_answer_harm_nobody(server: control.Server, live: Recorded) -> None:
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as some programs have it
    try:
        live.padding = 1_000_000
        for _ in range(20):
            made = connected(server)
            made.sendall(STATUS)
            made.close()
        live.padding = 0
        answer, limit = None, time.monotonic() + 20
        while answer is None and time.monotonic() < limit:  # one that comes while too many are there is sent away
            answer = say(server, STATUS)
        assert answer["ok"]
    finally:
        signal.signal(signal.SIGPIPE, before)


def test_a_client_that_does_not_read_is_given_up(
    server: control.Server, live: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "PATIENCE", 0.3)
    live.padding = 50_000_000
    with connected(server) as made:
        made.sendall(STATUS)
        limit = time.monotonic() + 10
        while server.busy == 0 and time.monotonic() < limit:
            time.sleep(0.01)
        while server.busy and time.monotonic() < limit:
            time.sleep(0.05)
        assert server.busy == 0


def test_too_many_connections_are_closed_and_later_ones_served(
    server: control.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = [connected(server) for _ in range(control.AT_ONCE)]
    limit = time.monotonic() + 10
    while server.busy < control.AT_ONCE and time.monotonic() < limit:
        time.sleep(0.01)
    assert say(server, STATUS) is None
    for each in held:
        each.close()
    while server.busy and time.monotonic() < limit:
        time.sleep(0.01)
    assert say(server, STATUS)["ok"]


def test_the_folder_and_the_socket_are_this_users_alone(server: control.Server, folder: Path) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(os.stat(server.path).st_mode) == 0o600


def test_a_folder_that_others_may_enter_or_that_is_a_link_is_not_used(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(mode=0o755)
    with pytest.raises(PermissionError):
        control.Server().listen()
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError):
        control.Server().listen()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_users_process_is_not_answered(server: control.Server, live: Recorded, folder: Path) -> None:
    # The modes are taken away first: it is the look at the peer's user that is tested here.
    for path in (*reversed(folder.parents), folder):
        if path.stat().st_mode & 0o005 != 0o005:
            path.chmod(0o755)
    os.chmod(server.path, 0o666)
    code = (
        "import os, socket, sys\nos.setgid(65534); os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX); s.settimeout(10); s.connect(sys.argv[1])\n"
        "try:\n    s.sendall(b'prtoggle 1\\ndo revert\\nselection 1\\n\\n')\n    print(s.recv(100))\n"
        "except (ConnectionResetError, BrokenPipeError):\n    print(b'')\n"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code, server.path], capture_output=True, text=True, cwd="/")
    assert (done.stdout, done.stderr) == ("b''\n", "")
    assert live.asked == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_process_of_another_user_is_not_asked() -> None:
    code = "import os, sys; os.setuid(65534); print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
    ) as other:
        assert other.stdout and other.stdout.readline()
        with pytest.raises(RefusedError, match="another user's"):
            remote.ask(other.pid, "status")


# --- real processes

PROGRAM = "from prtoggle.runtime import control\ncontrol.start()\n"
ENV = {name: value for name, value in os.environ.items() if not name.startswith("PRTOGGLE_")}
ROOT = str(Path(__file__).resolve().parents[2])


def listening_process(code: str = "", **env: str) -> subprocess.Popen[str]:
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + code + "\nprint('ready', flush=True)\nimport sys; sys.stdin.read()"],
        env=ENV | {"PRTOGGLE_CONTROL": "1", "PYTHONPATH": ROOT} | env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout and started.stdout.readline() == "ready\n"
    return started


def test_the_socket_goes_with_the_process_and_one_left_by_a_kill_is_swept_by_the_next() -> None:
    with listening_process() as first, listening_process() as second:
        paths = [control.address(each.pid) for each in (first, second)]
        assert all(map(os.path.exists, paths))
        assert {first.pid, second.pid} <= set(remote.listening())
        first.communicate("")
        second.kill()
        second.wait()
    assert not os.path.exists(paths[0])
    assert not {first.pid, second.pid} & set(remote.listening())
    with listening_process() as third:
        assert not os.path.exists(paths[1])
        third.communicate("")


def test_a_process_that_runs_another_program_by_now_takes_no_requests_and_is_not_listed() -> None:
    code = """
import os, sys
print("ready", flush=True)
sys.stdin.readline()
os.environ["PRTOGGLE_CONTROL"] = "0"
os.execv(sys.executable, [sys.executable, "-c", "print('another', flush=True); input()"])
"""
    with listening_process(code) as process:
        assert process.stdin and process.stdout
        assert process.pid in remote.listening()
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "another\n"
        assert process.pid not in remote.listening()
        with pytest.raises(RefusedError, match="takes no requests"):
            remote.ask(process.pid, "status")
        process.communicate("\n")


def test_a_socket_that_answers_is_not_swept_though_no_such_process_is_seen(folder: Path) -> None:
    # Containers may share the folder, and each counts its processes for itself.
    control._private(str(folder))
    path = folder / "4194304-1.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as another:
        another.bind(str(path))
        another.listen()
        control._sweep(str(folder))
        assert path.exists()
    control._sweep(str(folder))
    assert not path.exists()


def test_without_the_variable_there_is_no_socket() -> None:
    with listening_process(PRTOGGLE_CONTROL="0") as process:
        with pytest.raises(RefusedError, match="takes no requests") as caught:
            remote.ask(process.pid, "status")
        assert "PRTOGGLE_CONTROL=1" in caught.value.hint
        process.communicate("")


def test_a_forked_child_has_a_socket_of_its_own_and_leaves_the_parents() -> None:
    code = "import os\nchild = os.fork()\nif not child:\n    import time; time.sleep(60)\nprint(child, flush=True)"
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + code + "\nimport sys; sys.stdin.read()"],
        env=ENV | {"PRTOGGLE_CONTROL": "1", "PYTHONPATH": ROOT},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with started:
        assert started.stdout
        child = int(started.stdout.readline())
        try:
            assert remote.tree(started.pid) == (started.pid, child)
            limit = time.monotonic() + 10
            while not os.path.exists(control.address(child)) and time.monotonic() < limit:
                time.sleep(0.01)
            answers = remote.statuses((started.pid, child))
            assert [answer.result.get("pid") for answer in answers] == [started.pid, child]
        finally:
            os.kill(child, signal.SIGKILL)
        assert remote.ask(started.pid, "status").ok
        started.communicate("")


def test_there_is_no_such_process() -> None:
    with pytest.raises(UsageError, match="there is no process"):
        remote.ask(2**22 + 1, "status")
    with pytest.raises(UsageError, match="one line"):
        remote.ask(os.getpid(), "revert", "1\nforce 1")


def test_the_thread_that_waits_does_not_keep_the_process() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            PROGRAM + "import threading; print(threading.main_thread().ident == threading.get_ident())",
        ],
        env=ENV | {"PRTOGGLE_CONTROL": "1", "PYTHONPATH": ROOT},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    assert threading.main_thread() is not None
