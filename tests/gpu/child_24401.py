"""Fix 24401 on a device: padded replays of captured graphs, the plan's indices, and gathers through them.

Knows nothing of the state it runs in. ``tails``: one full replay, then every smaller size. ``near``: a gather that does
not check, through a plan that is off by little. ``far-checked`` and ``far-unchecked WIDTH``: through one that is far off;
on CUDA these two end the process's use of the device. ``replays COUNT SEED``: random batch sizes, everything checked after
each one, on the device.

Example::

    python -m tests.gpu.child_24401 tails cpu
"""

from __future__ import annotations

import random
from typing import Any

import torch

from prtoggle_fixes.pr24401_positions_zero_padding.runner import DecodeCudaGraphRunner, plan_verify, verify_indptr
from prtoggle_fixes.pr24401_positions_zero_padding.scenario import DRAFT_TOKENS, make_batch
from tests.gpu.harness import tell
from tests.gpu.unchecked_gather import gather_unchecked

CAPTURED = (1, 2, 4, 8)
FAR = 1_000_000
"""Tokens in the sequences of the far case."""


def runner_on(device: str, max_position: int = 4096) -> DecodeCudaGraphRunner:
    runner = DecodeCudaGraphRunner(
        device=torch.device(device),
        capture_bs=CAPTURED,
        num_tokens_per_bs=DRAFT_TOKENS,
        max_position=max_position,
        is_multimodal=True,
    )
    runner.capture()
    return runner


def tails(device: str) -> dict[str, Any]:
    """A full replay of 8, then each smaller size: the padding before the plan and in what the graph computed."""
    runner = runner_on(device)
    seen = []
    for bs in (3, 5, 6, 7):
        full = make_batch(tuple(900 - 100 * i for i in range(8)), device)
        runner.load_batch(full)
        runner.run_graph(8)
        batch = make_batch(tuple(40 + i for i in range(bs)), device)
        padded = runner.load_batch(batch)
        live, tokens = bs * DRAFT_TOKENS, padded.batch_size * DRAFT_TOKENS
        hidden = runner.run_graph(padded.batch_size)
        assert padded.mrope_positions is not None and batch.mrope_positions is not None
        assert full.mrope_positions is not None
        pointers = verify_indptr(padded.positions, padded.seq_lens).tolist()
        real = runner.embedding[batch.input_ids] + runner.rotary[batch.positions]
        real = real + runner.rotary[batch.mrope_positions].sum(0)
        seen.append(
            {
                "bs": bs,
                "replayed_as": padded.batch_size,
                "graph": padded.batch_size in runner.graphs,
                "positions_tail": padded.positions[live:].tolist(),
                "mrope_positions_tail": padded.mrope_positions[:, live:].tolist(),
                "last_positions_tail": full.positions[live:tokens].tolist(),
                "last_mrope_positions_tail": full.mrope_positions[:, live:tokens].tolist(),
                "table": tokens,
                "qo_indptr": pointers,
                "real_rows_right": bool(torch.equal(hidden[:live], real)),
                # What the graph read in the padding: embedding plus four times position 0, or something else.
                "padded_rows_at_rest": bool(
                    torch.equal(hidden[live:], runner.embedding[padded.input_ids[live:]] + 4 * runner.rotary[0])
                ),
            }
        )
    return {"sizes": seen, "graphs_captured": len(runner.graphs)}


def near(device: str) -> dict[str, Any]:
    """The stale positions are small: the plan leaves its table by little, into the slots of requests that have left.

    Each request's cache rows hold its own number, so that what a gather returns names the request that it is from.
    """
    runner = runner_on(device)
    cache = torch.full((2000, 4), -1.0, device=device)
    first = make_batch((2,) * 8, device)
    cache[first.out_cache_loc] = torch.arange(100, 108, dtype=torch.float32, device=device).repeat_interleave(4)[
        :, None
    ]
    runner.load_batch(first)
    runner.run_graph(8)
    second = make_batch((30, 31, 32), device)
    cache[second.out_cache_loc] = torch.arange(3, dtype=torch.float32, device=device).repeat_interleave(4)[:, None]
    padded = runner.load_batch(second)
    pointers = verify_indptr(padded.positions, padded.seq_lens)
    index = (pointers[1:].long() - 1).clamp(min=0)
    slots = gather_unchecked(padded.out_cache_loc, index)
    owners = gather_unchecked(cache, slots)[:, 0]
    return {
        "table": padded.out_cache_loc.shape[0],
        "index": index.tolist(),
        "slots": slots.tolist(),
        "owners": [int(owner) for owner in owners.tolist()],
        "requests": [0, 1, 2],
        "error": "",
    }


