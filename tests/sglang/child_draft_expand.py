"""Build the real fa3 draft-decode expand metadata of an SGLang release, and print the page tables.

Run with a release in PYTHONPATH. Prints one line of JSON: for each case its inputs, the page table and the sequence
lengths that came out or the error that was raised, and which attributes of the backend were read. With ``--compile``
the metadata function is compiled, as in production; without, run with TORCHDYNAMO_DISABLE=1. Knows nothing of prtoggle.

Example::

    PYTHONPATH=.../releases/sglang/0.5.16 TORCHDYNAMO_DISABLE=1 python child_draft_expand.py
"""

from __future__ import annotations

import inspect
import json
import sys
from types import SimpleNamespace
from typing import Any

from prtoggle_fixes import standins

BACKEND = "sglang.srt.layers.attention.flashattention_backend"
REAL = (
    BACKEND,
    "sglang.srt.environ",
    "sglang.srt.layers.attention.base_attn_backend",
    "sglang.srt.layers.attention.utils",  # assert_buffer_fits, to 0.5.15.post1
    "sglang.kernels.ops.attention.utils",  # and from 0.5.16 on
    "sglang.kernels.registry",
    "sglang.kernels.spec",
)
ABSENT = ("sgl_kernel", "triton")
UNTOUCHED = -7  # what the page table holds before
REQUESTS, TOPK, STEPS = 2, 3, 5
LENGTHS = (9, 14)
STRIDE = 64  # slots of one request in req_to_token


def prepare(compiled: bool, real: tuple[str, ...] = REAL) -> None:
    """Put the stand-ins in place; torch must have looked for Triton before."""
    if compiled:
        import torch._inductor.compile_fx  # noqa: F401
    for module in ("sglang.srt.utils", "sglang.srt.utils.common"):
        standins.provide(module, get_compiler_backend=lambda mode=None: "inductor")
    standins.install(real=real, absent=ABSENT)


def draft_slots(page_size: int, pages_each: int) -> list[list[int]]:
    """A KV slot for each branch and step; each branch walks over ``pages_each`` pages of its own."""
    rows = []
    for branch in range(REQUESTS * TOPK):
        first = 100 + branch * STEPS
        rows.append([(first + step * pages_each // STEPS) * page_size for step in range(STEPS)])
    return rows


def run_case(page_size: int, step: int, pages_each: int) -> dict[str, Any]:
    import torch
    from sglang.srt.layers.attention.flashattention_backend import FlashAttentionBackend, FlashAttentionMetadata

    read: set[str] = set()

    class Watched(FlashAttentionBackend):
        def __getattribute__(self, name: str) -> Any:
            read.add(name)
            return super().__getattribute__(name)

    branches, width = REQUESTS * TOPK, step + 2
    max_pages = STRIDE // page_size
    expand = FlashAttentionMetadata()
    expand.cache_seqlens_int32 = torch.full((branches,), UNTOUCHED, dtype=torch.int32)
    expand.page_table = torch.full((branches, width), UNTOUCHED, dtype=torch.int32)
    normal = FlashAttentionMetadata()
    normal.cache_seqlens_int32 = torch.full((REQUESTS,), UNTOUCHED, dtype=torch.int32)
    normal.page_table = torch.full((REQUESTS, max_pages), UNTOUCHED, dtype=torch.int32)
    backend = object.__new__(Watched)
    backend.__dict__.update(
        topk=TOPK,
        page_size=page_size,
        speculative_step_id=step,
        speculative_num_steps=STEPS,
        max_context_len=STRIDE,
        use_sliding_window_kv_pool=False,
        req_to_token=torch.arange(REQUESTS * STRIDE, dtype=torch.int32).view(REQUESTS, STRIDE),
        decode_cuda_graph_metadata={"strided_indices": torch.arange(0, STRIDE, page_size)},
        draft_decode_metadata_topk_normal={REQUESTS: normal},
        draft_decode_metadata_topk_expand={REQUESTS: expand},
    )
    slots = draft_slots(page_size, pages_each)
    lengths = torch.tensor(LENGTHS)
    known = {
        "plan": None,  # of topk 1 alone
        "bs": REQUESTS,
        "req_pool_indices": torch.arange(REQUESTS),
        "seq_lens": lengths,
        "seq_lens_sum": int(lengths.sum()),
        "encoder_lens": None,
        "forward_mode": SimpleNamespace(is_decode_or_idle=lambda: True),
        "spec_info": SimpleNamespace(),
        "seq_lens_cpu": lengths,
        "out_cache_loc": torch.tensor(slots).flatten(),
    }
    method = backend._apply_cuda_graph_metadata
    wanted = inspect.signature(method).parameters
    read.clear()
    case: dict[str, Any] = {"page_size": page_size, "step": step, "pages_each": pages_each, "slots": slots}
    try:
        method(**{name: known[name] for name in wanted})
    except Exception as problem:
        case.update(error=type(problem).__name__, message=str(problem))
    case.update(
        page_table=expand.page_table.tolist(),
        cache_seqlens=expand.cache_seqlens_int32.tolist(),
        prefix_seqlens=normal.cache_seqlens_int32.tolist(),
        bound=backend.__dict__.get("forward_metadata_spec_decode_expand") is expand,
        read=sorted(name for name in read if name in backend.__dict__ and not name.startswith("__")),
    )
    return case


def observe() -> dict[str, Any]:
    from sglang.srt.layers.attention import flashattention_backend as module

    standins.hide(ABSENT)
    cases = [run_case(page_size, step, STEPS) for page_size in (1, 2) for step in range(STEPS - 1)]
    cases.append(run_case(2, 1, 3))  # as many pages as the row has columns: too wide, and no index out of range
    return {"file": module.__file__, "cases": cases}


if __name__ == "__main__":
    prepare("--compile" in sys.argv)
    print(json.dumps(observe()))
