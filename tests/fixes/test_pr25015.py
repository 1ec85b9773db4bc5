"""Fix 25015: positions of any draft, the tree's best branches; each state: what the scenario claims."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from prtoggle_fixes.pr25015_eagle_draft_positions import forward, scenario  # noqa: E402
from tests.fixes.states import each  # noqa: E402

BY_HAND = {
    "advance": (
        """\
            spec_info.hidden_states = hidden_states
            logits_output = self.draft_forward_fn(forward_batch)
            topk_p, topk_index = logits_output.next_token_logits.softmax(dim=-1).topk(self.topk, dim=-1)
            hidden_states = logits_output.hidden_states
            forward_batch.positions.add_(1)
""",
        """\
            forward_batch.positions.add_(1)
            spec_info.hidden_states = hidden_states
            logits_output = self.draft_forward_fn(forward_batch)
            topk_p, topk_index = logits_output.next_token_logits.softmax(dim=-1).topk(self.topk, dim=-1)
            hidden_states = logits_output.hidden_states
""",
    ),
    "restore": ("            forward_batch.positions.sub_(self.eagle_worker.speculative_num_steps - 1)\n", ""),
}
STATES = {
    "none": (),
    "25015": ("advance", "restore"),
    "25015/advance": ("advance",),
    "25015/restore": ("restore",),
}
VOCAB, HIDDEN = 32, 4


class Recorder:
    """A draft model with random logits that keeps, for each cache slot, the position and token that it was given."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.by_slot: dict[int, tuple[int, int]] = {}

    def forward(self, batch: forward.ForwardBatch) -> forward.LogitsProcessorOutput:
        assert batch.input_ids is not None
        rows = zip(batch.out_cache_loc.tolist(), batch.positions.tolist(), batch.input_ids.tolist(), strict=True)
        self.by_slot.update((slot, (position, token)) for slot, position, token in rows)
        rows_of = batch.input_ids.shape[0]
        logits = torch.randn(rows_of, VOCAB, generator=self.generator)
        return forward.LogitsProcessorOutput(logits, torch.randn(rows_of, HIDDEN, generator=self.generator))


def batch_of(seq_lens: list[int], topk: int, steps: int) -> forward.ForwardBatch:
    bs = len(seq_lens)
    first = torch.rand(bs, VOCAB).softmax(-1).topk(topk)
    return forward.ForwardBatch(
        batch_size=bs,
        positions=torch.tensor(seq_lens).repeat_interleave(topk),
        out_cache_loc=torch.arange(1, bs * topk * steps + 1),
        spec_info=forward.EagleDraftInput(first.values, first.indices, torch.zeros(bs, HIDDEN)),
    )


def worker_for(recorder: Recorder, topk: int, steps: int) -> forward.EagleDraftWorker:
    return forward.EagleDraftWorker(
        recorder.forward, topk=topk, speculative_num_steps=steps, speculative_num_draft_tokens=min(steps, 3) + 1
    )


def positions_by_slot(seq_lens: list[int], topk: int, steps: int) -> dict[int, int]:
    """The contract in plain Python: the token that step ``i`` feeds stands ``i`` places behind the sequence."""
    slots = {}
    for request, seq_len in enumerate(seq_lens):
        for branch in range(topk):
            for step in range(steps - 1):
                slots[1 + (request * topk + branch) * steps + step] = seq_len + step
    return slots


shapes = st.tuples(st.lists(st.integers(1, 5000), min_size=1, max_size=4), st.integers(1, 4), st.integers(1, 6))


