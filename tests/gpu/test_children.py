"""The programs that the GPU tests start, on the CPU: each tells fixed from reverted there too, where it can."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from tests.gpu.harness import run_child

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("installed")]


@pytest.mark.parametrize("state", ["none", "24401"])
def test_24401(state: str) -> None:
    sizes = run_child("child_24401", "tails", "cpu", reverted=state)["sizes"]
    assert {any(size["positions_tail"]) for size in sizes} == {state != "none"}
    near = run_child("child_24401", "near", "cpu", reverted=state)
    assert (set(near["owners"]) <= {0, 1, 2}) == (state == "none")
    for bit in (("far-checked",), ("far-unchecked", "256")):
        seen = run_child("child_24401", bit[0], "cpu", *bit[1:], reverted=state)
        assert seen["error"] == ("" if state == "none" else "IndexError")
    stale = run_child("child_24401", "replays", "cpu", "100", "1", reverted=state)["replays_with"]
    assert (stale["stale positions"] > 0) == (state != "none") and stale["wrong real rows"] == 0


def test_27360() -> None:
    assert run_child("child_27360", "checked", "cpu")["page_tables_right"]
    assert run_child("child_27360", "checked", "cpu", reverted="27360")["error"] == "AssertionError"
    assert run_child("child_27360", "checked", "cpu", reverted="27360/slice+assert")["error"] == "RuntimeError"
    for state, changed in (("none", [0, 0, 0, 0]), ("27360/slice+assert", [3, 2, 1, 0])):
        assert run_child("child_27360", "canaries", "cpu", "triton", reverted=state)["canaries_changed"] == changed
        steps = run_child("child_27360", "beside", "cpu", "live", reverted=state)["steps"]
        assert [step["rows_nan"] for step in steps] == changed
    assert run_child("child_27360", "sweep", "cpu", "triton", "quick")["wrong_entries"] == 0


def test_a_change_of_code_in_a_running_process_is_seen_at_the_next_call() -> None:
    seen = run_child("child_capture", "graph", "cpu", reverted="27360/slice+assert")
    assert (seen["called_as_started"], seen["called_after_the_change"]) == ("reverted", "fixed")
    seen = run_child("child_capture", "compiled", "cpu", reverted="27360/empty-batch-pad")
    assert seen["as_started"].startswith("raises") and seen["after_the_change"] == "gives 0"
