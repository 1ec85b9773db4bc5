"""``prtoggle new``: a folder with a reverse patch that takes the change out; words on stderr; nothing written over."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from prtoggle.yamlfile import load
from tests.authoring.texts import Repo
from tests.cli.test_diff import applied, needs_git
from tests.cli.wheels import shop
from tests.cli.world import Ran, World

Golden = Callable[[str, World, Ran], None]

OLD = """\
class Runner:
    limit = 4

    def step(self, rows):
        return self.write(rows)

    def write(self, rows):
        return [10 * row for row in rows]
"""

FIXED = """\
class Runner:
    limit = 4

    def step(self, rows):
        rows = rows[: self.limit]
        check_fits(len(rows), self.limit)
        return self.write(rows)

    def write(self, rows):
        return [10 * row for row in rows if row is not None]


def check_fits(count, limit):
    if count > limit:
        raise OverflowError(count)
"""

LATER = "import os\n" + FIXED.replace("rows = rows[: self.limit]", "rows = rows[\n            : self.limit\n        ]")
MOVED = FIXED.replace("self.limit", "self.capacity").replace("row is not None", "row")

DIFF = """\
--- a/src/engine/core.py
+++ b/src/engine/core.py
@@ -2,7 +2,14 @@
     limit = 4
\x20
     def step(self, rows):
+        rows = rows[: self.limit]
+        check_fits(len(rows), self.limit)
         return self.write(rows)
\x20
     def write(self, rows):
