"""A bisection that is ended in the middle, by Ctrl-C, by SIGTERM, by ``kill -9`` at any moment: it goes on from its log,
repeats no trial that finished, comes to the same answer, and leaves no process behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from prtoggle.bisection import record
from prtoggle.bisection.values import TrialRecord
from tests.bisection.field import Done, Field, named, processes_of

pytestmark = pytest.mark.usefixtures("installed")

KILLS = 50


@pytest.fixture
def field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Field:
    return Field(tmp_path, monkeypatch, 6)


def bisect(field: Field, *arguments: str) -> subprocess.Popen[str]:
    """The command, as a shell would start it: leader of a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "prtoggle", "bisect", *arguments],
        cwd=field.root,
        env=field.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def first(field: Field, expression: str, log: str, *more: str) -> subprocess.Popen[str]:
    among = ",".join(map(str, range(1, field.count + 1)))
    options = ("--among", among, "--no-trace", "--log", log, *more)
    return bisect(field, *options, "--", sys.executable, str(field.check), expression)


def wait_until(true: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, what
        time.sleep(0.02)


def nothing_left(field: Field) -> bool:
    return not processes_of(field.root) and not named(str(field.root))


def told(records: tuple[TrialRecord, ...]) -> list[tuple[str, tuple[str, ...], str]]:
    """What was tried and what it said, without what was cut short."""
    return [(each.phase, each.reverted, each.kind) for each in records if each.kind != "interrupted"]


@pytest.mark.parametrize(
    ("number", "whole_group"), [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGHUP, False)]
)
def test_ended_by_a_signal_it_leaves_a_log_to_resume_from_and_no_process(
    field: Field, number: int, whole_group: bool
) -> None:
    whole: Done = field.bisect("f3", log="whole")
    # From the fourth run on it hangs, as long as nobody says otherwise.
    go_on = field.root / "go-on"
    hang = f"len(open({str(field.ran)!r}).readlines()) > {4 + len(field.ran.read_text().splitlines())}"
    expression = f"(time.sleep(0 if os.path.exists({str(go_on)!r}) or not ({hang}) else 100), f3)[1]"
    running = first(field, expression, "log", "--jobs", "1")
    wait_until(lambda: len(field.runs("begin")) == len(whole.state.records) + 3, "three runs begin")
    if whole_group:
        os.killpg(running.pid, number)  # as the terminal does
    else:
        running.send_signal(number)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert out.splitlines()[-1] == f"to resume, run: prtoggle bisect --resume {field.root / 'log'}"
    assert nothing_left(field)
    _, before = record.read(field.root / "log")
    assert len(before) == 2
    go_on.touch()
    resumed = bisect(field, "--resume", "log", "--json")
    out, err = resumed.communicate(timeout=120)
    assert resumed.returncode == 0, err
    assert [each["fixes"] for each in json.loads(out)["culprits"]] == [["3"]]
    _, after = record.read(field.root / "log")
    assert after[:2] == before and told(after) == told(whole.state.records)
    assert nothing_left(field)


def test_ended_while_a_trial_ignores_every_polite_request(field: Field) -> None:
    deaf = "(__import__('signal').signal(15, 1), open('deaf', 'w').close(), time.sleep(100))"
    running = first(field, deaf, "log")
    wait_until((field.root / "deaf").exists, "the trial is deaf")
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert nothing_left(field)


def test_killed_while_a_trial_hangs_its_processes_end_too(field: Field) -> None:
    hangs = "(__import__('subprocess').Popen(['sleep', '100'], start_new_session=True), time.sleep(100))"
    running = first(field, hangs, "log", "--jobs", "2")
    wait_until(lambda: len(field.runs("begin")) == 2 and len(processes_of(field.root)) >= 4, "two trials hang")
    running.kill()
    running.communicate()
    wait_until(lambda: nothing_left(field), "they end", 20)


@pytest.mark.slow
def test_killed_fifty_times_at_random_moments_it_comes_to_the_same_answer_and_repeats_nothing(field: Field) -> None:
    """One bisection after another until there were so many kills; each is gone on with until it ends by itself."""
    expressions = tuple(f"(time.sleep(0.1), {each})[1]" for each in ("f3", "not f2", "f1 and f5"))
    wholes = {each: field.bisect(each, log=f"whole {number}") for number, each in enumerate(expressions)}
    draw = random.Random(os.environ.get("PRTOGGLE_TEST_SEED", "1"))
    kills = ended = cut_short = 0
    longest = 0.6  # the first ones hit the start, later ones get to trials
    while kills < KILLS or ended == 0:
        expression = expressions[ended % len(expressions)]
        log = field.root / f"log {ended}"
        go = first(field, expression, str(log)) if not log.exists() else bisect(field, "--resume", str(log))
        begun = time.monotonic()
        try:
            go.communicate(timeout=draw.uniform(0.0, longest) if kills < KILLS else 120)
        except subprocess.TimeoutExpired:
            go.kill()
            go.communicate()
            kills += 1
            if log.exists() and not log.read_bytes().count(b"\n"):
                log.unlink()  # killed before its first line: there is nothing to go on from
            longest = min(2.0, longest + 0.1)
            continue
        assert go.returncode == 0, (expression, time.monotonic() - begun)
        whole = wholes[expression]
        _, records = record.read(log)
        assert told(records) == told(whole.state.records), expression
        numbers = [each.number for each in records]
        assert len(set(numbers)) == len(numbers)
        for folder in Path(f"{log}.trials").iterdir():
            result = record.taken(folder)
            if result is not None and result.kind != "interrupted":
                assert result.number in numbers, "a trial that finished is in the log"
            else:
                cut_short += 1
        ended += 1
    assert kills == KILLS
    assert cut_short >= 5, "most kills came while no trial ran"
    wait_until(lambda: nothing_left(field), "nothing is left", 20)
