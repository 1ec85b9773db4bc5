"""What happens around a bisection: a log that is there already or is no log, a full disk, a package that changes
meanwhile, a pattern that takes for ever."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from prtoggle.bisection import record, session
from prtoggle.errors import RefusedError, UsageError
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
