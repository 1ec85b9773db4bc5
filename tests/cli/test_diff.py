"""``prtoggle diff``: real git applies it, and gets the bytes of the plan."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.wheels import shop
from tests.cli.world import FIX, FIXED, GONE, REVERTED, Ran, World

Golden = Callable[[str, World, Ran], None]
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is the reader that is tested against")


def applied(diff: str, tree: Path) -> None:
    """``git apply`` of ``diff`` in ``tree``, which is no repository."""
    env = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(tree),
    }
    done = subprocess.run(
        ["git", "apply", "-"], input=diff.encode(), cwd=tree, env=env, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


@needs_git
class TestGit:
    def test_takes_it(self, engine: World) -> None:
        copy = engine.root / "copy"
        shutil.copytree(engine.site, copy)
        applied(engine.run("diff", "101").out, copy)
        assert (copy / "engine" / "core.py").read_text() == REVERTED
        assert (engine.site / "engine" / "core.py").read_text() == FIXED

    def test_takes_it_below_a_prefix(self, engine: World) -> None:
        copy = engine.root / "copy"
        shutil.copytree(engine.site, copy / "python")
        applied(engine.run("diff", "101", "--prefix", "python").out, copy)
        assert (copy / "python" / "engine" / "core.py").read_text() == REVERTED

    @pytest.mark.parametrize("ends", ["\n", "\r\n"])
    @pytest.mark.parametrize("final", [True, False])
    def test_makes_the_bytes_of_the_plan(self, ends: str, final: bool, world: World) -> None:
        # Passed on as text in UTF-8; line ends must come through all the same.
        text = FIXED.replace("\n", ends) if final else FIXED.rstrip("\n").replace("\n", ends)
        world.package("engine", "1.2", core=text)
        world.fix(101, FIX)
        copy = world.root / "copy"
        shutil.copytree(world.site, copy)
        diff = binary(world, "diff", "101")
        env = {
            **os.environ,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": str(copy),
        }
        subprocess.run(["git", "apply", "-"], input=diff, cwd=copy, env=env, check=True)
        assert (copy / "engine" / "core.py").read_bytes() == planned(world)

    def test_finds_a_module_whose_name_is_not_ascii(self, world: World) -> None:
        world.package("engine", "1.2", mödül=FIXED)
        world.fix(101, FIX.replace("engine.core", "engine.mödül"))
        copy = world.root / "copy"
        shutil.copytree(world.site, copy)
        applied(world.run("diff", "101").out, copy)
        assert (copy / "engine" / "mödül.py").read_text() == REVERTED


def binary(world: World, *args: str) -> bytes:
    """stdout of ``prtoggle ARGS`` as bytes."""
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "prtoggle", *args], cwd=world.here, env=world.environ(), capture_output=True, check=True
    )
    return done.stdout


def planned(world: World) -> bytes:
    """The bytes of the one module of the plan for 101."""
    from prtoggle.catalog import load
    from prtoggle.packages import locate
    from prtoggle.plan import make
    from prtoggle.selection import parse

    package = locate("engine", [str(world.site)])
    assert package is not None
    (module,) = make(parse("101"), load(dirs=[world.fixes], environ={}, sys_path=[]), package).modules
    return module.reverted


class TestWhatIsSaid:
    def test_the_diff_on_stdout_and_what_is_lost_on_stderr(self, engine: World, golden: Golden) -> None:
        golden("diff", engine, engine.run("diff", "101/slice+assert"))

    def test_a_folder_and_a_selection_of_everything(self, engine: World) -> None:
        old = engine.root / "old"
        engine.package("engine", "1.5", into=old, core=FIXED)
        ran = engine.run("diff", "all", "--against", str(old))
        assert ran.code == 0
        assert "engine 1.5" in ran.err

    def test_a_merged_diff_is_taken_backwards(self, engine: World) -> None:
        (engine.here / "x.diff").write_text(
            "--- a/src/engine/core.py\n+++ b/src/engine/core.py\n@@ -2,3 +2,4 @@\n     def step(self, batch):\n"
            "+        batch = batch[: self.limit]  # cut\n         assert len(batch) <= self.limit\n"
            "         return self.forward(batch)\n"
        )
        ran = engine.run("diff", "./x.diff")
        assert ran.code == 0
        assert "\n-        batch = batch[: self.limit]  # cut\n" in ran.out

    def test_nothing_for_none(self, engine: World) -> None:
        assert engine.run("diff", "none") == Ran(0, "", "prtoggle: nothing is selected, so there is no diff\n")

    def test_what_everything_skips_has_its_reason_and_its_number_once(self, engine: World) -> None:
        engine.fix(102, FIX.replace("101", "102").replace("engine.core.Runner.step", "engine.core.Runner.gone"))
        (line,) = [line for line in engine.run("diff", "all").err.splitlines() if "skipped" in line]
        assert line.startswith("prtoggle: 102 skipped: slice: rot: engine.core.Runner.gone: ")

    def test_a_diff_whose_package_is_not_installed_is_named_by_its_files(self, engine: World) -> None:
        (engine.here / "x.diff").write_text("--- a/kvq/cache.py\n+++ b/kvq/cache.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n")
        ran = engine.run("diff", "./x.diff")
        assert (ran.code, ran.out) == (3, "")
        assert "./x.diff changes kvq/cache.py, and no package of that is installed for" in ran.err

    def test_a_misspelt_diff_has_the_nearest_named(self, engine: World) -> None:
        (engine.here / "suspect.diff").write_text("")
        for ran in (engine.run("diff", "./suspct.diff"), engine.run("run", "./suspct.diff", "--", "true")):
            assert ran.code == 2
            assert "nearest: " in ran.err and ran.err.splitlines()[1].endswith("suspect.diff")

    def test_a_diff_of_another_name_is_told_how_to_end(self, engine: World) -> None:
        (engine.here / "notes").write_text("")
        assert "'notes' is a path, and that of a diff must end in .diff or .patch" in engine.run("diff", "notes").err

    def test_a_diff_that_rotted_names_its_place_once_and_the_line_that_differs(
        self, engine: World, golden: Golden
    ) -> None:
        body = "".join(f" {line}\n" for line in FIXED.splitlines()[:2])
        body += "-        batch = batch\n+        batch = batch[: self.limits]  # cut\n"
        header = "--- a/engine/core.py\n+++ b/engine/core.py\n@@ -1,3 +1,3 @@\n"
        (engine.here / "x.diff").write_text(header + body)
        golden("refused_diff_rot", engine, engine.run("diff", "./x.diff"))

    def test_taken_out_by_hand_in_a_checkout(self, world: World, golden: Golden) -> None:
        world.package("engine", "", into=world.root / "checkout", core=REVERTED)
        world.fix(101, FIX)
        ran = world.run("diff", "101", "--against", str(world.root / "checkout"))
        golden("refused_already_reverted_checkout", world, ran)

    def test_a_misspelt_package_has_the_nearest_named(self, engine: World) -> None:
        env = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
        ran = engine.run("diff", "101", "--against", "enigne==1.2", env=env)
        assert ran.code == 4
        assert "nearest: engine==1.2\n" in ran.err

    def test_several_releases_are_refused(self, engine: World, golden: Golden) -> None:
        for version in ("1.2", "1.3"):
            engine.package("engine", version, into=engine.root / "shop" / version, core=FIXED)
        env = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": str(shop(engine))}
        engine.run("diff", "101", "--against", "engine>=1", env=env)  # what takes long is said, which differs
        golden("diff_several_releases", engine, engine.run("diff", "101", "--against", "engine>=1", env=env))


CHECKED = "find: 'assert len(batch) <= self.limit'\n            put: ''"
"""The second edit of the example, as it is written."""

REFUSALS = {
    "unknown_number": ("110", FIXED, FIX),
    "unknown_part": ("101/slize", FIXED, FIX),
    "lacking_part": ("101/pad", FIXED, FIX),
    "malformed": ("101", FIXED, FIX.replace("put: ''", "put: [").replace("default: [slice]", "defualt: [slice]")),
    "malformed_several": ("101", FIXED, FIX.replace("default:", "defualt:").replace("merged: 2", "merged: on 2")),
    "rot": ("101", GONE, FIX),
    "already_reverted": ("101", REVERTED, FIX),
    "ambiguous": ("101", FIXED.replace("        assert", "        batch = batch[: self.limit]\n        assert"), FIX),
    "half_reverted": (
        "101",
        FIXED.replace("        assert len(batch) <= self.limit\n", ""),
        FIX.replace("- part: assert", "- part: slice")
        .replace(CHECKED, f"{CHECKED}\n            unfixed: 'return self.forward(batch)'")
        .replace("  assert: refuse a batch that is too long\n", ""),
    ),
    "outside_contains": ("101", GONE, FIX.replace("engine: '>=1.2'", "engine: '>=1.3'")),
    "does_not_compile": (
        "101/assert",
        FIXED,
        FIX.replace(CHECKED, "match: 'assert len(batch) <= self.limit'\n            replacement: 'assert ('"),
    ),
}


class TestRefusals:
    """Each says what is wrong, where, what is nearest and what to do; and has its exit code."""

    @pytest.mark.parametrize("name", sorted(REFUSALS))
    def test_the_message(self, name: str, world: World, golden: Golden) -> None:
        selection, module, fix = REFUSALS[name]
        world.package("engine", "1.2", core=module)
        world.fix(101, fix)
        ran = world.run("diff", selection)
        assert ran.out == ""
        golden(f"refused_{name}", world, ran)

    def test_two_fixes_that_conflict(self, engine: World, golden: Golden) -> None:
        other = FIX.replace("101", "102").replace("put: ''", "put: 'batch = list(batch)'", 1)
        engine.fix(102, other)
        golden("refused_conflict", engine, engine.run("diff", "101,102"))

    @pytest.mark.parametrize("ending", [".pyc", ".cpython-311-x86_64-linux-gnu.so"])
    def test_a_target_without_source(self, ending: str, engine: World, golden: Golden) -> None:
        (engine.site / "engine" / "core.py").rename(engine.site / "engine" / f"core{ending}")
        golden(f"refused_without_source{ending[:4]}", engine, engine.run("diff", "101"))

    def test_a_package_that_is_not_installed(self, world: World, golden: Golden) -> None:
        world.fix(101, FIX)
        golden("refused_not_installed", world, world.run("diff", "101"))

    def test_a_diff_that_is_not_there(self, engine: World, golden: Golden) -> None:
        golden("refused_no_diff", engine, engine.run("diff", "./y.diff"))