@pytest.mark.guards("25015/advance")
@given(shape=shapes, seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_every_forward_runs_at_the_positions_of_its_tokens(shape: tuple[list[int], int, int], seed: int) -> None:
    seq_lens, topk, steps = shape
    recorder = Recorder(seed)
    batch = batch_of(seq_lens, topk, steps)
    worker_for(recorder, topk, steps).draft_forward(batch)
    seen = {slot: position for slot, (position, _) in recorder.by_slot.items()}
    assert seen == positions_by_slot(seq_lens, topk, steps)
    advanced = [seq_len + steps - 1 for seq_len in seq_lens for _ in range(topk)]
    assert batch.positions.tolist() == advanced


@pytest.mark.guards("25015/advance")
@pytest.mark.guards("25015/restore")
@given(shape=shapes, seed=st.integers(0, 99), padding=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_a_captured_draft_gives_what_a_plain_one_gives_and_leaves_positions_alone(
    shape: tuple[list[int], int, int], seed: int, padding: int
) -> None:
    seq_lens, topk, steps = shape
    batch = batch_of(seq_lens, topk, steps)
    recorder = Recorder(seed)
    runner = forward.EAGLEDraftCudaGraphRunner(
        worker_for(recorder, topk, steps),
        max_bs=len(seq_lens) + padding,
        hidden_size=HIDDEN,
        device=torch.device("cpu"),
    )
    runner.capture_one_shape(len(seq_lens) + padding)
    assert not runner.positions.any()
    recorder.by_slot.clear()
    for _ in range(2):
        parents, chosen, tokens = runner.replay(batch)
        seen = {slot: position for slot, (position, _) in recorder.by_slot.items() if slot}
        assert seen == positions_by_slot(seq_lens, topk, steps)
        assert runner.positions.tolist() == batch.positions.tolist() + [0] * (padding * topk)
    draft_tokens = min(steps, 3)
    assert chosen.shape == tokens.shape == (len(seq_lens), draft_tokens)
    assert parents.shape == (len(seq_lens), 0 if steps == 1 else topk * (steps - 2) + topk + 1)


@given(bs=st.integers(1, 3), topk=st.integers(1, 4), step=st.integers(0, 3), seed=st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_the_best_branches_are_those_of_plain_python(bs: int, topk: int, step: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    rows = bs if step == 0 else bs * topk
    topk_p = torch.rand(rows, topk, generator=generator, dtype=torch.float64)
    topk_index = torch.randint(0, VOCAB, (rows, topk), generator=generator)
    hidden = torch.rand(rows, HIDDEN, generator=generator)
    scores = None if step == 0 else torch.rand(bs, topk, generator=generator, dtype=torch.float64)
    ids, states, best, (every, tokens, parents) = forward.select_top_k_tokens(
        step, topk_p, topk_index, hidden, scores, topk
    )
    for request in range(bs):
        mine = slice(request * topk, (request + 1) * topk)
        if scores is None:
            assert ids[mine].tolist() == topk_index[request].tolist()
            assert best[request].tolist() == topk_p[request].tolist()
            assert torch.equal(states[mine], hidden[request].expand(topk, -1))
            assert parents[request].tolist() == list(range(-1, topk))
            continue
        children = [
            (float(scores[request, branch] * topk_p[request * topk + branch, child]), branch, child)
            for branch in range(topk)
            for child in range(topk)
        ]
        chosen = sorted(children, reverse=True)[:topk]
        assert best[request].tolist() == [score for score, _, _ in chosen]
        rows_of = [request * topk + branch for _, branch, _ in chosen]
        assert ids[mine].tolist() == [
            int(topk_index[row, child]) for row, (_, _, child) in zip(rows_of, chosen, strict=True)
        ]
        assert torch.equal(states[mine], hidden[rows_of])
        # A token's number in the tree: topk first ones, then topk * topk for each step.
        assert parents[request].tolist() == [
            topk + (step - 1) * topk * topk + branch * topk + child for _, branch, child in chosen
        ]
    assert every.flatten(1).shape == tokens.shape


def test_a_batch_that_fits_no_captured_size_is_refused() -> None:
    runner = forward.EAGLEDraftCudaGraphRunner(
        worker_for(Recorder(0), 1, 2), max_bs=2, hidden_size=HIDDEN, device=torch.device("cpu")
    )
    with pytest.raises(ValueError, match="fits no captured size"):
        runner.replay(batch_of([3], 1, 2))
    runner.capture_one_shape(2)
    with pytest.raises(ValueError, match="fits no captured size"):
        runner.replay(batch_of([3, 4, 5], 1, 2))


@pytest.mark.parametrize("state", each(STATES))
def test_each_state_shows_exactly_what_its_case_claims(state: str) -> None:
    seen = scenario.observe("cpu")
    assert [case.revert for case in scenario.CASES if case.holds(seen)] == [state], seen


def test_every_state_has_a_case() -> None:
    assert [case.revert for case in scenario.CASES] == list(STATES)
