"""The files of a checkout: the same as ``git apply`` of ``prtoggle diff`` makes them, and nothing uncommitted is touched."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from prtoggle.errors import RefusedError
from prtoggle.patching.dirty import uncommitted
from prtoggle.releases import Index
from prtoggle.revertdiff import revert_diff
from prtoggle.selection import parse
from prtoggle.subjects import plans
from tests.patching.project import ALL, FIXED, A, Project

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="real git is asked")


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "core.autocrlf=false")
    done = subprocess.run(["git", *identity, "-C", str(folder), *arguments], input=stdin, env=env, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(errors="replace")


def committed(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all")


@pytest.fixture
def checkout(tmp_path: Path) -> Project:
    """A project whose tree is a git checkout without metadata."""
    project = Project(tmp_path)
    shutil.rmtree(project.site / "engine-1.2.dist-info")
    committed(project.site)
    return project


class TestACheckout:
    def test_is_as_git_apply_of_the_diff_makes_it(self, checkout: Project, tmp_path: Path) -> None:
        copy = tmp_path / "copy"
        shutil.copytree(checkout.site, copy)
        (plan,) = plans(parse("7"), checkout.library, Index(), against=str(checkout.site))
        git(copy, "apply", "-", stdin=revert_diff(plan))
        checkout.revert("7")
        assert git(checkout.site, "diff") == git(copy, "diff") != ""
        assert git(checkout.site, "status", "--porcelain") == " M engine/a.py\n M engine/b.py\n"
        checkout.restore()
        assert git(checkout.site, "status", "--porcelain", "--ignored") == ""

    @pytest.mark.parametrize("staged", [True, False])
    def test_with_uncommitted_changes_in_a_file_is_refused(self, checkout: Project, staged: bool) -> None:
        checkout.write("a", A + "# mine\n")
        if staged:
            git(checkout.site, "add", "-A")
        with pytest.raises(RefusedError, match=r"a\.py has uncommitted changes\n  hint: --force"):
            checkout.revert("7")
        assert checkout.texts() == {"a": A + "# mine\n", "b": FIXED["b"]}
        assert not (checkout.site / ".prtoggle").exists()
        answer = checkout.revert("7", force=True)
        assert [note for note in answer.notes if "uncommitted" in note]
        checkout.restore()
        assert checkout.texts() == {"a": A + "# mine\n", "b": FIXED["b"]}

    def test_with_changes_elsewhere_is_not(self, checkout: Project) -> None:
        checkout.write("c", "x = 1\n")
        checkout.write("untracked", "x = 1\n")
        assert checkout.revert("7/one").reverted == ("7/one",)
        assert checkout.revert("7/both").reverted == ("7/both",)  # what we changed ourselves is no change of somebody

    def test_of_which_git_does_not_know_the_files_is_not(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "-q")
        project = Project(tmp_path / "inside")
        assert project.revert("7").notes == ()

    def test_that_git_cannot_be_asked_of_is_changed_and_that_is_said(
        self, checkout: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", "")
        assert uncommitted([checkout.file("a")]) == (
            (),
            ("whether files have uncommitted changes was not looked at: git is not installed",),
        )
        assert checkout.revert("7").notes == (
            "whether files have uncommitted changes was not looked at: git is not installed",
        )

    def test_that_was_put_back_by_git_is_reverted_anew(self, checkout: Project) -> None:
        checkout.revert("7")
        git(checkout.site, "checkout", "--", ".")
        assert checkout.texts() == FIXED
        assert checkout.revert("7").reverted == ("7/one", "7/both")
        assert checkout.texts() == ALL


ENDS = st.sampled_from(["\n", "\r\n", "\r"])
WORDS = st.text(st.characters(codec="latin-1", exclude_characters="\r\n\0\\'\"", exclude_categories=["Cc"]), max_size=8)


@st.composite
def modules(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A module with the fix and the same without: any encoding, line ends of several kinds, perhaps no last one."""
    encoding, cookie = draw(st.sampled_from([("utf-8", ""), ("utf-8-sig", ""), ("latin-1", "# coding: latin-1")]))
    lines = [cookie] if cookie else []
    lines += [f"# {word}" for word in draw(st.lists(WORDS, max_size=3))]
    lines += [
        "def f():",
        f"    '''{draw(WORDS)}'''",
        "    one = 1",
        "    both = 2",
        "    return one",
    ]
    lines += [f"# {word}" for word in draw(st.lists(WORDS, max_size=5))]
    # The first line ends so that Python sees the cookie on it.
    ends = [draw(ENDS if index else st.sampled_from(["\n", "\r\n"])) for index in range(len(lines))]
    if draw(st.booleans()):
        ends[-1] = ""

    def text(lines: list[str]) -> bytes:
        return "".join(line + end for line, end in zip(lines, ends, strict=True)).encode(encoding)

    return text(lines), text([line.replace("one = 1", 'one = "reverted"') for line in lines])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(modules())
@example((A.encode(), ALL["a"].replace('both = "reverted"', "both = 2").encode()))
def test_any_module_is_as_git_apply_makes_it_and_comes_back(
    tmp_path_factory: pytest.TempPathFactory, module: tuple[bytes, bytes]
) -> None:
    project = Project(tmp_path_factory.mktemp("any"))
    project.write("a", module[0])
    before = project.snapshot()
    (plan,) = plans(parse("7/one"), project.library, Index(), against=str(project.site))
    copy = project.root / "copy"
    shutil.copytree(project.site, copy)
    git(copy, "apply", "-", stdin=revert_diff(plan))
    project.revert("7/one")
    assert project.file("a").read_bytes() == (copy / "engine" / "a.py").read_bytes()
    assert project.file("a").read_bytes().splitlines() == module[1].splitlines()
    project.restore()
    assert project.snapshot() == before
