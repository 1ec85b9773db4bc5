"""What is said at the end: nothing more than the trials say, and all that a person needs to see it again."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from prtoggle.bisect.values import Belief, Direction
from prtoggle.bisection.account import account, duration, percent, text, time_left, to_json
from prtoggle.bisection.copies import difference, seen
from prtoggle.bisection.values import Answer, Settings
from tests.bisection.states import COMMAND, found, state, trial
from tests.runtime.project import Project

BELIEF = Belief(((frozenset("2"), 0.9931),), 0.004, 0.0, (("2", 0.9931), ("1", 0.002)), 0.27, 0.0, 11.0)
ENDS = (trial(1, "ends", (), "good"), trial(2, "ends", ("1", "2", "3", "4"), "bad"))


def said(*args: object, **named: object) -> str:
    return "\n".join(text(account(state(*args, **named), resume="prtoggle bisect --resume b.jsonl")))  # type: ignore[arg-type]


def test_a_culprit_is_told_with_its_title_and_both_commands() -> None:
    told = said(*ENDS, trial(3, "search", ("2",), "bad"), answer=found(["2"]))
    assert told.startswith("2: it fails where this is reverted\n    2: title of 2\n")
    assert f"fails:   prtoggle run 2 -- {shlex.join(COMMAND)}" in told
    assert f"passes:  prtoggle run none -- {shlex.join(COMMAND)}" in told
    assert "3 trials (2 bad, 1 good) in 3.0 s, 3.0 s of trials" in told
    assert "resume" not in told


def test_the_commands_are_what_a_shell_takes_apart_again() -> None:
    settings = Settings(("sh", "-c", "exit $(wc -l < 'a b')"), fixes=("/my fixes",))
    (culprit,) = account(state(*ENDS, answer=found(["2"]), settings=settings)).culprits
    assert shlex.split(culprit.bad) == ["prtoggle", "run", "--fixes", "/my fixes", "2", "--", *settings.command]


def test_what_is_needed_together_is_said_together_and_the_direction_is_named() -> None:
    assert said(*ENDS, answer=found(["2", "3"])).startswith("2 and 3: it fails where these are reverted together\n")
    in_force = found(["2"], direction=Direction.FIXED)
    assert said(*ENDS, answer=in_force).startswith("2: it fails where this is in\n")


def test_several_culprits_are_each_told_and_that_there_may_be_more() -> None:
    told = said(*ENDS, answer=found(["2"], ["3", "4"], complete=False, reason="--max 2"))
    assert told.startswith("2; 3 and 4: it fails where any of these is reverted\n")
    assert "there may be other culprits: --max 2" in told
    assert told.count("fails:   prtoggle run") == 2


def test_of_a_metric_it_is_said_that_it_is_worse() -> None:
    told = said(*ENDS, answer=found(["2"], confidence=0.99), mode="metric")
    assert told.startswith("2: it is worse where this is reverted (99 % sure)\n")
    assert "worse:   prtoggle run 2 --" in told and "better:  prtoggle run none --" in told


def test_parts_are_told_where_they_say_more() -> None:
    answer = found(["2"])
    blamed = replace(answer.culprits[0], parts=("2/slice",), bad="2/slice")
    told = said(*ENDS, answer=replace(answer, culprits=(blamed,)))
    assert "the parts: 2/slice" in told and "prtoggle run 2/slice --" in told


def test_groups_that_no_trial_could_tell_apart_are_named_as_such() -> None:
    answer = found(["2"])
    blamed = replace(answer.culprits[0], unsure=(("3", "4"),))
    assert "2 and one of 3, 4: it fails where these are reverted together" in said(
        *ENDS, answer=replace(answer, culprits=(blamed,))
    )


def test_none_of_these_is_an_answer() -> None:
    both = [trial(1, "ends", (), "good"), trial(2, "ends", ("1", "2", "3", "4"), "good")]
    answer = Answer("none", reason="it never fails", complete=True)
    told = said(*both, answer=answer)
    assert told.startswith("none of these 4\n  it never fails\n")
    assert account(state(*both, answer=answer)).exit_code == 1


def test_without_an_answer_it_says_what_is_left_and_how_to_go_on() -> None:
    answer = Answer("inconclusive", left=("2", "4"), reason="12 trials were allowed")
    told = said(*ENDS, answer=answer)
    assert told.startswith("no answer: 2 of 4 candidates left\n  12 trials were allowed\n")
    assert "neither blamed nor cleared: 2, 4" in told
    assert "to resume, run: prtoggle bisect --resume b.jsonl" in told.splitlines()
    assert account(state(*ENDS, answer=answer)).exit_code == 4


def test_what_was_no_verdict_can_be_tried_again_and_its_output_is_named() -> None:
    trials = [
        trial(3, "ends", (), "bad", folder="/log/0003"),
        trial(4, "ends", ("1",), "void", why="not in force\n  hint: elsewhere", folder="/log/0004"),
    ]
    answer = Answer("inconclusive", left=("1",), reason="skipped: not in force\n  hint: elsewhere")
    lines = said(*trials, answer=answer, notes=("given up: not in force\n  hint: elsewhere",)).splitlines()
    assert "  skipped: not in force" in lines and "  note: given up: not in force" in lines
    assert not any("hint" in line for line in lines)
    assert "  what trial 4 showed (void): stdout and stderr in /log/0004" in lines
    assert "to try again what was no verdict, run: prtoggle bisect --resume b.jsonl --undo 4" in lines
    everywhere = said(*trials[:1], answer=Answer("none", reason="it fails with everything reverted and with nothing"))
    assert "what trial 3 showed (bad): stdout and stderr in /log/0003" in everywhere


def test_one_that_was_interrupted_has_an_account_too() -> None:
    told = account(state(*ENDS), resume="prtoggle bisect --resume b.jsonl")
    assert (told.verdict, told.exit_code, told.left) == ("interrupted", 130, ("1", "2", "3", "4"))
    assert "to resume" in text(told)[-1]
    assert text(account(state()))[-1].strip() == "0 trials"
    assert "  so far most likely: 2 (" in "\n".join(text(account(state(*ENDS, belief=BELIEF))))
    assert "most likely" not in "\n".join(text(told))


def test_how_sure_is_said_where_it_is_a_matter_of_probability_and_never_rounded_up() -> None:
    assert "(99.3 % sure)" in said(*ENDS, answer=found(["2"], confidence=0.99318), belief=BELIEF)
    assert "sure" not in said(*ENDS, answer=found(["2"]))
    assert [percent(p) for p in (1.0, 0.99999999, 0.99956, 0.995, 0.99, 0.5, 0.019, 0.002, 0.0)] == [
        "100 %",
        "99.999 %",
        "99.95 %",
        "99.5 %",
        "99 %",
        "50 %",
        "1 %",
        "0.2 %",
        "0 %",
    ]


def test_what_was_set_aside_is_told_by_reason() -> None:
    aside = (("1", "never executed"), ("3", "never imported"), ("4", "never executed"))
    told = said(*ENDS, answer=found(["2"]), aside=aside)
    assert "set aside: 1, 4: never executed\n" in told and "set aside: 3: never imported\n" in told


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (185, "3 min 5 s"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (180_000, "2 d 2 h"),
    ],
)
def test_durations_are_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_the_time_left_is_that_of_the_runs_left_over_all_workers() -> None:
    records = [trial(1, "ends", (), "good", seconds=10), trial(2, "ends", ("1",), "timeout", seconds=1000)]
    settings = Settings(COMMAND, jobs=4)
    assert time_left(state(*records, settings=settings, runs_left=20.0)) == 50
    assert time_left(state(*records, settings=settings)) is None
    assert time_left(state(runs_left=20.0)) is None


def test_the_time_left_has_what_goes_by_between_trials_but_for_pauses() -> None:
    began = (1000.0, 1000.5, 1001.0, 1061.0, 1061.5)  # stopped for a minute, and gone on with
    records = [trial(n, "search", ("1",), "good", began=at, seconds=0.125) for n, at in enumerate(began, 1)]
    assert time_left(state(*records, runs_left=20.0)) == 10


def test_the_json_is_plain_and_holds_every_trial() -> None:
    told = account(state(*ENDS, answer=found(["2"]), belief=BELIEF))
    data = json.loads(json.dumps(to_json(told)))
    assert [each["number"] for each in data["trials"]] == [1, 2]
    assert data["culprits"][0]["bad"] == told.culprits[0].bad
    assert data["belief"]["sets"] == [[["2"], 0.9931]]
    assert (data["format"], data["verdict"], data["exit_code"]) == (1, "found", 0)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.package(
        {"app/__init__.py": "", "app/core.py": "def f():\n    return 'fixed'\n", "app/sub/__init__.py": "x = 'fixed'\n"}
    )
    made.fix(7, target="app.core.f", edits="- match: return 'fixed'\n  replacement: return 'reverted'")
    made.fix(8, target="app.sub", edits="- match: x = 'fixed'\n  replacement: x = 'reverted'")
    return made


def test_the_diff_is_of_the_copy_that_the_trials_ran(project: Project) -> None:
    folder = project.root / "trial"
    (folder / "journals").mkdir(parents=True)
    done = project.python(
        "import app.core, app.sub; print(app.core.f(), app.sub.x)",
        revert="7,8",
        PRTOGGLE_JOURNAL=str(folder / "journals"),
    )
    assert done.out == "reverted reverted\n", done
    records = [
        trial(1, "ends", (), "good", folder=str(project.root)),
        trial(2, "ends", ("7", "8"), "bad", folder=str(folder)),
    ]
    copies = seen(records)
    assert [(copy.package, copy.root) for copy in copies] == [("app", str(project.site))]
    settings = Settings((sys.executable,), fixes=(str(project.fixes),))
    told = account(state(*records, candidates=("7", "8"), answer=found(["7"]), settings=settings))
    assert told.culprits[0].diff.startswith("diff --git a/app/core.py b/app/core.py\n")
    assert "-    return 'fixed'\n+    return 'reverted'\n" in told.culprits[0].diff
    assert "app" in dict(told.environment)["packages"]
    assert "app/sub/__init__.py" in difference("8", copies, settings.fixes).text


def test_where_there_is_no_diff_it_says_why(project: Project) -> None:
    assert difference("7", (), ()).why == "no trial said which files it changes"
    gone = seen([trial(1, "ends", ("7",), "bad", folder=str(project.root / "nowhere"))])
    assert gone == ()
    told = account(state(*ENDS, answer=found(["2"])))
    assert (told.culprits[0].diff, told.culprits[0].no_diff) == ("", "no trial said which files it changes")
