"""``prtoggle port``: a variant for a release that a fix does not apply to, on stdout; why, on stderr; nothing written unasked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from prtoggle.yamlfile import load
from tests.cli.test_diff import applied, needs_git
from tests.cli.wheels import shop
from tests.cli.world import Ran, World

Golden = Callable[[str, World, Ran], None]

OLD = """\
class Runner:
    limit = 4

    def step(self, rows):
        rows = rows[: self.limit]
        check_fits(len(rows), self.limit)
        return self.write(rows)
"""

MOVED = """\
class Runner:
    capacity = 4

    def advance(self, rows, stream=None):
        # what is left over waits for the next step
        rows = rows[: self.capacity]
        check_fits(
            len(rows), self.capacity
        )
        return self.write(rows)
"""

REVERTED = """\
class Runner:
    capacity = 4

    def advance(self, rows, stream=None):
        # what is left over waits for the next step
        check_fits(
            len(rows), self.capacity
        )
        return self.write(rows)
"""

OTHER = """\
class Runner:
    def walk(self, frames):
        return [self.send(frame) for frame in frames if frame.ready]
"""

FIX = """\
# A comment that stays.
prtoggle: 1
fix: 101
title: a batch longer than the limit is written past the end
parts:
  cut: cut the batch to what fits
  check: refuse a batch that does not fit
default: [cut]
variants:
  - package: engine
    versions: '>=1.2'  # so far
    baked_in: [cuda-graph]
    patches:
      - target: engine.core.Runner.step
        edits:
          - part: cut
            find: 'rows = rows[: self.limit]'
            put: ''
          - part: check
            find: 'check_fits(len(rows), self.limit)'
            put: ''
"""


@pytest.fixture
def engines(world: World) -> World:
    """Folders ``1.2`` to ``1.5`` with the package ``engine``, and the fix 101, which applies to 1.2 and 1.3."""
    for version, text in (("1.2", OLD), ("1.3", "import os\n" + OLD), ("1.4", MOVED), ("1.5", OTHER)):
        world.package("engine", version, into=world.here / version, core=text)
    world.fix(101, FIX)
    return world


def port(world: World, *more: str, to: str = "1.4", fix: str = "101") -> Ran:
    return world.run(
        "port", fix, "--to", f"./{to}", "--via", "./1.2", "--via", "./1.3", "--fixes", str(world.fixes), *more
    )


def said(ran: Ran) -> Ran:
    """A transcript without the engine's own words: why a place is the same, or cannot be told."""
    err = re.sub(r"(?m)^(  .* -> .*): .*\n    .*$", r"\1: <HOW>\n    <WHY>", ran.err)
    return Ran(
        ran.code, ran.out, re.sub(r"(?m)( cannot be told how it looks in engine \S+): .* \(", r"\1: <WHY> (", err)
    )


def test_a_variant_is_proposed_with_its_evidence(engines: World, golden: Golden) -> None:
    before = engines.fix(101, FIX).read_bytes()
    ran = port(engines)
    assert ran.code == 0, ran.err
    assert (engines.fixes / "pr101_x" / "revert.yaml").read_bytes() == before
    golden("port", engines, said(ran))


@needs_git
def test_git_applies_what_is_proposed(engines: World) -> None:
    applied(port(engines).out, engines.fixes)
    fix = load(engines.fixes / "pr101_x" / "revert.yaml")
    assert [variant.versions for variant in fix.variants] == [">=1.2,<1.4", ">=1.4"]
    assert fix.variants[1].baked_in == ("cuda-graph",)


def test_what_is_written_is_healthy_and_reverts(engines: World) -> None:
    assert port(engines, "--write").code == 0
    checked = engines.run("check", "101", "--against", "./1.2", "--against", "./1.3", "--against", "./1.4")
    assert checked.code == 0, checked.out
    copy = engines.root / "copy"
    engines.package("engine", "1.4", into=copy, core=MOVED)
    applied(engines.run("diff", "101", "--against", "./1.4").out, copy)
    assert (copy / "engine" / "core.py").read_text() == REVERTED
    again = port(engines)
    assert (again.code, again.out) == (0, "") and "applies to engine 1.4" in again.err


def test_a_file_is_replaced_whole_and_keeps_its_mode(engines: World) -> None:
    file = engines.fixes / "pr101_x" / "revert.yaml"
    file.chmod(0o640)
    assert port(engines, "--write").code == 0
    assert file.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in file.parent.iterdir()] == ["revert.yaml"]


def test_a_file_that_is_read_only_is_not_replaced(engines: World) -> None:
    file = engines.fixes / "pr101_x" / "revert.yaml"
    file.chmod(0o444)
    before = file.read_bytes()
    ran = port(engines, "--write")
    assert (ran.code, file.read_bytes()) == (3, before)
    assert f"{file} is read-only" in ran.err


