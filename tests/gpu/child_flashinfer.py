"""A verify step on a device: SGLang's own buffer registry and plan arguments, flashinfer's own plan and kernels.

Run with a release and ``tests/sglang`` in PYTHONPATH. From the release: ``build_decode_registry`` and
``NgramVerifyInput.generate_attn_arg_prefill``. From flashinfer: the rotary embedding, the plan and the attention, as
SGLang calls them for a target's verify step (CUDA graph wrapper, ``fa2``, a custom mask, pages of one token). What is
between the two is ours. Knows nothing of prtoggle.

``verify``: a full replay of 8 requests, then one of 5; what the plan was given, and what came out. ``rope``: the rotary
kernel alone on the padded batch, with a table of fewer rows than the first batch's positions. ``mask``: the plan alone,
for a mask of the 5 requests that are there. ``mask-edge``: a mask that ends where its memory does, and the kernel that
packs it.

Example::

    PYTHONPATH=.../releases/sglang/0.5.16:tests/sglang python tests/gpu/child_flashinfer.py verify
"""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace
from typing import Any

import child_registry

from prtoggle_fixes import standins

NGRAM = "sglang.srt.speculative.ngram_info"
REAL = (
    *child_registry.REAL,
    NGRAM,
    "sglang.srt.speculative.spec_info",
    "sglang.srt.speculative.spec_registry",
    "sglang.srt.layers.attention.utils",  # the index kernel, to 0.5.15.post1
    "sglang.srt.layers.attention.triton_ops.kv_indices",
    "sglang.kernels.ops.attention.utils",  # and from 0.5.16 on
    "sglang.kernels.ops.kvcache.kv_indices",
    "sglang.kernels.registry",
    "sglang.kernels.spec",
)
ABSENT = ("sgl_kernel", "triton")
PADDED, LIVE, DRAFTS = 8, 5, 8
HEADS, KV_HEADS, DIM = 2, 1, 64
CONTEXT, POOL = 2048, 32768
FULL_LENGTHS = (1500, 1400, 1300, 1200, 1100, 1000, 900, 800)
SHORT_LENGTHS = (40, 50, 60, 70, 80)


