"""``revert``, ``restore``, ``status`` and ``doctor`` with ``--tree``: fixes taken out of files, and put back."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable

import pytest

from tests.cli.world import ENGINE, FIX, FIXED, REVERTED, Ran, World

Golden = Callable[[str, World, Ran], None]


def text(world: World) -> str:
    return (world.site / "engine" / "core.py").read_text()


def timeless(ran: Ran) -> Ran:
    return Ran(ran.code, re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "<TIME>", ran.out), ran.err)


class TestRevert:
    def test_takes_it_out_of_the_files(self, engine: World, golden: Golden) -> None:
        golden("tree_revert", engine, engine.run("revert", "101", "--tree", str(engine.site)))
        assert text(engine) == REVERTED

    def test_is_called_apply_too(self, engine: World) -> None:
        assert engine.run("apply", "101", "--tree", str(engine.site)).code == 0
        assert text(engine) == REVERTED
        assert "Usage: prtoggle revert" in engine.run("apply", "-h").out

    def test_twice_is_no_mistake(self, engine: World, golden: Golden) -> None:
        engine.run("revert", "101", "--tree", str(engine.site))
        golden("tree_revert_again", engine, engine.run("revert", "101", "--tree", str(engine.site)))

    def test_on_top_says_what_stays(self, engine: World, golden: Golden) -> None:
        engine.run("revert", "101", "--tree", str(engine.site))
        golden("tree_revert_more", engine, engine.run("revert", "101/assert", "--tree", str(engine.site)))

    def test_only_says_so_on_request(self, engine: World, golden: Golden) -> None:
        golden("tree_revert_dry_run", engine, engine.run("revert", "101", "--tree", str(engine.site), "--dry-run"))
        assert text(engine) == FIXED

    def test_as_json(self, engine: World) -> None:
        answer = json.loads(engine.run("revert", "101", "--tree", str(engine.site), "--json").out)
        assert answer["tree"] == str(engine.site)
        assert (answer["packages"], answer["reverted"], answer["out"]) == (
            [["engine", "1.2"]],
            ["101/slice"],
            ["101/slice"],
        )
        (file,) = answer["files"]
        assert (file["path"], file["parts"]) == ("engine/core.py", ["101/slice"])
        assert (answer["dry_run"], answer["exit_code"]) == (False, 0)

    def test_of_nothing_changes_nothing(self, engine: World) -> None:
        assert engine.run("revert", "none", "--tree", str(engine.site)).code == 0
        assert text(engine) == FIXED

    def test_takes_a_folder_of_fixes(self, engine: World) -> None:
        engine.fix(102, FIX.replace("101", "102"), into=engine.root / "mine")
        command = ("revert", "102", "--tree", str(engine.site))
        assert engine.run(*command).code == 2
        assert engine.run(*command, "--fixes", str(engine.root / "mine")).code == 0

    @pytest.mark.parametrize("name", ["revert", "restore"])
    def test_wants_one_place(self, name: str, engine: World) -> None:
        for options, words in (
            ((), "neither --pid nor --tree says where"),
            (("--pid", "1", "--tree", "."), "--pid and --tree stand together"),
            (("--pid", "1", "--dry-run"), "--dry-run is for --tree"),
            (("--tree", "./no"), "--tree no is not there"),
        ):
            ran = engine.run(name, "101", *options)
            assert (ran.code, ran.out) == (2, "") and words in ran.err

    @pytest.mark.parametrize(("selection", "code"), [("110", 2), ("101/slyce", 2), ("101/pad", 3), ("101 102", 2)])
    def test_is_refused_as_it_is_at_run_time(self, selection: str, code: int, engine: World) -> None:
        ran = engine.run("revert", selection, "--tree", str(engine.site))
        assert (ran.code, ran.out) == (code, "") and ran.err.startswith("prtoggle: ")
        assert text(engine) == FIXED and not (engine.site / ".prtoggle").exists()


class TestRestore:
    def test_puts_it_back(self, engine: World, golden: Golden) -> None:
        engine.run("revert", "101/slice+assert", "--tree", str(engine.site))
        golden("tree_restore_part", engine, engine.run("restore", "101/slice", "--tree", str(engine.site)))
        golden("tree_restore", engine, engine.run("restore", "--tree", str(engine.site)))
        assert text(engine) == FIXED
        golden("tree_restore_nothing", engine, engine.run("restore", "--tree", str(engine.site)))

    def test_of_what_is_not_out_is_a_mistake(self, engine: World, golden: Golden) -> None:
        engine.run("revert", "101", "--tree", str(engine.site))
        golden("tree_restore_not_out", engine, engine.run("restore", "101/assert", "--tree", str(engine.site)))

    def test_overwrites_nothing_of_somebody_else(self, engine: World, golden: Golden) -> None:
        engine.run("revert", "101", "--tree", str(engine.site))
        engine.package("engine", "1.2", core=ENGINE + "# mine\n")
        ran = engine.run("restore", "--tree", str(engine.site))
        golden("tree_restore_changed_since", engine, ran)
        forced = engine.run("restore", "--tree", str(engine.site), "--force")
        golden("tree_restore_forced", engine, forced)
        assert text(engine) == ENGINE + "# mine\n"


class TestWhatIsThere:
    def test_status_says_which_release_is_there_now_and_what_is_gone(self, engine: World) -> None:
        tree = ("--tree", str(engine.site))
        engine.run("revert", "101", *tree)
        (engine.site / "engine" / "core.py").unlink()
        (engine.site / "engine-1.2.dist-info").rename(engine.site / "engine-1.3.dist-info")
        engine.package("engine", "1.3")
        ran = engine.run("status", *tree)
        assert "files changed since 101/slice came out (it was engine 1.2, and is engine 1.3 now)" in ran.out
        assert "engine/core.py  gone  101/slice" in ran.out
        assert "core.py (gone) (it was engine 1.2" in engine.run("restore", *tree).err

    def test_a_command_that_is_printed_can_be_given_to_a_shell(self, engine: World) -> None:
        site = engine.root / "it's mine"
        engine.package("engine", "", into=site, core=ENGINE)
        last = engine.run("revert", "101", "--tree", str(site)).err.splitlines()[-1]
        command, *options = shlex.split(last.removeprefix("prtoggle: to put it back: "))
        assert (command, engine.run(*options).code) == ("prtoggle", 0)
        assert not (site / ".prtoggle").exists()

    @pytest.mark.parametrize("command", [("revert", "101"), ("restore",), ("status",)])
    def test_an_empty_name_is_not_the_current_folder(self, command: tuple[str, ...], engine: World) -> None:
        ran = engine.run(*command, "--tree", "")
        assert (ran.code, "--tree is empty" in ran.err) == (2, True)

    def test_status_says_it(self, engine: World, golden: Golden) -> None:
        engine.run("revert", "101", "--tree", str(engine.site))
        golden("tree_status", engine, timeless(engine.run("status", "--tree", str(engine.site))))
        state = json.loads(engine.run("status", "--tree", str(engine.site), "--json").out)
        assert (state["state"], state["reverted"]) == ("reverted", ["101/slice"])
        engine.run("restore", "--tree", str(engine.site))
        ran = engine.run("status", "--tree", str(engine.site))
        assert (ran.code, ran.out) == (0, "") and "nothing is reverted in" in ran.err

    def test_the_doctor_finds_it_in_what_is_installed_and_in_what_is_named(self, engine: World) -> None:
        other = engine.root / "other"
        engine.package("engine", "", into=other / "python", core=ENGINE)
        for tree in (engine.site, other):
            engine.run("revert", "101", "--tree", str(tree))
        found = json.loads(engine.run("doctor", "--tree", str(other), "--json").out)["findings"]
        files = {each["what"]: (each["state"], each["hint"]) for each in found if each["name"] == "files"}
        assert files == {
            f"101/slice reverted in the files of {tree}: engine/core.py": (
                "warning",
                f"prtoggle restore --tree {tree} puts them back",
            )
            for tree in (engine.site, other / "python")
        }

    @pytest.mark.parametrize("command", [("list",), ("show", "101")])
    def test_list_and_show_name_the_command_that_puts_it_back(self, command: tuple[str, ...], engine: World) -> None:
        back = f"prtoggle restore --tree {engine.site}"
        engine.run("revert", "101/slice", "--tree", str(engine.site))
        (row,) = [row for row in engine.run(*command).out.splitlines() if back in row]
        assert "slice" in row and "already reverted" in row and row.endswith(f"; {back} puts it back")
        assert f'"restore": "{back}"' in engine.run(*command, "--json").out
        shutil.rmtree(engine.site / ".prtoggle")  # nothing can be put back any more, by that command
        assert back not in engine.run(*command).out

    def test_a_package_that_is_seen_by_a_link_is_told_of_too(self, engine: World) -> None:
        engine.run("revert", "101", "--tree", str(engine.site))
        other = engine.root / "other"
        other.mkdir()
        (other / "engine").symlink_to(engine.site / "engine")
        paths = os.pathsep.join([str(engine.lib), str(other)])
        assert (
            f"prtoggle restore --tree {engine.site} puts it back" in engine.run("list", env={"PYTHONPATH": paths}).out
        )

    def test_a_process_that_is_to_run_with_it_reverted_is_told_how_to_put_it_back(self, engine: World) -> None:
        engine.run("revert", "101/slice", "--tree", str(engine.site))
        ran = engine.run("run", "101", "--", sys.executable, "-c", "import engine.core")
        assert ran.code == 125
        assert "101/slice: already reverted in engine 1.2" in ran.err
        assert f"hint: prtoggle reverted files of this package: prtoggle restore --tree {engine.site}" in ran.err
        engine.run("restore", "--tree", str(engine.site))
        assert engine.run("run", "101", "--", sys.executable, "-c", "import engine.core").code == 0
