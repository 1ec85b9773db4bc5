"""The real draft backends of SGLang on a CPU: what fixes 27338 and 27460 observe there.

Runs, of the release: the backend's ``init_cuda_graph_state`` and ``common_template``, the helpers for the buffer's
sizes, the size check, and the kernel that lists the KV slots, whose own text is interpreted. Stood in for: the model,
the attention of each step (which is not called), from 0.5.22 on the translator of KV slots (which passes them through,
as over a static pool), and everything else that is imported. Differs: ``device="cuda"`` is the CPU, and the buffer that
the release asks for stands in an arena, with draft tokens behind it.

Example::

    observe(ORDINARY, beside=MLA)["row_width"]
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from prtoggle.scenario import CannotRun
from prtoggle_fixes import standins
from prtoggle_fixes.bits import attempt
from prtoggle_fixes.pr27338_eagle_draft_kv_indices.interpreted import Interpreted
from prtoggle_fixes.pr27338_eagle_draft_kv_indices.overrun import (
    BS,
    CONTEXT_LEN,
    LONG,
    PAGE_SIZE,
    POOL_LEN,
    SHORT,
    STEPS,
    TOPK,
    VOCAB,
    make_batch,
    slots_of_step,
)

BACKENDS = "sglang.srt.layers.attention"
ORDINARY = ("flashinfer_backend", "FlashInferMultiStepDraftBackend")
MLA = ("flashinfer_mla_backend", "FlashInferMLAMultiStepDraftBackend")
REAL = (
    f"{BACKENDS}.flashinfer_backend",
    f"{BACKENDS}.flashinfer_mla_backend",
    "sglang.srt.environ",
    "sglang.srt.speculative.spec_utils",
    "sglang.srt.layers.attention.base_attn_backend",
    # The size check and the kernel, to 0.5.15.post1 and from 0.5.16 on.
    "sglang.srt.layers.attention.utils",
    "sglang.srt.speculative.triton_ops.cache_locs",
    "sglang.kernels.ops.attention.utils",
    "sglang.kernels.ops.attention.kv_indices",  # from 0.5.23 on: how many programs list one row
    "sglang.kernels.ops.speculative.cache_locs",
    "sglang.kernels.registry",
    "sglang.kernels.spec",
)
ABSENT = ("triton", "sgl_kernel", "flashinfer", "huggingface_hub")
ARENA = 1 << 14
"""int32 in the arena: more than the widest buffer and what is written past a narrow one."""
TOKENS = 24


class Arena(TorchFunctionMode):
    """Where the release asks for zeros: on the CPU, at the start of one storage, whatever device it names."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = torch.zeros(ARENA, dtype=torch.int32)
        self.asked: list[tuple[int, ...]] = []
        self.used = 0

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is not torch.zeros:
            return func(*args, **(kwargs or {}))
        (shape,) = args
        self.asked.append(tuple(shape))
        start, self.used = self.used, self.used + torch.Size(shape).numel()
        return self.memory[start : self.used].view(shape)


def _next_power_of_2(n: int) -> int:
    return 1 << (n - 1).bit_length() if n > 0 else 1


def _jit(kernel: Callable[..., Any] | None = None, **options: Any) -> Any:
    """``triton.jit``, with options or without: the kernel stays as it is written, to be interpreted."""
    return kernel if kernel is not None else _jit


class Untranslated:
    """The release's translator of KV slots over a static pool, from 0.5.22 on: ``req_to_token`` holds what is read."""

    def __init__(self, req_to_token: torch.Tensor) -> None:
        self.req_to_token = req_to_token

    def read_source(self, plan: None, *, req_pool_indices: torch.Tensor, bs: int) -> SimpleNamespace:
        return SimpleNamespace(
            ids=self.req_to_token,
            row_ids=req_pool_indices,
            row_stride=self.req_to_token.stride(0),
            entry_page_size=1,
            is_translated=False,
            v2p=None,
        )


def _backend(module: str, name: str, slots: torch.Tensor) -> Any:
    """The release's backend without its constructor, which builds the attention of every step."""
    standins.provide("triton", jit=_jit)
    standins.provide("triton.language", constexpr=int)  # as the interpreter's is
    for utilities in ("sglang.srt.utils", "sglang.srt.utils.common"):
        standins.provide(utilities, is_flashinfer_available=lambda: False, next_power_of_2=_next_power_of_2)
    real = importlib.import_module(f"{BACKENDS}.{module}")
    backend = object.__new__(getattr(real, name))
    pool = SimpleNamespace(req_to_token=slots)
    step = SimpleNamespace(init_cuda_graph_state=lambda *sizes, kv_indices_buf: None)
    backend.__dict__.update(
        topk=TOPK,
        speculative_num_steps=STEPS,
        page_size=PAGE_SIZE,
        max_context_len=CONTEXT_LEN,
        pool_len=POOL_LEN,
        req_to_token_pool=pool,
        kv_indptr=torch.zeros((STEPS, BS * TOPK + 1), dtype=torch.int32),
        attn_backends=[step] * (STEPS - 1),
        generate_draft_decode_kv_indices=Interpreted(real.generate_draft_decode_kv_indices),
        draft_window_size=0,  # from 0.5.21 on: the draft sees whole sequences
        draft_sink_size=0,
        kv_index_translator=Untranslated(slots),
    )
    return backend


