"""Two replays of one captured batch size, full and then padded: what stands in the padding of the second?

The first replay fills four requests far into their sequences, the second has three, so that one request's worth of
tokens is padding. :func:`observe` returns the padded tails before the second plan, the index pointers that the plan
would make of them, how the plan ended, and whether the rows of real requests are right. On CUDA the replays are
replays of a captured graph, and the plan that may fail runs in a child process.

Example::

    observe("cpu")["positions_tail"]     # [0, 0, 0, 0] when fixed
"""

from __future__ import annotations

from typing import Any

import torch

from prtoggle.scenario import Case
from prtoggle_fixes.bits import child_main, outcome
from prtoggle_fixes.pr24401_positions_zero_padding.forward import ForwardBatch
from prtoggle_fixes.pr24401_positions_zero_padding.runner import DecodeCudaGraphRunner, verify_indptr

MODULE = "prtoggle_fixes.pr24401_positions_zero_padding.scenario"
DRAFT_TOKENS = 4
FULL = (900, 700, 500, 300)
"""Sequence lengths of the first replay, one for each request."""
PADDED = (901, 702, 503)
"""Those of the second: one request has left."""


def make_batch(seq_lens: tuple[int, ...], device: str) -> ForwardBatch:
    """A verify batch: each request's draft tokens follow its sequence."""
    bs = len(seq_lens)
    lengths = torch.tensor(seq_lens, dtype=torch.int64)
    positions = (lengths[:, None] + torch.arange(DRAFT_TOKENS)).flatten().to(device)
    tokens = torch.arange(1, bs * DRAFT_TOKENS + 1, dtype=torch.int64, device=device)
    return ForwardBatch(
        batch_size=bs,
        input_ids=tokens,
        positions=positions,
        out_cache_loc=tokens + 1000,
        req_pool_indices=torch.arange(1, bs + 1, dtype=torch.int64, device=device),
        seq_lens=lengths.to(device),
        seq_lens_cpu=lengths,
        mrope_positions=torch.stack((positions, positions - 1, positions - 2)),
    )


def make_runner(device: str) -> DecodeCudaGraphRunner:
    """A runner with one captured size, that of the full batch."""
    runner = DecodeCudaGraphRunner(
        device=torch.device(device), capture_bs=(len(FULL),), num_tokens_per_bs=DRAFT_TOKENS, is_multimodal=True
    )
    runner.capture()
    return runner


def plan(device: str) -> dict[str, Any]:
    """The bit that may fail: both replays, each with its plan."""
    runner = make_runner(device)
    runner.replay(make_batch(FULL, device))
    runner.replay(make_batch(PADDED, device))
    return {}


def observe(device: str) -> dict[str, Any]:
    """Replay full and then padded on ``device`` and return what the second replay finds in its padding."""
    runner = make_runner(device)
    full, short = make_batch(FULL, device), make_batch(PADDED, device)
    live = short.batch_size * DRAFT_TOKENS
    runner.replay(full)
    padded = runner.load_batch(short)
    assert padded.mrope_positions is not None and full.mrope_positions is not None and short.mrope_positions is not None
    qo_indptr = verify_indptr(padded.positions, padded.seq_lens).tolist()
    table = padded.out_cache_loc.shape[0]
    hidden = runner.run_graph(padded.batch_size)
    right = runner.embedding[short.input_ids] + runner.rotary[short.positions]
    right = right + runner.rotary[short.mrope_positions].sum(0)
    resting = runner.embedding[padded.input_ids[live:]] + 4 * runner.rotary[0]
    return {
        "graph": "replayed CUDA graph" if runner.graphs else "replayed without a graph",
        "positions_tail": padded.positions[live:].tolist(),
        "mrope_positions_tail": padded.mrope_positions[:, live:].tolist(),
        "last_positions_tail": full.positions[live:].tolist(),
        "last_mrope_positions_tail": full.mrope_positions[:, live:].tolist(),
        "qo_indptr": qo_indptr,
        "table": table,
        "pointers_outside": sum(pointer > table for pointer in qo_indptr),
        "plan": outcome(MODULE, "plan", plan, device)["error"] or "fine",
        "real_rows_right": bool(torch.equal(hidden[:live], right)),
        "padded_rows_depend_on_the_last_replay": not torch.equal(hidden[live:], resting),
    }


def _positions_stale(seen: dict[str, Any]) -> bool:
    return bool(seen["positions_tail"] == seen["last_positions_tail"])


def _mrope_stale(seen: dict[str, Any]) -> bool:
    return bool(seen["mrope_positions_tail"] == seen["last_mrope_positions_tail"])


def _zero(tail: list[Any]) -> bool:
    return all(_zero(item) if isinstance(item, list) else item == 0 for item in tail)


def _plan_leaves_table(seen: dict[str, Any]) -> bool:
    return bool(seen["pointers_outside"] > 0 and seen["plan"] != "fine")


def _plan_fine(seen: dict[str, Any]) -> bool:
    return bool(seen["pointers_outside"] == 0 and seen["plan"] == "fine")


CASES = (
    Case(
        "none",
        "the padding of both position buffers is zero, and the verify plan stays inside its table",
        lambda seen: (
            _zero(seen["positions_tail"])
            and _zero(seen["mrope_positions_tail"])
            and _plan_fine(seen)
            and seen["real_rows_right"]
            and not seen["padded_rows_depend_on_the_last_replay"]
        ),
    ),
    Case(
        "24401",
        "the padding of both position buffers holds the last replay's values, and the verify plan leaves its table",
        lambda seen: (
            _positions_stale(seen) and _mrope_stale(seen) and _plan_leaves_table(seen) and seen["real_rows_right"]
        ),
    ),
    Case(
        "24401/positions",
        "the padding of positions holds the last replay's values, and the verify plan leaves its table; "
        "that of mrope_positions is zero",
        lambda seen: (
            _positions_stale(seen)
            and _zero(seen["mrope_positions_tail"])
            and _plan_leaves_table(seen)
            and seen["real_rows_right"]
        ),
    ),
    Case(
        "24401/mrope-positions",
        "the padding of mrope_positions holds the last replay's values and the padded rows are computed from them; "
        "that of positions is zero, and the verify plan stays inside its table",
        lambda seen: (
            _mrope_stale(seen)
            and _zero(seen["positions_tail"])
            and _plan_fine(seen)
            and seen["padded_rows_depend_on_the_last_replay"]
            and seen["real_rows_right"]
        ),
    ),
)


if __name__ == "__main__":
    child_main({"plan": plan})
