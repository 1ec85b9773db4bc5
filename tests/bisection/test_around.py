"""What happens around a bisection: a log that is there already or is no log, a full disk, a package that changes
meanwhile, a pattern that takes for ever."""

from __future__ import annotations

import os
import resource
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from prtoggle.bisection import candidates, executors, record, session, worker
from prtoggle.bisection.values import Job
from prtoggle.bisection.verdict import End, judge
from prtoggle.edits.combine import verify
from prtoggle.edits.text import SourceText
from prtoggle.errors import InconclusiveError, RefusedError, UsageError
from tests.bisection.field import Field

pytestmark = pytest.mark.usefixtures("installed")

Make = Callable[[int], Field]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    return lambda fixes: Field(tmp_path, monkeypatch, fixes)


def test_the_same_command_again_is_told_how_to_go_on_with_its_log(make: Make) -> None:
    field = make(2)
    log = field.root / "a log"
    session.begin(field.settings("f2"), log=log).close()
    with pytest.raises(UsageError) as refused:
        session.begin(field.settings("f2"), log=log)
    hint = refused.value.hint
    assert hint == f"to go on with it: {record.resuming(log)}; else name another log"
    assert shlex.split(record.resuming(log)) == ["prtoggle", "bisect", "--resume", str(log)]
    log.unlink()
    with pytest.raises(UsageError, match=r"log\.trials is there already"):
        session.begin(field.settings("f2"), log=log)


@pytest.mark.parametrize("text", ["", '{"prtoggle-bisect": 1, "sett'])
def test_a_log_that_ended_within_its_first_line_is_to_be_deleted(make: Make, text: str) -> None:
    field = make(2)
    log = field.root / "log"
    log.write_text(text)
    with pytest.raises(UsageError) as begun:
        session.begin(field.settings("f2"), log=log)
    with pytest.raises(RefusedError) as resumed:
        session.resume(log)
    assert begun.value.hint == "no bisection is in it: delete it, or name another log"
    assert resumed.value.hint == "delete it and begin anew"


def test_a_line_that_is_none_can_be_deleted_and_nothing_is_lost(make: Make) -> None:
    field = make(4)
    done = field.bisect("f2")
    lines = done.log.read_bytes().splitlines(keepends=True)
    done.log.write_bytes(b"".join([*lines[:3], lines[3][:40] + b"\n", *lines[4:]]))
    with pytest.raises(RefusedError, match=r"bisect\.jsonl:4: not a trial") as refused:
        session.resume(done.log)
    assert refused.value.hint == "delete that line: what the trial's folder says of it is taken over"
    done.log.write_bytes(b"".join([*lines[:3], *lines[4:]]))
    ran = field.runs()
    log, settings = session.resume(done.log)
    with log:
        assert field.go_on(log, settings).culprits == {("2",)}
    assert field.runs() == ran


