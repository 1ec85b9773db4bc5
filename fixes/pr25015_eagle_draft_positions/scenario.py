"""A draft of four tokens for three requests: at which positions does the draft model run, and what is accepted?

The draft model here proposes exactly what the target model says next, where it is given the position at which the token
stands; and it writes that position beside the KV cache slot, as rotary embedding writes it into the key.
:func:`observe` drafts eagerly and as a replayed batch of four (on CUDA a captured graph), with one branch and with two.

Example::

    observe("cpu")["eager"]["positions"]     # [[7, 8, 9], [20, 21, 22], [33, 34, 35]] when fixed
"""

from __future__ import annotations

from typing import Any

import torch

from prtoggle.scenario import Case
from prtoggle_fixes.pr25015_eagle_draft_positions import forward

VOCAB, HIDDEN, STEPS = 64, 8, 4
SEQ_LENS = (7, 20, 33)
"""Tokens that each request has in the cache; its first draft token stands at this position, counted from 0."""
FIRST = (5, 9, 2)
"""The first draft token of each request."""
CAPTURED_BS = 4
UNWRITTEN = -1


class Model:
    """``next(token, position)`` for the draft and the target alike, and the positions written to the KV cache."""

    def __init__(self, slots: int, device: str) -> None:
        self.cached_positions = torch.full((slots,), UNWRITTEN, dtype=torch.int64, device=device)
        self.ranks = torch.arange(VOCAB, dtype=torch.float32, device=device)

    @staticmethod
    def next_token(token: Any, position: Any) -> Any:
        """The token after ``token`` at ``position``: of numbers, or of tensors of them."""
        return (3 * token + position) % VOCAB

    def forward(self, batch: forward.ForwardBatch) -> forward.LogitsProcessorOutput:
        """The likeliest token is the next one, then the one after it, and so on around the vocabulary."""
        assert batch.input_ids is not None
        self.cached_positions.index_copy_(0, batch.out_cache_loc, batch.positions)
        best = self.next_token(batch.input_ids, batch.positions)
        logits = -torch.remainder(self.ranks - best[:, None], VOCAB)
        return forward.LogitsProcessorOutput(logits, batch.spec_info.hidden_states)


def make_batch(topk: int, device: str) -> forward.ForwardBatch:
    """A batch as the draft finds it: a branch's slots stand side by side, from slot 1 on; slot 0 is for padding."""
    bs = len(SEQ_LENS)
    first = torch.tensor(FIRST, device=device)[:, None] + torch.arange(topk, device=device)
    spec_info = forward.EagleDraftInput(
        topk_p=torch.full((bs, topk), 1 / topk, device=device),
        topk_index=first,
        hidden_states=torch.zeros(bs, HIDDEN, device=device),
    )
    return forward.ForwardBatch(
        batch_size=bs,
        positions=torch.tensor(SEQ_LENS, device=device).repeat_interleave(topk),
        out_cache_loc=torch.arange(1, bs * topk * STEPS + 1, device=device),
        spec_info=spec_info,
    )


def accepted(draft_tokens: list[list[int]]) -> list[int]:
    """How many tokens of each chain the target would say itself; it is asked at the right positions."""
    counts = []
    for seq_len, first, chain in zip(SEQ_LENS, FIRST, draft_tokens, strict=True):
        said, count = first, 0
        while count < len(chain) and chain[count] == said:
            said = Model.next_token(said, seq_len + count)
            count += 1
        counts.append(count)
    return counts


def draft(topk: int, captured: bool, device: str) -> dict[str, Any]:
    """One draft: positions of each branch's forwards, what is accepted (one branch), and what is left of positions."""
    model = Model(len(SEQ_LENS) * topk * STEPS + 1, device)
    worker = forward.EagleDraftWorker(
        model.forward, topk=topk, speculative_num_steps=STEPS, speculative_num_draft_tokens=STEPS + 1
    )
    batch = make_batch(topk, device)
    if captured:
        runner = forward.EAGLEDraftCudaGraphRunner(
            worker, max_bs=CAPTURED_BS, hidden_size=HIDDEN, device=torch.device(device)
        )
        runner.capture_one_shape(CAPTURED_BS)
        left_by_capture = runner.positions.tolist()
        _, _, tokens = runner.replay(batch)
        left = (runner.positions[: len(batch.positions)] - batch.positions).tolist()
    else:
        _, _, tokens = worker.draft_forward(batch)
        left_by_capture, left = [], []
    cached = model.cached_positions[1:].view(-1, STEPS)
    assert cached[:, -1].eq(UNWRITTEN).all(), "the last token of a branch needs no forward"
    return {
        "positions": cached[:, :-1].tolist(),
        "accepted": accepted(tokens.tolist()) if topk == 1 else None,
        "left_by_capture": left_by_capture,
        "left_by_replay": left,
    }


def observe(device: str) -> dict[str, Any]:
    """Draft eagerly, and captured, with one branch and with two."""
    return {
        "graph": "replayed CUDA graph" if device == "cuda" else "replayed without a graph",
        "eager": draft(1, False, device),
        "captured": draft(1, True, device),
        "captured_two_branches": draft(2, True, device),
    }


def _positions(late: int, topk: int) -> list[list[int]]:
    return [[seq_len + late + step for step in range(STEPS - 1)] for seq_len in SEQ_LENS for _ in range(topk)]


def _advance(seen: dict[str, Any], late: int) -> bool:
    one, two = (seen["eager"], seen["captured"]), seen["captured_two_branches"]
    return (
        all(case["positions"] == _positions(late, 1) for case in one)
        and two["positions"] == _positions(late, 2)
        and all(case["accepted"] == [1 if late else STEPS] * len(SEQ_LENS) for case in one)
    )


def _left(seen: dict[str, Any], further: int) -> bool:
    cases = (seen["captured"], seen["captured_two_branches"])
    return all(set(case["left_by_replay"]) == {further} for case in cases) and all(
        (max(case["left_by_capture"]) > 0) == (further > 0) for case in cases
    )


CASES = (
    Case(
        "none",
        "each draft step runs at the position of its token, all draft tokens are accepted, and the positions buffer is "
        "left as it was loaded",
        lambda seen: _advance(seen, 0) and _left(seen, 0),
    ),
    Case(
        "25015",
        "each draft step runs one position too far, only the first draft token is accepted, and the positions buffer "
        "is left three places too far",
        lambda seen: _advance(seen, 1) and _left(seen, STEPS - 1),
    ),
    Case(
        "25015/advance",
        "each draft step runs one position too far and only the first draft token is accepted; the positions buffer is "
        "left as it was loaded",
        lambda seen: _advance(seen, 1) and _left(seen, 0),
    ),
    Case(
        "25015/restore",
        "the positions buffer is left three places too far, until the next batch is loaded; drafts are right",
        lambda seen: _advance(seen, 0) and _left(seen, STEPS - 1),
    ),
)
