"""What is looked at in several processes, or remembered, is what one process finds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from prtoggle import memo
from prtoggle.check import Report, Subject, check
from prtoggle.library import Library
from prtoggle.packages import locate
from prtoggle.runtime import cache
from tests.cli.world import FIX, FIXED, GONE, REVERTED, World


@pytest.fixture
def subjects(tmp_path: Path) -> list[Subject]:
    """Nine releases of one package, of three sorts."""
    world = World(tmp_path / "world")
    world.fix(101, FIX)
    library = Library([world.fixes], path=[], environ={})
    found = []
    for minor, text in enumerate([FIXED, GONE, REVERTED] * 3):
        folder = world.root / f"r{minor}"
        world.package("engine", f"1.{minor + 2}", into=folder, core=f"{text}\nx = {minor}\n")
        package = locate("engine", [str(folder)])
        assert package is not None
        found.append(Subject("engine", package.label, package.version, package, library.catalog(package)))
    return found


@pytest.fixture(autouse=True)
def private_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(cache, "_folder", str(folder))
    monkeypatch.setattr(cache, "_looked", True)


def seen(report: Report) -> list[dict[str, Any]]:
    return [cell.data() for cell in report.cells]


def alone(subjects: list[Subject], monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What one process finds that remembers nothing."""
    with monkeypatch.context() as patch:
        patch.setattr(memo, "_cores", lambda: 1)
        patch.setattr(cache, "_folder", None)
        return seen(check(subjects))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_several_processes_find_the_same(subjects: list[Subject], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = alone(subjects, monkeypatch)
    brought: list[int] = []
    collect = memo.Memo._collect

    def counted(self: memo.Memo, pid: int, end: int) -> None:
        before = len(self.known)
        collect(self, pid, end)
        brought.append(len(self.known) - before)

    monkeypatch.setattr(memo, "_cores", lambda: 3)
    monkeypatch.setattr(memo.Memo, "_collect", counted)
    assert seen(check(subjects)) == expected
    assert brought == [6, 6, 6]  # three releases each, two edits


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_process_that_dies_costs_time_and_nothing_else(
    subjects: list[Subject], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = alone(subjects, monkeypatch)
    monkeypatch.setattr(memo, "_cores", lambda: 3)
    monkeypatch.setattr(memo.marshal, "dumps", lambda _: os._exit(9) if os.getpid() != parent else b"")
    parent = os.getpid()
    monkeypatch.setattr(cache, "write", lambda *_: False)
    assert seen(check(subjects)) == expected


def test_what_is_remembered_is_the_same(subjects: list[Subject], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = alone(subjects, monkeypatch)
    check(subjects)

    def never(*_: object) -> None:
        raise AssertionError("looked for again")

    monkeypatch.setattr("prtoggle.sources._locate", never)
    assert seen(check(subjects)) == expected
