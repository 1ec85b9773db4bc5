"""Whole bisections with real processes: every verdict, every way in which a trial is none, both directions, parts."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from prtoggle.bisect.values import Direction
from prtoggle.bisection import executors, record, session, worker
from prtoggle.bisection.values import Job, Settings, TrialRecord
from prtoggle.errors import ConflictError, PrtoggleError, RefusedError, SelectionError, UsageError
from prtoggle.trial import CommandError
from tests.bisection.field import Field, Seen, named, processes_of

pytestmark = pytest.mark.usefixtures("installed")

Make = Callable[..., Field]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    return lambda fixes=4: Field(tmp_path, monkeypatch, fixes)


# What is found


def test_one_fix_of_eight(make: Make) -> None:
    field = make(8)
    seen = Seen()
    done = field.bisect("f3", watcher=seen)
    assert done.culprits == {("3",)}
    assert done.answer.direction is Direction.REVERTED and done.answer.complete
    assert len(done.state.records) <= 2 + 3 + 2
    assert [record.number for record in seen.records] == [job.number for job in seen.jobs] == [1, 2, 3, 4, 5, 6, 7]
    assert field.runs() == [record.selection for record in done.state.records]
    assert all(set(record.in_force) == set(record.reverted) for record in done.state.records)
    assert processes_of(field.root) == []


def test_two_that_are_needed_together_several_trials_at_a_time(make: Make) -> None:
    field = make(6)
    done = field.bisect("f2 and f5", jobs=3)
    assert done.culprits == {("2", "5")}
    assert {record.worker for record in done.state.records} == {"local 1", "local 2", "local 3"}


def test_a_fix_that_breaks_by_being_in_after_a_traced_run(make: Make) -> None:
    field = make(4)
    done = field.bisect("(f3, not f2)[1]", trace=True)
    assert done.culprits == {("2",)} and done.answer.direction is Direction.FIXED
    assert dict(done.state.aside) == {"1": "its code was not executed", "4": "its code was not executed"}
    assert done.state.records[0].phase == "trace" and done.state.records[0].executed == ("2", "3")


def test_everything_that_applies_here_is_looked_at_where_nothing_is_named(make: Make) -> None:
    field = make(3)
    field.fix(9, target="app.core.f1", edits="- match: no such line\n  replacement: pass")
    field.fix(8, target="app.other.g", edits="- match: return 'fixed'\n  replacement: return 'reverted'")
    with session.begin(field.settings("f2", among="all"), log=field.root / "log") as log:
        assert [each.name for each in log.header.candidates] == ["1", "2", "3", "8"]
        assert log.header.notes == ("left out, since they do not apply here: 9",)
        done = field.go_on(log)
    # app.other is never imported: planned and reverted wherever it would be, which is as good.
    assert done.culprits == {("2",)} and "void" not in done.kinds()


def test_the_part_of_a_fix(make: Make) -> None:
    field = make(2)
    field.package({"app/parts.py": "def a():\n    return 1\n\n\ndef b():\n    return 2\n"})
    patches = """
        - target: app.parts.a
          edits:
            - part: first
              match: return 1
              replacement: return -1
        - target: app.parts.b
          edits:
            - part: second
              match: return 2
              replacement: return -2
    """
    field.fix(7, patches=patches, extra="parts:\n  first: the one\n  second: the other")
    done = field.bisect("__import__('app.parts').parts.b() < 0", among="1,2,7")
    assert done.culprits == {("7",)} and done.parts == {("7/second",)}
    assert done.answer.culprits[0].bad == "7/second"


@pytest.mark.slow
def test_a_failure_one_time_in_four(make: Make) -> None:
    field = make(3)
    # Chance made of the number of runs so far, the same every time this test runs.
    chance = f"__import__('random').Random(len(open({str(field.ran)!r}).readlines()) * 7919).random() < 0.25"
    done = field.bisect(f"f3 and {chance}", flaky=True, confidence=0.9)
    assert done.culprits == {("3",)} and done.answer.confidence >= 0.9
    assert any(each.kind == "good" and "3" in each.reverted for each in done.state.records), "it came and went"


@pytest.mark.slow
def test_a_number_that_is_worse(make: Make) -> None:
    field = make(2)
    noise = f"len(open({str(field.ran)!r}).readlines()) * 7919 % 13"
    done = field.bisect(
        f"print('speed:', 1000 - 100 * f2 + {noise}) and 0",
        metric=r"speed: (\d+)",
        worse="lower",
        confidence=0.9,
        jobs=2,
    )
    assert done.culprits == {("2",)}
    assert set(done.kinds()) == {"measured"}
    assert all(record.metric and 890 < record.metric < 1020 for record in done.state.records)


# Verdicts


def test_only_what_shows_the_text_is_bad_and_other_failures_are_skipped(make: Make) -> None:
    field = make(4)
    done = field.bisect("print('illegal access') or 1 if f2 else 3 if f3 and not f1 else 0", match="illegal access")
    assert done.culprits == {("2",)}
    skipped = [each for each in done.state.records if each.kind == "skip"]
    assert all("did not show 'illegal access'" in each.why for each in skipped)


def test_125_is_skip_and_a_signal_is_what_it_is_said_to_be(make: Make) -> None:
    field = make(2)
    dies = "os.kill(os.getpid(), 11) if f2 else 0"
    assert field.bisect(dies, log="one").culprits == {("2",)}
    assert field.bisect(dies, log="two", signal_is="good").answer.verdict == "none"
    skips = field.bisect("125 if f1 else 0", log="three")
    assert skips.answer.exit_code == 4 and "exit code 125" in skips.answer.reason
    assert {(each.code, each.signal) for each in skips.state.records} == {(0, 0), (125, 0)}


def test_a_trial_that_takes_too_long_is_no_verdict_unless_it_is_said_to_be(make: Make) -> None:
    field = make(2)
    hangs = "time.sleep(60) if f2 else 0"
    begun = time.monotonic()
    done = field.bisect(hangs, log="one", timeout=1.5)
    assert done.answer.exit_code == 4 and done.kinds().count("timeout") == 3
    assert "more than 1.5 s" in done.answer.reason
    assert field.bisect(hangs, log="two", timeout=1.5, timeout_is="bad").culprits == {("2",)}
    assert time.monotonic() - begun < 60
    assert processes_of(field.root) == []


def test_a_trial_without_its_reverts_in_force_is_void(make: Make) -> None:
    field = make(2)
    clears = "os.execve(sys.executable, [sys.executable, '-c', 'import sys; sys.exit(1)'], {}) if f1 and f2 else 0"
    # The process that failed is not the one that was reverted: it was seen, and it is said.
    never = field.bisect(log="never", command=(sys.executable, "-S", "-c", "raise SystemExit(1)"))
    assert never.kinds() == ["bad", "void", "void", "void"]
    assert "no Python process was reached" in never.state.records[-1].why
    assert never.answer.exit_code == 4
    refused = field.bisect("0", log="refused", command=(sys.executable, "-c", "import app.core; app.core.f1"))
    assert refused.answer.verdict == "none" and clears


def test_a_target_that_refuses_makes_the_trial_void(make: Make, tmp_path: Path) -> None:
    field = make(2)
    # The command puts another copy on its path, to which the fixes do not apply.
    field.package({"app/__init__.py": "", "app/core.py": "x = 1\n"}, where=tmp_path / "other")
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'other')!r}); import app.core"
    done = field.bisect(command=(sys.executable, "-c", code))
    assert done.kinds() == ["good", "void", "void", "void"]
    assert "app could not be imported reverted (because of 1, 2: leave out of --among" in done.answer.reason


def test_the_fixes_that_a_target_refuses_are_named_and_no_other(make: Make, tmp_path: Path) -> None:
    field = make(3)
    text = "def f1():\n    return 'fixed 1'[:5]\n"
    field.package({"app/__init__.py": "", "app/core.py": text}, where=tmp_path / "other")
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'other')!r}); import app.core"
    done = field.bisect(command=(sys.executable, "-c", code))
    assert "(because of 2, 3: leave out of --among what is refused)" in done.answer.reason
    # Without those it goes on.
    assert field.bisect(log="without", command=(sys.executable, "-c", code), among="1").kinds().count("void") == 0


def test_a_module_that_cannot_be_reverted_names_the_fixes_that_change_it(make: Make) -> None:
    field = make(2)
    field.fix(3, target="app.other.g", edits="- match: return 'fixed'\n  replacement: return 'reverted'")
    code = (
        "import sys, importlib.machinery as m, importlib.util as u\n"
        "class F:\n"
        "  def find_spec(s, n, p=None, t=None):\n"
        "    if n == 'app.other':\n"
        "      return u.spec_from_loader(n, m.ExtensionFileLoader(n, 'other.so'))\n"
        "sys.meta_path.insert(0, F())\n"
        "import app.core, app.other"
    )
    done = field.bisect(among="1,2,3", log="b", command=(sys.executable, "-c", code))
    why = next(record.why for record in done.state.records if record.kind == "void")
    assert "(because of 3: leave out of --among what is refused): app.other " in why


def test_a_command_that_is_not_there_ends_it_at_once(make: Make) -> None:
    field = make(2)
    with pytest.raises(CommandError) as raised:
        field.bisect(command=("no-such-command",), log="one")
    assert raised.value.exit_code == 127
    with pytest.raises(CommandError) as raised:
        field.bisect(command=(str(field.root / "fixes"),), log="two")
    assert raised.value.exit_code == 126
    _, records = record.read(field.root / "one")
    assert records == (), "it says nothing to whoever resumes once the command is there"


def test_a_worker_that_is_lost_is_tried_again(make: Make) -> None:
    field = make(2)
    flag = field.root / "killed"
    kills = f"(open({str(flag)!r}, 'w').close(), os.kill(os.getppid(), 9), time.sleep(60)) if f2 and not os.path.exists({str(flag)!r}) else f2"
    done = field.bisect(kills)
    assert done.culprits == {("2",)}
    assert done.kinds().count("infrastructure") == 1
    assert "signal 9" in next(each.why for each in done.state.records if each.kind == "infrastructure")
    assert processes_of(field.root) == [], "what the lost worker had started is ended as well"


def test_a_worker_that_cannot_be_started_is_no_verdict(make: Make) -> None:
    field = make(2)
    with session.begin(field.settings("f2"), log=field.root / "log") as log:
        Path(log.header.folder, "0001").write_text("a file where the folder should be")
        done = field.go_on(log)
    assert done.culprits == {("2",)}
    assert "could not be started" in done.state.records[0].why and done.kinds().count("infrastructure") == 1


def test_a_command_that_ends_its_whole_process_group_ends_no_worker(make: Make) -> None:
    field = make(2)
    done = field.bisect("os.killpg(0, 9) if f2 else 0")
    assert done.culprits == {("2",)}
    assert {(each.kind, each.signal) for each in done.state.records} == {("good", 0), ("bad", 9)}


def test_a_python_that_was_not_reached_is_said(make: Make) -> None:
    field = make(2)
    lone = "[sys.executable, '-S', '-c', 'import time; time.sleep(0.5)']"
    done = field.bisect(f"(__import__('subprocess').run({lone}), f2)[1]")
    assert done.culprits == {("2",)}
    (note,) = done.state.notes
    assert "a Python of it was not reached: started with -S" in note


def test_a_merged_diff_is_a_candidate_like_any_other(make: Make) -> None:
    field = make(2)
    diff = field.root / "a change.diff"
    diff.write_text(
        "--- a/app/other.py\n+++ b/app/other.py\n@@ -1,2 +1,2 @@\n def g():\n-    return 'reverted'\n+    return 'fixed'\n"
    )
    done = field.bisect("__import__('app.other').other.g() == 'reverted'", among='1,2,"a change.diff"', trace=True)
    assert done.culprits == {(f'"{diff}"',)}
    assert done.answer.culprits[0].bad == f'"{diff}"'


# Nothing is left behind


ESCAPES = """
import os, sys, subprocess, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        clean = {{"PATH": os.environ["PATH"]}}
        os.execve(sys.executable, [sys.executable, "-S", "-c", "import time; time.sleep(300)  # {mark}"], clean)
    os._exit(0)
subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(300)  # {mark}"], start_new_session=True)
from app import core
{then}
sys.exit(core.f1() == "reverted")
"""


@pytest.mark.parametrize("then", ["", "time.sleep(300)"])
def test_what_a_trial_left_running_is_ended_also_what_hid_itself(make: Make, then: str) -> None:
    field = make(2)
    mark = f"left-by-{os.getpid()}-{field.root.name}"
    script = field.root / "escapes.py"
    script.write_text(ESCAPES.format(mark=mark, then=then))
    done = field.bisect(command=(sys.executable, str(script)), timeout=2.0 if then else 60.0, max_runs=2)
    assert set(done.kinds()) <= ({"timeout"} if then else {"good", "bad"})
    assert named(mark) == []


# What is refused before anything runs


def test_what_cannot_work_is_refused_at_once(make: Make) -> None:
    field = make(2)
    wrong: list[tuple[dict[str, object], type[PrtoggleError], str]] = [
        ({"match": "("}, UsageError, "--match '\\(' is no regular expression"),
        ({"metric": "x"}, UsageError, "which way is worse"),
        ({"worse": "lower"}, UsageError, "there is none"),
        ({"metric": "x", "worse": "lower", "match": "y"}, UsageError, "two ways to judge"),
        ({"confidence": 1.0}, UsageError, "confidence"),
        ({"among": "77"}, SelectionError, "no fix has the number 77"),
        ({"among": "none"}, UsageError, "nothing to look for"),
        ({"command": ()}, UsageError, "no command"),
    ]
    for settings, kind, what in wrong:
        with pytest.raises(kind, match=what):
            session.begin(field.settings("f1", **settings), log=field.root / "log")
    assert not (field.root / "log").exists()


def test_fixes_that_conflict_are_named_before_anything_runs(make: Make) -> None:
    field = make(2)
    field.fix(5, target="app.core.f1", edits="- match: return 'fixed 1'[:5]\n  replacement: return 'else'")
    with pytest.raises(ConflictError, match=r"(?s)(1.*5|5.*1).*hint:.*--among"):
        session.begin(field.settings("f1", among="1,2,5"), log=field.root / "log")


# The log


def test_a_log_is_gone_on_with_under_its_own_settings_only(make: Make) -> None:
    field = make(4)
    done = field.bisect("f2", max_runs=3)
    assert done.answer.exit_code == 4
    with pytest.raises(UsageError, match=r"timeout was None and is 5\.0; match was '' and is 'x'"):
        session.resume(done.log, {"timeout": 5.0, "match": "x"})
    log, settings = session.resume(done.log, {"max_runs": 0, "jobs": 2})
    with log:
        again = field.go_on(log, settings)
    assert again.culprits == {("2",)}
    assert again.state.records[:3] == done.state.records


def test_a_finished_bisection_answers_again_and_runs_nothing(make: Make) -> None:
    field = make(2)
    done = field.bisect("f2")
    ran = field.runs()
    log, settings = session.resume(done.log)
    with log:
        assert field.go_on(log, settings).answer == done.answer
    assert field.runs() == ran


def test_a_log_of_other_packages_or_fixes_is_refused(make: Make) -> None:
    field = make(2)
    done = field.bisect("f2", max_runs=1)
    field.package({"app/core.py": "# changed\n" + (field.site / "app/core.py").read_text()})
    with pytest.raises(RefusedError, match="not those that the log is of"):
        session.resume(done.log)


def test_two_bisections_do_not_write_one_log(make: Make) -> None:
    field = make(2)
    with session.begin(field.settings("f2"), log=field.root / "log"):
        with pytest.raises(UsageError, match="another bisection has"):
            session.resume(field.root / "log")
        with pytest.raises(UsageError, match="there already"):
            session.begin(field.settings("f2"), log=field.root / "log")


def test_a_line_that_was_cut_short_is_dropped_and_the_log_goes_on(make: Make) -> None:
    field = make(2)
    done = field.bisect("f2", max_runs=2)
    whole = done.log.read_bytes()
    done.log.write_bytes(whole + b'{"trial": {"numb')
    log, settings = session.resume(done.log, {"max_runs": 0})
    with log:
        assert log.dropped == 16
        assert field.go_on(log, settings).culprits == {("2",)}
    assert done.log.read_bytes().startswith(whole)
    assert all(json.loads(line) for line in done.log.read_text().splitlines())


def test_a_trial_that_finished_and_that_the_log_lacks_is_not_run_again(make: Make) -> None:
    field = make(4)
    done = field.bisect("f2", max_runs=3)
    lines = done.log.read_bytes().splitlines(keepends=True)
    done.log.write_bytes(b"".join(lines[:-2]))  # killed after the second of them had ended
    ran = field.runs()
    log, settings = session.resume(done.log)
    with log:
        assert log.records == done.state.records
        assert field.go_on(log, settings).answer.reason.startswith("stopped after 3 trials")
    assert field.runs() == ran


def test_a_worker_that_still_ends_its_trial_is_waited_for(make: Make) -> None:
    field = make(4)
    done = field.bisect("f2", max_runs=3)
    folder = Path(done.state.records[-1].folder)
    result = (folder / "result.json").read_bytes()
    (folder / "result.json").unlink()
    done.log.write_bytes(b"".join(done.log.read_bytes().splitlines(keepends=True)[:-1]))
    code = f"""
        from prtoggle.bisection.worker import lock
        import pathlib, time
        folder = pathlib.Path({str(folder)!r})
        held = lock(folder)
        print("held", flush=True)
        time.sleep(1)
        (folder / "result.json").write_bytes({result!r})
    """
    with subprocess.Popen([sys.executable, "-c", dedent(code)], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout and worker.stdout.readline() == "held\n"
        log, _ = session.resume(done.log)
        with log:
            assert log.records == done.state.records


def test_a_trial_that_is_taken_back_is_run_again_and_stays_taken_back(make: Make) -> None:
    field = make(4)
    lies = field.root / "lies"
    lies.touch()
    # While the file is there, fix 1 seems to be the one.
    done = field.bisect(f"f1 if os.path.exists({str(lies)!r}) else f3")
    assert done.culprits == {("1",)}
    lies.unlink()
    wrong = [each.number for each in done.state.records if each.kind == "bad" and "3" not in each.reverted]
    wrong += [each.number for each in done.state.records if each.kind == "good" and "3" in each.reverted]
    log, settings = session.resume(done.log)
    with log:
        with pytest.raises(UsageError, match="no trial 99"):
            log.undo(99)
        for number in wrong:
            log.undo(number)
    log, settings = session.resume(done.log)
    with log:
        assert not set(wrong) & {each.number for each in log.records}
        again = field.go_on(log, settings)
    assert again.culprits == {("3",)}
    numbers = [each.number for each in again.state.records]
    assert len(set(numbers)) == len(numbers) and not set(wrong) & set(numbers)


def test_what_is_no_log_is_refused_with_its_place(tmp_path: Path) -> None:
    for text, what in (
        ("", "its first line is missing"),
        ("{}\n", "not a log"),
        ("hello\n", "log:1: not a log"),
        ('{"prtoggle-bisect": 99}\n', "format 99, expected 1"),
    ):
        (tmp_path / "log").write_text(text)
        with pytest.raises(RefusedError, match=what):
            record.Log.open(tmp_path / "log")
    with pytest.raises(UsageError, match="cannot be opened"):
        record.Log.open(tmp_path / "absent")


def test_every_record_comes_back_from_the_log_as_it_was(make: Make) -> None:
    field = make(2)
    done = field.bisect("f2", trace=True)
    header, records = record.read(done.log)
    assert records == done.state.records
    assert header.settings == Settings(**{**vars(header.settings)})
    assert all(isinstance(each, TrialRecord) for each in records)


# GPUs


def test_gpus_are_dealt_out_among_the_trials_of_a_time(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    field = make(4)
    done = field.bisect("print('gpus', os.environ['CUDA_VISIBLE_DEVICES'])", jobs=2, max_runs=4)
    shown = {each.gpus: Path(each.folder, "stdout").read_text() for each in done.state.records}
    assert shown == {("4", "5"): "gpus 4,5\n", ("6", "7"): "gpus 6,7\n"}


@pytest.mark.parametrize(
    ("gpus", "jobs", "each", "expected"),
    [
        ("0123", 2, None, (("0", "1"), ("2", "3"))),
        ("0123", 3, 1, (("0",), ("1",), ("2",))),
        ("0123", 1, None, ((),)),
        ("0123", 4, 0, ((), (), (), ())),
        ("", 4, None, ((), (), (), ())),
    ],
)
def test_how_many_gpus_each_gets(gpus: str, jobs: int, each: int | None, expected: tuple[tuple[str, ...], ...]) -> None:
    assert executors.deal(tuple(gpus), jobs=jobs, each=each) == expected


def test_more_trials_than_gpus_are_refused() -> None:
    with pytest.raises(UsageError, match="take more GPUs than the 2"):
        executors.deal(("0", "1"), jobs=3, each=None)
    with pytest.raises(UsageError, match="--jobs 1"):
        executors.deal(("0", "1"), jobs=2, each=2)


def test_which_gpus_are_here() -> None:
    assert executors.gpus_here({"CUDA_VISIBLE_DEVICES": "1, GPU-abc,"}) == ("1", "GPU-abc")
    assert executors.gpus_here({"CUDA_VISIBLE_DEVICES": "-1"}) == ()
    assert executors.gpus_here({"PATH": "/nowhere"}) == ()


def test_a_worker_that_is_started_with_a_closed_pipe_runs_nothing(make: Make) -> None:
    field = make(2)
    job = field.root / "job"
    job.mkdir()
    (job / "job.json").write_text("{}")
    done = subprocess.run(
        [sys.executable, "-m", "prtoggle.bisection.worker", str(job)], stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode == worker.NOT_BEGUN and not (job / "result.json").exists()


# Trials that end beside the answer


class Late:
    """Runs nothing: trials end one at a time, as ``says``; those that are to be ended have just ended by themselves."""

    def __init__(self, width: int, says: Callable[[Job], str]) -> None:
        self.width, self.says = width, says
        self.running: list[Job] = []
        self.ended: list[Job] = []
        self.late: list[int] = []

    def submit(self, job: Job) -> None:
        self.running.append(job)

    def finished(self, timeout: float) -> TrialRecord | None:
        if not self.ended and self.running:
            self.ended.append(self.running.pop(0))
        if not self.ended:
            return None
        job = self.ended.pop(0)
        return TrialRecord(job.number, job.phase, job.reverted, job.selection, self.says(job), folder=job.folder)

    def stop(self) -> None:
        self.late += [job.number for job in self.running]
        self.ended += self.running
        self.running.clear()


def chance(job: Job) -> bool:
    return random.Random(1000 * job.number + 1).random() < 0.5


@pytest.mark.parametrize("late", ["bears it out", "speaks against it"])
def test_what_ended_beside_the_answer_is_part_of_it(make: Make, late: str) -> None:
    """The log has it already, so the answer is one to that too, or is taken back and the search goes on."""
    field = make(4)

    def says(job: Job) -> str:
        if late == "speaks against it" and job.number in executor.late[:1]:
            return "good" if "3" in job.reverted else "bad"
        return "bad" if "3" in job.reverted and chance(job) else "good"

    executor = Late(4, says)
    with session.begin(field.settings("", flaky=True, jobs=4, confidence=0.9), log=field.root / "log") as log:
        state = session.run(log, executor, Seen())
    assert executor.late, "nothing was under way when there was an answer"
    _, logged = record.read(field.root / "log")
    assert state.records == logged and {each.number for each in logged} >= set(executor.late)
    assert state.answer is not None and [each.fixes for each in state.answer.culprits] == [("3",)]
    assert (len(logged) > executor.late[0]) == (late == "speaks against it")
