"""What a bisection shows while it goes on: on a terminal, and where there is none."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from prtoggle.bisect.values import Belief
from prtoggle.bisection.values import Job, State
from prtoggle.cli.bisectview import Lines, View, ended_line, left_words
from tests.bisection.states import COMMAND, found, state, trial
from tests.runtime.project import Project

BELIEF = Belief(((frozenset("2"), 0.71),), 0.03, 0.0, (("2", 0.71), ("1", 0.2), ("3", 0.06)), 0.27, 0.0, 11.4)
TRIALS = (
    trial(1, "ends", (), "good", seconds=10),
    trial(2, "ends", ("1", "2", "3", "4"), "bad", seconds=10),
    trial(3, "search", ("1", "2"), "timeout", seconds=120, why="it took more than 120 s"),
)
RUNNING = (Job(4, "search", ("2", "3"), "2,3", COMMAND, "/nowhere"),)


def shown(
    at: State, running: Sequence[Job] = (), *, width: int = 90, encoding: str = "utf-8", after: float = 0.0
) -> str:
    """What the view looks like, so many seconds after what runs began."""
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=out, width=width, force_terminal=False)
    clock = [0.0]
    view = View(console, lambda: clock[0])
    for job in running:
        view.began(job)
    view.stands(at, tuple(running))
    clock[0] = after
    console.print(view.now())
    out.flush()
    return out.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]


def test_the_view_shows_the_posterior_what_runs_and_what_is_left() -> None:
    text = shown(state(*TRIALS, belief=BELIEF, runs_left=11.4), RUNNING, after=75)
    lines = text.splitlines()
    assert lines[0] == "search, flaky: 3 trials (1 good, 1 bad, 1 timeout), 4 candidates"
    assert lines[1] == "about 11 runs left, 1 min 54 s; 71 % sure of 2, 99 % wanted"
    bars = {line.split()[0]: line.count("█") for line in lines if "█" in line}
    assert bars["2"] > bars["1"] > bars["3"] and "71 %" in text
    assert "none of these" in text and "  3 %" in text
    assert re.search(r"4 +runs +1 min 15 s +search +2, 3", text)
    assert re.search(r"3 +timeout +2 min +search +1, 2", text)


def test_the_view_fits_a_narrow_terminal_and_one_without_block_characters() -> None:
    many = state(*TRIALS, candidates=[f"{n:05d}/a-part" for n in range(60)], belief=BELIEF, runs_left=11.4)
    assert max(map(len, shown(many, RUNNING, width=60).splitlines())) <= 60
    assert "#" in shown(many, RUNNING, encoding="ascii")


def test_the_view_shows_none_of_these_where_that_is_the_likeliest() -> None:
    none = Belief(((frozenset("2"), 0.1),), 0.88, 0.0, (("2", 0.1),), 0.2, 0.0, 3.0)
    assert left_words(state(belief=none, runs_left=3)) == "about 3 runs left; 88 % sure of none of these, 99 % wanted"


def test_a_certain_search_has_no_bars_and_nothing_is_shown_before_the_first_state() -> None:
    assert "█" not in shown(state(*TRIALS, runs_left=3), RUNNING)
    console = Console(file=io.StringIO())
    console.print(View(console).now())
    assert console.file.getvalue().strip() == ""  # type: ignore[attr-defined]


def test_without_a_terminal_each_trial_is_a_line_and_what_is_new_is_said_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = Lines()
    aside = (("4", "never executed"), ("5", "never executed"))
    for _ in range(2):
        lines.stands(state(*TRIALS, aside=aside, notes=("it comes and goes",)), RUNNING)
    lines.ended(TRIALS[2])
    err = capsys.readouterr().err.splitlines()
    assert err == [
        "prtoggle: it comes and goes",
        "prtoggle: set aside: 4, 5: never executed",
        "     3  search   timeout  2 min  1,2: it took more than 120 s",
    ]


def test_a_line_is_one_line_however_much_is_reverted_and_however_long_the_reason() -> None:
    names = tuple(str(number) for number in range(100, 200))
    line = ended_line(trial(3, "search", names, "void", why="it does not apply\n  hint: elsewhere"))
    assert line == "   3  search   void  1.0 s  100: 100, 101, 102, 103, 104, 105 and 94 more: it does not apply"


def test_without_a_terminal_how_long_it_takes_is_said_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    records = [trial(n, "search", ("1",), "good", seconds=10) for n in range(1, 21)]
    for count in range(1, 21):
        lines.stands(state(*records[:count], runs_left=float(20 - count)), ())
    lines.stands(state(*records, runs_left=0.0, answer=found(["1"])), ())
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "prtoggle: about 15 runs left, 2 min 30 s"
    assert len(said) == 4


@pytest.mark.slow
def test_on_a_real_terminal_the_view_goes_away_and_the_answer_stays(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.package(
        {"app/__init__.py": "", "app/core.py": "".join(f"def f{n}():\n    return 'fixed'\n" for n in (1, 2, 3))}
    )
    for n in (1, 2, 3):
        project.fix(n, target=f"app.core.f{n}", edits="- match: return 'fixed'\n  replacement: return 'reverted'")
    check = (
        "import app.core as c, sys, time; seen = [c.f1(), c.f2(), c.f3()]; time.sleep(.3); sys.exit(seen[1] != 'fixed')"
    )
    command = [sys.executable, "-m", "prtoggle", "bisect", "--among", "1,2,3", "--", sys.executable, "-c", check]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(sys.executable, command, {**project.env(), "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"})
    out, end = b"", time.monotonic() + 120
    while time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            try:
                out += os.read(terminal, 65536)
            except OSError:
                break
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0, out.decode()
    text = out.decode()
    assert "\x1b[?25l" in text and text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")  # the cursor is back
    assert re.search(r"runs +\d\.\d s +search", text)
    answer = text[text.rindex("\x1b[2K") :]
    assert "2: it fails where this is reverted" in answer and "runs" not in answer