def test_of_two_that_write_at_once_one_says_that_the_file_has_changed(engines: World) -> None:
    command = ("port", "101", "--to", "./1.4", "--via", "./1.3", "--fixes", str(engines.fixes), "--write")
    both = [engines.start(*command) for _ in range(2)]
    told = [(each.communicate(timeout=120), each.returncode) for each in both]
    assert sorted(code for _, code in told) in ([0, 3], [0, 0])  # the second may have come when all was done
    assert all("has changed since it was read" in err for (_, err), code in told if code)
    fix = load(engines.fixes / "pr101_x" / "revert.yaml")
    assert [variant.versions for variant in fix.variants] == [">=1.2,<1.4", ">=1.4"]


def test_a_file_that_changes_between_its_reading_and_its_writing_is_left(engines: World) -> None:
    from prtoggle.errors import RefusedError
    from prtoggle.library import Library
    from prtoggle.proposal.asked import answers, goal_of, keep
    from prtoggle.proposal.bases import Pool
    from prtoggle.releases import Index, parse_against
    from prtoggle.selection import parse

    file = engines.fixes / "pr101_x" / "revert.yaml"
    library, index = Library([engines.fixes], path=[]), Index()
    goal = goal_of(str(engines.here / "1.4"), library, index, selection=parse("101"))
    pool = Pool.of("engine", "engine", index, via=[parse_against(str(engines.here / "1.3"))])
    [answer] = answers(parse("101"), goal, library, pool)
    assert answer.proposal is not None
    changed = file.write_text(file.read_text().replace("so far", "since then")) and file.read_bytes()
    with pytest.raises(RefusedError, match="has changed since it was read"):
        keep(answer.proposal, [engines.fixes])
    [late] = answers(parse("101"), goal, library, pool)  # the library has the fix as it was
    assert late.proposal is not None and late.proposal.before == changed  # a comment is no other fix
    file.write_text(file.read_text().replace("default: [cut]", "default: [check]"))
    [other] = answers(parse("101"), goal, library, pool)
    assert other.verdict == "refused" and "has changed since it was read" in other.reason


@needs_git
def test_the_patch_is_of_the_file_that_a_symbolic_link_leads_to(engines: World) -> None:
    file, real = engines.fixes / "pr101_x" / "revert.yaml", engines.fixes / "kept" / "101.yaml"
    real.parent.mkdir()
    file.rename(real)
    file.symlink_to("../kept/101.yaml")
    applied(port(engines).out, engines.fixes)
    assert file.is_symlink()
    assert len(load(file).variants) == 2


def test_a_folder_with_two_packages_that_the_fix_is_for_is_not_guessed_at(engines: World) -> None:
    engines.fix(
        101,
        FIX + "  - package: motor\n    patches:\n      - target: motor.core\n        edits:\n"
        "          - {part: [cut, check], find: 'x = 1', put: ''}\n",
    )
    engines.package("motor", "3.0", into=engines.here / "1.4", core="x = 1\n")
    ran = port(engines)
    assert (ran.code, ran.out) == (2, "")
    assert "1.4 holds engine and motor" in ran.err and "--package" in ran.err
    assert port(engines, "--package", "engine").code == 0
    engines.fix(101, FIX)
    assert port(engines).code == 0  # nothing that is selected is for motor


def test_a_file_that_does_not_load_is_said_where_the_folder_would_be_of_its_package(engines: World) -> None:
    engines.fix(101, "prtoggle: 1\nfix: [\n")
    ran = port(engines)
    assert (ran.code, ran.out) == (3, "")
    assert "pr101_x/revert.yaml:" in ran.err and "not YAML" in ran.err


def test_a_fix_that_applies_is_said_to(engines: World, golden: Golden) -> None:
    golden("port_applies", engines, said(port(engines, to="1.3")))


def test_what_cannot_be_told_is_refused(engines: World, golden: Golden) -> None:
    ran = port(engines, to="1.5")
    assert (ran.code, ran.out) == (3, "")
    golden("port_refused", engines, said(ran))


def test_a_variant_whose_text_still_fits_is_made_wider(engines: World, golden: Golden) -> None:
    engines.fix(101, FIX.replace("'>=1.2'", "'>=1.2,<1.3'"))
    ran = port(engines, to="1.3")
    assert ran.code == 0
    golden("port_wider", engines, said(ran))


