"""A merged diff's text as commits: which of them it holds, in which order they are taken back, and which bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from prtoggle import selection
from prtoggle.catalog import Catalog
from prtoggle.difffix import diff_fix
from prtoggle.difftext import commits
from prtoggle.errors import MalformedError
from prtoggle.packages import Package, from_locations
from prtoggle.plan import make
from tests.authoring.texts import Repo

TEXT = 'def f():\n    x = "{}"\n    return x\n'


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit({"app/__init__.py": "", "app/core.py": TEXT.format("old")}, "start")
    return made


def package(tmp_path: Path, core: bytes) -> Package:
    folder = tmp_path / "site" / "app"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "core.py").write_bytes(core)
    return from_locations("app", [folder], folder / "__init__.py")


def reverted(diff: bytes, home: Package, tmp_path: Path) -> dict[str, bytes]:
    file = tmp_path / "x.diff"
    file.write_bytes(diff)
    made = make(selection.parse(str(file)), Catalog(diff_fix=lambda path: diff_fix(path, package=home)), home)
    return {module.name: module.reverted for module in made.modules}


def heads(text: str) -> list[str]:
    return [next(line.strip() for line in each.head.splitlines() if line[:4] == "    ") for each in commits(text, "x")]


@pytest.mark.parametrize("words", [("show", "-m", "HEAD"), ("log", "-p", "-m", "-1")], ids=" ".join)
def test_run_takes_back_what_a_merge_brought_to_its_first_parent(
    words: tuple[str, ...], repo: Repo, tmp_path: Path
) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit({"app/core.py": TEXT.format("new")}, "side")
    repo.git("checkout", "-q", "main")
    repo.commit({"app/__init__.py": "on = 1\n"}, "on")
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    home = package(tmp_path, TEXT.format("new").encode())
    assert reverted(repo.git(*words).encode(), home, tmp_path) == {"app.core": TEXT.format("old").encode()}


def test_a_merge_without_a_diff_is_refused(repo: Repo) -> None:
    with pytest.raises(MalformedError, match="a merge without a diff"):
        commits("commit 1234567\nMerge: 1111111 2222222\nAuthor: A\n\n    merge\n", "x.diff")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["the mark came with the change", "the mark was there"])
def test_run_takes_a_byte_order_mark_for_no_part_of_the_first_line(mark: bytes, tmp_path: Path) -> None:
    diff = (
        b"--- a/app/core.py\n+++ b/app/core.py\n@@ -1,2 +1,2 @@\n-%sa = 1\n-b = 1\n+\xef\xbb\xbfa = 1\n+b = 2\n" % mark
    )
    home = package(tmp_path, b"\xef\xbb\xbfa = 1\nb = 2\n")
    assert reverted(diff, home, tmp_path) == {"app.core": b"\xef\xbb\xbfa = 1\nb = 1\n"}


def test_run_takes_the_bytes_of_a_file_that_is_no_utf8(tmp_path: Path) -> None:
    diff = "--- a/app/core.py\n+++ b/app/core.py\n@@ -1,2 +1,2 @@\n # coding: latin-1\n-x = 'ö'\n+x = 'ü'\n"
    home = package(tmp_path, "# coding: latin-1\nx = 'ü'\n".encode("latin-1"))
    found = reverted(diff.encode("latin-1"), home, tmp_path)
    assert found == {"app.core": "# coding: latin-1\nx = 'ö'\n".encode("latin-1")}


@pytest.mark.parametrize(
    ("words", "order"),
    [
        (("log", "-p", "-2"), ["second", "first"]),
        (("log", "-p", "--reverse", "-2"), ["second", "first"]),
        (("log", "-p", "--reverse", "--abbrev=40", "-2"), ["second", "first"]),
    ],
    ids=lambda each: " ".join(each),
)
def test_the_last_commit_is_taken_back_first_however_they_stand(
    words: tuple[str, ...], order: list[str], repo: Repo
) -> None:
    repo.commit({"app/core.py": TEXT.format("middle"), "app/a.py": "a = 1\n"}, "first")
    repo.commit({"app/core.py": TEXT.format("new"), "app/b.py": "b = 1\n"}, "second")
    assert heads(repo.git(*words)) == order


def test_of_commits_that_share_no_file_the_order_of_the_text_is_kept(repo: Repo) -> None:
    repo.commit({"app/a.py": "a = 1\n"}, "first")
    repo.commit({"app/b.py": "b = 1\n"}, "second")
    assert heads(repo.git("log", "-p", "--reverse", "-2")) == ["first", "second"]


def test_a_problem_stands_where_it_is_in_the_whole_text(repo: Repo) -> None:
    repo.commit({"app/core.py": TEXT.format("middle")}, "first")
    repo.commit({"app/core.py": TEXT.format("new")}, "second")
    lines = repo.git("log", "-p", "-2").split("\n")
    broken = max(number for number, line in enumerate(lines) if line.startswith("@@ "))
    lines[broken] = "@@ -1,x +1 @@"
    with pytest.raises(MalformedError) as caught:
        commits("\n".join(lines), "x.diff")
    assert str(caught.value).startswith(f"x.diff:{broken + 1}: this hunk's header")