def test_a_full_disk_ends_it_and_counts_against_no_trial(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    field = make(4)
    with session.begin(field.settings("f2", timeout=0.01), log=field.root / "log") as log:
        with monkeypatch.context() as full, pytest.raises(InconclusiveError, match="no room is left") as stopped:
            full.setattr(worker, "ROOM", 1 << 62)
            field.go_on(log)
        assert log.records == ()
    assert stopped.value.hint == f"make room, then: {record.resuming(field.root / 'log')}"
    log, settings = session.resume(field.root / "log", {"max_runs": 1})
    with log:
        assert field.go_on(log, settings).kinds() == ["timeout"]


def test_a_failure_on_a_full_disk_is_no_verdict(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    field = make(2)
    monkeypatch.chdir(field.root)

    def kind(code: str, folder: str) -> str:
        job = Job(1, "ends", (), "none", (sys.executable, "-c", code), str(field.root / folder))
        Path(job.folder).mkdir()
        return worker.run(job).kind

    assert kind("raise SystemExit(1)", "1") == "bad"
    monkeypatch.setattr(worker, "ROOM", 1 << 62)
    assert kind("raise SystemExit(1)", "2") == "infrastructure"
    assert kind("raise SystemExit(0)", "3") == "good"


def test_a_pattern_that_takes_for_ever_is_no_verdict(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    field = make(2)
    monkeypatch.setattr(worker, "LOOKING", 1.0)
    folder = field.root / "trial"
    folder.mkdir()
    command = (sys.executable, "-c", "print('a' * 60 + '!'); raise SystemExit(1)")
    job = Job(1, "ends", (), "none", command, str(folder), match="(a+)+$")
    done = worker.run(job)
    assert done.kind == "infrastructure" and "pattern" in done.why and "1 s" in done.why
    # Whoever wants it to end need not wait for that.
    monkeypatch.setattr(worker, "LOOKING", 1000.0)
    begun = time.monotonic()
    assert worker.run(job, stop=lambda: time.monotonic() > begun + 3).kind == "interrupted"


def test_a_trial_that_deletes_its_own_folder_is_said(make: Make) -> None:
    field = make(2)
    done = field.bisect("__import__('shutil').rmtree(os.environ['PRTOGGLE_BISECT'])", max_runs=1)
    (trial,) = done.state.records
    assert trial.kind == "infrastructure" and trial.why == f"its folder {trial.folder} was deleted"


def test_a_gpu_that_is_named_twice_is_one() -> None:
    assert executors.gpus_here({"CUDA_VISIBLE_DEVICES": "0,1,0"}) == ("0", "1")


def test_packages_that_change_meanwhile_end_it_and_the_trials_since_then_are_named(make: Make) -> None:
    field = make(4)
    core = field.site / "app" / "core.py"
    before = core.read_text()
    # From its third run on the command finds another file, in which every fix still applies.
    begun = f"len([line for line in open({str(field.ran)!r}) if line.startswith('begin')])"
    change = f"open({str(core)!r}, 'w').write({before + '# another'!r}) if {begun} == 3 else None"
    with pytest.raises(RefusedError, match="are not those that the log is of: app") as stopped:
        field.bisect(f"({change}, f2)[1]")
    _, records = record.read(field.root / "bisect.jsonl")
    numbers = [str(each.number) for each in records]
    assert stopped.value.hint.endswith(
        f"--resume {field.root}/bisect.jsonl --undo {' --undo '.join(numbers)}; or begin anew"
    )
    core.write_text(before)
    log, settings = session.resume(field.root / "bisect.jsonl")
    with log:
        for number in numbers[3:]:
            log.undo(int(number))
        assert field.go_on(log, settings).culprits == {("2",)}


def test_a_fix_that_no_longer_applies_at_the_end_is_named(make: Make) -> None:
    field = make(2)
    core = field.site / "app" / "core.py"
    change = f"open({str(core)!r}, 'a').write('def f1(): pass') if os.environ.get('PRTOGGLE_REVERT') is None else None"
    with pytest.raises(RefusedError, match=r"are not those that the log is of: app .*\(.*1.*f1"):
        field.bisect(f"({change}, 0)[1]")


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("1,234.5", 1234.5),
        ("-12,345,678", -12345678.0),
        ("1e3", 1000.0),
        ("12,5", "'12,5' is no number that can be compared"),
        ("nan", "'nan' is no number that can be compared"),
        ("x" * 1000, f"'{'x' * 57}...' is no number that can be compared"),
    ],
)
def test_commas_between_thousands_are_none_of_the_number_and_other_text_is_no_number(
    tmp_path: Path, shown: str, expected: float | str
) -> None:
    (tmp_path / "stdout").write_text(f"took: {shown} ms\n")
    job = Job(1, "ends", (), "none", ("true",), str(tmp_path), metric=r"took: (\S+)")
    said = judge(job, End(0), [tmp_path / "stdout"])
    assert (said.metric if said.kind == "measured" else said.why) == expected


def test_where_only_the_example_code_is_seen_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRTOGGLE_PATH", raising=False)
    (note,) = candidates.find("all", cwd=str(tmp_path)).notes
    assert "only the example code that comes with prtoggle" in note and "--fixes DIR" in note
    assert candidates.find("27360", cwd=str(tmp_path)).notes == ()


def test_a_log_that_cannot_be_written_on_ends_it_and_loses_nothing(make: Make) -> None:
    field = make(2)
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with session.begin(field.settings("f2"), log=field.root / "log") as log:
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, log._file)
        os.close(full)
        with pytest.raises(InconclusiveError, match="No space left on device") as stopped:
            field.go_on(log)
    assert stopped.value.hint == f"once it can be, go on with: {record.resuming(field.root / 'log')}"
    log, settings = session.resume(field.root / "log")
    with log:
        assert field.go_on(log, settings).culprits == {("2",)}
    assert len(field.runs()) == len(log.records), "what finished while the log could not be written is not run again"


def test_a_log_that_cannot_be_begun_is_not_left_there(make: Make) -> None:
    field = make(2)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(UsageError, match="cannot be written: File too large"):
            session.begin(field.settings("f2"), log=field.root / "log")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not (field.root / "log").exists()
    session.begin(field.settings("f2"), log=field.root / "log").close()


def test_each_text_is_compiled_once_while_candidates_are_found(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    field, texts = make(3), list[str]()

    def seen(source: SourceText, text: str) -> SyntaxError | None:
        texts.append(text)
        return verify(source, text)

    monkeypatch.setattr("prtoggle.sources.verify", seen)
    found = candidates.find("all", cwd=str(field.root), script="")
    assert {"1", "2", "3"} <= {each.name for each in found.candidates}
    assert len(texts) == len(set(texts)) >= 4
