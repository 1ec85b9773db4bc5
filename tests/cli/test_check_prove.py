"""``prtoggle check --prove``: syntax trees, real code in both states, what the journal says, and the exit codes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from prtoggle import caserun
from prtoggle.expected import Expectation, dump
from prtoggle.trees import digest, pieces
from tests.cli.world import ENGINE, REVERTED, World

pytestmark = pytest.mark.usefixtures("installed")

BOTH = REVERTED.replace("        assert len(batch) <= self.limit\n", "")
REAL = """\
from prtoggle.scenario import CannotRun, Case

PACKAGE = "engine"
NEEDS = ()
REAL = ("engine.core",)
ABSENT = ()


def observe():
    from engine.core import Runner

    runner = Runner()
    runner.limit, runner.forward = 2, len
    try:
        return {"length": runner.step([1, 2, 3])}
    except AssertionError:
        return {"length": None}


CASES = (
    Case("none", "two of three pass", lambda seen: seen["length"] == 2),
    Case("101", "the batch is refused", lambda seen: seen["length"] is None),
    Case("101/slice+assert", "all three pass", lambda seen: seen["length"] == 3),
)
"""


def expectations(release: str = "1.2", **other: str) -> str:
    def one(revert: str, text: str) -> Expectation:
        tree = digest(pieces(text)["Runner.step"])
        return Expectation(revert, "engine.core", "Runner.step", other.get("tree", tree), (release,), "reviewed")

    return dump((one("101/slice", REVERTED), one("101/slice+assert", BOTH)))


@pytest.fixture
def proving(engine: World) -> World:
    write(engine, REAL, expectations())
    return engine


def write(world: World, real: str, expected: str) -> Path:
    folder = world.fixes / "pr101_x"
    (folder / "real.py").write_text(real)
    (folder / "expected.json").write_text(expected)
    return folder


def prove(world: World, *more: str) -> tuple[int, dict[str, dict[str, Any]]]:
    ran = world.run("check", "--prove", "101", "--json", *more)
    assert ran.out, ran.err
    told = json.loads(ran.out)
    assert told["exit_code"] == ran.code
    return ran.code, {cell["revert"]: cell for cell in told["cells"]}


def test_each_case_is_proven_where_its_tree_is_expected_and_both_states_are_as_claimed(proving: World) -> None:
    before = {path: path.read_bytes() for path in (proving.site / "engine").glob("*.py")}
    code, cells = prove(proving)
    assert {revert: cell["verdict"] for revert, cell in cells.items()} == {
        "101": "proven",
        "101/slice+assert": "proven",
        "101/pad": "not in this release",
    }
    assert code == 0
    seen = cells["101/slice+assert"]
    assert (seen["fixed"]["seen"], seen["reverted"]["seen"]) == ({"length": 2}, {"length": 3})
    assert seen["tree"] == {"state": "expected", "from": "reviewed", "reason": ""}
    assert {path: path.read_bytes() for path in before} == before


def test_the_matrix_and_what_its_words_mean(proving: World) -> None:
    ran = proving.run("check", "--prove", "101")
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[:4] == [["engine", "1.2"], ["101", "proven"], ["101/slice+assert", "proven"], ["101/pad", "-"]]
    assert "2 of 2 proven" in ran.out and ran.code == 0


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_folder_of_fixes_may_be_named_from_where_one_stands(proving: World, how: str) -> None:
    proving.fixes.rename(proving.here / "mine")
    more, path = (("--fixes", "mine"), "") if how == "option" else ((), "mine")
    ran = proving.run("check", "--prove", "101", *more, env={"PRTOGGLE_PATH": path})
    assert ran.code == 0, ran.err
    assert "2 of 2 proven" in ran.out


def test_another_tree_than_the_expected_one_is_not_proven_whatever_the_code_does(proving: World) -> None:
    write(proving, REAL, expectations(tree="0" * 32))
    code, cells = prove(proving)
    assert code == 1
    assert cells["101"]["verdict"] == "not proven"
    assert "not the expected syntax tree: engine.core.Runner.step" in cells["101"]["reason"]
    assert cells["101"]["reverted"]["verdict"] == "proven"


def test_a_release_without_an_expectation_is_not_proven_and_says_what_the_nearest_is(proving: World) -> None:
    write(proving, REAL, expectations("1.1"))
    code, cells = prove(proving)
    assert (code, cells["101"]["verdict"]) == (1, "not proven")
    assert "no expectation yet for 1.2; the nearest is 1.1, and this has the same" in cells["101"]["reason"]


def test_a_claim_that_does_not_hold_is_not_proven_in_either_state(proving: World) -> None:
    write(proving, REAL.replace('seen["length"] == 3', 'seen["length"] == 4'), expectations())
    code, cells = prove(proving)
    assert (code, cells["101"]["verdict"], cells["101/slice+assert"]["verdict"]) == (1, "proven", "not proven")
    assert cells["101/slice+assert"]["reason"] == "reverted: what was seen is not what was claimed"
    write(proving, REAL.replace('seen["length"] == 2)', 'seen["length"] == 3)'), expectations())
    code, cells = prove(proving)
    assert {cell["reason"] for cell in cells.values() if cell["fixed"]} == {
        "fixed: what was seen is not what was claimed"
    }


def test_a_claim_that_was_edited_within_the_same_second_is_read_as_it_is_now(proving: World) -> None:
    real = proving.fixes / "pr101_x" / "real.py"
    os.utime(real, (1_700_000_000, 1_700_000_000))
    assert prove(proving)[0] == 0
    real.write_text(REAL.replace('seen["length"] == 3', 'seen["length"] == 4'))  # of the same length
    os.utime(real, (1_700_000_000, 1_700_000_000))
    code, cells = prove(proving)
    assert (code, cells["101/slice+assert"]["verdict"]) == (1, "not proven")


def test_code_that_never_imports_what_is_reverted_is_not_proven(proving: World) -> None:
    write(proving, REAL.replace("from engine.core import Runner\n", "from plain import Runner\n"), expectations())
    (proving.site / "plain.py").write_text(ENGINE)
    _, cells = prove(proving)
    assert cells["101/slice+assert"]["verdict"] == "not proven"
    assert cells["101/slice+assert"]["reason"] == "fixed: not the release's own code ran: none of REAL was imported"
    reverted = cells["101/slice+assert"]["reverted"]["reason"]
    assert "the revert was not in force: nothing imported engine.core" in reverted


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("    runner = Runner()", "    raise CannotRun('it wants a GPU')", "fixed: it wants a GPU"),
        ("NEEDS = ()", 'NEEDS = ("no_such_module",)', "fixed: no_such_module is not installed"),
    ],
)
def test_what_cannot_run_is_never_counted_as_proven(proving: World, old: str, new: str, reason: str) -> None:
    write(proving, REAL.replace(old, new), expectations())
    code, cells = prove(proving)
    assert (code, cells["101"]["verdict"], cells["101"]["reason"]) == (4, "could not run", reason)


def test_a_fix_without_a_real_program_cannot_be_run(engine: World) -> None:
    code, cells = prove(engine)
    assert code == 4
    assert cells["101/slice"]["verdict"] == "could not run"
    assert cells["101/slice"]["reason"] == "there is no real.py for engine"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("def observe", "def (", "real.py:9: cannot be read: invalid syntax"),
        ('"engine"', '"motor"', "real.py: its PACKAGE is 'motor', not 'engine'"),
        ('PACKAGE = "engine"', "", "real.py: its PACKAGE is not there, not 'engine'"),
        ("CASES = (", "CASES = () + (", "real.py: its CASES are not written out"),
    ],
)
def test_a_real_program_that_is_not_as_it_should_be_says_why(proving: World, old: str, new: str, reason: str) -> None:
    write(proving, REAL.replace(old, new, 1), expectations())
    code, cells = prove(proving)
    assert (code, cells["101/slice"]["verdict"]) == (4, "could not run")
    assert reason in cells["101/slice"]["reason"]


@pytest.mark.parametrize(
    ("revert", "reason"),
    [
        ("101/nope", "101 has no part 'nope'; its parts: slice, assert, pad"),
        ("999", "reverts nothing of 101: '999'"),
        ("101//", "is not a part's name"),
    ],
)
def test_a_case_of_what_the_fix_does_not_have_is_not_proven_and_says_so(
    proving: World, revert: str, reason: str
) -> None:
    write(proving, REAL.replace("101/slice+assert", revert), expectations())
    code, cells = prove(proving)
    assert (code, cells[revert]["verdict"], cells["101"]["verdict"]) == (1, "not proven", "proven")
    assert reason in cells[revert]["reason"] and "real.py" in cells[revert]["hint"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("raise SystemExit(3)", "its process ended with 3"),
        ("import os; os._exit(0)", "its process ended before it wrote what it saw"),
        ("import os; os.kill(os.getpid(), 11)", "its process ended with 139 (SIGSEGV)"),
        ("1 / 0", "ZeroDivisionError: division by zero (real.py:12)"),
        ("return object()", "TypeError: Object of type object is not JSON serializable"),
    ],
)
def test_a_real_program_that_ends_on_its_own_is_not_proven(proving: World, line: str, reason: str) -> None:
    write(proving, REAL.replace("    runner = Runner()\n", f"    {line}\n"), expectations())
    code, cells = prove(proving)
    assert (code, cells["101"]["verdict"], cells["101"]["reason"]) == (1, "not proven", f"fixed: {reason}")


def test_a_program_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caserun, "TIME_LIMIT", 1.0)
    (tmp_path / "hangs.py").write_text("import time\ntime.sleep(1000)\n")
    told, result = caserun.run_case(("hangs",), "none", env={"PYTHONPATH": str(tmp_path)})
    assert result.timed_out and "seen" not in told


def test_a_part_that_does_not_apply_is_not_proven(proving: World) -> None:
    proving.package("engine", "1.2", core=ENGINE.replace("[: self.limit]", "[: self.most]"))
    code, cells = prove(proving)
    assert (code, cells["101"]["verdict"]) == (1, "not proven")
    assert cells["101"]["reason"].startswith("101/slice: rot: ")


def test_a_selection_of_parts_limits_the_cases(proving: World) -> None:
    told = json.loads(proving.run("check", "--prove", "101/slice", "--json").out)
    assert [cell["revert"] for cell in told["cells"]] == ["101"]


def test_what_is_not_proven_becomes_an_annotation_at_the_reverse_patch(proving: World) -> None:
    write(proving, REAL, expectations("1.1"))
    ran = proving.run("check", "--prove", "101", "--github")
    lines = [line for line in ran.err.splitlines() if line.startswith("::error file=")]
    assert len(lines) == 2
    assert "pr101_x/revert.yaml" in lines[0] and "title=101%3A not proven::engine 1.2: no expectation yet" in lines[0]


def test_code_of_another_copy_of_the_package_proves_nothing(proving: World) -> None:
    other = proving.root / "other"
    proving.package("engine", "1.2", into=other, core=ENGINE)
    first = f"    import sys\n    sys.path.insert(0, {str(other)!r})\n"
    write(proving, REAL.replace("def observe():\n", f"def observe():\n{first}"), expectations())
    code, cells = prove(proving)
    assert (code, cells["101"]["verdict"]) == (1, "not proven")
    assert cells["101"]["reason"] == "fixed: not the release's own code ran: engine.core"
