"""A full batch and then padded ones, through both of EAGLE's draft graphs: which positions do padded rows read?

The first batch fills four requests far into their sequences; one then leaves. :func:`observe` returns what the padded
rows of the first padded replays read, whether real rows are right, and how a long run of padded replays ends: the draft
graph advances positions in place, so positions that nobody resets move on with every replay. On CUDA the graphs are
captured ones, and the long run, which may fail, is a child process.

Example::

    observe("cpu")["draft_tail"]     # [[0, 1], [0, 1], [0, 1]] when fixed
"""

from __future__ import annotations

from typing import Any

import torch

from prtoggle.scenario import Case
from prtoggle_fixes.bits import child_main, outcome
from prtoggle_fixes.pr10892_eagle_draft_padding import forward

MODULE = "prtoggle_fixes.pr10892_eagle_draft_padding.scenario"
TOPK, STEPS, MAX_POSITION = 2, 3, 1024
FULL = (900, 700, 500, 300)
"""Sequence lengths of the first batch, one for each request."""
PADDED = (901, 702, 503)
"""Those of the others: one request has left."""
FEW, MANY = 3, 400


def draft_batch(seq_lens: tuple[int, ...], device: str) -> forward.ForwardBatch:
    """A draft's batch: each branch starts at the end of its sequence."""
    lengths = torch.tensor(seq_lens, device=device)
    positions = lengths.repeat_interleave(TOPK)
    tokens = torch.arange(1, len(positions) + 1, device=device)
    slots = torch.arange(1, len(positions) * STEPS + 1, device=device)
    return forward.ForwardBatch(len(seq_lens), lengths, tokens, positions, slots)


def extend_batch(seq_lens: tuple[int, ...], device: str) -> forward.ForwardBatch:
    """A draft-extend's batch: the tokens of each request follow its sequence."""
    lengths = torch.tensor(seq_lens, device=device)
    positions = (lengths[:, None] + torch.arange(STEPS + 1, device=device)).flatten()
    tokens = torch.arange(1, len(positions) + 1, device=device)
    accepted = torch.full((len(seq_lens),), 2, dtype=torch.int32, device=device)
    return forward.ForwardBatch(len(seq_lens), lengths, tokens, positions, tokens.clone(), accepted)


def make_runners(device: str) -> tuple[forward.EAGLEDraftCudaGraphRunner, forward.EAGLEDraftExtendCudaGraphRunner]:
    """Both runners with one captured size, that of the full batch."""
    model = forward.RotaryModel(MAX_POSITION, torch.device(device))
    sizes = (len(FULL),)
    draft = forward.EAGLEDraftCudaGraphRunner(model, capture_bs=sizes, topk=TOPK, speculative_num_steps=STEPS)
    extend = forward.EAGLEDraftExtendCudaGraphRunner(model, capture_bs=sizes, speculative_num_steps=STEPS)
    draft.capture()
    extend.capture()
    return draft, extend


def long_run(device: str) -> dict[str, Any]:
    """The bit that may fail: many padded replays of both graphs."""
    draft, extend = make_runners(device)
    draft.replay(draft_batch(FULL, device))
    extend.replay(extend_batch(FULL, device))
    padded, padded_extend = draft_batch(PADDED, device), extend_batch(PADDED, device)
    for _ in range(MANY):
        draft.replay(padded)
        extend.replay(padded_extend)
    return {}


def observe(device: str) -> dict[str, Any]:
    """Replay full and then padded on ``device``; the padded request's reads, a row for each replay."""
    draft, extend = make_runners(device)
    draft.replay(draft_batch(FULL, device))
    extend.replay(extend_batch(FULL, device))
    batch, batch_extend = draft_batch(PADDED, device), extend_batch(PADDED, device)
    draft_tail, extend_tail = [], []
    right = True
    for _ in range(FEW):
        hidden, read = draft.replay(batch)
        live = len(batch.positions)
        draft_tail.append(read[:, live].tolist())
        for step in range(STEPS - 1):
            alone = draft.model(batch.input_ids + step, batch.positions + step)
            right = right and torch.equal(hidden[step, :live], alone)
        hidden, read = extend.replay(batch_extend)
        live = len(batch_extend.positions)
        extend_tail.append(read[0, live:].tolist())
        right = right and torch.equal(hidden[0, :live], extend.model(batch_extend.input_ids, batch_extend.positions))
    return {
        "graph": "replayed CUDA graph" if device == "cuda" else "replayed without a graph",
        "draft_tail": draft_tail,
        "extend_tail": extend_tail,
        "real_rows_right": right,
        "long_run": outcome(MODULE, "long_run", long_run, device)["error"] or "fine",
    }


def _draft_tail(seen: dict[str, Any], stale: bool) -> bool:
    forwards = STEPS - 1
    # Left by the full batch: its last request's positions, advanced once for each forward.
    first = FULL[-1] + forwards if stale else 0
    rows = [[first + (replay * forwards if stale else 0) + i for i in range(forwards)] for replay in range(FEW)]
    return bool(seen["draft_tail"] == rows and (seen["long_run"] != "fine") == stale)


def _extend_tail(seen: dict[str, Any], stale: bool) -> bool:
    row = [FULL[-1] + i for i in range(STEPS + 1)] if stale else [0] * (STEPS + 1)
    return bool(seen["extend_tail"] == [row] * FEW)


def _case(seen: dict[str, Any], draft_stale: bool, extend_stale: bool) -> bool:
    return bool(seen["real_rows_right"]) and _draft_tail(seen, draft_stale) and _extend_tail(seen, extend_stale)


CASES = (
    Case(
        "none",
        "padded rows of both graphs start at position zero in every replay, and a long run is fine",
        lambda seen: _case(seen, False, False),
    ),
    Case(
        "10892",
        "padded rows of both graphs start where the last batch left them; in the draft graph they move on with every "
        "replay, and a long run ends outside the table of rotary embeddings",
        lambda seen: _case(seen, True, True),
    ),
    Case(
        "10892/draft",
        "padded rows of the draft graph move on with every replay, and a long run ends outside the table of rotary "
        "embeddings; those of the draft-extend graph start at zero",
        lambda seen: _case(seen, True, False),
    ),
    Case(
        "10892/draft-extend",
        "padded rows of the draft-extend graph start where the last batch left them; those of the draft graph start at "
        "zero, and a long run is fine",
        lambda seen: _case(seen, False, True),
    ),
)


if __name__ == "__main__":
    child_main({"long_run": long_run})
