"""Fill the real CUDA graph buffer registry of an SGLang release twice, and print what its buffers hold.

Run with a release in PYTHONPATH. Prints one line of JSON: for each slot its policy and dtype, and its contents after a
full batch and after a smaller one that is padded to the same size. Knows nothing of prtoggle.

Example::

    PYTHONPATH=.../releases/sglang/0.5.16 python child_registry.py
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from prtoggle_fixes import standins

REAL = (
    "sglang.srt.environ",
    "sglang.srt.model_executor.cuda_graph_buffer_registry",
    "sglang.srt.model_executor.input_buffers",
)
SENTINEL = 1
TOKENS_EACH = 2  # tokens of one request, as when drafts are verified
PADDED = 4  # requests in the captured graph


def batch(requests: int, first: int) -> SimpleNamespace:
    """A forward batch whose values tell where they came from: all are at least ``first``."""
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
    registry.fill_from(
        batch(requests, first),
        raw_bs=requests,
        padded_bs=PADDED,
        raw_num_tokens=requests * TOKENS_EACH,
        padded_num_tokens=PADDED * TOKENS_EACH,
    )


def observe() -> dict[str, Any]:
    import torch
    from sglang.srt.model_executor import cuda_graph_buffer_registry as module

    seen: dict[str, Any] = {"file": module.__file__}
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
        fill(registry, PADDED - 2, 50)
        padded = {name: slot.buffer.tolist() for name, slot in slots.items()}
    except Exception as problem:
        return {**seen, "error": type(problem).__name__, "message": str(problem)}
    return {
        **seen,
        "slots": {
            name: {
                "policy": slot.padding_policy.name,
                "dtype": str(slot.buffer.dtype).removeprefix("torch."),
                "full": full[name],
                "padded": padded[name],
            }
            for name, slot in slots.items()
        },
    }


if __name__ == "__main__":
    standins.install(real=REAL, absent=())
    print(json.dumps(observe()))
