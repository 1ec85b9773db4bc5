"""Fix 27338: KV slots of any draft batch against plain Python; each state: the symptoms that are claimed."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402

from prtoggle_fixes.pr27338_eagle_draft_kv_indices import forward, overrun, scenario, spec_utils  # noqa: E402
from prtoggle_fixes.pr27338_eagle_draft_kv_indices.interpreted import Interpreted  # noqa: E402
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
    "27338": ("width",),
    "27338/assert": ("assert",),
    "27338/all": ("width", "assert"),
}
SAME = {"none": ["none", "27338/assert"], "27338/assert": ["none", "27338/assert"]}
"""States that show the same, and say so."""
CPU = torch.device("cpu")


@pytest.mark.guards("27338")
@given(batch=batches)
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("graph", [True, False])
def test_every_step_reads_the_slots_of_every_branch(graph: bool, batch: dict[str, Any]) -> None:
    check_any_batch(forward.FlashInferMultiStepDraftBackend, batch, graph)


@pytest.mark.parametrize("state", each(STATES))
def test_each_state_shows_exactly_what_its_case_claims(state: str) -> None:
    seen = scenario.observe("cpu")
    assert [case.revert for case in scenario.CASES if case.holds(seen)] == SAME.get(state, [state]), seen


def test_every_state_has_a_case() -> None:
    assert [case.revert for case in scenario.CASES] == list(STATES)


@pytest.mark.guards("27338")
def test_the_largest_batch_at_the_context_limit_fits_exactly_and_one_token_more_is_refused() -> None:
    draft = overrun.Draft(forward.FlashInferMultiStepDraftBackend, "cpu")
    most = overrun.CONTEXT_LEN - overrun.STEPS
    draft.backend.init_forward_metadata_out_graph(overrun.make_batch((most, most), "cpu"))
    assert all(draft.steps_right((most, most)))
    with pytest.raises(AssertionError, match=r"516 columns are needed and 512 are there \(bs=8, seq_lens_sum=123\)"):
        draft.backend.init_forward_metadata_out_graph(overrun.make_batch((most + 1, most), "cpu"))
    assert all(draft.steps_right((most, most))), "nothing was written"


def test_sizes_are_those_of_the_formulas_and_31_bits_are_the_most() -> None:
    assert spec_utils.draft_kv_indices_buffer_width(8, 4, 2048) == 65536
    assert spec_utils.draft_kv_indices_used_len(300, 4, 8, 3) == 1224
    assert spec_utils.draft_kv_indices_buffer_width(1, 1, 2**31 - 1) == 2**31 - 1
    with pytest.raises(AssertionError, match="int32"):
        spec_utils.draft_kv_indices_buffer_width(2, 2**10, 2**20)


def test_buffers_of_the_pool_stand_apart_and_a_full_pool_says_so() -> None:
    pool = spec_utils.GraphMemoryPool(1025, CPU)
    first, second = pool.zeros((3,), torch.int32), pool.zeros((2, 2), torch.int64)
    assert second.data_ptr() - first.data_ptr() == spec_utils.ALIGNMENT
    first.fill_(-1)
    assert second.tolist() == [[0, 0], [0, 0]]
    pool.zeros((512,), torch.uint8)
    with pytest.raises(MemoryError, match="1536"):
        pool.zeros((1,), torch.uint8)


def test_misuse_is_refused() -> None:
    slots = torch.zeros(1, 8, dtype=torch.int32)
    runner = spec_utils.ModelRunner(CPU, 1, 8, 1, slots, spec_utils.GraphMemoryPool(64, CPU))
    for topk, steps in ((0, 3), (2, 1)):
        with pytest.raises(ValueError, match="need topk"):
            forward.FlashInferMultiStepDraftBackend(runner, topk, steps)
    backend = forward.FlashInferMultiStepDraftBackend(runner, 1, 2)
    nobody = torch.zeros(0, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="init_cuda_graph_state"):
        backend.init_forward_metadata_out_graph(spec_utils.ForwardBatch(0, nobody, nobody, 0, nobody))


def test_the_list_of_slots_never_leaves_its_storage() -> None:
    kv_indices = torch.zeros((2, 4), dtype=torch.int32)
    slots, lens = torch.arange(16, dtype=torch.int32).view(1, 16), torch.tensor([7])
    with pytest.raises(IndexError, match="of a storage of 8"):
        spec_utils.generate_draft_decode_kv_indices(
            torch.tensor([0]), slots, lens, kv_indices, torch.zeros((2, 2), dtype=torch.int32), lens, 1, 2, 1
        )


tl: Any = None  # as a kernel's module names it; Interpreted puts its own language there for the time of a launch


def _double_the_evens(source: Any, target: Any, length: int) -> None:
    row = tl.program_id(axis=0)
    lane = tl.arange(0, 8)
    live = (lane < length) & (lane % 2 == 0)
    values = tl.load(source + row * length + lane, mask=live, other=-1)
    tl.store(target + row * length + lane, tl.where(live, values * tl.num_programs(axis=0), 0), mask=live)


def test_an_interpreted_kernel_computes_by_address_and_stays_in_its_storage() -> None:
    source, arena = torch.arange(10, dtype=torch.int32), torch.full((12,), -7, dtype=torch.int32)
    Interpreted(_double_the_evens)[(2,)](source, arena[1:11], 5)
    assert arena.tolist() == [-7, 0, -7, 4, -7, 8, 10, -7, 14, -7, 18, -7]
    assert tl is None
    with pytest.raises(IndexError, match="a storage of 12"):
        Interpreted(_double_the_evens)[(2,)](source, arena[5:], 5)


class _Wrapped:
    """A kernel as Triton wraps it: its text is ``fn``, and it cannot be called as a function."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn


@_Wrapped
def _tripled(value: Any) -> Any:
    return value * 3 + tl.program_id(axis=0)


@_Wrapped
def _store_tripled(target: Any, value: int) -> None:
    tl.store(target + tl.program_id(axis=0), _tripled(value))


def test_an_interpreted_kernel_calls_the_text_of_a_wrapped_one() -> None:
    target = torch.zeros(2, dtype=torch.int32)
    Interpreted(_store_tripled)[(2,)](target, 5)
    assert target.tolist() == [15, 16]
    assert isinstance(_tripled, _Wrapped), "the module has its own kernel again"
