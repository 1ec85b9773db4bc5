"""``prtoggle run`` and ``prtoggle status`` on runs in which fixes went out, or came back, while processes ran."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable

import pytest

from tests.cli.world import Ran, World

pytestmark = pytest.mark.usefixtures("installed")

CORE = "def f():\n    return 'fixed'\n\n\ndef g():\n    return 'fixed'\n"
BOTH = """\
prtoggle: 1
fix: 7
title: a fix of this test
parts:
  first: the one function
  second: the other
default: [first]
variants:
  - package: app
    baked_in: [cuda-graph]
    patches:
      - target: app.core.f
        edits:
          - part: first
            find: 'return ''fixed'''
            put: 'return ''reverted'''
      - target: app.core.g
        edits:
          - part: second
            find: 'return ''fixed'''
            put: 'return ''reverted'''
"""


@pytest.fixture
def app(world: World) -> World:
    world.package("app", "1.0", core=CORE)
    world.fix(7, BOTH)
    return world


def run(app: World, program: str, *options: str, selection: str = "7", **env: str) -> Ran:
    # By name: a path would be cut where a line ends, which differs from place to place.
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    env = {"PRTOGGLE_QUIET": "1", "PATH": path, **env}
    return app.run("run", *options, selection, "--", "python", "-c", program, env=env)


def readable(app: World, text: str) -> str:
    """``text`` without times, pids and hashes, which differ from run to run."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "<TIME>", app.readable(text))
    text = re.sub(r"\bpid \d+", "pid <PID>", text)
    text = re.sub(r"[0-9a-f]{8} -> [0-9a-f]{8}", "<HASH> -> <HASH>", text)
    text = re.sub(r"(?m)^  \d+  +", "  <PID>  ", text)
    text = re.sub(r"(runs/)\d{8}T[\d.]+-\d+", r"\1<RUN>", text)
    return re.sub(r"(?m)^  pid +reverted +how +process$", "  pid  reverted  how  process", text)


TOGGLES = (
    "import prtoggle, app.core as c; print(c.f(), c.g()); prtoggle.restore('7/first'); "
    "prtoggle.revert('7/second'); print(c.f(), c.g())"
)


def test_the_report_of_a_run_with_live_toggles(app: World, golden: Callable[[str, World, Ran], None]) -> None:
    ran = run(app, TOGGLES, RANK="3")
    assert ran.out == "reverted fixed\nfixed reverted\n"
    golden("run_live", app, Ran(ran.code, ran.out, readable(app, ran.err)))


def test_the_report_of_a_run_where_nothing_is_toggled(app: World, golden: Callable[[str, World, Ran], None]) -> None:
    ran = run(app, "import app.core", "--trace")
    golden("run", app, Ran(ran.code, ran.out, readable(app, ran.err)))


def test_a_selected_part_that_was_put_back_is_said_also_when_quiet(app: World) -> None:
    ran = run(app, "import prtoggle, app.core; prtoggle.restore()", "-q")
    assert ran.code == 0
    assert re.fullmatch(r"  restored while it ran: 7/first  pid \d+\n", ran.err), ran.err
    again = "import prtoggle, app.core; prtoggle.restore(); prtoggle.revert('7')"
    assert run(app, again, "-q").err == ""


def test_what_was_taken_out_only_live_counts_as_in_force(app: World) -> None:
    # The variable names one part; the program takes the other out as well, and only that module's process has it.
    ran = run(app, "import prtoggle, app.core; prtoggle.revert('7/second')", "--json", "r.json")
    report = json.loads((app.here / "r.json").read_text())
    (process,) = report["processes"]
    assert ran.code == 0 and report["verdict"] == "in force"
    assert {(part["part"], part["how"]) for part in process["parts"]} == {("7/first", "import"), ("7/second", "live")}
    assert {part for module in report["in_force"] for part in module["parts"]} == {"7/first", "7/second"}
    assert all(part["since"] > 1e9 and part["until"] == 0 for part in process["parts"])


def test_the_report_names_each_process_with_its_rank(app: World) -> None:
    program = (
        "import subprocess, sys, os, app.core\n"
        "for rank in '01':\n"
        "    subprocess.run([sys.executable, '-c', 'import app.core'], env={**os.environ, 'RANK': rank})"
    )
    ran = run(app, program, "--json", "r.json")
    report = json.loads((app.here / "r.json").read_text())
    assert [process["ranks"].get("RANK") for process in report["processes"]] == [None, "0", "1"]
    assert ran.err.count("7/first  reverted at import, ") == 3 and " RANK=1: " in ran.err


def test_a_restore_says_where_old_code_lives_on_of_what_the_variable_took_out(app: World) -> None:
    told = "import prtoggle, app.core; print(prtoggle.restore()['warnings'])"
    assert "cuda-graph" in run(app, told).out
    other = "import prtoggle, app.core; prtoggle.restore(); print(prtoggle.revert('7')['warnings'])"
    assert "cuda-graph" in run(app, other).out


class TestStatusOfTheLastRun:
    def test_says_what_was_out_of_which_process(self, app: World, golden: Callable[[str, World, Ran], None]) -> None:
        run(app, TOGGLES, RANK="3")
        said = app.run("status")
        last = said.out[said.out.index("last run: ") :]
        golden("status_last_run", app, Ran(said.code, readable(app, last), ""))

    def test_is_none_where_nothing_ran_and_of_a_run_without_reverts_says_so(self, app: World) -> None:
        assert "last run" not in app.run("status").out
        assert json.loads(app.run("status", "--json").out)["last_run"] is None
        run(app, "import app.core", selection="none")
        assert "last run: prtoggle run none -- " in app.run("status").out

    def test_of_a_run_that_goes_on_says_so(self, app: World) -> None:
        program = "import app.core; print('ready', flush=True); import time; time.sleep(60)"
        with app.start("run", "-q", "7", "--", sys.executable, "-c", program) as going:
            assert going.stdout is not None and going.stdout.readline() == "ready\n"
            said = app.run("status").out
            going.terminate()
            going.communicate(timeout=60)
        assert ", goes on; " in said and re.search(r"7/first +reverted at import, .*; running ", said), said
        assert "; ended " in app.run("status").out

    def test_of_refused_and_unused_reverts_says_so(self, app: World) -> None:
        run(app, "pass")
        assert "nothing was reverted in any of its processes (1 reached)" in app.run("status").out
        (app.site / "app" / "core.py").write_text("def f():\n    return 'moved'\n")
        run(app, "import app.core")
        assert "  refused: app\n" in app.run("status").out