def test_an_earlier_release_is_ported_to_as_well(engines: World) -> None:
    later = (
        FIX.replace("'>=1.2'", "'>=1.4'")
        .replace("Runner.step", "Runner.advance")
        .replace("self.limit", "self.capacity")
    )
    engines.fix(101, later)
    ran = engines.run("port", "101", "--to", "./1.3", "--via", "./1.4", "--write")
    assert ran.code == 0, ran.err
    fix = load(engines.fixes / "pr101_x" / "revert.yaml")
    assert [variant.versions for variant in fix.variants] == [">=1.4", ">=1.3,<1.4"]
    assert engines.run("check", "101", "--against", "./1.3", "--against", "./1.4").code == 0


def test_several_fixes_are_each_on_their_own(engines: World) -> None:
    second = FIX.replace("fix: 101", "fix: 102").replace("rows = rows[: self.limit]", "rows = rows[: self.never]")
    engines.fix(102, second)
    ran = port(engines, fix="101,102")
    assert ran.code == 3
    assert "pr101_x/revert.yaml" in ran.out and "pr102_x" not in ran.out
    assert "102: no release is known in which it applies" in ran.err


def test_json_says_the_same(engines: World) -> None:
    ran = port(engines, "--json")
    data = json.loads(ran.out)
    [fix] = data["fixes"]
    assert (data["goal"], fix["verdict"], fix["base"], fix["how"]) == (
        "engine 1.4",
        "ported",
        "engine 1.3",
        "new variant",
    )
    assert fix["versions"] == ">=1.4" and fix["old_versions"] == ">=1.2,<1.4" and fix["written"] is None
    assert fix["patch"] == port(engines).out
    assert fix["steps"] and all(step["before"] and step["after"] and step["why"] for step in fix["steps"])
    assert "-        rows = rows[: self.capacity]" in fix["diff"]


def test_json_of_a_refusal_says_why(engines: World) -> None:
    ran = port(engines, "--json", to="1.5")
    [fix] = json.loads(ran.out)["fixes"]
    assert ran.code == 3 and fix["verdict"] == "refused" and fix["reason"] and fix["hint"] and fix["patch"] == ""


def test_a_condition_that_does_not_hold_is_for_a_person(engines: World) -> None:
    condition = """\
          - part: [cut, check]
            find: 'rows = rows[: self.limit]'
            put: 'rows = rows[: self.limit]'
"""
    text = FIX.replace(
        "    patches:\n",
        "    patches:\n      - target: engine.core\n        edits:\n"
        + condition.replace("rows = rows[: self.limit]", "limit = 4"),
    )
    engines.fix(101, text)
    ran = port(engines)
    assert (ran.code, ran.out) == (3, "")
    assert "a condition of its variant is not fulfilled in engine 1.4" in ran.err


def test_a_kind_of_source_that_does_not_have_the_fix_is_said_with_those_that_do(engines: World) -> None:
    ran = port(engines, "--source", "entry-point")
    assert (ran.code, ran.out) == (3, "")
    assert "101 has no source of the kind 'entry-point' for engine" in ran.err
    assert f"nearest: dir {engines.fixes} for engine" in ran.err


def test_a_registry_that_cannot_be_read_is_not_taken_for_none(world: World) -> None:
    world.fix(101, FIX.replace("engine", "sglang"))
    tree = world.package("sglang", "1.0", into=world.here / "tree", core=OLD)
    (tree / "srt" / "debug_utils").mkdir(parents=True)
    (tree / "srt" / "debug_utils" / "pr_fix_toggle.py").write_text("def (\n")
    ran = world.run("port", "101", "--source", "registry", "--to", "./tree", "--via", "./tree")
    assert (ran.code, ran.out) == (3, "")
    assert "pr_fix_toggle.py" in ran.err and "has no source" not in ran.err


def test_versions_that_no_release_has_are_said_with_what_was_looked_among(engines: World) -> None:
    engines.fix(101, FIX.replace("parts:\n", "contains:\n  engine: '>=1.3'\nparts:\n", 1).replace("'>=1.2'", "'<1.3'"))
    ran = port(engines)
    assert ran.code == 3
    assert "no engine is in a variant's versions (<1.3) and in contains (>=1.3)" in ran.err
    assert "looked among 1.2, 1.3" in ran.err


def test_a_package_that_no_index_has_is_pointed_at_via(engines: World) -> None:
    without = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"}
    ran = engines.run("port", "101", "--to", "./1.4", "--fixes", str(engines.fixes), env=without)
    assert (ran.code, ran.out) == (4, "")
    assert "could not be listed" in ran.err and "--via names wheels and folders" in ran.err


def test_a_fix_that_contains_says_is_not_there_is_refused(engines: World) -> None:
    engines.fix(101, FIX.replace("parts:\n", "contains:\n  engine: '>=1.5'\nparts:\n", 1))
    ran = port(engines)
    assert ran.code == 3 and "by version" in ran.err


