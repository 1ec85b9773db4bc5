"""Fixes taken out of the files of a tree, and put back: what becomes of their bytes, links, modes and compiled code."""

from __future__ import annotations

import hashlib
import os
import py_compile
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from prtoggle.errors import RefusedError, SelectionError, UsageError
from prtoggle.patching.bytecode import another_time, compiled, elsewhere
from prtoggle.patching.findings import findings
from prtoggle.patching.state import Kind, look
from prtoggle.patching.store import Store
from tests.patching.project import ALL, BOTH, FIX, FIXED, ONE, A, B, Project, snapshot

Mode = py_compile.PycInvalidationMode


@contextmanager
def immutable(file: Path) -> Iterator[None]:
    """A file that not even root may change, or take away."""
    if shutil.which("chattr") is None or subprocess.run(["chattr", "+i", file], capture_output=True).returncode:
        pytest.skip("the file system has no immutable files")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", file], check=True)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


class TestSelections:
    def test_take_parts_out_and_put_them_back(self, project: Project) -> None:
        before = project.snapshot()
        answer = project.revert("7/one")
        assert (answer.reverted, answer.out, [each.path for each in answer.files]) == (
            ("7/one",),
            ("7/one",),
            ["engine/a.py"],
        )
        assert project.texts() == ONE
        assert project.restore().restored == ("7/one",)
        assert project.snapshot() == before

    def test_add_up(self, project: Project) -> None:
        project.revert("7/one")
        answer = project.revert("7/both")
        assert (answer.reverted, answer.already, answer.out) == (("7/both",), (), ("7/one", "7/both"))
        assert project.texts() == ALL

    def test_that_are_out_already_change_no_file(self, project: Project) -> None:
        project.revert("7")
        before = project.snapshot()
        answer = project.revert("7/one")
        assert (answer.reverted, answer.already, answer.files) == ((), ("7/one",), ())
        assert project.snapshot() == before

    @pytest.mark.parametrize(
        ("back", "left"), [("7/one", BOTH), ("7/both", ONE), ("7", FIXED), ("acme/engine#7", FIXED)]
    )
    def test_are_put_back_in_part(self, project: Project, back: str, left: dict[str, str]) -> None:
        before = project.snapshot()
        project.revert("7")
        project.restore(back)
        assert project.texts() == left
        project.restore()
        assert project.snapshot() == before

    @pytest.mark.parametrize("wrong", ["7/both", "8", "other/engine#7", "7/one+both"])
    def test_of_what_is_not_out_are_no_selections(self, project: Project, wrong: str) -> None:
        project.revert("7/one")
        with pytest.raises(SelectionError, match=r"is not reverted in .*site\n  hint: out are: 7/one"):
            project.restore(wrong)
        assert project.texts() == ONE

    def test_of_everything_name_what_applies(self, project: Project) -> None:
        project.fix(8, FIX.replace("fix: 7", "fix: 8").replace("engine.b.g", "engine.b.gone"))
        answer = project.revert("all")
        assert answer.reverted == ("7/one", "7/both")
        assert any(note.startswith("8 skipped") for note in answer.notes)

    def test_that_conflict_with_what_is_out_are_refused(self, project: Project) -> None:
        project.fix(8, FIX.replace("fix: 7", "fix: 8").replace('one = "reverted"', 'one = "another"'))
        project.revert("7/one")
        before = project.snapshot()
        with pytest.raises(RefusedError, match="conflict"):
            project.revert("8/one")
        assert project.snapshot() == before

    def test_of_a_merged_diff(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        diff = project.root / "x.diff"
        diff.write_text(
            "--- a/engine/c.py\n+++ b/engine/c.py\n@@ -1,2 +1,2 @@\n def h():\n-    return 2\n+    return 3\n"
        )
        monkeypatch.chdir(project.root)
        before = project.snapshot()
        assert project.revert("./x.diff").reverted == (str(diff),)
        assert project.file("c").read_text() == "def h():\n    return 2\n"
        project.revert("7/one")
        assert project.revert("./x.diff").already == (str(diff),)
        project.restore("./x.diff")
        assert project.file("c").read_text() == "def h():\n    return 3\n"
        project.restore()
        assert project.snapshot() == before

    def test_on_top_that_conflict_are_told_what_is_out(self, project: Project) -> None:
        project.fix(8, FIX.replace("fix: 7", "fix: 8").replace('"reverted"', '"another"'))
        project.revert("7/one")
        hint = f"hint: out already: 7/one; prtoggle restore --tree {project.site} puts it back"
        with pytest.raises(RefusedError, match=f"7/one .* and 8/one .* conflict .*\n  {hint}"):
            project.revert("8/one")

    def test_on_top_that_do_not_apply_are_not_told_to_put_back_what_is_out(self, project: Project) -> None:
        project.fix(8, FIX.replace("fix: 7", "fix: 8").replace("one = 1", "four = 4"))
        project.revert("7/both")
        with pytest.raises(RefusedError, match="8/one: rot") as refused:
            project.revert("8/one")
        assert "restore" not in str(refused.value)

    def test_on_top_are_refused_where_the_reverse_patches_are_others_by_now(self, project: Project) -> None:
        project.revert("7/one")
        project.fix(7, FIX.replace('one = "reverted"', 'one = "otherwise"'))
        before = project.snapshot()
        for command in (lambda: project.revert("7/both"), lambda: project.revert("7")):
            with pytest.raises(RefusedError, match="not those that were applied here"):
                command()
        assert project.snapshot() == before
        assert project.restore().restored == ("7/one",)

    def test_need_no_reverse_patch_to_be_put_back_whole(self, project: Project) -> None:
        before = project.snapshot()
        project.revert("7")
        shutil.rmtree(project.fixes)
        project.fixes.mkdir()
        assert project.restore("7").restored == ("7/one", "7/both")
        assert project.snapshot() == before


class TestPlaces:
    @pytest.mark.parametrize("place", ["python", "src", "lib/python3.12/site-packages"])
    def test_a_checkout_or_an_environment_is_found_into(self, project: Project, place: str) -> None:
        outer = project.root / "outer"
        (outer / place).parent.mkdir(parents=True)
        shutil.copytree(project.site, outer / place)
        before = snapshot(outer)
        assert project.revert("7", outer).tree == str(outer / place)
        assert project.restore(tree=outer).restored == ("7/one", "7/both")
        assert snapshot(outer) == before

    def test_the_packages_own_folder_is_one(self, project: Project) -> None:
        assert project.revert("7", project.site / "engine").tree == str(project.site)
        assert project.restore(tree=project.site / "engine").restored == ("7/one", "7/both")

    def test_a_package_without_an_init_is_put_back_by_its_folder_too(self, project: Project) -> None:
        project.file("__init__").unlink()
        package = project.site / "engine"
        assert project.revert("7", package).tree == str(project.site)
        (project.site / "other").mkdir()
        assert project.restore(tree=project.site / "other").restored == ()
        assert project.restore(tree=package).restored == ("7/one", "7/both")

    def test_a_module_of_one_file_is_a_package(self, project: Project) -> None:
        (project.site / "single.py").write_text(B)
        project.fix(9, FIX_OF_ONE_FILE)
        project.revert("9")
        assert (project.site / "single.py").read_text() == B.replace("both = 2", "both = 3")
        project.restore()
        assert (project.site / "single.py").read_text() == B

    def test_an_environment_of_several_pythons_is_not_guessed_in(self, project: Project, tmp_path: Path) -> None:
        environment = tmp_path / "environment"
        sites = [environment / "lib" / version / "site-packages" for version in ("python3.11", "python3.12")]
        for site in sites:
            shutil.copytree(project.site, site)
        with pytest.raises(UsageError, match=f"holds engine 2 times\n  hint: name one: {sites[0]}, {sites[1]}"):
            project.revert("7", environment)
        shutil.rmtree(sites[0] / "engine")
        assert project.revert("7", environment).tree == str(sites[1])

    def test_a_tree_that_moved_is_put_back_all_the_same(self, project: Project) -> None:
        before = project.snapshot()
        project.revert("7")
        moved = project.root / "moved"
        shutil.copytree(project.site, moved, symlinks=True)
        project.restore(tree=moved)
        assert snapshot(moved) == before

    def test_a_folder_that_is_not_there_is_a_mistake(self, project: Project) -> None:
        for command in (project.revert, project.restore):
            with pytest.raises(UsageError, match="is not there"):
                command("7", project.root / "no")

    def test_a_folder_without_the_package_is_refused(self, project: Project) -> None:
        with pytest.raises(
            RefusedError, match=r"none of the packages that 7 is for is in .*\n  hint: name the package's"
        ):
            project.revert("7", project.fixes)

    def test_nothing_to_put_back_is_fine(self, project: Project) -> None:
        assert project.restore().restored == ()

    def test_a_journal_that_leads_out_of_the_tree_is_none(self, project: Project) -> None:
        project.revert("7")
        journal = project.site / ".prtoggle" / "journal.json"
        journal.write_text(journal.read_text().replace("engine/a.py", "../a.py"))
        with pytest.raises(RefusedError, match="leads out of the tree"):
            project.restore()

    @pytest.mark.parametrize(
        ("this", "that", "why"),
        [
            ('"mode": 420', '"mode": "x"', "'x' stands where a number is expected"),
            ('"name": "7/one"', '"name": "seven"', "'seven' is the name of no part"),
            ('"path": "engine/a.py"', '"path": "engine/\\u0000.py"', "leads out of the tree"),
            ('"was": "', '"was": 5, "x": "', "5 stands where a text is expected"),
            ('"format": 1', '"format": 2', "this version of prtoggle reads 1\n  hint: use the prtoggle that changed"),
            ('"entries"', '"others"', "KeyError: 'entries'"),
            ("{", "[", "is no journal: "),
        ],
    )
    def test_a_journal_that_somebody_edited_is_none(self, project: Project, this: str, that: str, why: str) -> None:
        project.revert("7")
        before = project.texts()
        journal = project.site / ".prtoggle" / "journal.json"
        assert this in journal.read_text()
        journal.write_text(journal.read_text().replace(this, that))
        for command in (project.restore, lambda: project.restore("7/one"), lambda: project.revert("7")):
            with pytest.raises(RefusedError, match=why.replace("(", r"\(")):
                command()
        assert project.texts() == before


FIX_OF_ONE_FILE = """\
prtoggle: 1
fix: 9
title: in a module of one file
variants:
  - package: single
    patches:
      - target: single.g
        edits:
          - match: 'both = 2'
            replacement: 'both = 3'
"""


class TestDryRuns:
    def test_write_nothing(self, project: Project) -> None:
        before = project.snapshot()
        answer = project.revert("7", dry_run=True)
        assert answer.dry_run and answer.reverted == ("7/one", "7/both") and len(answer.files) == 2
        assert project.snapshot() == before
        project.revert("7")
        before = project.snapshot()
        assert project.restore("7/one", dry_run=True).restored == ("7/one",)
        assert project.restore(dry_run=True).restored == ("7/one", "7/both")
        assert project.snapshot() == before


class TestBytes:
    @pytest.mark.parametrize(
        ("head", "encoding"),
        [
            ("# -*- coding: latin-1 -*-\n", "latin-1"),
            ("#!/usr/bin/env python\n# vim: set fileencoding=koi8-r :\n", "koi8-r"),
            ("", "utf-8-sig"),
        ],
    )
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_keep_their_encoding_and_their_line_ends(
        self, project: Project, head: str, encoding: str, end: str
    ) -> None:
        greek = "ж" if encoding == "koi8-r" else "é"
        text = (head + A.replace("α", greek)).replace("\n", end)
        project.write("a", text.encode(encoding))
        before = project.snapshot()
        project.revert("7/one")
        assert project.file("a").read_bytes() == text.replace("one = 1", 'one = "reverted"').encode(encoding)
        project.restore()
        assert project.snapshot() == before

    def test_keep_line_ends_of_several_kinds(self, project: Project) -> None:
        lines = A.splitlines()
        text = "".join(line + end for line, end in zip(lines, ["\r\n", "\n", "\r\n", "\r\n", "\n"], strict=True))
        project.write("a", text)
        project.revert("7/one")
        assert project.file("a").read_bytes() == text.replace("one = 1", 'one = "reverted"').encode()


class TestCompiledCode:
    @pytest.mark.parametrize("mode", Mode)
    def test_is_never_that_of_the_other_text(self, project: Project, mode: Mode) -> None:
        project.compile(mode)
        before = {path: each for path, each in project.snapshot().items() if Path(path).name[:2] in ("a.", "b.")}
        assert project.runs() == "1 2"
        project.revert("7")
        assert project.runs() == "reverted reverted"
        project.compile(mode)
        project.restore()
        assert {path: each for path, each in project.snapshot().items() if path in before} == before
        assert len(before) == 4
        assert project.runs() == "1 2"

    def test_is_not_taken_for_the_new_text_where_time_and_size_are_the_same(self, project: Project) -> None:
        project.fix(7, FIX.replace('one = "reverted"', "one = 9").replace('both = "reverted"', "both = 8"))
        os.utime(project.file("a"), ns=(0, 0))
        project.compile()
        kept = compiled(project.file("a"))[0]
        old = kept.read_bytes()
        project.revert("7")
        assert os.stat(project.file("a")).st_mtime_ns // 10**9 != 0
        kept.write_bytes(old)  # as a build that keeps compiled code aside would bring it back
        assert project.runs() == "9 8"

    @pytest.mark.parametrize(
        ("mode", "told"),
        [*((mode, True) for mode in Mode), *((mode, False) for mode in Mode if mode is not Mode.UNCHECKED_HASH)],
    )
    def test_elsewhere_is_never_that_of_the_other_text(
        self, project: Project, monkeypatch: pytest.MonkeyPatch, mode: Mode, told: bool
    ) -> None:
        """Below a PYTHONPYCACHEPREFIX, ``told`` to the command too. Where it is not, those that Python does not check cannot
        be found, and nothing is promised of them."""
        project.fix(7, FIX.replace('one = "reverted"', "one = 9").replace('both = "reverted"', "both = 8"))
        prefix = project.root / "prefix"
        monkeypatch.setattr(sys, "pycache_prefix", str(prefix))
        project.compile(mode)
        assert not compiled(project.file("a")) and elsewhere(project.file("a"))
        monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(prefix))
        monkeypatch.setattr(sys, "pycache_prefix", str(prefix) if told else None)
        assert project.runs() == "1 2"
        for command, said in (("7/one", "9 2"), ("7/both", "9 8"), ("", "1 2"), ("7", "9 8")):
            project.revert(command) if command else project.restore()
            assert project.runs() == said
            if told:
                project.compile(mode)
                assert project.runs() == said

    @pytest.mark.skipif(os.geteuid() != 0, reason="root may not be refused otherwise")
    def test_elsewhere_that_cannot_be_taken_away_is_named(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "pycache_prefix", str(project.root / "prefix"))
        project.compile(Mode.UNCHECKED_HASH)
        (pyc,) = elsewhere(project.file("a"))
        before = project.snapshot()
        with immutable(pyc), pytest.raises(RefusedError, match=f"{pyc} cannot be taken away, and would be run"):
            project.revert("7")
        assert project.snapshot() == before
        pyc.unlink()
        project.compile(Mode.TIMESTAMP)
        with immutable(pyc):
            project.revert("7")
        assert project.texts() == ALL

    def test_is_told_from_that_of_each_other_text_by_the_second(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Texts of one length, one after the other within a second: compiled code of each may lie where we do not see it."""
        project.fix(7, FIX.replace('one = "reverted"', "one = 9").replace('both = "reverted"', "both = 8"))
        now = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: now)
        seen: dict[int, str] = {}
        commands = ("7/one", "7/both", "-7/one", "7/one", "-7/both", "-", "7/both", "7/one", "-7/both", "7/both")
        for command in commands:
            project.restore(command[1:] or "all") if command[0] == "-" else project.revert(command)
            second = project.file("a").stat().st_mtime_ns // 10**9
            assert seen.setdefault(second, project.texts()["a"]) == project.texts()["a"], command
        assert len(seen) > 5

    def test_has_a_second_of_its_own(self) -> None:
        import time

        now = time.time_ns()
        taken = [now, now + 10**9, now + 2 * 10**9]
        assert another_time(taken) // 10**9 not in {each // 10**9 for each in taken}

    def test_of_modules_with_longer_names_stays(self, project: Project) -> None:
        project.write("a_b", "x = 1\n")
        project.compile()
        project.revert("7")
        assert not compiled(project.file("a")) and compiled(project.file("a_b"))


class TestLinks:
    def test_what_a_link_leads_to_is_changed_and_the_link_stays(self, project: Project) -> None:
        (project.site / "shared").mkdir()
        project.file("a").rename(project.site / "shared" / "real.py")
        project.file("a").symlink_to("../shared/real.py")
        project.compile()
        before = project.snapshot()
        answer = project.revert("7")
        assert [each.path for each in answer.files] == ["engine/b.py", "shared/real.py"]
        assert project.file("a").is_symlink() and project.texts() == ALL
        assert project.runs() == "reverted reverted"
        project.restore()
        assert {path: each for path, each in project.snapshot().items() if path in before} == before
        assert project.runs() == "1 2"

    def test_a_link_out_of_the_tree_is_refused(self, project: Project) -> None:
        outside = project.root / "outside.py"
        project.file("a").rename(outside)
        project.file("a").symlink_to(outside)
        before = project.snapshot()
        with pytest.raises(
            RefusedError, match=r"a\.py is a link to .*outside\.py, outside of .*site\n  hint: .* --link-mode copy"
        ):
            project.revert("7")
        assert (project.snapshot(), outside.read_text()) == (before, A)

    def test_a_package_that_is_a_link_out_of_the_tree_is_refused_and_its_tree_named(self, project: Project) -> None:
        other = project.root / "other"
        other.mkdir()
        (other / "engine").symlink_to(project.site / "engine")
        with pytest.raises(RefusedError, match=f"outside of {other}\n  hint: name the tree .*: --tree {project.site}"):
            project.revert("7", other)

    def test_a_tree_named_by_a_link_is_that_tree(self, project: Project) -> None:
        link = project.root / "link"
        link.symlink_to(project.site)
        assert project.revert("7", link).tree == str(project.site)

    def test_another_name_of_the_file_keeps_the_old_text(self, project: Project) -> None:
        cache = project.root / "cache.py"
        os.link(project.file("a"), cache)
        project.revert("7")
        assert (cache.read_text(), project.texts()) == (A, ALL)
        project.restore()
        assert (cache.read_text(), project.texts()) == (A, FIXED)


class TestOneTreeInAnother:
    """The same files by two names: what is out of them is said by either, and one tree alone keeps what they were."""

    @pytest.fixture(params=["beside", "inside", "outside", "modules"])
    def names(self, request: pytest.FixtureRequest, project: Project) -> tuple[Path, ...]:
        """Folders that lead to the files; what is reverted is so by ``project.site``."""
        site, other = project.site, project.root / "other"
        engine = site / "engine"
        if request.param == "inside":
            (site / "shared").mkdir()
            engine.rename(site / "shared" / "engine")
            engine.symlink_to("shared/engine")
            return (site, engine, site / "shared", site / "shared" / "engine")
        other.mkdir()
        if request.param == "modules":
            (other / "engine").mkdir()
            for file in engine.glob("*.py"):
                (other / "engine" / file.name).symlink_to(file)
            return (site, engine, other / "engine")
        if request.param == "outside":
            (other / "src").mkdir()
            (other / "src" / "engine").symlink_to(engine)
            return (site, engine, other, other / "src", other / "src" / "engine")
        (other / "engine").symlink_to(engine)
        return (site, engine, other, other / "engine")

    def test_is_seen_by_either_name(self, project: Project, names: tuple[Path, ...]) -> None:
        from prtoggle.patching.trees import only_store

        for name in names:
            assert only_store(name, linked=True) is None
            assert [each.state for each in findings([name])] == ["ok"]
        project.revert("7/one")
        for name in names:
            store = only_store(name, linked=True)
            assert store is not None and store.root == project.site, name
            (finding,) = findings([name])
            assert "7/one reverted in the files of" in finding.what and str(project.site) in finding.hint
        assert [each.state for each in findings([project.fixes])] == ["ok"]

    def test_is_changed_by_the_tree_alone_that_keeps_it(self, project: Project, names: tuple[Path, ...]) -> None:
        from prtoggle.patching.trees import stores_in

        project.revert("7/one")
        before = project.snapshot()
        for name in names:
            if stores_in(name):
                continue
            with pytest.raises(RefusedError, match=f"hint: .*(--tree {project.site}|--link-mode copy)"):
                project.revert("7/both", name)
            with pytest.raises(RefusedError, match=f"hint: .*prtoggle restore --tree {project.site}"):
                project.restore(tree=name)
            assert project.snapshot() == before
        project.restore()
        assert project.texts() == FIXED


class TestModes:
    @pytest.mark.parametrize("mode", [0o600, 0o444, 0o755, 0o4755])
    def test_stay(self, project: Project, mode: int) -> None:
        project.file("a").chmod(mode)
        before = project.snapshot()
        project.revert("7")
        assert stat.S_IMODE(project.file("a").stat().st_mode) == mode
        kept = [each for each in (project.site / ".prtoggle" / "files").iterdir() if each.read_text() == A]
        assert [stat.S_IMODE(each.stat().st_mode) for each in kept] == [mode]
        project.restore()
        assert project.snapshot() == before

    def test_of_a_reverted_file_are_changed_until_it_is_put_back(self, project: Project) -> None:
        project.file("a").chmod(0o644)
        before = project.snapshot()
        project.revert("7/one")
        project.file("a").chmod(0o600)
        project.revert("7/both")
        assert stat.S_IMODE(project.file("a").stat().st_mode) == 0o600
        project.restore()
        assert project.snapshot() == before

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
    def test_the_owner_stays_where_the_system_lets_us(self, project: Project) -> None:
        os.chown(project.file("a"), 1234, 2345)
        for command in (lambda: project.revert("7"), project.restore):
            assert command().notes == ()
            found = project.file("a").stat()
            assert (found.st_uid, found.st_gid) == (1234, 2345)

    @pytest.mark.skipif(not hasattr(os, "setxattr"), reason="the system has no extended attributes")
    def test_extended_attributes_stay(self, project: Project) -> None:
        try:
            os.setxattr(project.file("a"), "user.note", b"kept")
        except OSError:
            pytest.skip("the file system has no extended attributes")
        for command in (lambda: project.revert("7"), project.restore):
            command()
            assert os.getxattr(project.file("a"), "user.note") == b"kept"


class TestReadOnly:
    """As an ordinary user; root may write everywhere."""

    @pytest.fixture
    def theirs(self) -> Iterator[Project]:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            project = Project(Path(folder))
            project.compile()
            if os.geteuid() == 0:
                for path in (Path(folder), *Path(folder).rglob("*")):
                    os.chown(path, 65534, 65534)
            yield project

    def refusal(self, project: Project, command: str = "project.revert('7')") -> str:
        """What an ordinary user is told."""
        script = (
            "import os, sys\n"
            "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
            "from pathlib import Path\nfrom prtoggle.errors import RefusedError\n"
            "from tests.patching.project import Project\n"
            "project = Project.__new__(Project)\n"
            f"project.root = Path({str(project.root)!r})\n"
            "project.site, project.fixes = project.root / 'site', project.root / 'fixes'\n"
            f"try: {command}\nexcept RefusedError as error: print(error)\n"
        )
        # Everything is imported before the rights are given up: the checkout may be root's alone.
        loads = "import prtoggle.patching.restoring, prtoggle.plan, prtoggle.subjects, prtoggle.yamlfile\n"
        loads += (
            "import tests.patching.project, packaging.version, packaging.specifiers, prtoggle.difffix, fcntl, difflib\n"
        )
        loads += "tests.patching.project.Project\n"
        warm = "import tempfile\nfrom pathlib import Path\nfrom tests.patching.project import Project\n"
        warm += "with tempfile.TemporaryDirectory() as folder: warm = Project(Path(folder)); warm.revert('7'); warm.restore()\n"
        done = subprocess.run(
            [sys.executable, "-c", loads + warm + script],
            cwd=Path(__file__).resolve().parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def test_a_folder_that_cannot_be_written_to_is_named(self, theirs: Project) -> None:
        theirs.site.chmod(0o555)
        before = theirs.snapshot()
        assert f"{theirs.site} cannot be written to: Permission denied" in self.refusal(theirs)
        assert theirs.snapshot() == before
        theirs.site.chmod(0o755)

    @pytest.mark.parametrize("folder", ["engine", "engine/__pycache__"])
    def test_one_further_in_leaves_all_as_it_was(self, theirs: Project, folder: str) -> None:
        (theirs.site / folder).chmod(0o555)
        before = theirs.snapshot()
        said = self.refusal(theirs)
        assert f"{theirs.site / folder}" in said and "Permission denied; nothing was changed\n  hint: run it as" in said
        assert theirs.snapshot() == before
        (theirs.site / folder).chmod(0o755)

    def test_a_file_that_is_read_only_in_a_folder_that_is_not_is_replaced(self, theirs: Project) -> None:
        theirs.file("a").chmod(0o444)
        before = theirs.snapshot()
        assert self.refusal(theirs) == ""
        assert theirs.texts() == ALL
        assert self.refusal(theirs, "project.restore()") == ""
        assert theirs.snapshot() == before

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the files of others")
    def test_what_root_reverted_its_owner_puts_back(self, theirs: Project) -> None:
        theirs.file("a").chmod(0o600)
        before = theirs.snapshot()
        theirs.revert("7")
        assert self.refusal(theirs, "project.restore()") == ""
        assert theirs.snapshot() == before

    def test_a_file_that_cannot_be_read_is_not_taken_for_one_that_changed(self, theirs: Project) -> None:
        before = theirs.snapshot()
        assert self.refusal(theirs) == ""
        theirs.file("a").chmod(0o000)
        assert f"{theirs.file('a')} cannot be read: Permission denied" in self.refusal(
            theirs, "project.restore(force=True)"
        )
        theirs.file("a").chmod(before["engine/a.py"][2])
        assert self.refusal(theirs, "project.restore()") == ""
        assert theirs.snapshot() == before

    @pytest.mark.parametrize("path", [".prtoggle", ".prtoggle/journal.json", ".prtoggle/files/*"])
    def test_what_is_kept_and_cannot_be_read_is_not_taken_for_gone(self, theirs: Project, path: str) -> None:
        before = theirs.snapshot()
        assert self.refusal(theirs) == ""
        kept = {each: each.stat().st_mode for each in sorted(theirs.site.glob(path))}
        for each in kept:
            each.chmod(0o000)
        assert re.search(
            "cannot be (read|opened|written to): Permission denied", self.refusal(theirs, "project.restore()")
        )
        for each, mode in kept.items():
            each.chmod(mode)
        assert self.refusal(theirs, "project.restore()") == ""
        assert theirs.snapshot() == before


class TestWhatSomebodyElseDid:
    def test_a_release_that_never_had_the_fix_is_not_given_another_ones_text(self, project: Project) -> None:
        project.revert("7/one")
        project.metadata("1.1")  # pip installs it: its text is the one that the revert made
        with pytest.raises(RefusedError, match=r"changed since .*a\.py \(it was engine 1\.2, and is engine 1\.1 now\)"):
            project.restore()
        assert project.restore(force=True).forgotten == (str(project.file("a")),)
        assert project.texts() == ONE

    def test_an_upgrade_is_noticed_and_not_overwritten(self, project: Project) -> None:
        project.revert("7")
        project.metadata("1.3")
        project.write("a", A + "# 1.3\n")
        project.write("b", "x = 1\n")
        before = project.snapshot()
        for command in (project.restore, lambda: project.revert("7"), lambda: project.restore("7/one")):
            with pytest.raises(RefusedError, match=r"a\.py, .*b\.py \(it was engine 1\.2, and is engine 1\.3 now\)"):
                command()
        assert project.snapshot() == before

    def test_what_is_changed_since_can_be_left_and_forgotten(self, project: Project) -> None:
        project.revert("7")
        project.write("a", "mine = True\n")
        with pytest.raises(RefusedError) as caught:
            project.restore()
        kept = Path(caught.value.hint.rpartition(" kept in ")[2])
        assert kept.read_text() == A
        answer = project.restore(force=True)
        assert answer.forgotten == (str(project.file("a")),)
        assert project.texts() == {"a": "mine = True\n", "b": FIXED["b"]}
        assert not (project.site / ".prtoggle").exists()

    @pytest.mark.parametrize("how", ["deleted", "a folder", "a link"])
    def test_a_file_that_is_none_any_more_is_named(self, project: Project, how: str) -> None:
        project.revert("7")
        file = project.file("a")
        file.unlink()
        if how == "a folder":
            file.mkdir()
        elif how == "a link":
            file.symlink_to(project.file("c"))
        with pytest.raises(RefusedError, match=r"changed since prtoggle reverted it: .*a\.py"):
            project.restore()

    def test_files_put_back_by_hand_are_no_harm(self, project: Project) -> None:
        project.revert("7")
        for name, text in FIXED.items():
            project.write(name, text)
        assert look(Store(project.site)).kind is Kind.LEFT
        assert project.revert("7/one").reverted == ("7/one",)
        assert project.texts() == ONE
        project.restore()
        assert project.texts() == FIXED and not (project.site / ".prtoggle").exists()

    def test_one_of_them_put_back_by_hand_is_half_and_mended(self, project: Project) -> None:
        project.revert("7")
        project.write("a", A)
        assert look(Store(project.site)).kind is Kind.HALF
        assert "killed" in project.revert("7/both").mended
        assert project.texts() == BOTH

    def test_what_was_kept_and_is_not_what_it_was_is_refused(self, project: Project) -> None:
        project.revert("7")
        for file in (project.site / ".prtoggle" / "files").iterdir():
            file.write_text("no\n")
        before = project.snapshot()
        with pytest.raises(RefusedError, match=r"what was kept of engine/a\.py and of 1 more was changed "):
            project.restore()
        assert project.snapshot() == before

    def test_where_one_of_the_kept_files_is_gone_the_others_can_be_put_back(self, project: Project) -> None:
        project.revert("7")
        store = Store(project.site)
        store.kept("engine/a.py", hashlib.sha256(A.encode()).hexdigest()).unlink()
        with pytest.raises(
            RefusedError, match=r"what was kept of engine/a\.py is gone .*\n  hint: .* --force puts the others"
        ):
            project.restore()
        (finding,) = findings([project.site])
        assert (finding.state, "is gone" in finding.what) == ("bad", True)
        assert project.restore(force=True).forgotten == (str(project.file("a")),)
        assert project.texts() == {"a": ALL["a"], "b": FIXED["b"]}

    def test_where_the_journal_is_gone_what_was_kept_stays(self, project: Project) -> None:
        before = project.snapshot()
        project.revert("7")
        journal = project.site / ".prtoggle" / "journal.json"
        text = journal.read_bytes()
        journal.unlink()
        for command in (project.restore, lambda: project.restore(force=True), lambda: project.revert("7/one")):
            with pytest.raises(RefusedError, match=r"journal\.json is gone"):
                command()
        journal.write_bytes(text)
        project.restore()
        assert project.snapshot() == before

    @pytest.mark.parametrize("what", ["file", "link"])
    def test_a_file_where_the_folder_should_be_is_named(self, project: Project, what: str) -> None:
        folder = project.site / ".prtoggle"
        folder.symlink_to(project.fixes) if what == "link" else folder.write_text("")
        with pytest.raises(RefusedError, match=f"prtoggle is a {what}, expected a folder of prtoggle"):
            project.revert("7")

    def test_a_file_of_somebody_else_in_the_folder_stays_and_is_no_news(self, project: Project) -> None:
        project.revert("7")
        (project.site / ".prtoggle" / "notes").write_text("mine\n")
        project.restore()
        assert os.listdir(project.site / ".prtoggle") == ["notes"]
        assert look(Store(project.site)).kind is Kind.CLEAN

    def test_files_that_an_installation_wrote_anew_are_not_said_to_come_from_a_killed_command(
        self, project: Project
    ) -> None:
        project.revert("7/one")
        project.write("a", A)
        (finding,) = findings([project.site])
        assert finding.state == "warning" and "put back by something else" in finding.what

    def test_a_file_that_is_not_as_it_was_installed_is_refused(self, project: Project) -> None:
        import base64

        digest = base64.urlsafe_b64encode(hashlib.sha256(b"other\n").digest()).rstrip(b"=").decode()
        record = project.site / "engine-1.2.dist-info" / "RECORD"
        record.write_text(f"engine/__init__.py,,\nengine/a.py,sha256={digest},6\n")
        with pytest.raises(RefusedError, match=r"a\.py is not the file that engine-1\.2\.dist-info installed"):
            project.revert("7")
        assert project.texts() == FIXED
        project.revert("7", force=True)
        assert project.revert("7").already == ("7/one", "7/both")
        record.write_text(record.read_text().replace("other", "more"))
        project.restore()
        assert project.texts() == FIXED


class TestTwoAtOnce:
    def test_the_second_waits_for_the_first(self, project: Project) -> None:
        commands = [
            subprocess.Popen(
                [sys.executable, "-c", _SCRIPT.format(root=str(project.root), part=part)],
                cwd=Path(__file__).resolve().parents[2],
                stderr=subprocess.PIPE,
            )
            for part in ("7/one", "7/both", "7/one", "7/both")
        ]
        assert [command.communicate()[1].decode() for command in commands] == [""] * 4
        assert project.texts() == ALL
        project.restore()
        assert project.texts() == FIXED

    @pytest.mark.slow
    def test_many_that_make_and_take_away_the_folder_all_do_what_they_say(self, project: Project) -> None:
        before = project.snapshot()
        end = time.monotonic() + 4
        children = []
        for _ in range(4):
            child = os.fork()
            if child == 0:
                try:
                    while time.monotonic() < end:
                        project.revert("7", seconds=60)
                        project.restore(seconds=60)
                    os._exit(0)
                except BaseException as error:
                    print(error, file=sys.__stderr__, flush=True)
                finally:
                    os._exit(1)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
        project.restore()
        assert project.snapshot() == before

    def test_it_is_refused_by_name_where_that_takes_too_long(self, project: Project) -> None:
        from prtoggle.patching.applying import held

        child = os.fork()
        if child == 0:
            import time

            with held(Store(project.site), 0):
                (project.root / "holds").touch()
                time.sleep(60)
        try:
            while not (project.root / "holds").exists():
                pass
            with pytest.raises(RefusedError, match=rf"process {child} is changing .*site"):
                project.revert("7", seconds=0.1)
            assert project.texts() == FIXED
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)
        assert project.revert("7").reverted == ("7/one", "7/both")


_SCRIPT = """
from pathlib import Path
from tests.patching.project import Project
project = Project.__new__(Project)
project.root = Path({root!r})
project.site, project.fixes = project.root / "site", project.root / "fixes"
project.revert({part!r}, seconds=60)
"""


class TestKilledElsewhere:
    def test_a_package_installed_anew_gets_no_old_compiled_code(self, project: Project) -> None:
        project.compile()
        project.revert("7")
        for name, text in FIXED.items():
            project.write(name, text)
            os.utime(project.file(name), (1, 1))
        project.compile()
        before = {path: each for path, each in project.snapshot().items() if not path.startswith(".prtoggle")}
        project.restore()
        assert project.snapshot() == before

    def test_a_fix_of_one_part_is_put_back_by_either_of_its_names(self, project: Project) -> None:
        one = (
            "prtoggle: 1\nfix: 8\ntitle: x\nvariants:\n  - package: engine\n    patches:\n      - target: engine.c.h\n"
            "        edits:\n          - match: '    return 3'\n            replacement: '    return 2'\n"
        )
        project.fix(8, one)
        before = project.snapshot()
        for name in ("8", "8/fix", "8/all"):
            assert project.revert("8").reverted == ("8",)
            assert project.restore(name).restored == ("8",)
            assert project.snapshot() == before
