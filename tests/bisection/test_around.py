"""What happens around a bisection: a log that is there already or is no log, a full disk, a package that changes
meanwhile, a pattern that takes for ever."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from prtoggle.bisection import executors, record, session, worker
from prtoggle.bisection.values import Job
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
