"""``prtoggle prove``: cases in processes of their own, judged by what they saw and by what the journal says."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from prtoggle.proof import Scenario, cases
from prtoggle.yamlfile import load
from tests.cli.world import CHECKOUT, World

pytestmark = pytest.mark.usefixtures("installed")

SCENARIO = """\
from prtoggle.scenario import Case


def observe(device):
    from engine.core import Runner

    runner = Runner()
    runner.limit, runner.forward = 2, len
    try:
        return {"error": "", "length": runner.step([1, 2, 3]), "device": device}
    except AssertionError as error:
        return {"error": type(error).__name__, "length": None, "device": device}


CASES = (
    Case("none", "two of three pass", lambda seen: seen["length"] == 2),
    Case("101", "the batch is refused", lambda seen: seen["error"] == "AssertionError"),
    Case("101/slice+assert", "all three pass", lambda seen: seen["length"] == 3),
)
"""


@pytest.fixture
def proving(engine: World) -> World:
    write(engine, SCENARIO)
    return engine


def write(world: World, scenario: str) -> Path:
    file = world.fixes / "pr101_x" / "scenario.py"
    file.write_text(scenario)
    return file


def verdicts(out: str) -> dict[str, str]:
    return {case["revert"]: case["verdict"] for case in json.loads(out)["cases"]}


def test_every_case_is_proven_in_its_state(proving: World) -> None:
    ran = proving.run("prove", "101", "--json")
    assert (ran.code, ran.err) == (0, "")
    told = json.loads(ran.out)
    assert (told["proven"], told["device"]) == (True, "cpu")
    seen = {case["revert"]: (case["seen"]["length"], case["seen"]["error"], case["in_force"]) for case in told["cases"]}
    assert seen == {
        "none": (2, "", []),
        "101": (None, "AssertionError", ["101/slice"]),
        "101/slice+assert": (3, "", ["101/slice", "101/assert"]),
    }


def test_the_table_has_state_claim_what_was_seen_and_verdict(proving: World) -> None:
    ran = proving.run("prove", "101")
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert lines[0] == "101  a batch longer than the limit is written past the end"
    assert [line.split() for line in lines if "claimed" in line] == [["state", "claimed", "seen", "verdict"]]
    assert any("reverted 101/slice+assert" in line and "all three pass" in line and "proven" in line for line in lines)
    assert "device" not in ran.out  # the same in every state
    assert lines[-1].startswith("3 of 3 cases proven on cpu")
    assert max(map(len, lines)) <= 100


def test_a_claim_that_does_not_hold_is_1(proving: World) -> None:
    write(proving, SCENARIO.replace('seen["length"] == 3', 'seen["length"] == 4'))
    ran = proving.run("prove", "101", "--json")
    assert ran.code == 1
    assert verdicts(ran.out) == {"none": "proven", "101": "proven", "101/slice+assert": "not proven"}


def test_a_claim_that_holds_with_nothing_reverted_is_not_proven(proving: World) -> None:
    blind = "def observe(device):\n    return {'length': 3, 'error': 'AssertionError'}\n\n\nCASES = ("
    write(proving, SCENARIO.split("def observe")[0] + blind + SCENARIO.split("CASES = (")[1])
    ran = proving.run("prove", "101")
    assert ran.code == 1
    assert "101 reverted 101/slice+assert: not proven: the revert was not in force" in ran.err


def test_a_revert_that_is_refused_is_not_proven(proving: World) -> None:
    write(proving, SCENARIO.replace('Case("101",', 'Case("101/pad",'))
    ran = proving.run("prove", "101", "--json")
    assert ran.code == 1
    told = {case["revert"]: case for case in json.loads(ran.out)["cases"]}
    assert told["101/pad"]["verdict"] == "not proven"
    assert "the revert was refused" in told["101/pad"]["reason"]


def test_a_scenario_that_raises_is_not_proven_and_says_what(proving: World) -> None:
    write(proving, SCENARIO.replace("    runner = Runner()", "    raise KeyError('gone')"))
    ran = proving.run("prove", "101")
    assert ran.code == 1
    assert "KeyError: 'gone'" in ran.err


def test_a_scenario_that_kills_its_process_is_not_proven(proving: World) -> None:
    write(proving, SCENARIO.replace("    runner = Runner()", "    import os\n    os.kill(os.getpid(), 9)"))
    ran = proving.run("prove", "101", "--json")
    assert ran.code == 1
    assert {case["reason"] for case in json.loads(ran.out)["cases"]} == {"its process ended with 137 (SIGKILL)"}


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ("101/slice", ["none", "101"]),
        ("101/assert", ["none"]),
        ("101/slice+assert", ["none", "101", "101/slice+assert"]),
        ("101/all", ["none", "101", "101/slice+assert"]),
    ],
)
def test_a_selection_of_parts_limits_the_cases(proving: World, selection: str, expected: list[str]) -> None:
    assert list(verdicts(proving.run("prove", selection, "--json").out)) == expected


@pytest.mark.parametrize("selection", ["102", "101/slise", "x.diff", "other/project#101"])
def test_what_has_no_scenario_is_2(proving: World, selection: str) -> None:
    ran = proving.run("prove", selection)
    assert (ran.code, ran.out) == (2, "")


def test_a_package_that_is_not_there_is_4_with_what_to_do(proving: World) -> None:
    write(proving, "import nowhere_at_all\n" + SCENARIO)
    ran = proving.run("prove", "101")
    assert ran.code == 4
    assert ran.err.count("nowhere_at_all is not installed") == 1


def test_torch_that_is_not_there_is_4_with_what_to_do(proving: World) -> None:
    write(proving, "import sys; sys.modules['torch'] = None\nimport torch\n" + SCENARIO)
    ran = proving.run("prove", "101")
    assert ran.code == 4
    assert f"torch is not installed\n  hint: {sys.executable} -m pip install torch\n" in ran.err


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_a_device_that_is_not_there_is_4(proving: World) -> None:
    ran = proving.run("prove", "101/assert", "--device", "cuda", env={"CUDA_VISIBLE_DEVICES": ""})
    assert ran.code == 4
    assert "torch sees no CUDA device" in ran.err


def test_cases_that_are_not_written_out_are_asked_for(proving: World, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(proving, SCENARIO.replace("CASES = (", "CASES = tuple(case for case in (").rstrip()[:-1] + "))\n")
    monkeypatch.setenv("PYTHONPATH", str(proving.site))
    monkeypatch.setenv("PRTOGGLE_CACHE", str(proving.root / "cache"))
    found = cases(Scenario(load(file.with_name("revert.yaml")), file))
    assert [case.revert for case in found] == ["none", "101", "101/slice+assert"]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_interrupted_it_ends_what_runs(proving: World, name: str) -> None:
    mark = proving.root / "pid"
    wait = f"    import os, time\n    open({str(mark)!r}, 'w').write(str(os.getpid()))\n    time.sleep(60)\n"
    write(proving, SCENARIO.replace("    runner = Runner()", f"{wait}    runner = Runner()"))
    running = proving.start("prove", "101/assert")
    until = time.monotonic() + 60
    while not (mark.is_file() and mark.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(getattr(signal, name))
    _, err = running.communicate(timeout=30)
    assert (running.returncode, err.lstrip()) == (130, "prtoggle: interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_the_bundled_fixes_are_proven(world: World) -> None:
    running = world.start("prove", "--json", env={"PYTHONPATH": str(CHECKOUT), "PRTOGGLE_PATH": ""})
    out, err = running.communicate(timeout=600)
    told = json.loads(out)
    assert (running.returncode, told["proven"]) == (0, True), err
    folders = {file.parent.name for file in (CHECKOUT / "fixes").glob("pr*/scenario.py")}
    assert {case["fix"] for case in told["cases"]} == {name[2:].partition("_")[0] for name in folders}
    assert all(case["in_force"] for case in told["cases"] if case["revert"] != "none")


def test_the_help_has_examples_and_exit_codes(world: World) -> None:
    ran = world.run("prove", "-h")
    assert ran.code == 0
    assert "prtoggle prove 27360 --device cuda" in ran.out
    assert sys.executable not in ran.out
