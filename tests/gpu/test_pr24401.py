"""Fix 24401 on a GPU: what padded replays of captured graphs read, and where a plan made of it leads."""

from __future__ import annotations

import pytest

from tests.gpu.conftest import Record
from tests.gpu.harness import run_child

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("installed")]


def _zero(rows: list[list[int]]) -> bool:
    return not any(any(row) for row in rows)


@pytest.mark.parametrize("state", ["none", "24401"])
def test_a_smaller_batch_after_a_full_one_finds_the_last_replays_positions_only_when_reverted(
    state: str, evidence: Record
) -> None:
    seen = run_child("child_24401", "tails", "cuda", reverted=state)
    evidence(f"24401 {state}: padded tails and index pointers after one full replay and a smaller one", **seen)
    assert seen["graphs_captured"] == 4 and all(size["graph"] for size in seen["sizes"])
    for size in seen["sizes"]:
        assert size["real_rows_right"], "the rows of real requests never depend on the padding"
        outside = max(size["qo_indptr"]) > size["table"]
        if state == "none":
            assert not any(size["positions_tail"]) and _zero(size["mrope_positions_tail"])
            assert not outside and size["padded_rows_at_rest"]
        else:
            assert size["positions_tail"] == size["last_positions_tail"] and any(size["positions_tail"])
            assert size["mrope_positions_tail"] == size["last_mrope_positions_tail"]
            assert outside and not size["padded_rows_at_rest"]


@pytest.mark.parametrize(("part", "positions", "mrope"), [("positions", True, False), ("mrope-positions", False, True)])
def test_each_part_leaves_its_own_tail_stale(part: str, positions: bool, mrope: bool, evidence: Record) -> None:
    seen = run_child("child_24401", "tails", "cuda", reverted=f"24401/{part}")
    found = [(any(size["positions_tail"]), not _zero(size["mrope_positions_tail"])) for size in seen["sizes"]]
    evidence(f"24401/{part}: (positions stale, mrope_positions stale) for each smaller batch", found=found)
    assert found == [(positions, mrope)] * 4


def test_a_stale_position_that_is_far_out_ends_in_a_device_side_assertion_where_the_gather_checks(
    evidence: Record,
) -> None:
    fixed = run_child("child_24401", "far-checked", "cuda")
    seen = run_child("child_24401", "far-checked", "cuda", reverted="24401")
    evidence("24401: the plan's own gather, after sequences of a million tokens", fixed=fixed, reverted=seen)
    assert fixed["error"] == ""
    assert "device-side assert" in seen["message"]


def test_a_stale_position_that_is_far_out_ends_in_a_cuda_error_where_the_gather_does_not_check(
    evidence: Record,
) -> None:
    """Rows of 1, 2 and 4 KiB: a million rows away there is no memory, and what the driver calls that varies."""
    said = {}
    for width in ("256", "512", "1024"):
        fixed = run_child("child_24401", "far-unchecked", "cuda", width)
        seen = run_child("child_24401", "far-unchecked", "cuda", width, reverted="24401")
        said[f"rows of {int(width) * 4} bytes"] = {"fixed": fixed, "reverted": seen}
    evidence("24401: rows of queries read by address through the plan's pointers, after a million tokens", **said)
    for both in said.values():
        assert both["fixed"]["error"] == "" and both["fixed"]["rows_right"]
        assert both["reverted"]["message"].startswith("CUDA error: ")
    assert any("illegal memory access" in both["reverted"]["message"] for both in said.values())


def test_a_stale_position_that_is_near_reads_another_requests_data_in_silence(evidence: Record) -> None:
    fixed = run_child("child_24401", "near", "cuda")
    seen = run_child("child_24401", "near", "cuda", reverted="24401")
    evidence("24401 near: whose cache rows a gather through the plan returns", fixed=fixed, reverted=seen)
    assert fixed["error"] == seen["error"] == "", "nothing fails"
    assert set(fixed["owners"]) <= set(fixed["requests"]) and max(fixed["index"]) < fixed["table"]
    assert max(seen["index"]) >= seen["table"]
    strangers = [owner for owner in seen["owners"] if owner not in seen["requests"]]
    assert strangers and all(owner >= 100 for owner in strangers), "a request of the batch before"


def test_fixed_ten_thousand_replays_of_random_sizes_leave_nothing_stale(evidence: Record) -> None:
    seen = run_child("child_24401", "replays", "cuda", "10000", "24401", timeout=400)
    evidence("24401 fixed: 10,000 replays, tails, pointers and real rows checked after each", **seen)
    assert seen["graphs_captured"] == 4 and seen["replays"] == 10_000 and seen["padded_replays"] > 3000
    assert set(seen["replays_with"].values()) == {0}


def test_reverted_the_same_replays_are_stale_nearly_whenever_they_are_padded(evidence: Record) -> None:
    """The check above can fail: the same program, reverted."""
    seen = run_child("child_24401", "replays", "cuda", "1000", "24401", reverted="24401")
    evidence("24401 reverted: 1,000 replays counted the same way", **seen)
    found = seen["replays_with"]
    assert found["stale positions"] > 0.9 * seen["padded_replays"]
    assert found["stale mrope_positions"] > 0.9 * seen["padded_replays"]
    assert found["pointers outside"] > 0.9 * seen["padded_replays"]
    assert found["wrong real rows"] == found["wrong last slots"] == 0
