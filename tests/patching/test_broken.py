"""What somebody does to a tree whose files are reverted, and to what is kept of them: nothing wrong is ever written."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prtoggle.errors import PrtoggleError, RefusedError
from prtoggle.patching.findings import findings
from tests.patching.project import ALL, BOTH, FIXED, ONE, Project
from tests.patching.test_files import immutable

STATES = (FIXED, ONE, BOTH, ALL)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.compile()
    return project


class TestAJournal:
    def damaged(self, data: bytes) -> list[bytes]:
        """Cut anywhere, with bytes of it others, with lines gone or twice, or nothing but zeros."""
        dice = random.Random(1)
        found = [data[: len(data) * part // 15] for part in range(15)]
        for _ in range(40):
            at = dice.randrange(len(data))
            found.append(data[:at] + bytes([data[at] ^ (1 << dice.randrange(8))]) + data[at + 1 :])
        lines = data.splitlines(keepends=True)
        for at in range(0, len(lines), 3):
            found += [b"".join(lines[:at] + lines[at + 1 :]), b"".join(lines[:at] + lines[at : at + 1] + lines[at:])]
        return [*found, b"\0" * len(data), b"[]", b"{}", b"null", b"\xff\xfe", data + data]

    @pytest.mark.slow
    def test_that_is_damaged_never_leads_to_a_wrong_text(self, project: Project) -> None:
        """Each file is as it was, or as it is reverted, and what is said is no traceback."""
        project.revert("7")
        journal = project.site / ".prtoggle" / "journal.json"
        whole = journal.read_bytes()
        kept = {file: file.read_bytes() for file in (project.site / ".prtoggle" / "files").iterdir()}
        after = project.snapshot()
        refused = 0
        for data in self.damaged(whole):
            if data == whole:
                continue
            for command in (project.restore, lambda: project.revert("7"), lambda: project.restore("7/one")):
                journal.write_bytes(data)
                list(findings([project.site]))
                try:
                    command()
                except PrtoggleError:
                    refused += 1
                texts = project.texts()
                for name, text in texts.items():
                    assert text in [state[name] for state in STATES], data
                if project.snapshot() != after:  # as at first for the next one
                    for name, text in ALL.items():
                        project.write(name, text)
                    for file, bytes_ in kept.items():
                        file.parent.mkdir(parents=True, exist_ok=True)
                        file.write_bytes(bytes_)
        assert refused > 50
        journal.write_bytes(whole)
        project.restore()
        assert project.texts() == FIXED

    def test_of_a_newer_prtoggle_is_left_to_it(self, project: Project) -> None:
        project.revert("7")
        journal = project.site / ".prtoggle" / "journal.json"
        newer = {**json.loads(journal.read_bytes()), "format": 2}
        journal.write_text(json.dumps(newer))
        before = project.snapshot()
        for command in (project.restore, lambda: project.restore(force=True), lambda: project.revert("7/one")):
            with pytest.raises(RefusedError, match=r"its format is 2, .* reads 1\n  hint: use the prtoggle that"):
                command()
        (finding,) = findings([project.site])
        assert finding.state == "bad" and "its format is 2" in finding.what
        assert project.snapshot() == before


class TestWhatCannotBeChanged:
    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files immutable")
    @pytest.mark.parametrize("path", ["engine/a.py", "engine/b.py", "engine", "engine/__pycache__"])
    def test_leaves_all_as_it_was(self, project: Project, path: str) -> None:
        fixed = project.snapshot()
        with immutable(project.site / path), pytest.raises(RefusedError, match="Operation not permitted; nothing was"):
            project.revert("7")
        assert project.snapshot() == fixed
        project.revert("7")
        project.compile()
        reverted = project.texts()
        with immutable(project.site / path):
            if path == "engine/__pycache__":
                with pytest.raises(RefusedError, match="Operation not permitted"):
                    project.restore()
            else:
                with pytest.raises(RefusedError, match=r"Operation not permitted; (nothing was|these are not back)"):
                    project.restore()
                (finding,) = findings([project.site])
                assert f"prtoggle restore --tree {project.site}" in finding.hint
        assert project.texts() in (reverted, {**reverted, "a": FIXED["a"]})
        project.restore()
        assert project.texts() == FIXED


@pytest.mark.parametrize("name", ["two\nlines", "a 'quote' and \"two\"", "-rf", "é", "\udcff\udcfe", "a;b $(c) *"])
def test_a_tree_of_any_name_is_reverted_and_the_command_that_puts_it_back_works(tmp_path: Path, name: str) -> None:
    from prtoggle.packages import restore_words

    project = Project(tmp_path / name)
    before = project.snapshot()
    project.revert("7")
    assert project.texts() == ALL
    words = restore_words(project.site).replace("prtoggle", f"{sys.executable} -m prtoggle", 1)
    done = subprocess.run(os.fsencode(words), shell=True, capture_output=True, cwd=_CHECKOUT, check=False)
    assert done.returncode == 0, done.stderr
    assert project.snapshot() == before


@pytest.mark.slow
def test_many_commands_at_once_that_are_killed_at_any_moment_leave_every_file_whole(project: Project) -> None:
    """Not at each write in turn, as elsewhere, but wherever the kill falls, with others at work at the same time."""
    before = project.snapshot()
    dice = random.Random(os.urandom(8))
    end = time.monotonic() + 8
    running: list[int] = []
    killed = 0
    while time.monotonic() < end:
        while len(running) < 3:
            child = os.fork()
            if child == 0:
                _changes(project, dice.random())
            running.append(child)
        time.sleep(dice.random() * 0.03)
        victim = running.pop(dice.randrange(len(running)))
        os.kill(victim, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(victim, 0)[1])
        for module, text in project.texts().items():
            assert text in [state[module] for state in STATES]
    for child in running:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert killed > 10
    project.restore()
    assert project.snapshot() == before


def _changes(project: Project, seed: float) -> None:
    dice = random.Random(seed)
    code = 0
    try:
        while True:
            part = dice.choice(["7", "7/one", "7/both", "all"])
            try:
                dice.choice([project.revert, project.restore])(part, seconds=60)
            except PrtoggleError as error:
                if "changed since" in str(error) or "half changed" in str(error):
                    print(error, file=sys.__stderr__, flush=True)
    except BaseException as error:
        print(repr(error), file=sys.__stderr__, flush=True)
        code = 1
    finally:
        os._exit(code)


_CHECKOUT = Path(__file__).resolve().parents[2]
