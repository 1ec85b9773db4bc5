"""Fix 27360 on a GPU: refused on the host, refused on the device, or written where it does not belong."""

from __future__ import annotations

import pytest

from tests.gpu.conftest import Record
from tests.gpu.harness import run_child, start

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("installed")]
WAYS = {"eager": {"TORCHDYNAMO_DISABLE": "1"}, "compiled": {}}


@pytest.mark.parametrize("way", WAYS)
def test_reverted_slice_is_refused_on_the_host_before_any_expand_metadata_is_written(
    way: str, evidence: Record
) -> None:
    seen = run_child("child_27360", "checked", "cuda", reverted="27360", env=WAYS[way])
    evidence(f"27360 reverted, {way}: the size check, on the host", **seen)
    assert seen["error"] == "AssertionError"
    for said in ("5 columns", "into 2", "page_size=2", "topk=8", "speculative_num_steps=5"):
        assert said in seen["message"]
    assert seen["page_table_untouched"] and seen["cache_seqlens_untouched"] and seen["max_row_pages_untouched"]
    assert seen["canaries_changed"] == 0 and seen["device_usable"]


@pytest.mark.parametrize("way", WAYS)
def test_reverted_slice_and_assert_end_in_a_device_side_error_where_the_scatter_checks(
    way: str, evidence: Record
) -> None:
    fixed = run_child("child_27360", "checked", "cuda", env=WAYS[way])
    ended = start("child_27360", "checked", "cuda", reverted="27360/slice+assert", env=WAYS[way])
    seen = ended.seen or {"error": "none told", "message": ended.stderr[-500:]}
    kernel = sorted(
        {line.split("Assertion", 1)[1].strip() for line in ended.stderr.splitlines() if "Assertion" in line}
    )
    evidence(
        f"27360/slice+assert, {way}: a device-side error; fixed: none",
        fixed=fixed,
        reverted=seen,
        kernel_said=kernel[:2],
    )
    assert fixed == {"error": "", "page_tables_right": True, "canaries_changed": 0}
    assert "device-side assert" in seen["message"]
    assert any("out of bounds" in said for said in kernel)


def test_reverted_a_hand_written_kernel_changes_canaries_and_nothing_says_so(evidence: Record) -> None:
    fixed = run_child("child_27360", "canaries", "cuda", "triton")
    seen = run_child("child_27360", "canaries", "cuda", "triton", reverted="27360/slice+assert")
    evidence(
        "27360/slice+assert: canaries changed, for each step, by a kernel that checks nothing",
        fixed=fixed,
        reverted=seen,
    )
    assert fixed == {"error": "", "canaries_changed": [0, 0, 0, 0]}
    # Five pages a row, in rows of 2, 3, 4 and 5 columns: what the last row has too many lies behind the table.
    assert seen == {"error": "", "canaries_changed": [3, 2, 1, 0]}


def test_reverted_the_compiled_scatter_without_its_index_checks_is_noticed_by_nothing_here(evidence: Record) -> None:
    """Inductor scatters into memory of its own and copies back: see test_sanitizer for who notices."""
    seen = run_child("child_27360", "canaries", "cuda", "compiled", reverted="27360/slice+assert")
    evidence("27360/slice+assert, compiled without index checks: no error, and no canary changed", **seen)
    assert seen == {"error": "", "canaries_changed": [0, 0, 0, 0]}


@pytest.mark.parametrize(("written", "shows"), [("live", "rows_nan"), ("all", "rows_read_from_wrong_pages")])
def test_reverted_a_later_consumer_reads_wrong_pages_or_nan(written: str, shows: str, evidence: Record) -> None:
    fixed = run_child("child_27360", "beside", "cuda", written)
    seen = run_child("child_27360", "beside", "cuda", written, reverted="27360/slice+assert")
    evidence(
        f"27360/slice+assert: what the owner of the memory behind reads in its graph: {shows}",
        fixed=fixed,
        reverted=seen,
    )
    assert fixed["error"] == seen["error"] == "" and fixed["graph"] and seen["graph"]
    for step in fixed["steps"]:
        assert set(step.values()) == {step["columns"], 0}
    assert [step["entries_changed"] for step in seen["steps"]] == [3, 2, 1, 0]
    assert [step[shows] for step in seen["steps"]] == [3, 2, 1, 0]


@pytest.mark.parametrize("kind", ["compiled", "triton"])
def test_fixed_every_entry_of_every_arena_is_what_plain_python_says(kind: str, evidence: Record) -> None:
    seen = run_child("child_27360", "sweep", "cuda", kind, "thorough", timeout=500)
    evidence(
        f"27360 fixed, {kind} scatter: topk 2 to 8, pages of 1 to 64 slots, 2, 5 and 7 steps, empty batches", **seen
    )
    assert seen["fills"] == 7 * 8 * 3 * 4 and seen["empty_fills"] == 7 * 8 * 3
    assert seen["entries_checked"] > 500_000
    for what in ("wrong_entries", "wrong_lengths", "wrong_maxima", "canaries_changed"):
        assert seen[what] == 0, what
    assert (seen["compiled_graphs"] > 0) == (kind == "compiled")
