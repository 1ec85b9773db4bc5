"""Git is asked of the folder that is named, whatever stands in the environment, and has to end."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from prtoggle import git
from prtoggle.authoring.git import Repository
from prtoggle.errors import InconclusiveError, UsageError
from prtoggle.patching.dirty import uncommitted

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="real git is asked")


def committed(folder: Path, text: str, *, config: str = "") -> Path:
    """A repository with one file and one commit on top of the first."""
    folder.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *who, *words], cwd=folder, env=env, check=True)
    (folder / "a.py").write_text(text)
    for words in (["add", "a.py"], ["commit", "-q", "-m", text.strip()]):
        subprocess.run(["git", *who, *words], cwd=folder, env=env, check=True)
    with open(folder / ".git" / "config", "a") as file:
        file.write(config)
    return folder


@pytest.mark.parametrize("variable", ["GIT_DIR", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE"])
def test_the_variables_of_a_hook_do_not_lead_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    mine, other = committed(tmp_path / "mine", "x = 1\n"), committed(tmp_path / "other", "x = 2\n")
    where = {"GIT_INDEX_FILE": ".git/index", "GIT_OBJECT_DIRECTORY": ".git/objects"}.get(variable, ".git")
    monkeypatch.setenv(variable, str(other / where))
    assert Repository(mine).commit("HEAD").subject == "x = 1"
    assert uncommitted([mine / "a.py"]) == ((), ())
    (mine / "a.py").write_text("x = 3\n")
    assert uncommitted([mine / "a.py"])[0] == (f"{mine / 'a.py'} has uncommitted changes",)


def test_variables_that_change_how_it_speaks_are_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"GIT_TRACE": "1", "GIT_LITERAL_PATHSPECS": "0", "GIT_CONFIG_COUNT": "0", "LC_ALL": "de_DE", "HOME": "/h"}
    passed = git.environment(given)
    assert (passed["LC_ALL"], passed["HOME"], passed["GIT_CONFIG_COUNT"]) == ("C", "/h", "0")
    assert not {"GIT_TRACE", "GIT_LITERAL_PATHSPECS"} & set(passed)


def test_no_program_that_the_repository_names_is_run_for_a_look(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    repo = committed(tmp_path / "repo", "x = 1\n", config=f'[core]\n\tfsmonitor = "touch {ran}; false"\n')
    assert uncommitted([repo / "a.py"]) == ((), ())
    assert not ran.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a repository of somebody else")
def test_a_repository_of_somebody_else_is_not_read_and_how_to_allow_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    repo = committed(tmp_path / "repo", "x = 1\n")
    for path in (repo, *repo.rglob("*")):
        os.chown(path, 65534, 65534)
    (repo / "a.py").write_text("x = 2\n")
    words = f"git config --global --add safe.directory {repo}"
    changed, (note,) = uncommitted([repo / "a.py"])
    assert changed == () and "belongs to somebody else" in note and words in note
    with pytest.raises(UsageError, match=words):
        Repository(repo)
    for name, value in (("COUNT", "1"), ("KEY_0", "safe.directory"), ("VALUE_0", str(repo))):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    assert uncommitted([repo / "a.py"])[0] and Repository(repo).commit("HEAD").subject == "x = 1"


def test_one_that_does_not_end_is_ended_with_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filters = '[filter "slow"]\n\tclean = "sleep 600; cat"\n'
    repo = committed(tmp_path / "repo", "x = 1\n", config=filters)
    (repo / ".gitattributes").write_text("*.py filter=slow\n")
    (repo / "a.py").write_text("x = 2\n")
    os.utime(repo / "a.py", (1, 1))
    began = time.monotonic()
    asked = git.ask(repo, "status", "--porcelain", "--", "a.py", seconds=0.5)
    assert not asked.ran and asked.why == "git status did not end within 0.5 s"
    assert time.monotonic() - began < 300
    monkeypatch.setattr("prtoggle.patching.dirty._SECONDS", 0.5)
    assert uncommitted([repo / "a.py", repo / "a.py"]) == (
        (),
        ("whether files have uncommitted changes was not looked at: git status did not end within 0.5 s",),
    )


def test_none_at_all_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git.ask(tmp_path, "version").why == "git is not installed"
    assert git.ask(tmp_path / "none", "version").why == f"{tmp_path / 'none'} is no folder"
    with pytest.raises(InconclusiveError, match="git gave no answer: git is not installed\n  hint: git show SHA"):
        Repository(tmp_path)
