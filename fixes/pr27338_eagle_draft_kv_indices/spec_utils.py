"""What the two flashinfer draft backends share: buffer sizes, the size check, the kernel that lists KV slots, the pool.

Purpose: SGLang's helpers of the same names, small enough to read, in one module as they are there: a fix taken out of
one backend must not touch the other, so nothing here is what a reverse patch edits. Contract:
:func:`generate_draft_decode_kv_indices` writes by address, like the Triton kernel that it stands for, and looks at
no row's width; but it never leaves the memory that the buffer's storage owns.

Example::

    draft_kv_indices_buffer_width(8, 4, 2048)     # 65536 int32 a row
    draft_kv_indices_used_len(300, 4, 8, 3)       # 1224 of them used after three steps
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import torch

ALIGNMENT = 512
"""Bytes to which torch's CUDA allocator rounds a block."""


class GraphMemoryPool:
    """The memory that captured graphs read: buffers that stand one behind another in one allocation of zeros.

    Args:
        nbytes: size of the whole, rounded up to :data:`ALIGNMENT`.
        device: where it is.
    """

    def __init__(self, nbytes: int, device: torch.device) -> None:
        self.memory = torch.zeros(-(-nbytes // ALIGNMENT) * ALIGNMENT, dtype=torch.uint8, device=device)
        self.used = 0

    def zeros(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """The next ``shape`` of ``dtype``, at an aligned address.

        Raises:
            MemoryError: the pool is full.
        """
        nbytes = prod(shape) * dtype.itemsize
        start, end = self.used, self.used + nbytes
        if end > self.memory.numel():
            raise MemoryError(f"the pool holds {self.memory.numel()} bytes, and {end} are asked for")
        self.used = -(-end // ALIGNMENT) * ALIGNMENT
        return self.memory[start:end].view(dtype).view(shape)


@dataclass
class EagleDraftInput:
    """Where one step's attention finds its KV slots: int32 ``kv_indptr`` ``[branches + 1]``, int32 ``kv_indices``."""

    kv_indptr: torch.Tensor | None = None
    kv_indices: torch.Tensor | None = None


@dataclass
class ForwardBatch:
    """One draft batch.

    Attributes:
        batch_size: number of requests.
        req_pool_indices: int64 ``[batch_size]``, rows of ``req_to_token``.
        seq_lens: int64 ``[batch_size]``, tokens already in the cache.
        seq_lens_sum: their sum.
        positions: int64 ``[batch_size * topk]``, each branch's sequence length.
        spec_info: filled for one step after another.
    """

    batch_size: int
    req_pool_indices: torch.Tensor
    seq_lens: torch.Tensor
    seq_lens_sum: int
    positions: torch.Tensor
    spec_info: EagleDraftInput = field(default_factory=EagleDraftInput)


@dataclass(frozen=True)
class ModelRunner:
    """What a backend needs to know of the model.

    Attributes:
        device: of all tensors.
        page_size: KV slots of one page.
        max_context_len: tokens of the longest sequence, drafts included.
        max_num_reqs: requests that may run at once.
        req_to_token: int32 ``[rows, pool_len]``, the KV slot of each token of each request, and behind those the slots
            that its branches write their drafts to.
        graph_pool: where buffers for captured graphs come from.
    """

    device: torch.device
    page_size: int
    max_context_len: int
    max_num_reqs: int
    req_to_token: torch.Tensor
    graph_pool: GraphMemoryPool


class StepBackend:
    """Attention of one draft step: keeps its row of the buffer, and where in it each branch's slots stand."""

    def __init__(self, model_runner: ModelRunner) -> None:
        self.max_context_len = model_runner.max_context_len
        self.cuda_graph_kv_indices: torch.Tensor | None = None
        self.kv_indptr: torch.Tensor | None = None
        self.kv_indices: torch.Tensor | None = None

    def init_cuda_graph_state(self, max_bs: int, max_num_tokens: int, kv_indices_buf: torch.Tensor) -> None:
        """Take ``kv_indices_buf``, int32 ``[row width]``: the address that the captured attention reads from."""
        self.cuda_graph_kv_indices = kv_indices_buf

    def init_forward_metadata(self, forward_batch: ForwardBatch) -> None:
        """Keep the step's pointers and indices; a captured graph reads at the row's address, by the pointers alone."""
        self.kv_indptr = forward_batch.spec_info.kv_indptr
        self.kv_indices = forward_batch.spec_info.kv_indices


def draft_kv_indices_buffer_width(num_seqs: int, topk: int, max_context_len: int) -> int:
    """Columns of a row that holds ``topk`` branches of ``num_seqs`` requests, each up to ``max_context_len`` long.

    Raises:
        AssertionError: offsets into such a row do not fit into 31 bits.
    """
    width = num_seqs * topk * max_context_len
    assert width < 2**31, f"kv_indices: {width} columns cannot be counted with an int32"
    return width


def draft_kv_indices_used_len(seq_lens_sum: int, topk: int, bs: int, num_steps: int) -> int:
    """Columns in use after ``num_steps`` steps: ``bs`` = requests times topk branches, one more slot each a step."""
    return seq_lens_sum * topk + bs * num_steps


def assert_buffer_fits(used: int, capacity: int, what: str, **context: object) -> None:
    """Refuse to use more columns than there are. Sizes are known on the host, so nothing waits for a device.

    Raises:
        AssertionError: ``used > capacity``; names ``what``, both sizes and ``context``.
    """
    named = ", ".join(f"{name}={value}" for name, value in context.items())
    assert used <= capacity, f"{what}: {used} columns are needed and {capacity} are there ({named})"


def generate_draft_decode_kv_indices(
    req_pool_indices: torch.Tensor,
    req_to_token: torch.Tensor,
    paged_kernel_lens: torch.Tensor,
    kv_indices: torch.Tensor,
    kv_indptr: torch.Tensor,
    positions: torch.Tensor,
    topk: int,
    num_steps: int,
    page_size: int,
) -> None:
    """List every step's KV slots, packed: requests in order, each with its branches in order, no gaps.

    A branch's slots are its request's ``seq_len`` first ones, then ``step + 1`` of the branch's own: behind the
    sequence, ``num_steps`` a branch, or whole pages a branch with ``page_size > 1`` and ``topk > 1``, from the column
    where the last page of the sequence is filled to.

    Args:
        req_pool_indices: int64 ``[requests]``.
        req_to_token: int32 ``[rows, pool_len]``.
        paged_kernel_lens: int64 ``[requests]``, sequence lengths.
        kv_indices: int32 ``[num_steps, width]``; written from each row's start on, *whatever its width*.
        kv_indptr: int32 ``[num_steps, at least branches + 1]``; entry 0 of a row stays as it is.
        positions: int64 ``[branches]``.
        topk, num_steps, page_size: as the names say.

    Raises:
        IndexError: a write outside of the storage of ``kv_indices``; a device would do it, or fault.
    """
    memory = torch.empty(0, dtype=torch.int32, device=kv_indices.device).set_(kv_indices.untyped_storage())
    seq_lens: list[int] = paged_kernel_lens.tolist()
    ends = torch.nn.functional.pad(positions.cumsum(0), (1, 0))
    for step in range(num_steps):
        place = int(kv_indices.storage_offset()) + step * kv_indices.stride(0)
        for request, seq_len in zip(req_pool_indices.tolist(), seq_lens, strict=True):
            slots = req_to_token[request]
            pages = (seq_len % page_size + num_steps + page_size - 1) // page_size
            for branch in range(topk):
                if page_size == 1 or topk == 1:
                    first = seq_len + branch * num_steps
                else:
                    first = seq_len + branch * pages * page_size
                row = torch.cat((slots[:seq_len], slots[first : first + step + 1]))
                if place + row.numel() > memory.numel():
                    raise IndexError(f"kv_indices: slot {place + row.numel()} of a storage of {memory.numel()}")
                memory[place : place + row.numel()] = row
                place += row.numel()
        branches = len(seq_lens) * topk
        counted = ends + (step + 1) * torch.arange(branches + 1, device=ends.device)
        kv_indptr[step, 1 : branches + 1] = counted[1:]
