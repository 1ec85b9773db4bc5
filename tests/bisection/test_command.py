"""The command ``prtoggle bisect``: where what goes, exit codes, what was typed wrong."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bisection.field import Field

pytestmark = pytest.mark.usefixtures("installed")


@pytest.fixture
def field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Field:
    return Field(tmp_path, monkeypatch, 3)


def bisect(field: Field, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "prtoggle", "bisect", *arguments],
        cwd=field.root,
        env=field.env(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def check(field: Field, expression: str) -> tuple[str, ...]:
    return ("--", sys.executable, str(field.check), expression)


def test_the_answer_goes_to_stdout_and_what_happens_to_stderr(field: Field) -> None:
    done = bisect(field, "--among", "1,2,3", "--log", "log", *check(field, "f2"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "2: it fails where this is reverted"
    fails = next(line.partition(":")[2].strip() for line in lines if line.strip().startswith("fails:"))
    passes = next(line.partition(":")[2].strip() for line in lines if line.strip().startswith("passes:"))
    for command, code in ((fails, 1), (passes, 0)):
        words = [sys.executable, "-m", *shlex.split(command)]
        assert subprocess.run(words, env=field.env(), cwd=field.root, capture_output=True).returncode == code, command
    err = done.stderr.splitlines()
    assert err[0] == f"prtoggle: 3 candidates; the log is {field.root / 'log'}"
    assert any("never executed" in line or "was not executed" in line for line in err)
    assert (field.root / "log.trials").stat().st_mode & 0o077 == 0, "what a command prints is for nobody else"


def test_the_same_as_json_and_as_a_page(field: Field) -> None:
    done = bisect(field, "--among", "1,2,3", "--no-trace", "--json", "--report", "page.html", *check(field, "False"))
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert told["verdict"] == "none" and len(told["trials"]) == 6
    assert "<html" in (field.root / "page.html").read_text()
    assert list((field.cache / "bisections").glob("*.jsonl")), "a log that nobody named lies beside past runs"


def test_the_page_is_written_also_where_nobody_reads_the_words(field: Field) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = ("bisect", "--among", "1,2,3", "--no-trace", "--report", "page.html", *check(field, "False"))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "prtoggle", *words], env=field.env(), cwd=field.root, stdout=writer, check=False
        )
    finally:
        os.close(writer)
    assert done.returncode == 141
    assert "<html" in (field.root / "page.html").read_text()


def test_words_that_are_no_text_come_through_and_the_json_stays_json(field: Field) -> None:
    odd = os.fsdecode(b"\xff")
    options = ("--among", "1", "--no-trace", "--max-runs", "1", "--json", "--log", f"log{odd}")
    done = subprocess.run(
        [sys.executable, "-m", "prtoggle", "bisect", *options, *check(field, "f1"), odd],
        cwd=field.root,
        env=field.env(),
        capture_output=True,
        timeout=120,
    )
    told = json.loads(done.stdout.decode())
    assert odd in told["command"] and f"log{odd}" in told["resume"]
    assert [each["kind"] for each in told["trials"]] == ["good"]


def test_a_command_that_is_not_there_is_127_as_in_a_shell(field: Field) -> None:
    done = bisect(field, "--among", "1", "--", "no-such-command")
    assert done.returncode == 127
    assert "no-such-command: command not found" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--timeout", "5x", "--", "true"), "--timeout 5x is no time, expected 90, 90s, 20m or 2h"),
        (("--timeout", "0", "--", "true"), "--timeout 0 is no time"),
        ((), "no command to run"),
        (("--metric", "x", "--", "true"), "which way is worse"),
        (("--resume", "absent"), "absent cannot be opened: No such file"),
        (("--resume", "absent", "--log", "other"), "leave out --log"),
        (("--worse", "up", "--", "true"), "'up' is not one of"),
        (("--among", "1,99", "--", "true"), "no fix has the number 99"),
        (("--jobs", "0", "--", "true"), "0 is not in the range"),
        (
            ("--never-otherwise", "--metric", "x", "--worse", "lower", "--", "true"),
            "--never-otherwise is about a failure",
        ),
    ],
)
def test_what_was_typed_wrong_is_said_and_nothing_runs(field: Field, arguments: tuple[str, ...], what: str) -> None:
    done = bisect(field, *arguments)
    assert done.returncode == 2, done.stderr
    assert what in done.stderr
    assert not list(field.cache.glob("bisections/*"))


def test_a_number_of_trials_that_is_reached_ends_it_and_the_last_command_goes_on(field: Field) -> None:
    done = bisect(field, "--among", "1,2,3", "--log", "log", "--max-runs", "2", *check(field, "f2"))
    assert done.returncode == 4, done.stderr
    command = next(line for line in done.stdout.splitlines() if line.startswith("to resume, run: "))
    words = shlex.split(command.partition(": ")[2])
    assert words[-2:] == ["--max-runs", "4"]
    again = bisect(field, *words[2:])
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith("2: it fails where this is reverted")


def test_what_is_known_of_the_failure_is_in_the_log_and_may_not_change_on_resuming(field: Field) -> None:
    bisect(field, "--among", "1,2,3", "--log", "log", "--max-runs", "2", *check(field, "f2"))
    done = bisect(field, "--resume", "log", "--never-otherwise")
    assert done.returncode == 2
    assert "never-otherwise was False and is True" in done.stderr
    same = bisect(
        field, "--among", "1,2,3", "--log", "other", "--max-runs", "2", "--never-otherwise", *check(field, "f2")
    )
    assert same.returncode == 4
    assert json.loads((field.root / "other").read_text().splitlines()[0])["settings"]["never_otherwise"] is True
    assert bisect(field, "--resume", "other", "--never-otherwise", "--max-runs", "0").returncode == 0


def test_options_behind_the_dashes_are_the_commands_own(field: Field) -> None:
    field.check.write_text("import sys\nfrom app import core\nsys.exit(sys.argv[1:] != ['--jobs', '7'])\n")
    done = bisect(
        field, "--among", "1", "--max-runs", "2", "--no-trace", "--", sys.executable, str(field.check), "--jobs", "7"
    )
    assert "good" in done.stderr and "bad" not in done.stderr
