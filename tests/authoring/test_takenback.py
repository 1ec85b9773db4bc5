"""Diffs taken back: what git and forges write, several commits, what does not stand there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from prtoggle.authoring.change import Told
from prtoggle.authoring.takenback import Diff, packages_of, taken_back
from prtoggle.errors import MalformedError
from tests.authoring.texts import Repo, package

OLD = "def f(a):\n    return a\n\n\ndef g(b):\n    return b\n"
MIDDLE = OLD.replace("return a", "return cut(a)")
NEW = MIDDLE.replace("return b", "return b * 2").replace("cut(a)", "cut(a, 4)")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit({"src/engine/__init__.py": "", "src/engine/core.py": OLD}, "start")
    made.commit({"src/engine/core.py": MIDDLE, "tests/test_core.py": "x = 1\n"}, "cut a (#100)")
    made.commit({"src/engine/core.py": NEW, "csrc/fast.cu": "x\n", "src/engine/late.py": "y = 1\n"}, "twice b (#101)")
    return made


def back(text: str, tmp_path: Path, core: str = NEW) -> tuple[str, list[str], Told]:
    diff = Diff.read(text, "x.diff")
    change = taken_back(diff, package(tmp_path / "site", {"core.py": core, "late.py": "y = 1\n"}), "engine 1.3")
    return (
        ast.unparse(change.pairs[0].reverted.tree),
        [f"{left.path} {left.kind}" for left in change.left],
        change.told,
    )


LEFT = ["csrc/fast.cu refused", "src/engine/late.py stays"]


@pytest.mark.parametrize(
    "words",
    [
        ("show", "HEAD"),
        ("show", "--no-prefix", "HEAD"),
        ("diff", "HEAD~", "HEAD"),
        ("format-patch", "--stdout", "-1"),
        ("log", "-p", "-1"),
    ],
    ids=" ".join,
)
def test_one_commit_is_taken_back_as_git_writes_it(words: tuple[str, ...], repo: Repo, tmp_path: Path) -> None:
    text, left, told = back(repo.git(*words), tmp_path)
    assert text == ast.unparse(ast.parse(MIDDLE)) and left == LEFT
    assert told == (Told() if words[0] == "diff" else Told("twice b", merged="2026-01-01", number="101"))


@pytest.mark.parametrize("words", [("format-patch", "--stdout", "-2"), ("log", "-p", "-2")], ids=" ".join)
def test_several_commits_that_change_the_same_lines_are_taken_back_the_last_one_first(
    words: tuple[str, ...], repo: Repo, tmp_path: Path
) -> None:
    text, left, told = back(repo.git(*words), tmp_path)
    assert text == ast.unparse(ast.parse(OLD))
    assert set(left) == {*LEFT, "tests/test_core.py skipped"}
    assert (told.title, told.number) == ("cut a", "100")


def test_every_hunk_that_does_not_stand_there_is_named(repo: Repo, tmp_path: Path) -> None:
    with pytest.raises(MalformedError) as caught:
        back(repo.git("diff", "HEAD~", "HEAD"), tmp_path, NEW.replace("b * 2", "b * 3"))
    assert "engine.core: hunk" in str(caught.value) and "b * 3" in str(caught.value)
    assert "--against engine==X" in str(caught.value)


def test_a_package_without_the_change_is_said_to_be_so(repo: Repo, tmp_path: Path) -> None:
    with pytest.raises(MalformedError, match="stands as without the change"):
        back(repo.git("diff", "HEAD~", "HEAD"), tmp_path, MIDDLE)


def test_what_the_diff_could_be_of_does_not_count_its_tests(repo: Repo) -> None:
    assert packages_of(Diff.read(repo.git("format-patch", "--stdout", "-2"), "x")) == ("src", "engine", "core", "late")


def test_no_diff_is_no_diff() -> None:
    with pytest.raises(MalformedError, match="changes no file"):
        Diff.read("commit 1111111\nAuthor: A\n\n    words\n", "x.diff")


@pytest.mark.parametrize("words", [("show", "-m", "HEAD"), ("show", "--first-parent", "-m", "HEAD")], ids=" ".join)
def test_of_a_merge_what_it_brought_to_its_first_parent_is_taken_back(
    words: tuple[str, ...], repo: Repo, tmp_path: Path
) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit({"src/engine/core.py": NEW.replace("return b", "return 1 + b")}, "side")
    repo.git("checkout", "-q", "main")
    repo.commit({"src/engine/late.py": "y = 2\n"}, "on")
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    with pytest.raises(MalformedError, match="a merge without a diff"):
        Diff.read(repo.git("show", "HEAD"), "x.diff")
    home = package(tmp_path / "site", {"core.py": NEW.replace("return b", "return 1 + b"), "late.py": "y = 2\n"})
    change = taken_back(Diff.read(repo.git(*words), "x.diff"), home, "engine 1.3")
    assert [(pair.module, pair.reverted.text) for pair in change.pairs] == [("engine.core", NEW)]
    assert change.left == ()


def test_what_a_change_put_into_an_empty_module_is_taken_back(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"src/engine/__init__.py": "VERSION = 1\n"}, "say the version")
    home = package(tmp_path / "site", {"__init__.py": "VERSION = 1\n"})
    (pair,) = taken_back(Diff.read(repo.git("show"), "x.diff"), home, "engine 1.3").pairs
    assert (pair.module, pair.reverted.text) == ("engine", "")


LATIN = "# coding: latin-1\nname = 'é'\n\n\ndef f(a):\n    return 'ü' + a\n"


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_a_diff_has_the_bytes_of_the_file_or_is_written_anew(encoding: str, tmp_path: Path) -> None:
    change = "--- a/engine/core.py\n+++ b/engine/core.py\n@@ -5,2 +5,2 @@\n def f(a):\n-    return 'ö'\n+    return 'ü' + a\n"
    diff = Diff.read(change.encode(encoding).decode("utf-8", "surrogateescape"), "x.diff")
    home = package(tmp_path / "site", {})
    (tmp_path / "site" / "engine" / "core.py").write_bytes(LATIN.encode("latin-1"))
    (pair,) = taken_back(diff, home, "engine 1.3").pairs
    assert pair.reverted.text == LATIN.replace("'ü' + a", "'ö'")


@pytest.mark.parametrize("before", ["", "\ufeff"], ids=["the mark came with the change", "the mark was there"])
def test_a_byte_order_mark_is_no_part_of_the_first_line(before: str, tmp_path: Path) -> None:
    change = (
        f"--- a/engine/core.py\n+++ b/engine/core.py\n@@ -1,2 +1,2 @@\n-{before}a = 1\n-b = 1\n+\ufeffa = 1\n+b = 2\n"
    )
    home = package(tmp_path / "site", {})
    (tmp_path / "site" / "engine" / "core.py").write_text("a = 1\nb = 2\n", encoding="utf-8-sig")
    (pair,) = taken_back(Diff.read(change, "x.diff"), home, "engine 1.3").pairs
    assert pair.reverted.text == "a = 1\nb = 1\n"


def test_a_file_whose_path_is_no_modules_name_is_named(tmp_path: Path) -> None:
    change = "--- a/engine/{0}/m.py\n+++ b/engine/{0}/m.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"
    home = package(tmp_path / "site", {"data dir/m.py": "a = 2\n", "good/m.py": "a = 2\n"})
    found = taken_back(Diff.read(change.format("data dir") + change.format("good"), "x.diff"), home, "engine 1.3")
    assert [pair.module for pair in found.pairs] == ["engine.good.m"]
    assert [(each.path, each.kind, each.why) for each in found.left] == [
        ("engine/data dir/m.py", "refused", "not a module's name")
    ]
