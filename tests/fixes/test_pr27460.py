"""Fix 27460: KV slots of any draft batch against plain Python; each state: the symptoms that are claimed."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402

from prtoggle_fixes.pr27338_eagle_draft_kv_indices import overrun  # noqa: E402
from prtoggle_fixes.pr27338_eagle_draft_kv_indices import scenario as other_scenario  # noqa: E402
from prtoggle_fixes.pr27460_mla_draft_kv_indices import forward, scenario  # noqa: E402
from tests.fixes.draft_batches import batches, check_any_batch  # noqa: E402
from tests.fixes.states import each  # noqa: E402

CHECK = """\
        required_kv_indices_len = draft_kv_indices_used_len(seq_lens_sum, self.topk, bs, self.speculative_num_steps)
        assert_buffer_fits(
            required_kv_indices_len,
            kv_indices_buffer.shape[1],
            "a row of the draft's kv_indices",
            bs=bs,
            seq_lens_sum=seq_lens_sum,
        )
"""
BY_HAND = {
    "width": (
        "kv_indices_width = draft_kv_indices_buffer_width(max_bs, self.topk, self.max_context_len)",
        "kv_indices_width = max_bs * self.max_context_len",
    ),
    "assert": (CHECK, ""),
}
STATES = {
    "none": (),
    "27460": ("width",),
    "27460/assert": ("assert",),
    "27460/all": ("width", "assert"),
}
SAME = {"none": ["none", "27460/assert"], "27460/assert": ["none", "27460/assert"]}
"""States that show the same, and say so."""


@pytest.mark.guards("27460")
@given(batch=batches)
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("graph", [True, False])
def test_every_step_reads_the_slots_of_every_branch(graph: bool, batch: dict[str, Any]) -> None:
    check_any_batch(forward.FlashInferMLAMultiStepDraftBackend, batch, graph)


@pytest.mark.parametrize("state", each(STATES))
def test_each_state_shows_exactly_what_its_case_claims(state: str) -> None:
    seen = scenario.observe("cpu")
    assert [case.revert for case in scenario.CASES if case.holds(seen)] == SAME.get(state, [state]), seen


def test_every_state_has_a_case() -> None:
    assert [case.revert for case in scenario.CASES] == list(STATES)


@pytest.mark.reverted("27338/width+assert")
def test_a_narrow_row_of_the_one_backend_leaves_the_other_as_it_is() -> None:
    """The helper that both call has a fix in it for neither alone: 27338 out, and this backend stays fixed."""
    seen = other_scenario.observe("cpu")
    assert seen["row_width"] == overrun.BS * overrun.CONTEXT_LEN
    here = overrun.look(forward.FlashInferMLAMultiStepDraftBackend, "cpu")
    assert overrun.all_right({**here, "verify": ""}), here


def test_misuse_is_refused() -> None:
    with pytest.raises(ValueError, match="need topk"):
        overrun.Draft(lambda runner, topk, steps: forward.FlashInferMLAMultiStepDraftBackend(runner, 0, steps), "cpu")
    backend = overrun.Draft(forward.FlashInferMLAMultiStepDraftBackend, "cpu").backend
    backend.cuda_graph_kv_indices = None
    with pytest.raises(RuntimeError, match="init_cuda_graph_state"):
        backend.init_forward_metadata_out_graph(overrun.make_batch((3, 4), "cpu"))
