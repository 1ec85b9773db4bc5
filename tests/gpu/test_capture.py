"""A captured graph keeps the code that it was captured with; torch.compile does not. As docs/evidence.md says."""

from __future__ import annotations

import pytest

from tests.gpu.conftest import Record
from tests.gpu.harness import run_child

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("installed")]


def test_a_revert_before_capture_is_in_the_graph_and_one_after_it_is_not_until_captured_again(evidence: Record) -> None:
    seen = run_child("child_capture", "graph", "cuda", reverted="27360/slice+assert")
    evidence("27360/slice+assert: which state writes the page table, when called and when replayed", **seen)
    assert seen["graph"]
    assert seen["called_as_started"] == seen["replayed_as_captured"] == "reverted"
    assert seen["called_after_the_change"] == "fixed"
    assert seen["replayed_after_the_change"] == "reverted", "the graph holds what was captured"
    assert seen["replayed_after_a_new_capture"] == "fixed"
    assert seen["called_after_changing_back"] == "reverted"
    assert seen["new_graph_after_changing_back"] == "fixed", "a revert after the capture is not in the graph"
    assert seen["old_graph_after_changing_back"] == "reverted"


def test_a_graph_captured_fixed_is_fixed(evidence: Record) -> None:
    seen = run_child("child_capture", "graph", "cuda")
    evidence("fixed throughout: which state writes the page table", **seen)
    assert {value for name, value in seen.items() if "called" in name or "replayed" in name} == {"fixed"}


def test_a_compiled_function_takes_a_change_of_code_at_its_next_call(evidence: Record) -> None:
    seen = run_child("child_capture", "compiled", "cuda", reverted="27360/empty-batch-pad")
    evidence("27360/empty-batch-pad: an empty batch through the compiled function", **seen)
    assert seen["as_started"].startswith("raises")
    assert seen["after_the_change"] == "gives 0"
    assert seen["after_changing_back"].startswith("raises")