-        return [10 * row for row in rows]
+        return [10 * row for row in rows if row is not None]
+
+
+def check_fits(count, limit):
+    if count > limit:
+        raise OverflowError(count)
"""


@pytest.fixture
def engines(world: World) -> World:
    """Folders ``1.2`` to ``1.5`` with the package ``engine``; the fix came with 1.3, and 1.5 is another text."""
    for version, text in (("1.2", OLD), ("1.3", FIXED), ("1.4", LATER), ("1.5", MOVED)):
        world.package("engine", version, into=world.here / version, core=text)
    (world.here / "fix.diff").write_text(DIFF)
    return world


def reverted(world: World, version: str, selection: str = "101", folder: str = "fixes") -> str:
    """The module as the written reverse patch leaves it."""
    ran = world.run("diff", selection, "--against", f"./{version}", "--fixes", str(world.here / folder))
    assert ran.code == 0, ran.err
    copy = world.root / f"copy-{version}-{selection.replace('/', '-')}"
    original = (world.here / version / "engine" / "core.py").read_text()
    world.package("engine", version, into=copy, core=original)
    applied(ran.out, copy)
    return (copy / "engine" / "core.py").read_text()


def same(one: str, other: str) -> bool:
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


def made(world: World) -> Path:
    [folder] = (world.here / "fixes").iterdir()
    return folder


def test_two_releases_make_a_reverse_patch_in_parts(engines: World, golden: Golden) -> None:
    ran = engines.run("new", "101", "--between", "./1.2", "./1.3", "--against", "./1.4", "--title", "Cut the batch")
    assert ran.code == 0, ran.err
    golden("new", engines, ran)
    golden("new_yaml", engines, Ran(0, (made(engines) / "revert.yaml").read_text(), ""))


@needs_git
def test_what_is_written_takes_the_change_out_part_by_part_and_together(engines: World) -> None:
    assert engines.run("new", "101", "--between", "./1.2", "./1.3").code == 0
    fix = load(made(engines) / "revert.yaml")
    assert tuple(fix.parts) == ("step", "write") and dict(fix.contains) == {"engine": ">=1.3"}
    assert same(reverted(engines, "1.3"), OLD)
    assert same(reverted(engines, "1.4"), "import os\n" + OLD)
    alone = reverted(engines, "1.3", "101/write")
    assert "check_fits(len(rows)" in alone and "is not None" not in alone
    checked = engines.run(
        "check", "101", "--fixes", "fixes", "--against", "./1.2", "--against", "./1.3", "--against", "./1.4"
    )
    assert checked.code == 0, checked.out


@needs_git
def test_one_definition_alone_is_taken_back(engines: World) -> None:
    ran = engines.run("new", "101", "--between", "./1.2", "./1.3", "--only", "engine/core.py::Runner.write")
    assert ran.code == 0, ran.err
    assert same(reverted(engines, "1.3"), FIXED.replace(" if row is not None", ""))


def test_a_definition_that_the_rest_needs_is_refused(engines: World) -> None:
    ran = engines.run("new", "101", "--between", "./1.2", "./1.3", "--only", "engine/core.py::check_fits")
    assert (ran.code, ran.out) == (3, "") and "check_fits would be gone" in ran.err
    assert not (engines.here / "fixes").exists()


@pytest.mark.parametrize(
    ("only", "said"),
    [
        ("engine/cor.py::f", "nearest: engine/core.py"),
        ("engine/core.py::Runner.stop", "nearest: Runner.step"),
        ("engine/core.py::", "names no definition"),
    ],
)
def test_what_only_names_wrongly_is_said_with_the_nearest(engines: World, only: str, said: str) -> None:
    ran = engines.run("new", "101", "--between", "./1.2", "./1.3", "--only", only)
    assert ran.code in (2, 3) and said in ran.err and ran.out == ""


def test_a_diff_on_stdin_is_taken_back_in_the_first_release_that_has_it(engines: World) -> None:
    ran = piped(engines, DIFF, "new", "101", "--diff", "-", *against("1.5", "1.3", "1.2", "1.4"))
    assert ran.code == 1, ran.err  # 1.5 has the fix in other words
    assert "101/step: applies in engine 1.3" in ran.err and "101/step: rot in engine 1.5" in ran.err
    fix = load(made(engines) / "revert.yaml")
    assert dict(fix.contains) == {"engine": ">=1.3"} and fix.variants[0].versions == ">=1.2,<1.5"


def test_a_hint_is_said_once_however_many_parts_it_is_for(engines: World) -> None:
    engines.package("engine", "1.6", into=engines.here / "1.6", core="class Runner:\n    pass\n")
    ran = engines.run("new", "101", "--between", "./1.2", "./1.3", "--against", "./1.6", "--dry-run")
    hints = [line for line in ran.err.splitlines() if line.startswith("    hint: ")]
    assert ran.err.count(": rot in engine 1.6") == 2 and len(hints) == 1
    assert "to try it" not in ran.err


def test_the_texts_of_a_diff_come_from_what_is_installed(engines: World) -> None:
    engines.package("engine", "1.3", core=FIXED)
    ran = engines.run("new", "101", "--diff", "fix.diff", "--dry-run")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("# yaml-language-server: $schema=") and "fix: 101\n" in ran.out
    assert not (engines.here / "fixes").exists()


def test_hunks_that_do_not_stand_there_are_named(engines: World, golden: Golden) -> None:
    golden("new_no_hunk", engines, engines.run("new", "101", "--diff", "fix.diff", "--against", "./1.5"))


def test_a_diff_of_nothing_that_is_installed_is_refused(engines: World) -> None:
    ran = engines.run("new", "101", "--diff", "fix.diff")
    assert ran.code == 3 and "src/engine/core.py, and no package of that is installed here" in ran.err


def test_the_folder_that_a_package_lies_in_is_not_taken_for_it(engines: World) -> None:
    engines.package("engine", "", into=engines.here / "src", core=FIXED)
    ran = piped(engines, (engines.here / "fix.diff").read_text(), "new", "101", "--diff", "-")
    assert (
        ran.code == 3 and "the diff on stdin changes src/engine/core.py, and no package of that is installed" in ran.err
    )
    ran = engines.run("new", "101", "--diff", "fix.diff", "--against", ".", "--dry-run")
    assert ran.code == 0 and "package: engine" in ran.out


def test_a_commit_is_taken_out_of_itself_and_of_releases(engines: World) -> None:
    repo = Repo(engines.here / "repo")
    repo.commit({"src/engine/__init__.py": "", "src/engine/core.py": OLD}, "start")
    repo.commit(
        {"src/engine/core.py": FIXED, "src/engine/fast.pyx": "x\n", "tests/test_core.py": "x = 1\n"},
        "Cut the batch (#101)",
    )
    ran = engines.run("new", "101", "--commit", "HEAD", "--repo", "repo", *against("1.2", "1.3"))
    assert ran.code == 0, ran.err
    assert "101/step: applies in engine at commit" in ran.err and "Runner.step, check_fits byte for byte" in ran.err
    assert "cannot be taken out: src/engine/fast.pyx: a compiled source" in ran.err
    assert "left out tests/test_core.py: tests and documentation" in ran.err
    fix = load(made(engines) / "revert.yaml")
    assert (fix.title, fix.merged, made(engines).name) == ("Cut the batch", "2026-01-02", "pr101_cut_batch")
    assert same(reverted(engines, "1.3"), OLD)


def test_another_number_than_the_commits_is_said(engines: World) -> None:
    repo = Repo(engines.here / "repo")
    repo.commit({"engine/__init__.py": "", "engine/core.py": OLD}, "start")
    repo.commit({"engine/core.py": FIXED}, "Cut (#102)")
    ran = engines.run("new", "101", "--commit", "HEAD", "--repo", "repo", "--dry-run")
    assert "says that it is #102, not #101" in ran.err


def test_releases_come_from_the_users_own_pip(engines: World) -> None:
    for version, text in (("1.2", OLD), ("1.3", FIXED)):
        engines.package("engine", version, into=engines.root / "shop" / version, core=text)
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(shop(engines)), "PIP_CONFIG_FILE": "/dev/null"}
    words = ("new", "101", "--between", "engine==1.2", "engine==1.3")
    ran = engines.run(*words, "--against", "engine>=1.0", env=pip)
    assert ran.code == 0, ran.err
    assert "101/step: not in this release (seen) in engine 1.2" in ran.err
    gone = engines.run(*words, "--dry-run", "--against", "engine==9.9", env=pip)
    assert (gone.code, gone.out) == (4, "") and "the index has no release engine==9.9" in gone.err
    several = engines.run("new", "101", "--between", "engine", "engine==1.3", "--dry-run", env=pip)
    assert several.code == 2 and "nearest: engine==1.3" in several.err


def test_folders_without_a_version_are_told_apart_by_where_they_are(engines: World) -> None:
    for name, text in (
        ("before", "LIMIT = 4\n\n\ndef f(a): return a\n"),
        ("after", "LIMIT = 4\n\n\ndef f(a): return a + 1\n"),
    ):
        engines.package("motor", "", into=engines.here / name, core=text)
    ran = engines.run("new", "101", "--between", "./before", "./after")
    assert ran.code == 0, ran.err
    assert "101: applies in motor in ./after" in ran.err
    assert "101: without it in motor in ./before: no pattern tells (unfixed)" in ran.err
    assert "contains: say which releases of motor hold the fix" in ran.err and "title: say what the fix is" in ran.err


def test_nothing_is_written_over(engines: World) -> None:
    command = ("new", "101", "--between", "./1.2", "./1.3")
    assert engines.run(*command).code == 0
    file = made(engines) / "scenario.py"
    file.write_text("mine\n")
    ran = engines.run(*command, "--title", "something else")
    assert ran.code == 3 and "is there already, and nothing is written over" in ran.err
    assert file.read_text() == "mine\n" and made(engines).name.startswith("pr101_")
    assert engines.run(*command, "--dry-run").code == 0


@pytest.mark.parametrize("out", ["", " "])
def test_an_empty_name_of_a_folder_is_a_mistake(out: str, engines: World) -> None:
    ran = engines.run("new", "101", "--between", "./1.2", "./1.3", "--out", out)
    assert (ran.code, ran.out) == (2, "") and "--out is empty" in ran.err
    assert not list(engines.here.glob("pr101*"))


def test_a_log_in_either_order_is_taken_back_and_one_that_cannot_be_says_how_many_commits(
    world: World, tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "repo")
    texts = {each: f"def f():\n    return {each}\n" for each in (1, 2, 3)}
    for each in (1, 2, 3):
        repo.commit({"engine/__init__.py": "", "engine/core.py": texts[each]}, f"to {each}")
    world.package("engine", "3", into=world.here / "3", core=texts[3])
    (world.here / "x.diff").write_text(repo.git("log", "-p", "--reverse", "-2") + "\n")
    ran = world.run("new", "101", "--diff", "x.diff", "--against", "./3", "--dry-run")
    assert ran.code == 0 and "from x.diff, 2 commits" in ran.err
    world.package("engine", "4", into=world.here / "4", core=texts[3].replace("3", "4"))
    ran = world.run("new", "101", "--diff", "x.diff", "--against", "./4", "--dry-run")
    assert ran.code == 3 and "of the 2 commits in it, give the one that is the fix: git show SHA" in ran.err


def test_what_cannot_be_reverted_at_run_time_alone_is_refused_by_name(engines: World) -> None:
    (engines.here / "x.diff").write_text(
        "--- a/engine/fast.pyx\n+++ b/engine/fast.pyx\n@@ -1 +1 @@\n-x\n+y\n--- a/engine/data.json\n+++ b/engine/data.json\n@@ -1 +1 @@\n-1\n+2\n"
    )
    ran = engines.run("new", "101", "--diff", "x.diff", "--against", "./1.3", "--package", "engine")
    assert (ran.code, ran.out) == (3, "")


def test_json_has_all_of_it(engines: World) -> None:
    ran = engines.run("new", "101", "--between", "./1.2", "./1.3", "--json", *against("1.5"))
    data = json.loads(ran.out)
    assert ran.code == 1
    assert [part["part"] for part in data["parts"]] == ["step", "write"]
    verdicts = {(each["release"], each["part"]): each["verdict"] for each in data["verdicts"]}
    assert verdicts["engine 1.3", "step"] == "applies" and verdicts["engine 1.5", "step"] == "rot"
    assert verdicts["engine 1.2", "write"] == "not in this release (seen)"
    assert data["verdicts"][0]["definitions"][0] == {
        "module": "engine.core",
        "name": "Runner.step",
        "result": "byte for byte",
    }
    assert [Path(each).name for each in data["written"]] == ["revert.yaml", "scenario.py", "test_pr101.py"]
    assert data["yaml"] == (made(engines) / "revert.yaml").read_text()


def test_the_test_that_is_written_fails_until_somebody_writes_it(engines: World) -> None:
    assert engines.run("new", "101", "--between", "./1.2", "./1.3").code == 0
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(made(engines))],
        cwd=engines.here,
        env=engines.environ({"PYTHONPATH": f"{engines.lib}:{engines.here / '1.3'}"}),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "write a test that only the fix makes pass" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing to make it from"),
        (("--diff", "fix.diff", "--commit", "HEAD"), "--commit and --diff are two sources"),
        (("--diff", "fix.diff", "--only", "x.py::f"), "--only goes with --between"),
        (("--diff", "fix.diff", "--repo", "."), "--repo goes with --commit"),
        (("--diff", "fix.dif"), "nearest: fix.diff"),
        (("--between", "./1.2", "./1.3", "--title", " "), "--title is empty"),
        (("--between", "./1.2", "./9.9"), "no wheel file or folder"),
        (("--between", "./1.2", "./1.3", "--out", "fix.diff"), "is no folder"),
        (("--commit", "HEAD", "--repo", "1.3"), "1.3"),
    ],
)
def test_what_is_typed_wrongly_is_said(engines: World, words: tuple[str, ...], said: str) -> None:
    ran = engines.run("new", "101", *words)
    assert (ran.code, ran.out) == (2, "") and said in ran.err


@pytest.mark.parametrize(("number", "nearest"), [("#101", "101"), ("0101", "101"), ("x", "")])
def test_a_number_is_a_number(engines: World, number: str, nearest: str) -> None:
    ran = engines.run("new", number, "--diff", "fix.diff")
    assert ran.code == 2 and "is no number of a fix" in ran.err and (not nearest or f"nearest: {nearest}" in ran.err)


def against(*versions: str) -> list[str]:
    return [word for version in versions for word in ("--against", f"./{version}")]


def piped(world: World, text: str, *args: str) -> Ran:
    done = subprocess.run(
        [sys.executable, "-m", "prtoggle", *args],
        cwd=world.here,
        env=world.environ(),
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_releases_in_the_other_order_are_noted(engines: World) -> None:
    ran = engines.run("new", "101", "--between", "./1.3", "./1.2", "--dry-run")
    assert ran.code == 0 and "note: engine 1.2 is the earlier release" in ran.err
    assert "earlier release" not in engines.run("new", "101", "--between", "./1.2", "./1.3", "--dry-run").err


def test_a_release_is_no_change_of_itself(engines: World) -> None:
    ran = engines.run("new", "101", "--between", "./1.3", "./1.3", "--dry-run")
    assert (ran.code, ran.out) == (3, "") and "hint: no file differs" in ran.err


def test_a_closed_stdin_is_said(engines: World) -> None:
    command = f"{sys.executable} -m prtoggle new 101 --diff - --against ./1.3 <&-"
    done = subprocess.run(["bash", "-c", command], cwd=engines.here, env=engines.environ({}), capture_output=True)
    assert (done.returncode, done.stdout) == (2, b"") and b"stdin is closed" in done.stderr
