"""The real CUDA graph buffer registry of an SGLang release, filled twice: a full batch, then a padded one.

From the release: ``build_decode_registry``, its slots and ``fill_from``. Stood in for: everything else of SGLang, none
of which is called. What differs from a server: the buffers lie on the CPU, no graph reads them, and the batches are
plain objects whose values tell where they came from.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from prtoggle.scenario import Case

PACKAGE = "sglang"
NEEDS = ("torch", "msgspec")
REAL = (
    "sglang.srt.environ",
    "sglang.srt.model_executor.cuda_graph_buffer_registry",
    "sglang.srt.model_executor.input_buffers",
)
ABSENT: tuple[str, ...] = ()

SENTINEL = 1
TOKENS_EACH = 2
"""Tokens of one request, as when drafts are verified."""
PADDED = 4
"""Requests in the captured graph."""
LIVE = 2
"""Requests of the second batch."""


def batch(requests: int, first: int) -> SimpleNamespace:
    """A forward batch whose values tell where they came from: all are at least ``first``. Tensors int64 on the CPU;
    ``tokens = requests * TOKENS_EACH`` long, ``mrope_positions`` (3, tokens), the last three ``requests`` long."""
    import torch

    tokens = requests * TOKENS_EACH
    count = torch.arange(first, first + tokens)
    return SimpleNamespace(
        input_ids=count,
        positions=count + 100,
        out_cache_loc=count + 200,
        mrope_positions=torch.stack([count + 300, count + 400, count + 500]),
        req_pool_indices=torch.arange(first, first + requests),
        seq_lens=torch.arange(first, first + requests) + 600,
        seq_lens_cpu=torch.arange(first, first + requests) + 600,
    )


def fill(registry: Any, requests: int, first: int) -> None:
    """Fill the registry's buffers with a batch of ``requests``, padded to the captured size."""
    registry.fill_from(
        batch(requests, first),
        raw_bs=requests,
        padded_bs=PADDED,
        raw_num_tokens=requests * TOKENS_EACH,
        padded_num_tokens=PADDED * TOKENS_EACH,
    )


def observe() -> dict[str, Any]:
    """For each slot its policy and dtype, and its buffer after the full batch and after the padded one; ``error`` and
    ``message`` where the registry refuses to be built or filled."""
    import torch
    from sglang.srt.model_executor import cuda_graph_buffer_registry as module

    try:
        registry = module.build_decode_registry(
            device=torch.device("cpu"),
            max_bs=PADDED,
            max_num_token=PADDED * TOKENS_EACH,
            seq_len_fill_value=SENTINEL,
            cache_loc_dtype=torch.int64,
            share_pool=False,
        )
        names = [name for name in registry.slot_names() if hasattr(batch(1, 0), name)]
        slots = {name: registry.get_slot(name) for name in names}
        fill(registry, PADDED, 10)
        full = {name: slot.buffer.tolist() for name, slot in slots.items()}
        fill(registry, LIVE, 50)
        padded = {name: slot.buffer.tolist() for name, slot in slots.items()}
    except Exception as problem:
        return {"error": type(problem).__name__, "message": str(problem)}
    return {
        "slots": {
            name: {
                "policy": slot.padding_policy.name,
                "dtype": str(slot.buffer.dtype).removeprefix("torch."),
                "full": full[name],
                "padded": padded[name],
            }
            for name, slot in slots.items()
        }
    }


def _rows(slot: dict[str, Any], when: str) -> list[list[int]]:
    return slot[when] if isinstance(slot[when][0], list) else [slot[when]]


def _tail_is(seen: dict[str, Any], name: str, *, stale: bool) -> bool:
    """Whether slot ``name`` holds the new batch's values, and in its padded tail the full batch's, or else zeros."""
    slot = seen.get("slots", {}).get(name)
    if slot is None:
        return False
    live, last, added = LIVE * TOKENS_EACH, _rows(slot, "full"), [100] if name == "positions" else [300, 400, 500]
    wanted = [
        [*range(50 + more, 50 + more + live), *(row[live:] if stale else [0] * len(row[live:]))]
        for more, row in zip(added, last, strict=True)
    ]
    return _rows(slot, "padded") == wanted and all(0 not in row for row in last)


def _tails(seen: dict[str, Any], positions: bool, mrope: bool) -> bool:
    """Whether just these tails are stale, and the slots beside them are as they always were."""
    return (
        _tail_is(seen, "positions", stale=positions)
        and _tail_is(seen, "mrope_positions", stale=mrope)
        and seen["slots"]["input_ids"]["padded"][4:] == seen["slots"]["input_ids"]["full"][4:]
        and seen["slots"]["out_cache_loc"]["padded"][4:] == [0] * 4
    )


CASES = (
    Case(
        "none",
        "the padded tails of positions and mrope_positions are zero",
        lambda seen: _tails(seen, positions=False, mrope=False),
    ),
    Case(
        "24401",
        "the padded tails of positions and mrope_positions hold the last batch's values",
        lambda seen: _tails(seen, positions=True, mrope=True),
    ),
    Case(
        "24401/positions",
        "the padded tail of positions holds the last batch's values, that of mrope_positions is zero",
        lambda seen: _tails(seen, positions=True, mrope=False),
    ),
    Case(
        "24401/mrope-positions",
        "the padded tail of mrope_positions holds the last batch's values, that of positions is zero",
        lambda seen: _tails(seen, positions=False, mrope=True),
    ),
)
