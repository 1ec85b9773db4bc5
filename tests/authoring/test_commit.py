"""Commits of real git repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from prtoggle.authoring.change import Change
from prtoggle.authoring.commit import of_commit
from prtoggle.errors import RefusedError, UsageError
from tests.authoring.texts import Repo

START: dict[str, str | None] = {"src/engine/__init__.py": "", "src/engine/core.py": "x = 1\n", "setup.py": "a = 1\n"}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit(START, "start")
    return made


def change(repo: Repo, tmp_path: Path, name: str = "HEAD", only: str | None = None) -> Change:
    return of_commit(repo.root, name, tmp_path / "scratch", only=only)


def left(found: Change) -> dict[str, str]:
    return {each.path: f"{each.kind}: {each.why}" for each in found.left}


def test_a_commit_gives_both_texts_and_what_it_says(repo: Repo, tmp_path: Path) -> None:
    repo.git("remote", "add", "origin", "git@github.com:acme/engine.git")
    sha = repo.commit({"src/engine/core.py": "x = 2\n"}, "two, not one (#101)\n\nwords")
    found = change(repo, tmp_path)
    [pair] = found.pairs
    assert (pair.module, pair.fixed.text, pair.reverted.text) == ("engine.core", "x = 2\n", "x = 1\n")
    assert found.told.title == "two, not one" and found.told.merged == "2026-01-02" and found.told.number == "101"
    assert found.told.project == "acme/engine" and found.told.links == ("https://github.com/acme/engine/pull/101",)
    assert found.label == f"engine at commit {sha[:10]}"


def test_a_merge_is_taken_against_its_first_parent(repo: Repo, tmp_path: Path) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit({"src/engine/core.py": "x = 2\n"}, "one")
    repo.commit({"src/engine/core.py": "x = 3\n"}, "two")
    repo.git("checkout", "-q", "main")
    repo.commit({"src/engine/other.py": "y = 1\n"}, "elsewhere")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge pull request #7 from a/side\n\nThree", "side")
    found = change(repo, tmp_path)
    assert [(pair.module, pair.reverted.text) for pair in found.pairs] == [("engine.core", "x = 1\n")]
    assert (found.told.title, found.told.number) == ("Three", "7") and "a merge" in found.came


def test_what_cannot_be_taken_out_is_named_and_the_rest_is(repo: Repo, tmp_path: Path) -> None:
    repo.commit(
        {"src/engine/gone.py": "a = 1\n", "src/engine/before.py": "def long_enough_to_be_known():\n    return 1\n" * 9}
    )
    repo.git("mv", "src/engine/before.py", "src/engine/after.py")
    repo.commit(
        {
            "src/engine/core.py": "x = 2\n",
            "src/engine/fast.pyx": "x\n",
            "csrc/fast.cu": "x\n",
            "src/engine/data.json": "{}\n",
            "src/engine/new.py": "y = 1\n",
            "src/engine/gone.py": None,
            "src/engine/types.pyi": "x: int\n",
            "src/engine/words.py": "# nothing\n",
            "tests/test_core.py": "x = 1\n",
            "docs/index.md": "x\n",
            "setup.py": "a = 2\n",
        }
    )
    found = change(repo, tmp_path)
    assert [pair.module for pair in found.pairs] == ["engine.core"]
    assert left(found) == {
        "src/engine/fast.pyx": "refused: a compiled source",
        "csrc/fast.cu": "refused: a compiled source",
        "src/engine/data.json": "refused: not a Python module",
        "src/engine/new.py": "stays: a module that the change added; nothing imports it once the rest is out",
        "src/engine/words.py": "stays: a module that the change added; nothing imports it once the rest is out",
        "src/engine/gone.py": "refused: a file that the change deleted",
        "src/engine/after.py": "refused: a file that the change renamed, from src/engine/before.py",
        "src/engine/types.pyi": "skipped: types, which nothing runs",
        "tests/test_core.py": "skipped: tests and documentation",
        "docs/index.md": "skipped: tests and documentation",
        "setup.py": "skipped: not part of engine",
    }


def test_comments_alone_and_what_is_no_python_are_said(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"src/engine/core.py": "x = 1  # one\n", "src/engine/bad.py": "y = 1\n", "src/engine/ok.py": "z = 1\n"})
    repo.commit({"src/engine/core.py": "x = 1  # two\n", "src/engine/bad.py": "y = (\n", "src/engine/ok.py": "z = 2\n"})
    found = left(change(repo, tmp_path))
    assert found["src/engine/core.py"] == "skipped: comments and layout alone"
    assert found["src/engine/bad.py"].startswith("refused: cannot be read as Python: SyntaxError")


def test_a_mode_alone_is_said(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"src/engine/core.py": "x = 1\n", "src/engine/ok.py": "z = 1\n"})
    (repo.root / "src/engine/core.py").chmod(0o755)
    repo.commit({"src/engine/ok.py": "z = 2\n"})
    assert left(change(repo, tmp_path))["src/engine/core.py"] == "skipped: its mode alone"


def test_a_link_is_no_module(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"src/engine/link.py": "z = 1\n", "src/engine/core.py": "x = 5\n"})
    (repo.root / "src/engine/link.py").unlink()
    os.symlink("core.py", repo.root / "src/engine/link.py")
    repo.commit({"src/engine/core.py": "x = 6\n"})
    assert left(change(repo, tmp_path))["src/engine/link.py"].startswith("refused: a link")


def test_of_two_packages_one_must_be_named(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"src/motor/__init__.py": "", "src/motor/core.py": "m = 1\n"})
    repo.commit({"src/motor/core.py": "m = 2\n", "src/engine/core.py": "x = 2\n"})
    with pytest.raises(UsageError, match="2 packages") as caught:
        change(repo, tmp_path)
    assert "--package" in caught.value.hint
    found = change(repo, tmp_path, only="motor")
    assert [pair.module for pair in found.pairs] == ["motor.core"]
    assert left(found)["src/engine/core.py"] == "skipped: not part of motor"
    with pytest.raises(UsageError) as near:
        change(repo, tmp_path, only="moter")
    assert near.value.nearest == "motor"


def test_a_single_file_is_a_package_too(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"src/solo.py": "x = 1\n"})
    repo.commit({"src/solo.py": "x = 2\n"})
    found = change(repo, tmp_path)
    assert [pair.module for pair in found.pairs] == ["solo"] and found.home.module_file("solo") is not None


def test_bytes_are_those_of_the_commit_whatever_attributes_say(repo: Repo, tmp_path: Path) -> None:
    repo.commit({".gitattributes": "*.py text eol=crlf export-subst\n", "src/engine/core.py": "x = 1  # $Format:%H$\n"})
    repo.commit({"src/engine/core.py": "x = 2  # $Format:%H$\n"})
    found = change(repo, tmp_path)
    assert found.pairs[0].fixed.text == "x = 2  # $Format:%H$\n"
    file = found.home.module_file("engine.core")
    assert file is not None and file.read_bytes() == b"x = 2  # $Format:%H$\n"


@pytest.mark.parametrize("name", ["nowhere", "--all", "", "main:src", "0" * 40])
def test_what_is_no_commit_is_said(repo: Repo, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="commit"):
        change(repo, tmp_path, name)


def test_the_first_commit_has_nothing_before_it(repo: Repo, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="is the first one"):
        change(repo, tmp_path)


def test_a_shallow_clone_without_the_parent_says_how_to_get_it(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"src/engine/core.py": "x = 2\n"})
    clone = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth=1", repo.root.as_uri(), str(clone)], check=True)
    with pytest.raises(RefusedError) as caught:
        of_commit(clone, "HEAD", tmp_path / "scratch")
    assert "deepen" in caught.value.hint


def test_no_repository_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no git repository") as caught:
        of_commit(tmp_path, "HEAD", tmp_path / "scratch")
    assert caught.value.hint.startswith("--repo names a git checkout; git says: ")
    with pytest.raises(UsageError, match="no folder"):
        of_commit(tmp_path / "x", "HEAD", tmp_path / "scratch")


def test_nothing_of_the_repository_is_changed(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"src/engine/core.py": "x = 2\n"})
    before = {path: path.read_bytes() for path in repo.root.rglob("*") if path.is_file()}
    change(repo, tmp_path)
    assert {path: path.read_bytes() for path in repo.root.rglob("*") if path.is_file()} == before