def _far(device: str) -> tuple[DecodeCudaGraphRunner, Any]:
    runner = runner_on(device, max_position=FAR + 64)
    runner.load_batch(make_batch(tuple(FAR - 100 * i for i in range(8)), device))
    runner.run_graph(8)
    padded = runner.load_batch(make_batch((30, 31, 32), device))
    if device == "cuda":
        torch.cuda.synchronize()  # so far, nothing has failed
    return runner, padded


def far_checked(device: str) -> dict[str, Any]:
    """The plan itself, whose gather is torch's and checks its index."""
    _, padded = _far(device)
    plan = plan_verify(padded.positions, padded.seq_lens, padded.out_cache_loc)
    return {"error": "", "last_loc": plan.last_loc.tolist()}


def far_unchecked(device: str, width: str) -> dict[str, Any]:
    """The rows of queries that the pointers name, ``width`` float32 each, read by address."""
    _, padded = _far(device)
    queries = torch.ones((padded.positions.shape[0], int(width)), device=device)
    pointers = verify_indptr(padded.positions, padded.seq_lens)
    index = (pointers[1:].long() - 1).clamp(min=0)
    furthest = int(index.max())
    if device != "cuda" and furthest >= queries.shape[0]:
        return {"error": "IndexError", "message": f"{furthest} is outside of {queries.shape[0]}"}
    rows = gather_unchecked(queries, index)
    return {"error": "", "furthest": furthest, "rows_right": bool((rows == 1).all())}


def replays(device: str, count: str, seed: str) -> dict[str, Any]:
    """Random batch sizes and lengths; counts on the device, read once at the end."""
    runner = runner_on(device)
    rng = random.Random(int(seed))
    names = ("stale positions", "stale mrope_positions", "pointers outside", "wrong real rows", "wrong last slots")
    bad = {name: torch.zeros((), dtype=torch.int64, device=device) for name in names}
    sizes = dict.fromkeys(range(1, 9), 0)
    padded_replays = 0
    for _ in range(int(count)):
        bs = rng.randint(1, 8)
        sizes[bs] += 1
        batch = make_batch(tuple(rng.randint(1, 2000) for _ in range(bs)), device)
        padded = runner.load_batch(batch)
        padded_replays += padded.batch_size > bs
        live, table = bs * DRAFT_TOKENS, padded.positions.shape[0]
        assert padded.mrope_positions is not None and batch.mrope_positions is not None
        bad["stale positions"] += (padded.positions[live:] != 0).any()
        bad["stale mrope_positions"] += (padded.mrope_positions[:, live:] != 0).any()
        pointers = verify_indptr(padded.positions, padded.seq_lens)
        bad["pointers outside"] += (pointers > table).any()
        # Clamped, so that the reverted state can be counted too, and not only die at the first.
        last = gather_unchecked(padded.out_cache_loc, (pointers[1 : bs + 1].long() - 1).clamp(0, table - 1))
        bad["wrong last slots"] += (last != batch.out_cache_loc[DRAFT_TOKENS - 1 :: DRAFT_TOKENS]).any()
        hidden = runner.run_graph(padded.batch_size)
        real = runner.embedding[batch.input_ids] + runner.rotary[batch.positions]
        real = real + runner.rotary[batch.mrope_positions].sum(0)
        bad["wrong real rows"] += (hidden[:live] != real).any()
    return {
        "replays": int(count),
        "padded_replays": padded_replays,
        "graphs_captured": len(runner.graphs),
        "sizes": sizes,
        "replays_with": {name: int(value) for name, value in bad.items()},
        "error": "",
    }


if __name__ == "__main__":
    tell(
        {
            "tails": tails,
            "near": near,
            "far-checked": far_checked,
            "far-unchecked": far_unchecked,
            "replays": replays,
        }
    )
