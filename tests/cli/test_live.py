"""``revert``, ``restore`` and ``status``: processes that run, toggled from outside."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from prtoggle.runtime import control
from tests.cli.world import World

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs SO_PEERCRED and /proc"),
    pytest.mark.usefixtures("installed"),
]

CORE = "def f():\n    return 'fixed'\n"
EDIT = """\
variants:
  - package: app
    patches:
      - target: app.core.f
        edits:
          - match: 'return ''fixed'''
            replacement: 'return ''reverted'''
"""
LINES = "import app.core, sys\nfor _ in sys.stdin:\n    print(app.core.f(), flush=True)\n"


@pytest.fixture
def app(world: World) -> World:
    """A package with one fix, number 7."""
    world.package("app", "1.0", core=CORE)
    world.fix(7, f"prtoggle: 1\nfix: 7\ntitle: a fix of this test\n{EDIT}")
    return world


class Process:
    """A Python process that says what ``app.core.f`` gives whenever it is asked."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.pid = str(process.pid)

    def f(self) -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@contextmanager
def running(world: World, code: str = LINES, listens: str = "1", **env: str) -> Iterator[Process]:
    environ = world.environ({"PRTOGGLE_CONTROL": listens, "PRTOGGLE_QUIET": "1", **env})
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Process(process)
        process.communicate("", timeout=30)


def test_a_fix_is_taken_out_of_a_process_and_put_back(app: World) -> None:
    with running(app) as process:
        assert process.f() == "fixed"
        done = app.run("revert", "7", "--pid", process.pid)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(f"{process.pid}: 7 reverted (calls paused for ")
        assert process.f() == "reverted"
        again = app.run("revert", "7", "--pid", process.pid)
        assert (again.code, again.out) == (0, f"{process.pid}: 7 already reverted\n")
        done = app.run("restore", "--pid", process.pid)
        assert (done.code, done.out.partition(" (")[0]) == (0, f"{process.pid}: 7 restored")
        assert process.f() == "fixed"


def test_status_says_what_is_out_of_which_process_and_how(app: World) -> None:
    with running(app, RANK="3") as live, running(app, PRTOGGLE_REVERT="7") as imported:
        assert (live.f(), imported.f()) == ("fixed", "reverted")
        app.run("revert", "7", "--pid", live.pid)
        said = app.run("status", "--pid", live.pid, "--pid", imported.pid)
        assert said.code == 0
        rows = {line.split()[0]: line for line in said.out.splitlines()[1:]}
        assert " 7 " in rows[live.pid] and "live, 20" in rows[live.pid] and "RANK=3" in rows[live.pid]
        assert " 7 " in rows[imported.pid] and "import" in rows[imported.pid]
        everything = json.loads(app.run("status", "--json").out)["processes"]
        assert {int(live.pid), int(imported.pid)} <= {each["pid"] for each in everything}
        app.run("restore", "7", "--pid", imported.pid)
        assert imported.f() == "fixed"


def test_status_tells_the_packages_of_one_part_apart(app: World) -> None:
    app.package("twin", "1.0", core=CORE)
    both = EDIT + EDIT.removeprefix("variants:\n").replace("app", "twin")
    app.fix(8, f"prtoggle: 1\nfix: 8\ntitle: in two packages\n{both}")
    with running(app, "import twin.core\n" + LINES) as process:
        assert process.f() == "fixed"
        assert app.run("revert", "8", "--pid", process.pid).code == 0
        said = app.run("status", "--pid", process.pid).out
        assert "8 in app " in said and "8 in twin " in said


def test_what_was_not_imported_yet_is_imported_reverted(app: World) -> None:
    with running(app, "import sys\nsys.stdin.readline()\n" + LINES) as process:
        for _ in range(100):
            done = app.run("revert", "7", "--pid", process.pid)
            if done.code == 0:
                break
            time.sleep(0.1)  # not started yet
        assert "not imported yet" in app.run("status", "--pid", process.pid).out
        assert process.process.stdin
        process.process.stdin.write("\n")
        assert process.f() == "reverted"


SELF = f"""\
import prtoggle, threading, time, app.core
over, rounds = [], []
def probe():
    while not over:
        with prtoggle.reverted("8", timeout=30):
            assert app.core.g() == "reverted"
        rounds.append(1)
thread = threading.Thread(target=probe)
thread.start()
{LINES}
over.append(1)
thread.join()
assert rounds
"""


def test_clients_take_turns_with_each_other_and_with_a_process_that_toggles_itself(app: World) -> None:
    app.package("app", "1.0", core=CORE + "def g():\n    return 'fixed'\n")
    app.fix(8, f"prtoggle: 1\nfix: 8\ntitle: another\n{EDIT.replace('core.f', 'core.g')}")
    ends: list[tuple[int, str]] = []

    def client() -> None:
        for word in ("revert", "revert", "revert"):
            done = app.run(word, "7", "--pid", process.pid, "--timeout", "30")
            ends.append((done.code, done.err))

    with running(app, SELF) as process:
        assert process.f() == "fixed"
        clients = [threading.Thread(target=client) for _ in range(2)]
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        assert ends == [(0, "")] * 6
        assert process.f() == "reverted"
        assert app.run("restore", "7", "--pid", process.pid, "--timeout", "30").code == 0
        assert process.f() == "fixed"


