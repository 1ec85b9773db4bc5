"""``prtoggle doctor`` in real environments, healthy and not."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from prtoggle.doctor import examine
from tests.cli.world import CHECKOUT, GONE, World
from tests.packaging.environment import Environment

pytestmark = pytest.mark.slow


@pytest.fixture
def installed(tmp_path: Path) -> Environment:
    """An environment in which prtoggle is installed: its files are links, its ``.pth`` is a copy."""
    environment = Environment(tmp_path / "env")
    environment.see_dependencies()
    (environment.site_packages / "prtoggle").symlink_to(CHECKOUT / "prtoggle")
    (environment.site_packages / "prtoggle_fixes").symlink_to(CHECKOUT / "fixes")
    shutil.copy(CHECKOUT / "prtoggle.pth", environment.site_packages)
    return environment


def findings(environment: Environment, *flags: str, **env: str) -> tuple[int, dict[str, list[tuple[str, str]]]]:
    """Exit code, and name -> (state, what) of what the doctor finds."""
    cache = {"PRTOGGLE_CACHE": str(environment.folder / "cache")}
    done = environment.python(*flags, "-m", "prtoggle", "doctor", "--json", env=cache | env, check=False)
    found: dict[str, list[tuple[str, str]]] = {}
    for finding in json.loads(done.stdout)["findings"]:
        found.setdefault(finding["name"], []).append((finding["state"], finding["what"]))
    return done.returncode, found


def test_a_healthy_installation(installed: Environment) -> None:
    code, found = findings(installed)
    targets = found.pop("targets")
    assert (code, [state for name in found for state, _ in found[name]]) == (0, ["ok"] * sum(map(len, found.values())))
    assert [(state, "is not installed for this Python" in what) for state, what in targets] == [("warning", True)]
    assert "has it reverted" in found["boot"][0][1]


def test_no_pth_file(installed: Environment) -> None:
    (installed.site_packages / "prtoggle.pth").unlink()
    code, found = findings(installed)
    assert code == 1
    assert found["pth"][0][0] == "bad"
    assert found["boot"] == [("bad", found["boot"][0][1])]
    assert "did not notice" in found["boot"][0][1]


def test_a_pth_file_of_another_version(installed: Environment) -> None:
    record = installed.site_packages / "prtoggle-0.1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("prtoggle.pth,sha256=AAAA,1290\n")
    code, found = findings(installed)
    assert (code, found["pth"][0][0]) == (1, "bad")
    assert "is not the file that" in found["pth"][0][1]


def test_a_boot_that_fails_is_what_its_own_process_says(installed: Environment) -> None:
    (installed.site_packages / "prtoggle.pth").write_text(
        (CHECKOUT / "prtoggle.pth").read_text().replace("from prtoggle.runtime import boot", "import no_such_module")
    )
    code, found = findings(installed)
    assert code == 1
    assert "no_such_module" in found["boot"][0][1]


def test_without_site_packages(installed: Environment) -> None:
    path = os.pathsep.join([str(installed.site_packages), str(installed.folder / "dependencies")])
    code, found = findings(installed, "-S", PYTHONPATH=path)
    assert (code, found["python"][0][0]) == (1, "bad")
    assert "-S" in found["python"][0][1]


def test_a_cache_that_others_can_write_is_a_warning(installed: Environment) -> None:
    folder = installed.folder / "cache" / "runtime"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    code, found = findings(installed)
    assert (code, found["cache"][0][0]) == (0, "warning")


def test_what_a_killed_process_left(installed: Environment) -> None:
    folder = installed.folder / "cache" / "runtime"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "plan-x.1.2.tmp").write_text("")
    assert findings(installed)[1]["leftovers"][0][0] == "warning"


def test_every_problem_of_fixes_is_bad(installed: Environment, tmp_path: Path) -> None:
    world = World(tmp_path / "world")
    world.fix(1, "prtoggle: 1\nfix: 2\n")
    code, found = findings(installed, PRTOGGLE_PATH=str(world.fixes))
    assert code == 1
    assert len(found["fixes"]) > 1
    assert {state for state, _ in found["fixes"]} == {"bad"}


def test_two_copies_on_the_path(installed: Environment, tmp_path: Path) -> None:
    shutil.copytree(
        CHECKOUT / "prtoggle", tmp_path / "other" / "prtoggle", ignore=shutil.ignore_patterns("__pycache__")
    )
    _, found = findings(installed, PYTHONPATH=str(tmp_path / "other"))
    assert found["copies"][0][0] == "warning"
    assert str(tmp_path / "other") in found["copies"][0][1]


@pytest.mark.parametrize("command", ["list", "check", "show 27360", "diff 27360"])
def test_commands_work_where_a_selection_is_in_force(command: str, installed: Environment) -> None:
    cache = {"PRTOGGLE_CACHE": str(installed.folder / "cache")}
    plain = installed.python("-m", "prtoggle", *command.split(), env=cache)
    selected = installed.python("-m", "prtoggle", *command.split(), env=cache | {"PRTOGGLE_REVERT": "27360/slice"})
    assert (selected.stdout, selected.stderr) == (plain.stdout, plain.stderr)


class TestVariables:
    @pytest.mark.parametrize(
        ("env", "state", "text"),
        [
            ({}, "ok", "no selection is set"),
            ({"PRTOGGLE_REVERT": "27360"}, "bad", "27360 is for sglang, not installed for"),
            ({"PRTOGGLE_REVERT": "27361"}, "bad", "no fix has the number 27361"),
            ({"PRTOGGLE_REVERT": "none"}, "ok", "nothing is reverted"),
            ({"PRTOGGLE_REVERT": "27360", "SGLANG_DEBUG_REVERT_PR": "24401"}, "bad", "differ"),
            ({"PRTOGGLE_REVERT": "27x"}, "bad", "neither a PR number"),
            ({"PRTOGGLE_REVRET": "27360"}, "warning", "PRTOGGLE_REVRET"),
        ],
    )
    def test_what_they_mean(self, env: dict[str, str], state: str, text: str) -> None:
        found = [finding for finding in examine(environ=env) if finding.name == "variables"]
        assert any(finding.state == state and text in finding.what for finding in found), found

    @pytest.mark.parametrize(
        ("name", "nearest"),
        [("PRTOGGLE_REVRT", "PRTOGGLE_REVERT"), ("SGLANG_DEBUG_REVERT_PRS", "SGLANG_DEBUG_REVERT_PR")],
    )
    def test_a_misspelt_one_has_its_nearest_named(self, name: str, nearest: str) -> None:
        found = [finding for finding in examine(environ={name: "27360"}) if finding.nearest]
        assert [(finding.state, finding.nearest) for finding in found] == [("warning", nearest)]


class TestWhatIsSelected:
    """Resolved as `run` does it; what cannot be had here is bad."""

    def variables(self, world: World, selection: str) -> tuple[int, dict[str, str]]:
        ran = world.run("doctor", "--json", env={"PRTOGGLE_REVERT": selection})
        (found,) = (
            finding
            for finding in json.loads(ran.out)["findings"]
            if finding["name"] == "variables" and finding["what"].startswith("PRTOGGLE_REVERT=")
        )
        return ran.code, found

    def test_a_fix_of_what_is_installed(self, engine: World) -> None:
        _, found = self.variables(engine, "101")
        assert (found["state"], found["what"]) == (
            "ok",
            "PRTOGGLE_REVERT=101: 101/slice of engine 1.2 is reverted in every process started from here",
        )

    def test_a_number_that_nobody_knows(self, engine: World) -> None:
        code, found = self.variables(engine, "110")
        assert (code, found["state"], found["nearest"]) == (1, "bad", "101")

    def test_a_diff_that_is_empty(self, engine: World) -> None:
        (engine.here / "suspect.diff").write_text("")
        code, found = self.variables(engine, "./suspect.diff")
        assert (code, found["state"]) == (1, "bad")
        assert "suspect.diff" in found["what"] and "it changes no file" in found["what"]

    def test_a_diff_of_what_is_not_installed(self, engine: World) -> None:
        (engine.here / "x.diff").write_text("--- a/kvq/cache.py\n+++ b/kvq/cache.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n")
        code, found = self.variables(engine, "./x.diff")
        assert (code, found["state"]) == (1, "bad")
        assert "changes kvq/cache.py, and no package of that is installed" in found["what"]

    def test_a_fix_that_rotted(self, engine: World) -> None:
        engine.package("engine", "1.2", core=GONE)
        code, found = self.variables(engine, "101")
        assert (code, found["state"]) == (1, "bad")
        assert "rot in engine 1.2" in found["what"]

    def test_the_packages_that_fixes_are_for_are_named_with_their_versions_and_places(self, engine: World) -> None:
        found = json.loads(engine.run("doctor", "--json").out)["findings"]
        here = [(each["state"], each["what"]) for each in found if each["name"] == "targets"]
        assert ("ok", f"engine 1.2 at {engine.site / 'engine'}") in here
