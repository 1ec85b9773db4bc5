"""Old bisections in the cache go, but none that is new, recent, open, or not prtoggle's."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from prtoggle.bisection import past, record, session
from prtoggle.bisection.record import Header, Log
from prtoggle.bisection.values import Settings
from prtoggle.bisection.worker import LOCK, lock
from prtoggle.errors import UsageError
from tests.bisection.field import Field

DAY = 86400.0


def bisection(base: Path, number: int, days: float = 100) -> Path:
    """A log that was last written to ``days`` ago, with a trial beside it."""
    path = base / f"202501{number:02d}T000000-{number}.jsonl"
    Log.create(path, Header(Settings(("true",)), ())).close()
    trial = path.with_name(path.name + ".trials") / "0001"
    trial.mkdir(parents=True)
    (trial / LOCK).touch()
    when = time.time() - days * DAY
    os.utime(path, (when, when))
    return path


def test_the_oldest_beyond_those_that_are_kept_go_with_their_trials(tmp_path: Path) -> None:
    logs = [bisection(tmp_path, number) for number in range(1, 6)]
    assert past.prune(tmp_path, keep=3) == 2
    assert past.past(tmp_path) == tuple(logs[2:])
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(
        name for log in logs[2:] for name in (log.name, log.name + ".trials")
    )


def test_what_may_soon_be_resumed_stays(tmp_path: Path) -> None:
    recent = bisection(tmp_path, 1, days=29)
    bisection(tmp_path, 2, days=31)
    assert past.prune(tmp_path, keep=0) == 1
    assert past.past(tmp_path) == (recent,)


def test_what_is_open_stays_and_so_does_one_whose_trial_still_runs(tmp_path: Path) -> None:
    first, second = bisection(tmp_path, 1), bisection(tmp_path, 2)
    with Log.open(first):
        os.utime(first, (0, 0))
        held = lock(second.with_name(second.name + ".trials") / "0001")
        assert held is not None
        assert past.prune(tmp_path, keep=0) == 0
        os.close(held)
    assert past.prune(tmp_path, keep=0) == 2


def test_what_prtoggle_did_not_name_stays(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    mine.write_text("x")
    os.utime(mine, (0, 0))
    real = bisection(tmp_path, 1)
    (tmp_path / "20240101T000000-1.jsonl").symlink_to(mine)
    assert past.prune(tmp_path, keep=0) == 1 and not real.exists()
    assert mine.exists() and past.prune(tmp_path / "nowhere") == 0


def test_one_that_goes_while_somebody_opens_it_is_said_to_be_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, really = bisection(tmp_path, 1), record._lock

    def late(file: int, locked: Path) -> None:
        past.prune(tmp_path, keep=0)
        really(file, locked)

    monkeypatch.setattr(record, "_lock", late)
    with pytest.raises(UsageError, match="is gone"):
        Log.open(path)


@pytest.mark.usefixtures("installed")
def test_a_new_bisection_in_the_cache_makes_room_and_one_elsewhere_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    field = Field(tmp_path, monkeypatch, fixes=2)
    base = field.cache / "bisections"
    for number in range(1, 22):
        bisection(base, number)
    session.begin(field.settings("f1"), log=tmp_path / "mine.jsonl").close()
    assert len(past.past(base)) == 21
    with session.begin(field.settings("f1")) as log:
        assert len(past.past(base)) == 20 and log.path in past.past(base)