class Verify:
    """Buffers, plan and graph for ``PADDED`` requests of ``DRAFTS`` tokens each."""

    def __init__(self, rotary_rows: int) -> None:
        import torch
        from sglang.srt.model_executor import cuda_graph_buffer_registry
        from sglang.srt.speculative.ngram_info import NgramVerifyInput

        self.torch = torch
        self.device = torch.device("cuda")
        self.arguments = NgramVerifyInput.generate_attn_arg_prefill
        self.registry = cuda_graph_buffer_registry.build_decode_registry(
            device=self.device,
            max_bs=PADDED,
            max_num_token=PADDED * DRAFTS,
            seq_len_fill_value=1,
            cache_loc_dtype=torch.int64,
            share_pool=False,
        )
        torch.manual_seed(0)
        self.req_to_token = torch.arange((PADDED + 1) * CONTEXT, dtype=torch.int32, device=self.device)
        self.req_to_token = self.req_to_token.view(PADDED + 1, CONTEXT) % (POOL - 1) + 1
        self.cache = torch.randn(POOL, 2, 1, KV_HEADS, DIM, device=self.device).half()
        angles = torch.arange(rotary_rows, device=self.device)[:, None] * torch.logspace(0, -4, DIM // 2, device="cuda")
        self.cos_sin = torch.cat([angles.cos(), angles.sin()], dim=-1).float()
        self.queries = torch.randn(PADDED * DRAFTS, HEADS * DIM, device=self.device).half()
        self.keys = torch.randn(PADDED * DRAFTS, KV_HEADS * DIM, device=self.device).half()
        self.given: dict[str, Any] = {}

    def buffer(self, name: str) -> Any:
        return self.registry.get_slot(name).buffer

    def fill(self, lengths: tuple[int, ...]) -> None:
        torch = self.torch
        bs = len(lengths)
        seq_lens = torch.tensor(lengths, dtype=torch.int64)
        positions = (seq_lens[:, None] + torch.arange(DRAFTS)).flatten().to(self.device)
        rows = torch.arange(1, bs + 1, device=self.device)
        batch = SimpleNamespace(
            input_ids=torch.ones(bs * DRAFTS, dtype=torch.int64, device=self.device),
            positions=positions,
            out_cache_loc=self.req_to_token[rows.repeat_interleave(DRAFTS), positions].long(),
            mrope_positions=None,
            req_pool_indices=rows,
            seq_lens=seq_lens.to(self.device),
            seq_lens_cpu=seq_lens,
        )
        self.registry.fill_from(
            batch, raw_bs=bs, padded_bs=PADDED, raw_num_tokens=bs * DRAFTS, padded_num_tokens=PADDED * DRAFTS
        )

    def plan_arguments(self, lengths: tuple[int, ...]) -> tuple[Any, ...]:
        """SGLang's own, for the padded batch; the mask is that of the requests which are there."""
        torch = self.torch
        mask = torch.ones(sum((n + DRAFTS) * DRAFTS for n in lengths), dtype=torch.bool, device=self.device)
        spec = SimpleNamespace(draft_token_num=DRAFTS, device=self.device, custom_mask=mask)
        total = sum(lengths) + (PADDED - len(lengths))  # a padded request claims a sequence of one token
        found: tuple[Any, ...] = self.arguments(
            spec, self.buffer("req_pool_indices"), self.buffer("seq_lens"), total, self.req_to_token
        )
        return found

    def wrapper(self) -> Any:
        torch = self.torch
        import flashinfer

        def ints(*shape: int) -> Any:
            return torch.zeros(shape, dtype=torch.int32, device=self.device)

        return flashinfer.BatchPrefillWithPagedKVCacheWrapper(
            torch.zeros(128 << 20, dtype=torch.uint8, device=self.device),
            "NHD",
            use_cuda_graph=True,
            backend="fa2",
            qo_indptr_buf=ints(PADDED + 1),
            paged_kv_indptr_buf=ints(PADDED + 1),
            paged_kv_indices_buf=ints(PADDED * CONTEXT),
            paged_kv_last_page_len_buf=ints(PADDED),
            custom_mask_buf=torch.zeros(PADDED * CONTEXT * DRAFTS, dtype=torch.uint8, device=self.device),
            mask_indptr_buf=ints(PADDED + 1),
        )

    def plan(self, wrapper: Any, lengths: tuple[int, ...]) -> None:
        kv_indices, kv_indptr, qo_indptr, mask = self.plan_arguments(lengths)
        self.given = {
            "qo_indptr": qo_indptr.tolist(),
            "kv_indptr": kv_indptr.tolist(),
            "kv_indices_sum": int(kv_indices[: int(kv_indptr[-1])].sum()),
            "mask_numel": mask.numel(),
            "mask_numel_wanted": int(((kv_indptr[1:] - kv_indptr[:-1]) * (qo_indptr[1:] - qo_indptr[:-1])).sum()),
        }
        last = self.torch.ones(PADDED, dtype=self.torch.int32, device=self.device)
        wrapper.plan(
            qo_indptr, kv_indptr, kv_indices, last, HEADS, KV_HEADS, DIM, 1, custom_mask=mask, q_data_type="float16"
        )

    def rotate(self) -> tuple[Any, Any]:
        import flashinfer

        queries, keys = self.queries.clone(), self.keys.clone()
        flashinfer.apply_rope_with_cos_sin_cache_inplace(
            self.buffer("positions"), queries, keys, DIM, self.cos_sin, is_neox=True
        )
        return queries, keys

    def forward(self, wrapper: Any) -> tuple[Any, Any]:
        """What the graph holds: rotate by position, write the keys, attend."""
        queries, keys = self.rotate()
        self.cache[self.buffer("out_cache_loc"), 0, 0] = keys.view(-1, KV_HEADS, DIM)
        return keys, wrapper.run(queries.view(-1, HEADS, DIM), self.cache)


def digest(tensor: Any) -> str:
    import hashlib

    return hashlib.sha256(tensor.cpu().numpy().tobytes()).hexdigest()[:16]


def verify() -> dict[str, Any]:
    import flashinfer

    step = Verify(rotary_rows=4096)
    torch, wrapper = step.torch, step.wrapper()
    step.fill(FULL_LENGTHS)
    step.plan(wrapper, FULL_LENGTHS)
    step.forward(wrapper)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        keys, out = step.forward(wrapper)
    graph.replay()
    step.fill(SHORT_LENGTHS)
    live = LIVE * DRAFTS
    tail = step.buffer("positions")[live:].tolist()
    step.plan(wrapper, SHORT_LENGTHS)
    torch.cuda.synchronize()
    graph.replay()
    torch.cuda.synchronize()
    return {
        "flashinfer": flashinfer.__version__,
        "positions_tail": tail,
        "plan_given": step.given,
        "real_rows": digest(out[:live]),
        "real_rows_finite": bool(out[:live].isfinite().all()),
        "padded_rows_rotated": not torch.equal(keys[live:], step.keys[live:]),  # position 0 rotates by nothing
        "error": "",
    }


def rope() -> dict[str, Any]:
    """Fill as two batches did, then rotate the second by a table that has room for its positions, not the first's."""
    step = Verify(rotary_rows=256)
    step.fill(FULL_LENGTHS)
    step.fill(SHORT_LENGTHS)
    step.torch.cuda.synchronize()
    queries, _ = step.rotate()
    step.torch.cuda.synchronize()
    return {"rows": 256, "furthest": int(step.buffer("positions").max()), "finite": bool(queries.isfinite().all())}


def mask() -> dict[str, Any]:
    step = Verify(rotary_rows=16)
    wrapper = step.wrapper()
    step.fill(SHORT_LENGTHS)
    try:
        step.plan(wrapper, SHORT_LENGTHS)
        step.torch.cuda.synchronize()
    except RuntimeError as error:
        return {"plan_given": step.given, "error": type(error).__name__, "message": str(error).splitlines()[0]}
    return {"plan_given": step.given, "error": ""}


def mask_edge() -> dict[str, Any]:
    """A mask that fills an allocator's segment to its last byte, allocated last, and a plan that asks for more."""
    import torch
    from flashinfer.quantization import segment_packbits

    size, beyond = 20 << 20, 60 * (1 + 64) * 64  # what 60 padded requests of 64 drafts each would add
    packed = torch.empty(8 << 20, dtype=torch.uint8, device="cuda")
    indptr = torch.tensor([0, size, size + beyond], dtype=torch.int32, device="cuda")
    segment_packbits(torch.ones(64, dtype=torch.bool, device="cuda"), torch.tensor([0, 64], device="cuda"))
    del packed  # its segment takes the result, so that the mask's is the last
    torch.cuda.synchronize()
    held = torch.ones(size, dtype=torch.bool, device="cuda")
    torch.cuda.synchronize()
    segment_packbits(held, indptr, bitorder="little")
    torch.cuda.synchronize()
    return {"mask_numel": size, "asked_for": size + beyond, "error": ""}


if __name__ == "__main__":
    standins.provide("sglang.jit_kernel.utils", is_arch_support_pdl=lambda: False)
    standins.install(real=REAL, absent=ABSENT)
    bits = {"verify": verify, "rope": rope, "mask": mask, "mask-edge": mask_edge}
    try:
        seen = bits[sys.argv[1]]()
    except RuntimeError as error:
        lines = [line for line in str(error).strip().splitlines() if line]
        seen = {"error": type(error).__name__, "message": lines[0] if lines else ""}
    print(json.dumps(seen), flush=True)
    os._exit(0)  # a lost CUDA context may abort an ordinary exit
