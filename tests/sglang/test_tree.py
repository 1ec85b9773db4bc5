"""Every fix that comes with prtoggle, taken out of the files of real releases: in a git checkout the same as ``git apply`` of
``prtoggle diff``, in what pip installs the same as what processes would import; and every byte comes back."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from prtoggle.errors import InconclusiveError, RefusedError
from prtoggle.library import Library
from prtoggle.patching.applying import revert
from prtoggle.patching.restoring import restore
from prtoggle.releases import Index, fetch
from prtoggle.revertdiff import revert_diff
from prtoggle.selection import ALL, Selection, parse
from prtoggle.subjects import plans
from tests.patching.project import snapshot
from tests.sglang.harness import unavailable

pytestmark = [
    pytest.mark.sglang,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("git") is None, reason="real git is asked"),
]
RELEASES = ("0.5.16", "0.5.21")


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "gc.auto=0", "-C", str(folder)]
    done = subprocess.run([*command, *arguments], input=stdin, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(errors="replace")


@pytest.fixture(scope="module", params=RELEASES)
def checkout(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A git checkout with the Python files of a release, laid out as SGLang's repository is."""
    try:
        release = fetch("sglang", request.param)
    except InconclusiveError as problem:
        unavailable(str(problem))
    root = tmp_path_factory.mktemp("checkout") / "sglang"
    only_python = shutil.ignore_patterns("*.so", "*.json", "*.cu*", "*.h", "*.cpp", "*.png", "__pycache__")
    shutil.copytree(release / "sglang", root / "python" / "sglang", ignore=only_python)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", request.param)
    yield root
    shutil.rmtree(root)


@functools.cache
def library(tree: Path) -> Library:
    return Library(path=[str(tree)], environ={})


def wanted(tree: Path) -> dict[str, Selection]:
    """Each fix with all its parts that apply, each alone, and everything together."""
    known = library(tree)
    found: dict[str, Selection] = {}
    for fix in known.base.fixes:
        for name in (*(f"{fix.id}/{part}" for part in fix.parts), fix.id):
            try:
                plans(parse(name), known, Index(), against=str(tree))
            except RefusedError:
                continue
            found[name] = parse(name)
    return {**found, "all": ALL}


def test_every_fix_leaves_a_checkout_as_git_apply_of_its_diff_does(checkout: Path) -> None:
    selections = wanted(checkout)
    assert len(selections) > 8
    for name, selection in selections.items():
        made = plans(selection, library(checkout), Index(), against=str(checkout))
        git(checkout, "apply", "-", stdin=b"".join(revert_diff(plan, prefix="python") for plan in made))
        applied = git(checkout, "diff")
        git(checkout, "checkout", "-q", "--", ".")
        revert(selection, checkout, library(checkout))
        assert git(checkout, "diff") == applied != "", name
        assert "??" not in git(checkout, "status", "--porcelain")
        restore(None, checkout, library(checkout))
        assert git(checkout, "status", "--porcelain", "--ignored") == "", name


def test_parts_one_after_another_come_to_the_same_as_all_at_once_and_go_back_one_by_one(checkout: Path) -> None:
    tree = checkout / "python" / "sglang" / "srt"
    before = snapshot(tree)
    known = library(checkout)
    revert(ALL, checkout, known)
    at_once = git(checkout, "diff")
    names = revert(ALL, checkout, known).already
    restore(None, checkout, known)
    assert snapshot(tree) == before
    numbers = [name for name in names if name.partition("/")[0] in {fix.id for fix in known.base.fixes}][:12]
    for name in numbers:
        revert(parse(name), checkout, known)
    some = git(checkout, "diff")
    assert some and (some == at_once) == (set(numbers) == set(names))
    for name in reversed(numbers):
        restore(parse(name), checkout, known)
    assert snapshot(tree) == before and not (checkout / "python" / ".prtoggle").exists()
