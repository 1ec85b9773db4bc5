"""The real CUDA graph buffer registry of an SGLang release, on a device, read by a captured graph.

Run with a release and ``tests/sglang`` in PYTHONPATH. The captured graphs, one for each padded size, look a rotary-like
table up by position, as a model's first layer does. Prints one line of JSON: for one full fill and each smaller one,
what the graph read in the padding; and over many random fills, how many left a stale tail. Knows nothing of prtoggle.

Example::

    PYTHONPATH=.../releases/sglang/0.5.16:tests/sglang python tests/gpu/child_real_registry.py cuda 1000
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import child_registry

from prtoggle_fixes import standins

REAL = (
    *child_registry.REAL,
    "sglang.kernels.ops.memory.small_copy",  # copies the heads on CUDA, in later releases
    "sglang.kernels.registry",
    "sglang.kernels.spec",
)
CAPTURED = (2, 4, 8)
TOKENS_EACH = child_registry.TOKENS_EACH
ROWS = 4096


def on(device: str, batch: Any) -> Any:
    for name, value in vars(batch).items():
        if name != "seq_lens_cpu":
            setattr(batch, name, value.to(device))
    return batch


def observe(device: str, count: int) -> dict[str, Any]:
    import torch
    from sglang.srt.model_executor import cuda_graph_buffer_registry as module

    most = CAPTURED[-1]
    registry = module.build_decode_registry(
        device=torch.device(device),
        max_bs=most,
        max_num_token=most * TOKENS_EACH,
        seq_len_fill_value=1,
        cache_loc_dtype=torch.int64,
        share_pool=False,
    )
    rotary = torch.arange(ROWS, dtype=torch.float32, device=device)[:, None].expand(-1, 4).contiguous()
    positions = registry.get_slot("positions").buffer
    mrope = registry.get_slot("mrope_positions").buffer
    graphs, outputs = {}, {}

    def model(tokens: int) -> Any:
        return torch.stack([rotary[positions[:tokens]], *(rotary[row[:tokens]] for row in mrope)])[..., 0]

    for bs in CAPTURED:
        tokens = bs * TOKENS_EACH
        outputs[bs] = model(tokens)
        if device == "cuda":
            torch.cuda.synchronize()
            graphs[bs] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graphs[bs]):
                outputs[bs] = model(tokens)

    def replay(bs: int, first: int) -> tuple[int, Any]:
        padded = next(size for size in CAPTURED if size >= bs)
        registry.fill_from(
            on(device, child_registry.batch(bs, first)),
            raw_bs=bs,
            padded_bs=padded,
            raw_num_tokens=bs * TOKENS_EACH,
            padded_num_tokens=padded * TOKENS_EACH,
        )
        if padded in graphs:
            graphs[padded].replay()
        else:
            outputs[padded] = model(padded * TOKENS_EACH)
        return padded, outputs[padded]

    sizes = []
    for bs in (1, 3, 5, 7):
        _, full = replay(most, 1000)
        full = full.clone()
        padded, out = replay(bs, 10)
        live, tokens = bs * TOKENS_EACH, padded * TOKENS_EACH
        tail, before = out[:, live:tokens], full[:, live:tokens]
        sizes.append(
            {
                "bs": bs,
                "replayed_as": padded,
                "positions": "stale" if torch.equal(tail[0], before[0]) else "zero" if not tail[0].any() else "other",
                "mrope_positions": "stale"
                if torch.equal(tail[1:], before[1:])
                else "zero"
                if not tail[1:].any()
                else "other",
                "read_in_the_padding": tail[0].tolist(),
            }
        )
    rng = random.Random(count)
    stale = torch.zeros(2, dtype=torch.int64, device=device)
    wrong = torch.zeros((), dtype=torch.int64, device=device)
    padded_fills = 0
    for _ in range(count):
        bs, first = rng.randint(1, most), rng.randint(1, 3000)
        padded, out = replay(bs, first)
        live = bs * TOKENS_EACH
        padded_fills += padded > bs
        stale[0] += (out[0, live:] != 0).any()
        stale[1] += (out[1:, live:] != 0).any()
        wrong += (out[0, :live] != torch.arange(first + 100, first + 100 + live, device=device)).any()
    return {
        "sizes": sizes,
        "graphs_captured": len(graphs),
        "replays": count,
        "padded_replays": padded_fills,
        "replays_with_stale_positions": int(stale[0]),
        "replays_with_stale_mrope_positions": int(stale[1]),
        "replays_with_wrong_real_rows": int(wrong),
    }


if __name__ == "__main__":
    standins.install(real=REAL, absent=("triton",))
    print(json.dumps(observe(sys.argv[1], int(sys.argv[2]))))
