"""Fix 10892: padded rows of both draft graphs; each state: the symptoms that the scenario claims."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from prtoggle_fixes.pr10892_eagle_draft_padding import forward, scenario  # noqa: E402
from tests.fixes.states import each  # noqa: E402

BY_HAND = {
    "draft": (
        "            self.positions.zero_()\n            self.input_ids.zero_()\n",
        "            self.input_ids.zero_()\n",
    ),
    "draft-extend": (
        "            self.positions.zero_()\n            self.accept_length.fill_(1)\n",
        "            self.accept_length.fill_(1)\n",
    ),
}
STATES = {
    "none": (),
    "10892": ("draft", "draft-extend"),
    "10892/draft": ("draft",),
    "10892/draft-extend": ("draft-extend",),
}
SIZES = (1, 2, 4, 8)
MAX_POSITION = 2048

batches = st.lists(st.lists(st.integers(1, 2000), min_size=1, max_size=8), min_size=1, max_size=6)


def padding_of(seq_lens: list[int]) -> int:
    """Requests that are added to reach the next captured size."""
    return min(size for size in SIZES if size >= len(seq_lens)) - len(seq_lens)


@pytest.mark.guards("10892/draft")
@given(batches=batches, topk=st.integers(1, 3), steps=st.integers(2, 5))
@settings(max_examples=40, deadline=None)
def test_any_sequence_of_drafts_reads_as_if_it_was_the_first(batches: list[list[int]], topk: int, steps: int) -> None:
    model = forward.RotaryModel(MAX_POSITION, torch.device("cpu"))
    runner = forward.EAGLEDraftCudaGraphRunner(model, capture_bs=SIZES, topk=topk, speculative_num_steps=steps)
    runner.capture()
    for seq_lens in batches:
        starts = [seq_len for seq_len in seq_lens for _ in range(topk)]
        ids = list(range(len(starts)))
        batch = forward.ForwardBatch(
            len(seq_lens),
            torch.tensor(seq_lens),
            torch.tensor(ids),
            torch.tensor(starts),
            torch.arange(1, len(starts) * steps + 1),
        )
        hidden, read = runner.replay(batch)
        padded = [0] * (padding_of(seq_lens) * topk)
        assert read.tolist() == [[start + i for start in starts + padded] for i in range(steps - 1)]
        rows = [
            [id_ + i + (start + i) / MAX_POSITION for id_, start in zip(ids, starts, strict=True)]
            for i in range(steps - 1)
        ]
        assert torch.allclose(hidden[:, : len(starts), 0], torch.tensor(rows))
        assert batch.positions.tolist() == starts
        assert runner.out_cache_loc[: len(starts) * steps].tolist() == batch.out_cache_loc.tolist()
        if padded:
            assert not runner.out_cache_loc[len(starts) * steps :].any()
            assert set(runner.seq_lens[len(seq_lens) :].tolist()) == {1}


@pytest.mark.guards("10892/draft-extend")
@given(batches=batches, steps=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_any_sequence_of_draft_extends_reads_as_if_it_was_the_first(batches: list[list[int]], steps: int) -> None:
    model = forward.RotaryModel(MAX_POSITION, torch.device("cpu"))
    runner = forward.EAGLEDraftExtendCudaGraphRunner(model, capture_bs=SIZES, speculative_num_steps=steps)
    runner.capture()
    for seq_lens in batches:
        positions = [seq_len + i for seq_len in seq_lens for i in range(steps + 1)]
        batch = forward.ForwardBatch(
            len(seq_lens),
            torch.tensor(seq_lens),
            torch.zeros(len(positions), dtype=torch.int64),
            torch.tensor(positions),
            torch.arange(1, len(positions) + 1),
            torch.full((len(seq_lens),), 3, dtype=torch.int32),
        )
        _, read = runner.replay(batch)
        padding = padding_of(seq_lens)
        assert read.tolist() == [positions + [0] * (padding * (steps + 1))]
        assert runner.accept_length[: len(seq_lens) + padding].tolist() == [3] * len(seq_lens) + [1] * padding


def test_buffers_have_the_dtypes_that_the_graphs_read() -> None:
    draft, extend = scenario.make_runners("cpu")
    for runner in (draft, extend):
        for name in ("positions", "input_ids", "out_cache_loc", "seq_lens"):
            assert getattr(runner, name).dtype is torch.int64, name
    assert extend.accept_length.dtype is torch.int32
    assert len(draft.positions) == len(scenario.FULL) * scenario.TOPK
    assert len(draft.out_cache_loc) == len(scenario.FULL) * scenario.TOPK * scenario.STEPS
    assert len(extend.positions) == len(extend.out_cache_loc) == len(scenario.FULL) * (scenario.STEPS + 1)


@pytest.mark.parametrize("bs", [0, 9])
def test_a_batch_that_fits_no_captured_size_is_refused(bs: int) -> None:
    draft, _ = scenario.make_runners("cpu")
    batch = scenario.draft_batch(tuple(range(1, bs + 1)), "cpu")
    with pytest.raises(ValueError, match="fits no captured size"):
        draft.replay(batch)


def test_a_position_outside_the_table_fails_loudly() -> None:
    draft, _ = scenario.make_runners("cpu")
    with pytest.raises(IndexError):
        draft.replay(scenario.draft_batch((scenario.MAX_POSITION,) * 4, "cpu"))


@pytest.mark.parametrize("state", each(STATES))
def test_each_state_shows_exactly_what_its_case_claims(state: str) -> None:
    seen = scenario.observe("cpu")
    assert [case.revert for case in scenario.CASES if case.holds(seen)] == [state], seen


def test_every_state_has_a_case() -> None:
    assert [case.revert for case in scenario.CASES] == list(STATES)
