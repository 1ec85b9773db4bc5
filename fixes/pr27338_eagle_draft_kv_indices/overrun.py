"""Two draft batches, one of short and one of long sequences: what do captured graphs read, and what stands behind it?

Purpose: the scenario of fixes 27338 and 27460, for either backend. The pool of the captured graphs holds the backend's
``kv_indices`` and, behind it, the list of draft tokens that the target model verifies. Contract: :func:`look` returns
plain JSON values; on CUDA the pool is read by a replayed CUDA graph, and the look-up of the draft tokens in the
embedding, which may end in a device-side assertion, is a bit of its own (:func:`verify`) for a child process.

Example::

    look(FlashInferMultiStepDraftBackend, "cpu")["steps_right"]     # [True, True] when fixed
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch

from prtoggle_fixes.bits import attempt
from prtoggle_fixes.pr27338_eagle_draft_kv_indices.spec_utils import ForwardBatch, GraphMemoryPool, ModelRunner

BS, TOPK, STEPS, CONTEXT_LEN, PAGE_SIZE = 2, 4, 3, 64, 1
POOL_LEN = CONTEXT_LEN + TOPK * STEPS
VOCAB = 100
SHORT, LONG = (5, 7), (50, 61)
"""Sequence lengths. Those of SHORT fit into a row without the factor topk, those of LONG do not."""


class Backend(Protocol):
    """What both draft backends are."""

    cuda_graph_kv_indices: torch.Tensor | None

    def init_cuda_graph_state(self, max_bs: int, max_num_tokens: int) -> None: ...
    def init_forward_metadata_out_graph(self, forward_batch: ForwardBatch) -> None: ...


MakeBackend = Callable[[ModelRunner, int, int], Backend]


def make_batch(seq_lens: tuple[int, ...], device: str) -> ForwardBatch:
    """A draft batch: request ``i`` has row ``i`` of the pool."""
    lengths = torch.tensor(seq_lens, dtype=torch.int64, device=device)
    rows = torch.arange(len(seq_lens), dtype=torch.int64, device=device)
    return ForwardBatch(len(seq_lens), rows, lengths, sum(seq_lens), lengths.repeat_interleave(TOPK))


def slots_of_step(req_to_token: list[list[int]], seq_lens: tuple[int, ...], step: int) -> list[int]:
    """What the attention of one step must read, by plain Python, for pages of one slot."""
    wanted = []
    for row, seq_len in zip(req_to_token, seq_lens, strict=False):
        for branch in range(TOPK):
            first = seq_len + branch * STEPS
            wanted += row[:seq_len] + row[first : first + step + 1]
    return wanted


def pool_reader(memory: torch.Tensor) -> Callable[[], torch.Tensor]:
    """A function that reads the pool as a captured graph does: by a replay on CUDA, directly on the CPU."""
    if not memory.is_cuda:
        return memory.clone
    copy = memory.clone()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        copy.copy_(memory)

    def read() -> torch.Tensor:
        graph.replay()
        return copy.cpu()

    return read


class Draft:
    """A backend for captured graphs, with the draft tokens behind its buffer in the graphs' pool."""

    def __init__(self, make: MakeBackend, device: str) -> None:
        where = torch.device(device)
        slots = torch.arange(BS * POOL_LEN, dtype=torch.int32, device=where).view(BS, POOL_LEN) + 1000
        self.req_to_token: list[list[int]] = slots.tolist()
        self.pool = GraphMemoryPool(1 << 15, where)
        self.backend = make(ModelRunner(where, PAGE_SIZE, CONTEXT_LEN, BS, slots, self.pool), TOPK, STEPS)
        self.backend.init_cuda_graph_state(BS, BS * TOPK)
        self.tokens = self.pool.zeros((BS * TOPK * STEPS,), torch.int64)
        self.tokens.copy_(torch.arange(self.tokens.numel()))
        self.read = pool_reader(self.pool.memory)

    @property
    def row_width(self) -> int:
        assert self.backend.cuda_graph_kv_indices is not None
        return self.backend.cuda_graph_kv_indices.shape[1]

    def steps_right(self, seq_lens: tuple[int, ...]) -> list[bool]:
        """For each step, whether its attention reads the slots that it should, from its row's address on."""
        memory = self.read().view(torch.int32)
        right = []
        for step in range(STEPS - 1):
            wanted = slots_of_step(self.req_to_token, seq_lens, step)
            start = step * self.row_width
            right.append(memory[start : start + len(wanted)].tolist() == wanted)
        return right


def verify(make: MakeBackend, device: str) -> dict[str, Any]:
    """The bit that may fail: after the long batch, look the draft tokens up as the target model's embedding does."""
    draft = Draft(make, device)
    draft.backend.init_forward_metadata_out_graph(make_batch(LONG, device))
    torch.nn.functional.embedding(draft.tokens, torch.zeros(VOCAB, 2, device=device))
    return {}


def look(make: MakeBackend, device: str) -> dict[str, Any]:
    """Fill the buffer for both batches; what the replays then read, and whether the draft tokens are still tokens."""
    draft = Draft(make, device)
    draft.backend.init_forward_metadata_out_graph(make_batch(SHORT, device))
    short_right = draft.steps_right(SHORT)

    def fill_long(device: str) -> dict[str, Any]:
        draft.backend.init_forward_metadata_out_graph(make_batch(LONG, device))
        return {}

    error = attempt(fill_long, device)["error"]
    outside = ((draft.tokens < 0) | (draft.tokens >= VOCAB)).sum()
    return {
        "read_by": "replayed CUDA graph" if draft.pool.memory.is_cuda else "plain copy",
        "row_width": draft.row_width,
        "needed": len(slots_of_step(draft.req_to_token, LONG, STEPS - 1)),
        "short_batch_right": all(short_right),
        "error": error,
        "steps_right": draft.steps_right(LONG),
        "draft_tokens_outside_the_vocabulary": int(outside),
    }


def all_right(seen: dict[str, Any]) -> bool:
    """Fixed: the row is wide enough, every step reads what it should, and the tokens are tokens."""
    return bool(
        seen["needed"] <= seen["row_width"] == BS * TOPK * CONTEXT_LEN
        and seen["short_batch_right"]
        and seen["error"] == seen["verify"] == ""
        and all(seen["steps_right"])
        and seen["draft_tokens_outside_the_vocabulary"] == 0
    )


def refused(seen: dict[str, Any]) -> bool:
    """Too narrow, and the size check says so before anything is written; short sequences still work."""
    sizes = (str(seen["needed"]), str(seen["row_width"]))
    return bool(
        seen["needed"] > seen["row_width"] == BS * CONTEXT_LEN
        and seen["short_batch_right"]
        and all(
            error.startswith("AssertionError") and all(size in error for size in sizes)
            for error in (seen["error"], seen["verify"])
        )
        and seen["draft_tokens_outside_the_vocabulary"] == 0
    )


def overrun(seen: dict[str, Any]) -> bool:
    """Too narrow, and nobody looks: steps read each other's slots, and draft tokens become slots."""
    return bool(
        seen["needed"] > seen["row_width"] == BS * CONTEXT_LEN
        and seen["short_batch_right"]
        and seen["error"] == ""
        and not any(seen["steps_right"])
        and seen["draft_tokens_outside_the_vocabulary"] > 0
        and seen["verify"] != ""
        and not seen["verify"].startswith("AssertionError")
    )
