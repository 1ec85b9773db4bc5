"""``prtoggle list`` and ``prtoggle show``."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cli.world import FIX, FIXED, GONE, REVERTED, Ran, World

Golden = Callable[[str, World, Ran], None]


def listed(world: World, *args: str) -> dict[str, dict[str, str]]:
    """Fix -> part -> verdict, over all packages."""
    data = json.loads(world.run("list", "--json", *args).out)
    return {
        f"{fix['id']} {fix['origin']['kind']}": {
            part["part"]: part["verdict"] for package in fix["packages"] for part in package["parts"]
        }
        for fix in data["fixes"]
    }


REGISTRY = '''\
_PR_FIX_REVERT_YAML = {
    101: """
patches:
  - target: sglang.core.Runner.step
    edits:
      - match: |
          batch = batch[: self.limit]
        replacement: ""
""",
    102: """
patches:
  - target: sglang.core.Runner.step
    edits:
      - match: is not there
        replacement: ""
""",
}


def maybe_revert_pr_fix():
    pass
'''
TEXT = FIXED.replace("  # cut", "")


@pytest.fixture
def sglang(world: World) -> World:
    """A package with a registry of its own, and our fix 101 for it."""
    folder = world.package("sglang", "1.2", core=TEXT)
    (folder / "srt" / "debug_utils").mkdir(parents=True)
    (folder / "srt" / "debug_utils" / "pr_fix_toggle.py").write_text(REGISTRY)
    world.fix(101, FIX.replace("acme/engine", "sgl-project/sglang").replace("engine", "sglang"))
    return world


class TestList:
    def test_what_each_part_would_do(self, engine: World, golden: Golden) -> None:
        golden("list", engine, engine.run("list"))

    def test_why_not(self, engine: World, golden: Golden) -> None:
        engine.package("engine", "1.2", core=GONE)
        golden("list_rot", engine, engine.run("list"))

    def test_a_package_that_is_not_installed(self, world: World, golden: Golden) -> None:
        world.fix(101, FIX)
        golden("list_not_installed", world, world.run("list"))

    def test_what_a_choice_shadows(self, sglang: World, golden: Golden) -> None:
        golden("list_registry", sglang, sglang.run("list"))

    def test_a_file_that_does_not_load_is_said_and_the_others_are_listed(self, engine: World) -> None:
        file = engine.fix(102, "prtoggle: 1\n")
        ran = engine.run("list")
        assert ran.code == 0
        assert str(file) in ran.err
        assert "101" in ran.out

    @pytest.mark.parametrize("command", [["list"], ["check"], ["show", "101"], ["diff", "101"], ["run", "101", "true"]])
    def test_a_folder_that_is_not_there_is_2_everywhere(self, command: list[str], engine: World) -> None:
        (engine.here / "my-fixes").mkdir()
        ran = engine.run(command[0], "--fixes", "my-fixs", *command[1:])
        assert (ran.code, ran.out) == (2, "")
        said = "prtoggle: --fixes my-fixs is not there\n  nearest: my-fixes\n"
        assert ran.err == f"{said}  see: prtoggle explain commands#{command[0]}\n"

    def test_folders_named_come_first(self, engine: World) -> None:
        engine.fix(101, FIX, into=engine.root / "mine")
        assert list(listed(engine, "--fixes", str(engine.root / "mine"))) == ["101 dir", "101 path"]

    def test_a_checkout_in_the_current_folder_is_what_a_target_would_import(self, engine: World) -> None:
        engine.package("engine", "", into=engine.here, core=REVERTED)
        assert listed(engine)["101 path"]["slice"] == "not in this release (seen)"


class TestListRemembers:
    """A second list answers from the store, and never with what is no longer so."""

    def test_the_same(self, engine: World) -> None:
        assert engine.run("list") == engine.run("list")

    def test_a_changed_module_counts(self, engine: World) -> None:
        assert listed(engine)["101 path"]["slice"] == "applies"
        engine.package("engine", "1.2", core=REVERTED)
        assert listed(engine)["101 path"]["slice"] == "already reverted"

    def test_a_module_that_comes_to_be_counts(self, engine: World) -> None:
        (engine.site / "engine" / "core.py").unlink()
        assert listed(engine)["101 path"]["slice"] == "rot"
        engine.package("engine", "1.2", core=FIXED)
        assert listed(engine)["101 path"]["slice"] == "applies"

    def test_a_changed_version_counts(self, engine: World) -> None:
        assert listed(engine)["101 path"]["slice"] == "applies"
        (engine.site / "engine-1.2.dist-info" / "METADATA").write_text("Name: engine\nVersion: 1.1.0\n")
        assert listed(engine)["101 path"]["slice"] == "contains is wrong"

    def test_a_changed_fix_counts(self, engine: World) -> None:
        assert listed(engine)["101 path"]["slice"] == "applies"
        engine.fix(101, FIX.replace("batch = batch[: self.limit]", "batch = batch[: self.max]"))
        assert listed(engine)["101 path"]["slice"] == "rot"

    def test_a_new_copy_that_comes_first_counts(self, engine: World) -> None:
        assert listed(engine)["101 path"]["slice"] == "applies"
        engine.package("engine", "", into=engine.here, core=GONE)
        assert listed(engine)["101 path"]["slice"] == "rot"

    def test_a_changed_registry_counts(self, sglang: World) -> None:
        assert listed(sglang)["102 registry"]["fix"] == "rot"
        file = sglang.site / "sglang" / "srt" / "debug_utils" / "pr_fix_toggle.py"
        file.write_text(REGISTRY.replace("is not there", "assert len(batch) <= self.limit"))
        assert listed(sglang)["102 registry"]["fix"] == "applies"


class TestShow:
    def test_all_that_is_known(self, engine: World, golden: Golden) -> None:
        golden("show", engine, engine.run("show", "101", "--diff"))

    def test_where_a_registry_takes_out_less(self, sglang: World, golden: Golden) -> None:
        golden("show_registry", sglang, sglang.run("show", "101"))

    def test_where_a_registry_takes_out_something_else(self, sglang: World, golden: Golden) -> None:
        file = sglang.site / "sglang" / "srt" / "debug_utils" / "pr_fix_toggle.py"
        file.write_text(REGISTRY.replace('replacement: ""', "replacement: batch = list(batch)"))
        golden("show_registry_differs", sglang, sglang.run("show", "101", "--diff"))

    def test_where_nothing_is_installed(self, world: World) -> None:
        world.fix(101, FIX)
        ran = world.run("show", "101")
        assert (ran.code, ran.out.splitlines()[-1]) == (0, "engine is not installed")

    def test_an_unknown_number(self, engine: World, golden: Golden) -> None:
        golden("show_unknown", engine, engine.run("show", "110"))

    def test_json_has_the_comparison(self, sglang: World) -> None:
        (comparison,) = json.loads(sglang.run("show", "101", "--json").out)["comparisons"]
        assert comparison["same_as"] == ["101/slice"]
        assert comparison["left"] == ["assert"]