def observe(which: tuple[str, str], beside: tuple[str, str]) -> dict[str, Any]:
    """Allocate the captured graphs' buffer and fill it for a batch of short and one of long sequences.

    Args:
        which: module and class of the backend.
        beside: those of the other one, of whose buffer only the width is looked at: it has a fix of its own.
    """
    slots = torch.arange(BS * POOL_LEN, dtype=torch.int32).view(BS, POOL_LEN) + 1000
    backend, other = _backend(*which, slots), _backend(*beside, slots)
    rows: list[list[int]] = slots.tolist()
    arena = Arena()

    def fill(seq_lens: tuple[int, ...]) -> list[bool]:
        given = make_batch(seq_lens, "cpu")
        batch = SimpleNamespace(
            batch_size=given.batch_size,
            req_pool_indices=given.req_pool_indices,
            seq_lens=given.seq_lens,
            seq_lens_sum=given.seq_lens_sum,
            seq_lens_cpu=given.seq_lens,
            kv_loc_plan=None,  # nothing is translated
            positions=given.positions,
            req_to_token_pool=backend.req_to_token_pool,
            spec_info=SimpleNamespace(is_draft_input=lambda: True),
        )
        backend.common_template(batch, backend.cuda_graph_kv_indices, lambda i, forward_batch: None)
        right = []
        for step in range(STEPS - 1):
            wanted = slots_of_step(rows, seq_lens, step)
            start = step * backend.cuda_graph_kv_indices.shape[1]
            right.append(arena.memory[start : start + len(wanted)].tolist() == wanted)
        return right

    try:
        with Arena():
            other.init_cuda_graph_state(BS, BS * TOPK)
        with arena:
            backend.init_cuda_graph_state(BS, BS * TOPK)
        if arena.asked != [tuple(backend.cuda_graph_kv_indices.shape)]:
            raise CannotRun(f"init_cuda_graph_state allocates {arena.asked}, not one buffer of kv_indices")
        behind = arena.memory[arena.used : arena.used + 2 * TOKENS].view(torch.int64)
        behind.copy_(torch.arange(TOKENS))
        short_right = fill(SHORT)
    except AttributeError as missing:
        raise CannotRun(f"the backend or the kernel wants what the stand-ins do not have: {missing}") from missing
    long = attempt(lambda device: {"right": fill(LONG)}, "cpu")
    return {
        "row_width": backend.cuda_graph_kv_indices.shape[1],
        "row_width_of_the_other_backend": other.cuda_graph_kv_indices.shape[1],
        "needed": len(slots_of_step(rows, LONG, STEPS - 1)),
        "short_batch_right": all(short_right),
        "error": long["error"],
        "steps_right": long.get("right"),
        "draft_tokens_outside_the_vocabulary": int(((behind < 0) | (behind >= VOCAB)).sum()),
    }


def _other_wide(seen: dict[str, Any]) -> bool:
    return bool(seen["row_width_of_the_other_backend"] == BS * TOPK * CONTEXT_LEN)


def all_right(seen: dict[str, Any]) -> bool:
    """Fixed."""
    return bool(
        _other_wide(seen)
        and seen["needed"] <= seen["row_width"] == BS * TOPK * CONTEXT_LEN
        and seen["short_batch_right"]
        and seen["error"] == ""
        and seen["steps_right"] == [True] * (STEPS - 1)
        and seen["draft_tokens_outside_the_vocabulary"] == 0
    )


def refused(seen: dict[str, Any]) -> bool:
    """Too narrow, and SGLang's size check says so with both sizes."""
    return bool(
        _other_wide(seen)
        and seen["needed"] > seen["row_width"] == BS * CONTEXT_LEN
        and seen["short_batch_right"]
        and seen["error"].startswith("AssertionError")
        and all(str(size) in seen["error"] for size in (seen["needed"], seen["row_width"]))
        and seen["draft_tokens_outside_the_vocabulary"] == 0
    )


def overrun(seen: dict[str, Any]) -> bool:
    """Too narrow, and nobody looks: the real kernel writes into the next rows and over the draft tokens."""
    return bool(
        _other_wide(seen)
        and seen["needed"] > seen["row_width"] == BS * CONTEXT_LEN
        and seen["short_batch_right"]
        and seen["error"] == ""
        and seen["steps_right"] == [False] * (STEPS - 1)
        and seen["draft_tokens_outside_the_vocabulary"] > 0
    )