def test_a_folder_without_a_version_is_refused(engines: World) -> None:
    engines.package("engine", "", into=engines.here / "tree", core=MOVED)
    ran = port(engines, to="tree")
    assert ran.code == 3 and "is not believed" in ran.err


def test_a_diff_is_refused(engines: World) -> None:
    (engines.here / "x.diff").write_text(
        "--- a/engine/core.py\n+++ b/engine/core.py\n@@ -4,1 +4,2 @@\n     def step(self, rows):\n+        rows = rows[: self.limit]\n"
    )
    ran = port(engines, fix="x.diff")
    assert ran.code == 3 and "has the number of a fix" in ran.err


class TestDocumentsOfAnotherForm:
    FOREIGN = """\
    patches:
      - target: engine.core.Runner.step
        edits:
          - match: |
              rows = rows[: self.limit]
            replacement: ""
    """

    def test_get_a_whole_file(self, engines: World, golden: Golden) -> None:
        engines.fix(103, self.FOREIGN)
        ran = port(engines, fix="103")
        assert ran.code == 0
        golden("port_document", engines, said(ran))
        new = engines.root / "new"
        engines.fix(103, ran.out, into=new)
        assert engines.run("check", "103", "--fixes", str(new), "--against", "./1.4").code == 0

    def test_are_written_to_the_one_folder_that_is_named(self, engines: World) -> None:
        engines.fix(103, self.FOREIGN)
        (new := engines.root / "new").mkdir()
        words = ("port", "103", "--to", "./1.4", "--via", "./1.3", "--write")
        refused = engines.run(*words)
        assert refused.code == 2 and "--fixes DIR" in refused.err
        ran = engines.run(*words, "--fixes", str(new))
        assert ran.code == 0, ran.err
        assert load(new / "pr103_engine" / "revert.yaml").id == "103"

    def test_do_not_stand_among_patches(self, engines: World) -> None:
        engines.fix(103, self.FOREIGN)
        ran = port(engines, fix="101,103")
        assert ran.code == 2 and "port it alone" in ran.err


class TestReleases:
    """With a pip that sees the wheels of a folder and nothing else."""

    @pytest.fixture
    def pip(self, world: World) -> dict[str, str]:
        for version, text in (("1.2", OLD), ("1.3", OLD), ("1.4", MOVED), ("1.5", MOVED.replace("capacity", "size"))):
            world.package("engine", version, into=world.root / "shop" / version, core=text)
        world.fix(101, FIX)
        return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(shop(world))}

    def test_those_on_the_way_are_fetched_and_said(self, world: World, pip: dict[str, str]) -> None:
        ran = world.run("port", "101", "--to", "engine==1.5", "--write", env=pip)
        assert ran.code == 0, ran.err
        for version in ("1.4", "1.3"):
            assert f"engine {version} is fetched" in ran.err
        assert "engine 1.2 is fetched" not in ran.err
        assert world.run("check", "101", "--against", "engine==1.5", env=pip).code == 0

    def test_those_on_disk_do_without_an_index(self, world: World, pip: dict[str, str]) -> None:
        assert world.run("port", "101", "--to", "engine==1.4", env=pip).code == 0
        for listing in (world.root / "cache" / "releases" / "engine").glob("listing-*"):
            listing.unlink()
        ran = world.run("port", "101", "--to", "engine==1.4", env={"PIP_NO_INDEX": "1"})
        assert ran.code == 0, ran.err
        assert "only the" in ran.err and "on disk are looked at" in ran.err

    def test_via_names_those_that_may_be_looked_at(self, world: World, pip: dict[str, str]) -> None:
        ran = world.run("port", "101", "--to", "engine==1.4", "--via", "engine==1.2", env=pip)
        assert ran.code == 0 and "carried from engine 1.2" in ran.err and "engine 1.3 is fetched" not in ran.err

    def test_one_that_cannot_be_had_is_inconclusive(self, world: World, pip: dict[str, str]) -> None:
        wheel: Path = world.root / "wheels" / "engine-1.3-py3-none-any.whl"
        assert world.run("check", "101", "--against", "engine==1.4", env=pip).code == 1
        wheel.write_bytes(b"no wheel")
        ran = world.run("port", "101", "--to", "engine==1.4", env=pip)
        assert (ran.code, ran.out) == (4, "") and "1.3" in ran.err

    def test_several_goals_are_one_too_many(self, world: World, pip: dict[str, str]) -> None:
        assert world.run("port", "101", "--to", "engine>=1.2", env=pip).code == 2
