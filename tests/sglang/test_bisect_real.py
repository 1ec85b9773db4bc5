"""Bisections of real SGLang: eight fixes reverted in one release, and a test that fails because of one of them, of two, or of
one now and then. All eight run, so the traced run sets nothing aside, and the search has to find it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sglang.child_bisected import FIXES
from tests.sglang.harness import HERE, child_environment, release

pytestmark = [pytest.mark.sglang, pytest.mark.slow]

VERSION = "0.5.16"
PROGRAM = HERE / "child_bisected.py"
OWN_FIXES = HERE.parents[1] / "fixes"


class Bisection:
    """One that ran: its answer as JSON, its exit code, its log, its report."""

    def __init__(self, asked: str, folder: Path, *options: str) -> None:
        root = release(VERSION)
        log, self.report = folder / "bisect.jsonl", folder / "bisect.html"
        self.command = [sys.executable, str(PROGRAM), asked, str(OWN_FIXES)]
        asking = (
            "--among",
            ",".join(FIXES),
            "--jobs",
            2,
            "--timeout",
            120,
            "--log",
            log,
            "--report",
            self.report,
            "--json",
        )
        # A thread each: two trials at a time are enough for two cores.
        more = {"TORCHDYNAMO_DISABLE": "1", "OMP_NUM_THREADS": "1", "PRTOGGLE_CACHE": str(folder / "cache")}
        done = subprocess.run(
            [sys.executable, "-m", "prtoggle", "bisect", *map(str, asking), *options, "--", *self.command],
            env=child_environment((root,), more),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.stdout, done.stderr
        self.code, self.told, self.words = done.returncode, json.loads(done.stdout), done.stderr
        self.log = [json.loads(line) for line in log.read_text().splitlines()]

    @property
    def trials(self) -> list[dict[str, Any]]:
        trials: list[dict[str, Any]] = self.told["trials"]
        return trials

    @property
    def searched(self) -> list[dict[str, Any]]:
        """The trials with some of the fixes reverted and some not."""
        return [trial for trial in self.trials if 0 < len(trial["reverted"]) < len(FIXES)]


def assert_shown(bisection: Bisection, *culprits: str) -> None:
    """The answer, and that everything that a person needs to believe it is there."""
    assert bisection.code == 0, bisection.words
    (culprit,) = bisection.told["culprits"]
    assert culprit["fixes"] == list(culprits)
    assert bisection.told["direction"] == "reverted"
    first = bisection.trials[0]
    assert first["phase"] == "trace" and {part.partition("/")[0] for part in first["executed"]} == set(FIXES)
    assert bisection.told["aside"] == []
    assert "sglang 0.5.16" in dict(bisection.told["environment"])["packages"]
    assert culprit["diff"].startswith("diff --git a/sglang/srt/")
    html = bisection.report.read_text(encoding="utf-8")
    assert all(name in html for name in culprits) and "To see it fail" in html
    # The log has every trial, with the reverts in force in it.
    logged = {trial["number"] for trial in bisection.trials}
    assert {line["trial"]["number"] for line in bisection.log[1:]} == logged
    for trial in bisection.trials:
        if trial["kind"] in ("good", "bad"):
            numbers = {part.partition("/")[0] for part in trial["in_force"]}
            assert numbers == {name.partition("/")[0] for name in trial["reverted"]}, trial


def outcomes(bisection: Bisection, fails: Any) -> None:
    """Every trial says what the test says of its fixes."""
    for trial in bisection.trials:
        numbers = {name.partition("/")[0] for name in trial["reverted"]}
        assert trial["kind"] == ("bad" if fails(numbers) else "good"), trial


def test_one_of_eight_is_found(tmp_path: Path) -> None:
    bisection = Bisection("one", tmp_path)
    assert_shown(bisection, "26329")
    outcomes(bisection, lambda reverted: "26329" in reverted)
    assert len(bisection.searched) <= 7, [trial["reverted"] for trial in bisection.searched]
    (culprit,) = bisection.told["culprits"]
    assert f"prtoggle run 26329 -- {sys.executable} {PROGRAM} one" in culprit["bad"]
    assert f"prtoggle run none -- {sys.executable} {PROGRAM} one" in culprit["good"]


def test_two_of_eight_that_are_needed_together_are_found(tmp_path: Path) -> None:
    bisection = Bisection("pair", tmp_path)
    assert_shown(bisection, "27338", "27460")
    outcomes(bisection, lambda reverted: {"27338", "27460"} <= reverted)


def test_one_of_eight_that_fails_one_run_in_four_is_found(tmp_path: Path) -> None:
    bisection = Bisection("sometimes", tmp_path, "--flaky", "--confidence", "0.9")
    assert_shown(bisection, "26972")
    assert bisection.told["mode"] == "flaky" and bisection.told["confidence"] >= 0.9
    bad = [trial for trial in bisection.trials if trial["kind"] == "bad"]
    assert all("26972" in {name.partition("/")[0] for name in trial["reverted"]} for trial in bad)
    with_it = [trial for trial in bisection.trials if any(name.startswith("26972") for name in trial["reverted"])]
    assert len(bad) < len(with_it)  # it did come and go
