"""``prtoggle check``: every verdict, the release below `contains`, exit codes, annotations."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.wheels import shop
from tests.cli.world import FIX, FIXED, GONE, REVERTED, Ran, World

Golden = Callable[[str, World, Ran], None]


@pytest.fixture
def market(world: World) -> World:
    """Releases 1.0 to 1.4 of ``engine`` at an index: without the fix, with it from 1.2 on, moved away in 1.4."""
    for version, text in {"1.0": GONE, "1.1": REVERTED, "1.2": FIXED, "1.3": FIXED, "1.4": GONE}.items():
        world.package("engine", version, into=world.root / "shop" / version, core=text)
    shop(world)
    world.fix(101, FIX)
    return world


def offline(world: World, **more: str) -> dict[str, str]:
    """An environment in which pip sees this world's wheels alone."""
    links = str(world.root / "wheels")
    return {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": links, **more}


def verdicts(ran: Ran) -> dict[str, dict[str, str]]:
    """Part -> version -> verdict, with a star behind those just below `contains`."""
    found: dict[str, dict[str, str]] = {}
    for cell in json.loads(ran.out)["cells"]:
        row = f"{cell['fix']}/{cell['part']}"
        found.setdefault(row, {})[cell["version"]] = cell["verdict"] + ("*" if cell["below_contains"] else "")
    return found


class TestReleases:
    def test_a_matrix(self, market: World, golden: Golden) -> None:
        market.run("check", "--against", "engine", env=offline(market))  # what takes long is said, which differs
        golden("check_matrix", market, market.run("check", "101", "--against", "engine>=1.1", env=offline(market)))

    def test_every_part_and_release(self, market: World) -> None:
        ran = market.run("check", "--against", "engine>=1.0", "--json", env=offline(market))
        assert ran.code == 1
        unseen, below = "not in this release (by version)", "not in this release (seen)*"
        lacking = "not in this release (declared)"
        assert verdicts(ran) == {
            "101/slice": {"1.0": unseen, "1.1": below, "1.2": "applies", "1.3": "applies", "1.4": "rot"},
            "101/assert": {
                "1.0": unseen,
                "1.1": "contains is wrong*",
                "1.2": "applies",
                "1.3": "applies",
                "1.4": "rot",
            },
            "101/pad": {"1.0": lacking, "1.1": lacking + "*", "1.2": lacking, "1.3": lacking, "1.4": lacking},
        }

    def test_the_release_just_below_is_looked_at_without_being_asked_for(self, market: World) -> None:
        ran = market.run("check", "101/slice", "--against", "engine==1.2", "--json", env=offline(market))
        assert ran.code == 0
        assert verdicts(ran) == {"101/slice": {"1.2": "applies", "1.1": "not in this release (seen)*"}}

    def test_a_bound_that_is_too_high_is_found_out(self, market: World, golden: Golden) -> None:
        market.fix(101, FIX.replace("engine: '>=1.2'", "engine: '>=1.3'").replace("'>=1.0'", "'>=1.3'"))
        again = ["check", "101/slice", "--against", "engine==1.3"]
        market.run(*again, env=offline(market))  # what takes long is said, which differs from run to run
        ran = market.run(*again, env=offline(market))
        assert ran.code == 1
        golden("check_contains_wrong", market, ran)

    def test_a_release_that_cannot_be_had_is_said_and_not_left_out(self, market: World) -> None:
        (market.root / "wheels" / "engine-1.3-py3-none-any.whl").write_bytes(b"not a wheel")
        ran = market.run("check", "101/slice", "--against", "engine>=1.2,<1.4", "--json", env=offline(market))
        assert ran.code == 4
        assert verdicts(ran)["101/slice"]["1.3"] == "could not be had"
        assert verdicts(ran)["101/slice"]["1.2"] == "applies"

    def test_a_name_without_a_range_leaves_out_what_lies_before_the_fixes_and_says_so(self, market: World) -> None:
        ran = market.run("check", "101/slice", "--against", "engine", "--json", env=offline(market))
        assert list(verdicts(ran)["101/slice"]) == ["1.2", "1.3", "1.4", "1.1"]
        said = "engine is taken for 'engine>=1.2': no earlier release has these fixes ('engine>=0' looks at all)"
        assert f"prtoggle: {said}\n" in ran.err

    def test_many_releases_that_say_the_same_are_one_column(self, market: World) -> None:
        for minor in range(5, 30):
            market.package("engine", f"1.{minor}", into=market.root / "shop" / f"1.{minor}", core=FIXED)
        shutil.rmtree(market.root / "wheels")
        shop(market)
        ran = market.run("check", "101/slice", "--against", "engine", env=offline(market))
        assert ran.out.splitlines()[:2] == [
            "engine     1.1 (below)  1.2 ... 1.3 (2)  1.4  1.5 ... 1.29 (25)",
            "101/slice  -seen        applies          ROT  applies",
        ]

    def test_a_wheel_and_a_folder(self, market: World) -> None:
        wheel = str(market.root / "wheels" / "engine-1.2-py3-none-any.whl")
        ran = market.run(
            "check", "101/slice", "--against", wheel, "--against", str(market.root / "shop" / "1.3"), "--json"
        )
        assert (ran.code, verdicts(ran)) == (0, {"101/slice": {"1.2": "applies", "1.3": "applies"}})

    def test_a_checkout_whose_version_nobody_states(self, world: World) -> None:
        world.package("engine", "", into=world.root / "checkout" / "python", core=FIXED)
        world.fix(101, FIX)
        ran = world.run("check", "101", "--against", str(world.root / "checkout"), "--json")
        assert (ran.code, verdicts(ran)["101/slice"]) == (0, {"": "applies"})

    def test_a_checkout_is_named_once_by_its_place(self, world: World) -> None:
        world.package("engine", "", into=world.here / "engine", core=GONE)
        world.fix(101, FIX)
        lines = world.run("check", "101/slice", "--against", "./engine").out.splitlines()
        assert lines[0] == "engine     (version unknown) in ./engine"
        assert "101/slice: rot in engine (version unknown) in ./engine" in lines

    def test_the_folder_that_one_is_in_is_a_dot(self, world: World) -> None:
        world.package("engine", "", into=world.here, core=FIXED)
        world.fix(101, FIX)
        assert world.run("check", "101/slice", "--against", ".").out.splitlines()[0].endswith("(version unknown) in .")

    def test_a_folder_that_holds_nothing_a_fix_is_for(self, market: World, golden: Golden) -> None:
        golden("check_wrong_folder", market, market.run("check", "--against", str(market.here)))

    def test_progress_is_said_on_stderr_only_where_it_takes_long(self, market: World) -> None:
        env = offline(market)
        market.run("check", "101/slice", "--against", "engine==1.2", env=env)
        assert market.run("check", "101/slice", "--against", "engine==1.2", env=env).err == ""


class TestVerdicts:
    @pytest.mark.parametrize(
        ("text", "verdict", "code"),
        [
            (FIXED, "applies", 0),
            (REVERTED, "already reverted", 1),
            (GONE, "rot", 1),
            (FIXED.replace("        assert", "        batch = batch[: self.limit]\n        assert"), "rot", 1),
            (FIXED.replace("def step", "def stop"), "rot", 1),
            (FIXED + "\n" + FIXED, "rot", 1),
            ("def broken(:\n", "rot", 1),
        ],
    )
    def test_of_what_is_installed(self, text: str, verdict: str, code: int, engine: World) -> None:
        engine.package("engine", "1.2", core=text)
        ran = engine.run("check", "101/slice", "--json")
        assert (ran.code, verdicts(ran)) == (code, {"101/slice": {"1.2": verdict}})

    def test_rot_is_explained(self, engine: World, golden: Golden) -> None:
        engine.package("engine", "1.2", core=GONE)
        golden("check_rot", engine, engine.run("check"))

    def test_what_is_not_installed_is_said(self, engine: World) -> None:
        engine.fix(102, FIX.replace("101", "102").replace("engine", "motor"))
        ran = engine.run("check")
        assert ran.code == 0
        assert ran.err == "prtoggle: motor is not installed, so not checked; --against takes releases of it\n"

    def test_nothing_is_refused_because_it_is_not_there(self, engine: World) -> None:
        engine.fix(101, FIX.replace("engine: '>=1.2'", "engine: '>=1.3'"))
        engine.package("engine", "1.2", core=GONE)
        assert engine.run("check", "101/slice+pad").code == 0

    def test_what_is_dead_and_not_used_since_another_source_applies_is_shown_and_no_error(self, engine: World) -> None:
        other = FIX.replace("self.limit", "self.other")
        engine.fix(101, other, into=engine.root / "more")
        more = {"PRTOGGLE_PATH": os.pathsep.join([str(engine.fixes), str(engine.root / "more")])}
        ran = engine.run("check", "101/slice", "--json", env=more)
        assert [(cell["verdict"], bool(cell["instead"])) for cell in json.loads(ran.out)["cells"]] == [
            ("applies", False),
            ("rot", True),
        ]
        assert ran.code == 0
        assert "rot* dead there and not used: another source's applies" in engine.run("check", "101", env=more).out
        turned = {"PRTOGGLE_PATH": os.pathsep.join([str(engine.root / "more"), str(engine.fixes)])}
        assert engine.run("check", "101/slice", env=turned).code == 1, "what comes first and is dead is an error"

    def test_several_selections_and_a_list_in_one_are_the_same(self, engine: World) -> None:
        engine.fix(102, FIX.replace("101", "102"))
        assert engine.run("check", "101", "102", "--json") == engine.run("check", "101,102", "--json")

    def test_an_unknown_number_is_unknown_in_all_releases(self, engine: World) -> None:
        ran = engine.run("check", "101", "110")
        assert ran.code == 2
        assert "no fix has the number 110" in ran.err

    def test_a_file_that_does_not_load_is_said_beside_the_others(self, engine: World) -> None:
        engine.fix(102, "prtoggle: 1\nfix: 102\n")
        ran = engine.run("check")
        assert ran.code == 3
        assert "101/slice" in ran.out
        assert "pr102_x/revert.yaml" in ran.err

    def test_a_second_run_says_the_same_from_what_it_remembers(self, engine: World) -> None:
        engine.package("engine", "1.2", core=GONE)
        first = engine.run("check", "--json")
        assert list((engine.root / "cache" / "runtime").glob("sightings-*"))
        assert engine.run("check", "--json") == first

    def test_what_is_remembered_goes_by_the_text(self, engine: World) -> None:
        assert engine.run("check", "101/slice").code == 0
        engine.package("engine", "1.2", core=GONE)
        assert engine.run("check", "101/slice").code == 1


class TestAnnotations:
    def test_github_gets_a_line_a_part(self, engine: World, golden: Golden) -> None:
        engine.package("engine", "1.2", core=GONE)
        env = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(engine.root)}
        golden("check_github", engine, engine.run("check", "--json", env=env))

    def test_only_where_asked_for(self, engine: World) -> None:
        engine.package("engine", "1.2", core=GONE)
        assert "::error" not in engine.run("check").err
        assert "::error file=" in engine.run("check", "--github").err

    def test_a_text_cannot_end_its_annotation(self) -> None:
        from prtoggle.check import Cell, Report
        from prtoggle.cli.annotations import workflow_commands
        from prtoggle.errors import Place
        from prtoggle.spec import Fix

        fix = Fix("1", "", "", "", "", {}, {"a": ""}, (), (), Place("f"))
        cell = Cell(fix, "a", "r", "1", "p", "rot", False, reason="one\n::error::100%", where="x,y:z", line=3)
        (line,) = workflow_commands(Report((cell,)), root=str(Path.cwd()))
        assert line == "::error file=x%2Cy%3Az,line=3,title=1/a%3A rot::r: one%0A::error::100%25"


def test_rows_of_several_sources_are_told_apart_and_none_hides_another(engine: World) -> None:
    first, second = engine.root / "first", engine.root / "second"
    engine.fix(101, FIX.replace("'>=1.0'", "'<1.0'"), into=first)
    engine.fix(101, FIX, into=second)
    ran = engine.run("check", "101/slice", "--fixes", str(first), "--fixes", str(second))
    rows = [line.rsplit(None, 1) for line in ran.out.splitlines() if line.startswith("101/slice (")]
    assert [(name.strip(), verdict) for name, verdict in rows] == [
        (f"101/slice (dir {first})", "ROT"),
        (f"101/slice (dir {second})", "applies"),
        ("101/slice (path)", "applies"),
    ]
