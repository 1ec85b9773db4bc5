"""A command that changes files is killed, or refused something by the system, at each thing that it writes: nothing is lost,
and the next command puts it right."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from prtoggle.patching.findings import findings
from tests.patching.faults import FULL, KILL, Ended, Fault, at, with_files_up_to
from tests.patching.project import ALL, BOTH, FIXED, ONE, Project, snapshot

pytestmark = pytest.mark.slow
Texts = dict[str, str]
WAYS: dict[str, tuple[tuple[str, ...], Callable[[Project], object], Texts, Texts]] = {
    # what was done before, the command, the texts before and after it
    "the first revert": ((), lambda project: project.revert("7"), FIXED, ALL),
    "another on top": (("7/both",), lambda project: project.revert("7/one"), BOTH, ALL),
    "a part put back": (("7",), lambda project: project.restore("7/both"), ALL, ONE),
    "everything put back": (("7",), lambda project: project.restore(), ALL, FIXED),
}


class Bench:
    """A project that can be had anew as it was before the command, as often as it takes."""

    def __init__(self, root: Path, way: str) -> None:
        before, self.command, self.texts_before, self.texts_after = WAYS[way]
        self.project = Project(root / "project")
        self.project.file("b").chmod(0o640)
        self.project.compile()
        self.original = self.project.snapshot()
        for selection in before:
            self.project.revert(selection)
        self.start = self.project.snapshot()
        self.saved = root / "saved"
        shutil.copytree(self.project.site, self.saved, symlinks=True)

    def again(self) -> Project:
        shutil.rmtree(self.project.site)
        shutil.copytree(self.saved, self.project.site, symlinks=True)
        assert snapshot(self.project.site) == self.start
        return self.project

    def each(self, fault: Fault) -> Iterator[Ended]:
        """The command with the fault at its first change, its second, and so on until it comes no more."""
        for n in itertools.count(1):
            ended = at(n, partial(self.command, self.again()), self.project.site, fault)
            if ended is Ended.NEVER:
                assert n > 10, "the harness saw next to nothing of what is written"
                assert callable(fault) or self.project.texts() == self.texts_after
                return
            yield ended

    def restored(self) -> None:
        """``restore`` brings everything back, but for what Python compiled where the system refused to have that back."""
        self.project.restore()
        found = self.project.snapshot()
        assert found == {
            path: each for path, each in self.original.items() if path in found or not path.endswith(".pyc")
        }

    def whole(self) -> None:
        """No file is anything but one of its texts."""
        for name, text in self.project.texts().items():
            assert text in (self.texts_before[name], self.texts_after[name], FIXED[name])


@pytest.fixture(params=WAYS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield Bench(tmp_path, request.param)
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:  # what is synced is not waited for
        yield Bench(Path(folder), request.param)


def test_after_a_kill_at_any_write_restore_brings_back_every_byte(bench: Bench) -> None:
    for ended in bench.each(KILL):
        assert ended is Ended.KILLED
        bench.whole()
        bench.project.restore()
        assert bench.project.snapshot() == bench.original


def test_after_a_kill_at_any_write_the_doctor_says_what_to_do(bench: Bench) -> None:
    half = 0
    for _ in bench.each(KILL):
        (finding,) = findings((bench.project.site,))
        if bench.project.texts() not in (bench.texts_before, bench.texts_after):
            half += 1
            assert finding.state == "bad"
        if finding.state != "ok":
            assert f"prtoggle restore --tree {bench.project.site}" in finding.hint
    files = sum(bench.texts_before[name] != bench.texts_after[name] for name in FIXED)
    assert (half > 0) == (files > 1)


def test_after_a_kill_at_any_write_the_command_can_be_given_again(bench: Bench) -> None:
    for _ in bench.each(KILL):
        if bench.project.texts() != bench.texts_after:
            bench.command(bench.project)
        assert bench.project.texts() == bench.texts_after
        bench.project.restore()
        assert bench.project.snapshot() == bench.original


@pytest.mark.parametrize("other", ["7", "7/one"])
def test_after_a_kill_at_any_write_another_command_can_be_given(bench: Bench, other: str) -> None:
    """What the killed one had cleared away already is not missing later."""
    for _ in bench.each(KILL):
        bench.project.revert(other)
        bench.project.restore()
        assert bench.project.snapshot() == bench.original


@pytest.mark.parametrize("error", [errno.EACCES, errno.ENOSPC], ids=errno.errorcode.get)
def test_what_the_system_refuses_in_the_middle_leaves_all_as_it_was(bench: Bench, error: int) -> None:
    refused = 0
    for ended in bench.each(error):
        assert ended in (Ended.DONE, Ended.REFUSED)
        texts = bench.project.texts()
        if ended is Ended.DONE:
            assert texts == bench.texts_after
        elif bench.texts_after != FIXED:
            assert texts == bench.texts_before
        refused += ended is Ended.REFUSED
        bench.whole()
        bench.restored()
    assert refused


def test_a_disk_that_is_full_from_some_moment_on_leaves_all_as_it_was_or_changed(bench: Bench) -> None:
    seen = set()
    for ended in bench.each(FULL):
        assert ended in (Ended.DONE, Ended.REFUSED)
        assert bench.project.texts() == (bench.texts_after if ended is Ended.DONE else bench.texts_before)
        seen.add(ended)
        bench.project.restore()
        assert bench.project.snapshot() == bench.original
    assert Ended.DONE in seen


@pytest.mark.parametrize("killed", [True, False], ids=["killed", "told"])
def test_a_file_that_is_cut_short_while_it_is_written_never_takes_the_place_of_another(
    bench: Bench, killed: bool
) -> None:
    for size in (0, 1, 20, 60, 100, 400, 900, 1500, 2500):
        project = bench.again()
        with_files_up_to(size, partial(bench.command, project), killed=killed)
        bench.whole()
        project.restore()
        assert project.snapshot() == bench.original


def test_what_somebody_writes_meanwhile_is_not_overwritten(bench: Bench) -> None:
    mine = "mine = True\n"
    overwritten = 0
    for _ in bench.each(lambda: bench.project.write("b", mine)):
        texts = bench.project.texts()
        assert texts["a"] in (bench.texts_before["a"], bench.texts_after["a"])
        overwritten += texts["b"] != mine
        bench.project.restore(force=True)
        assert bench.project.texts() == {"a": FIXED["a"], "b": texts["b"] if texts["b"] == mine else FIXED["b"]}
    # The moment between the last look and the renaming cannot be taken away.
    assert overwritten <= 1
