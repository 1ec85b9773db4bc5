"""KV slots reserved ahead for EAGLE's draft tree, and the rows that name them: the component that fix 26972 changes.

Purpose: what SGLang's ``mem_cache.allocation_sizing`` and ``eagle_prepare_for_decode`` do, with their names, shapes and
dtypes, beside a pool and an allocator small enough to read. Contract: a row of ``req_to_token`` holds whatever decode
reserves for a sequence up to the context length; what does not fit is refused before a slot is allocated.

Example::

    args = ServerArgs(page_size=4, speculative_num_steps=3, speculative_eagle_topk=4)
    get_alloc_reserve_per_decode(args)              # 64 slots: 2 * (4 branches of 2 pages)
    get_req_to_token_extra_context_len(args)        # 67: that, and 3 for rounding up to a page
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch


@dataclass(frozen=True)
class ServerArgs:
    """How the server was started: ``max_speculative_num_draft_tokens`` is what one verify step may take, in tokens."""

    page_size: int = 1
    speculative_algorithm: str | None = "EAGLE"
    speculative_num_steps: int | None = None
    speculative_eagle_topk: int | None = None
    max_speculative_num_draft_tokens: int | None = None


def get_alloc_len_per_decode(server_args: ServerArgs) -> int:
    """KV slots that one request may need in one decode step.

    With pages of several slots, each branch starts on a page of its own, filled like the sequence's last page: at worst
    all but one slot, so a branch takes ``ceil((page_size - 1 + num_steps) / page_size)`` pages.
    """
    if server_args.speculative_algorithm is None:
        return 1
    spec_steps = server_args.speculative_num_steps or 1
    spec_topk = server_args.speculative_eagle_topk or 1
    spec_tokens = server_args.max_speculative_num_draft_tokens or 0
    page_size = server_args.page_size
    if page_size == 1 or spec_topk == 1:
        return max(spec_steps * spec_topk, spec_tokens)
    else:
        num_new_pages_per_topk = -(-(page_size - 1 + spec_steps) // page_size)
        return max(num_new_pages_per_topk * page_size * spec_topk, spec_tokens)


def get_alloc_reserve_per_decode(server_args: ServerArgs) -> int:
    """KV slots reserved beyond a request's committed ones: twice a step's, since the next step is prepared ahead."""
    return 2 * get_alloc_len_per_decode(server_args)


def get_req_to_token_extra_context_len(server_args: ServerArgs) -> int:
    """Columns of a row beyond the context length: for the reserve, rounded up to a page."""
    extra = 4 + (server_args.max_speculative_num_draft_tokens or 0)
    page_size = server_args.page_size
    if server_args.speculative_algorithm is not None and page_size > 1:
        extra = max(extra, get_alloc_reserve_per_decode(server_args) + page_size - 1)
    return extra


class ReqToTokenPool:
    """The KV slot of each token of each request: int32 ``[size, max_context_len]``, rows one behind another."""

    def __init__(self, size: int, max_context_len: int, device: torch.device) -> None:
        self.req_to_token = torch.zeros((size, max_context_len), dtype=torch.int32, device=device)

    def write(self, row: int, start: int, slots: torch.Tensor) -> None:
        """Write ``slots``, int32 ``[n]``, from a row's column on, by address like a kernel, *whatever the row's width*.

        Raises:
            IndexError: a write outside of the pool; a device would do it, or fault.
        """
        memory = self.req_to_token.view(-1)
        place = row * self.req_to_token.stride(0) + start
        if place + slots.numel() > memory.numel():
            raise IndexError(f"req_to_token: entry {place + slots.numel()} of {memory.numel()}")
        memory[place : place + slots.numel()] = slots


class PagedAllocator:
    """KV slots, handed out in whole pages. Slot 0's page is nobody's: padding writes there."""

    def __init__(self, pages: int, page_size: int, device: torch.device) -> None:
        self.page_size = page_size
        self.device = device
        self.free_pages = list(range(1, pages + 1))

    def alloc(self, slots: int) -> torch.Tensor:
        """``slots`` slots of new pages, int32; ``slots`` counts whole pages.

        Raises:
            MemoryError: not as many pages are free.
        """
        pages = slots // self.page_size
        if pages > len(self.free_pages):
            raise MemoryError(f"{pages} pages are asked for and {len(self.free_pages)} are free")
        taken, self.free_pages = self.free_pages[:pages], self.free_pages[pages:]
        starts = torch.tensor(taken, dtype=torch.int32, device=self.device) * self.page_size
        return (starts[:, None] + torch.arange(self.page_size, dtype=torch.int32, device=self.device)).flatten()

    def free(self, slots: torch.Tensor) -> None:
        """Give back the pages of ``slots``; a page that has come back already stays."""
        pages = set((slots // self.page_size).tolist()) - {0}
        self.free_pages = sorted(pages.union(self.free_pages))


@dataclass
class Req:
    """A request: its row, its tokens with KV, and the columns of its row that name slots (whole pages)."""

    req_pool_idx: int
    kv_committed_len: int
    kv_allocated_len: int = 0


@dataclass
class ScheduleBatch:
    """The requests of one decode step, and where their slots are kept."""

    reqs: list[Req]
    req_to_token_pool: ReqToTokenPool
    token_to_kv_pool_allocator: PagedAllocator
    server_args: ServerArgs = field(default_factory=ServerArgs)


def alloc_for_spec_decode(batch: ScheduleBatch, cur_kv_lens: list[int], nxt_kv_lens: list[int]) -> None:
    """Allocate each request's slots from its current length on to the next, and write their numbers into its row."""
    for req, cur, nxt in zip(batch.reqs, cur_kv_lens, nxt_kv_lens, strict=True):
        batch.req_to_token_pool.write(req.req_pool_idx, cur, batch.token_to_kv_pool_allocator.alloc(nxt - cur))
        req.kv_allocated_len = nxt


def eagle_prepare_for_decode(batch: ScheduleBatch) -> None:
    """Reserve KV slots for the next decode step of every request, whole pages.

    Raises:
        AssertionError: the reserve outgrows a row; names both widths and ``page_size``.
    """
    server_args = batch.server_args
    page_size = batch.token_to_kv_pool_allocator.page_size
    double_alloc = get_alloc_reserve_per_decode(server_args)
    cur_kv_lens = [req.kv_allocated_len for req in batch.reqs]
    nxt_kv_lens_cpu = [
        max(req.kv_allocated_len, -(-(req.kv_committed_len + double_alloc) // page_size) * page_size)
        for req in batch.reqs
    ]
    if page_size > 1 and (server_args.speculative_eagle_topk or 1) > 1:
        max_alloc_len = max(nxt_kv_lens_cpu, default=0)
        row_width = batch.req_to_token_pool.req_to_token.shape[1]
        assert max_alloc_len <= row_width, (
            f"the draft's reserve ends at column {max_alloc_len} of a row of {row_width} (page_size={page_size})"
        )
    alloc_for_spec_decode(batch, cur_kv_lens, nxt_kv_lens_cpu)


def release_kv_cache(req: Req, batch: ScheduleBatch) -> None:
    """Free a finished request's slots: those that its row names. A slice ends where the row ends, and says nothing."""
    row = batch.req_to_token_pool.req_to_token[req.req_pool_idx]
    batch.token_to_kv_pool_allocator.free(row[: req.kv_allocated_len])
    req.kv_allocated_len = 0