def test_a_client_that_is_killed_and_one_that_asks_how_it_is_meanwhile_harm_nobody(app: World) -> None:
    core = "import time\ndef f():\n    time.sleep(HOW_LONG)\n    return 'fixed'\nHOW_LONG = 0\n"
    app.package("app", "1.0", core=core)
    code = f"import app.core, threading\napp.core.HOW_LONG = 4\nthreading.Thread(target=app.core.f).start()\n{LINES}"
    code = code.replace("for _ in", "app.core.HOW_LONG = 0\nprint('inside', flush=True)\nfor _ in")
    with running(app, code) as process:
        assert process.process.stdout and process.process.stdout.readline() == "inside\n"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(control.address(process.process.pid))
            client.sendall(b"prtoggle 1\ndo revert\nselection 7\ntimeout 30\n\n")
            time.sleep(1)  # it waits for the thread by now
        start = time.monotonic()
        assert "nothing is reverted" in app.run("status", "--pid", process.pid).out
        assert time.monotonic() - start < 3, "status waited for the toggle"
        limit = time.monotonic() + 30
        while "7 " not in app.run("status", "--pid", process.pid).out and time.monotonic() < limit:
            time.sleep(0.1)
        assert process.f() == "reverted"
        assert app.run("restore", "7", "--pid", process.pid).code == 0
        assert process.f() == "fixed"


def test_a_process_that_did_not_opt_in_is_refused_with_the_remedy(app: World) -> None:
    with running(app, listens="0") as process:
        assert process.f() == "fixed"
        done = app.run("revert", "7", "--pid", process.pid)
        assert (done.code, done.out) == (3, "")
        assert f"process {process.pid} takes no requests" in done.err and "PRTOGGLE_CONTROL=1" in done.err


def test_an_unknown_fix_and_an_unknown_process_are_slips(app: World) -> None:
    with running(app) as process:
        assert process.f() == "fixed"
        done = app.run("revert", "8", "--pid", process.pid)
        assert (done.code, done.out) == (2, "")
        assert "8" in done.err
        done = app.run("restore", "7", "--pid", process.pid)
        assert done.code == 2 and "7 is not reverted in this process" in done.err
        assert process.f() == "fixed"
    done = app.run("revert", "7", "--pid", "4194305")
    assert done.code == 2 and "there is no process 4194305" in done.err


TREE = f"""\
import subprocess, sys
children = [
    subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for code in ({LINES!r}, {{second!r}})
]
for _ in sys.stdin:
    said = []
    for child in children:
        child.stdin.write("\\n"); child.stdin.flush()
        said.append(child.stdout.readline().strip())
    print(*said, flush=True)
for child in children:
    child.communicate("")
"""


def test_every_python_below_a_launcher_is_toggled(app: World) -> None:
    with running(app, TREE.format(second=LINES)) as launcher:
        assert launcher.f() == "fixed fixed"
        done = app.run("revert", "7", "--pid", launcher.pid, "--json")
        assert done.code == 0
        assert len(json.loads(done.out)["processes"]) == 3
        assert launcher.f() == "reverted reverted"
        app.run("restore", "7", "--pid", launcher.pid)
        assert launcher.f() == "fixed fixed"


def test_where_one_process_refuses_the_others_are_as_before(app: World) -> None:
    # A generator in old code is refused without --force.
    app.package("gen", "1.0", core="def numbers():\n    while True:\n        yield 'fixed'\n")
    edit = EDIT.replace("app", "gen").replace("core.f", "core.numbers").replace("return", "yield")
    app.fix(8, f"prtoggle: 1\nfix: 8\ntitle: another\n{edit}")
    fresh = "import gen.core, sys\nfor _ in sys.stdin:\n    print(next(gen.core.numbers()), flush=True)\n"
    held = "import gen.core, sys\nheld = gen.core.numbers()\nfor _ in sys.stdin:\n    print(next(held), flush=True)\n"
    with running(app, TREE.replace(repr(LINES), repr(fresh)).format(second=held)) as launcher:
        assert launcher.f() == "fixed fixed"
        done = app.run("revert", "8", "--pid", launcher.pid)
        assert done.code == 3, done
        assert "numbers" in done.err and "as before, since another process refused" in done.err
        assert launcher.f() == "fixed fixed"
        done = app.run("revert", "8", "--pid", launcher.pid, "--force")
        assert done.code == 0 and "left:" in done.err
        assert launcher.f() == "reverted fixed"
