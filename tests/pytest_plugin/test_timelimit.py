"""Tests that take long or hang, beside pytest-timeout and without it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.pytest_plugin.app import App

pytest_plugins = "pytester"


def test_a_time_limit_is_one_of_each_run(app: App) -> None:
    pytest.importorskip("pytest_timeout")
    ran = app.run(
        """
        import time
        pytestmark = pytest.mark.timeout(6)

        @pytest.mark.guards("7")
        def test_slow_in_both():
            core.cut(ROWS)
            time.sleep(3.5)

        @pytest.mark.guards("7")
        @pytest.mark.parametrize("child", [pytest.param(child, marks=pytest.mark.guards("7/sort", child=child))
                                           for child in (False, True)])
        def test_hangs(child):
            core.unused(ROWS[::-1]) == ROWS or time.sleep(60)
            assert core.cut(ROWS) == [1, 2, 3]

        @pytest.mark.timeout(6, method="thread")
        @pytest.mark.guards("7/sort", child=True)
        def test_is_killed():
            core.unused(ROWS[::-1]) == ROWS or time.sleep(60)
        """
    )
    assert ran.results["test_slow_in_both"] == "FAILED (does not guard 7, live)"
    assert ran.results["test_hangs[False]"].startswith("PASSED"), ran.out
    assert ran.results["test_hangs[True]"].startswith("PASSED"), ran.out
    assert ran.results["test_is_killed"] == "PASSED (guards 7/sort, child process)"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of Linux alone")
def test_a_child_that_hangs_ends_with_a_session_that_is_killed(app: App) -> None:
    app.file(
        "test_it.py",
        """
        import os, pathlib, time, pytest
        from engine import core

        @pytest.mark.reverted("7", child=True)
        def test_hangs():
            pathlib.Path("pid.new").write_text(str(os.getpid()))
            os.rename("pid.new", "pid")
            time.sleep(120)
        """,
    )
    with subprocess.Popen([sys.executable, "-m", "pytest", "-q"], cwd=app.path, stdout=subprocess.DEVNULL) as session:
        pid = _until(lambda: (app.path / "pid").exists() and int((app.path / "pid").read_text()))
        session.kill()
    _until(lambda: not _alive(pid))


def _until(found: Callable[[], Any]) -> Any:
    end = time.monotonic() + 60
    while not (it := found()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return it


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of Linux alone")
def test_a_child_that_hangs_before_its_test_is_ended_with_what_it_started(app: App, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    begun = time.monotonic()
    ran = app.run(
        f"""
        import os, subprocess, sys, time

        if os.environ.get("PRTOGGLE_REVERT"):
            sleeps = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            with open({str(pids)!r}, "a") as file:
                print(os.getpid(), sleeps.pid, file=file)
            time.sleep(600)

        @pytest.mark.reverted("7", child=True)
        def test_it():
            assert core.cut(ROWS)
        """,
        "-o",
        "prtoggle_start_timeout=4",
    )
    assert time.monotonic() - begun < 300
    assert "the child process did not come to the test in 4 s (prtoggle_start_timeout)" in ran.out
    assert re.search(r'File ".*test_it.py", line \d+ in <module>', ran.out), ran.out
    alive = [pid for pid in pids.read_text().split() if _alive(int(pid))]
    assert len(pids.read_text().split()) == 2 and alive == []
