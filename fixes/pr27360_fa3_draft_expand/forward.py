"""Draft decode metadata for topk > 1 under CUDA graphs: the component that fix 27360 changes.

Purpose: what SGLang's ``layers.attention.flashattention_backend`` does for the draft steps of EAGLE, small enough to
read, with its names, shapes and dtypes. Contract: before a replay, the expand page table of every step lists, for
each branch, the pages of its live draft slots in order, each page once; nothing outside that table is written; a
batch may be empty.

Compiled, and by what: :func:`draft_decode_set_expand_metadata` is a ``torch.compile(dynamic=True)`` function on every
device. On CUDA the compiler behind it is inductor. On the CPU it is ``aot_eager`` (traced and functionalized by
torch.compile, run without generated code), which needs no C++ compiler and takes seconds less;
``PRTOGGLE_FIXES_BACKEND=inductor`` chooses otherwise. Nothing is compiled at import.

Example::

    backend = FlashAttentionMultiStepBackend(runner, topk=8, speculative_num_steps=5)
    backend.init_cuda_graph_state(max_bs=4)
    backend.init_forward_metadata_out_graph(bs=4, req_pool_indices=rows, seq_lens=lengths, out_cache_loc=slots)
    backend.attn_backends[0].draft_decode_metadata_topk_expand[4].page_table      # int32 [32, 2]
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class ModelRunner:
    """What the backend asks of the model runner.

    Attributes:
        device: CPU or CUDA.
        page_size: cache slots in a page, at least 1.
        context_len: longest sequence, in tokens.
        req_to_token: int32 ``[requests, context_len]``, the cache slot of each token.
    """

    device: torch.device
    page_size: int
    context_len: int
    req_to_token: torch.Tensor


@dataclass(frozen=True)
class FlashAttentionMetadata:
    """One attention call's metadata for ``rows`` query groups: views of buffers that captured graphs read.

    Attributes:
        cache_seqlens_int32: int32 ``[rows]``, cache slots that each row attends to, counted from its first page's
            start.
        max_seq_len_q: queries a row.
        cu_seqlens_q: int32 ``[rows + 1]``, running sum of the queries.
        page_table: int32 ``[rows, columns]``, page numbers; columns past a row's last page keep older values.
        max_row_pages: int32 ``[1]``, the most columns that any row filled; 0 for an empty batch, and for page_size 1.
    """

    cache_seqlens_int32: torch.Tensor
    max_seq_len_q: int
    cu_seqlens_q: torch.Tensor
    page_table: torch.Tensor
    max_row_pages: torch.Tensor


SetExpandMetadata = Callable[..., torch.Tensor]
"""A function with the signature and contract of :func:`draft_decode_set_expand_metadata`."""


def assert_buffer_fits(used: int, capacity: int, what: str, **context: object) -> None:
    """Refuse a write that is wider than the buffer it goes to. Host integers only: it costs no wait for the device.

    Raises:
        AssertionError: ``used > capacity``, under ``python -O`` too; the message gives both and ``context``.
    """
    if used > capacity:
        details = ", ".join(f"{name}={value}" for name, value in context.items())
        raise AssertionError(f"{what}: {used} columns do not fit into {capacity} ({details})")


def consecutive_pages(cache_loc: torch.Tensor, page_size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The page of each slot, and the column that it gets when runs of one page share a column.

    Args:
        cache_loc: integers ``[rows, width]``, ``width`` at least 1.

    Returns:
        pages, int32 ``[rows, width]``, and columns, int64 ``[rows, width]``, which start with 0 and grow by 1 at each
        change.
    """
    pages = (cache_loc // page_size).to(torch.int32)
    # Compared with a rolled copy and not with a slice of width - 1: torch.compile would compile once more for width 2.
    changes = pages != pages.roll(1, dims=1)
    changes[:, 0] = True
    return pages, changes.cumsum(dim=1) - 1


def _compile_for_device(graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
    """The compiler behind torch.compile here: inductor on CUDA, aot_eager on the CPU, or what the variable says."""
    cuda = any(isinstance(value, torch.Tensor) and value.is_cuda for value in inputs)
    name = os.environ.get("PRTOGGLE_FIXES_BACKEND") or ("inductor" if cuda else "aot_eager")
    return torch._dynamo.lookup_backend(name)(graph, inputs)


@torch.compile(dynamic=True, backend=_compile_for_device)
def draft_decode_set_expand_metadata(
    cache_seqlens_int32: torch.Tensor,
    page_table: torch.Tensor,
    last_page_lens: torch.Tensor,
    decode_length: int,
    cache_loc: torch.Tensor,
    topk: int,
    page_size: int,
) -> torch.Tensor:
    """Fill the expand metadata of one draft step: each row's pages, without repeats of neighbours, from column 0 on.

    Args:
        cache_seqlens_int32: int32 ``[bs * topk]``, written: ``decode_length`` plus the last page's length.
        page_table: int32 ``[at least bs * topk, columns]``, written as far as a row has pages.
        last_page_lens: int64 ``[bs]``, tokens in each request's last, partly filled page.
        decode_length: live draft tokens a branch.
        cache_loc: int64 or int32 ``[bs * topk, width]``, cache slots; a row may hold at most ``columns`` runs of one
            page.
        topk: branches a request.
        page_size: slots in a page, more than 1.

    Returns:
        int64 scalar, the most pages in any row; 0 for an empty batch.

    Raises:
        RuntimeError: a row has more pages than columns (CPU). On CUDA that is a device-side assertion, reported later.
    """
    cache_seqlens_int32.copy_(decode_length + last_page_lens.repeat_interleave(topk))
    pages, positions = consecutive_pages(cache_loc, page_size)
    num_seqs = cache_loc.shape[0]
    page_table[:num_seqs].scatter_(1, positions, pages)
    # A maximum over nothing raises, so an empty batch gets one row of -1: its most pages are 0.
    counted = F.pad(positions, (0, 0, 0, 1), value=-1) if num_seqs == 0 else positions
    return counted.max() + 1


class FlashAttentionBackend:
    """The attention backend of one draft step, as far as its metadata goes.

    Args:
        model_runner: see :class:`ModelRunner`.
        speculative_step_id: the step, from 0.
        topk: branches a request, more than 1.
        speculative_num_steps: draft steps, and so columns of the slots that arrive.
        set_expand_metadata: fills the expand metadata where pages hold several slots; for other scatter kernels.

    Raises:
        ValueError: topk is less than 2, the page size less than 1, or the step outside the steps.
    """

    def __init__(
        self,
        model_runner: ModelRunner,
        speculative_step_id: int,
        topk: int,
        speculative_num_steps: int,
        set_expand_metadata: SetExpandMetadata | None = None,
    ) -> None:
        if topk < 2 or model_runner.page_size < 1 or not 0 <= speculative_step_id < speculative_num_steps:
            raise ValueError(
                "need topk > 1, page_size > 0 and 0 <= step < steps; "
                f"got {topk=}, page_size={model_runner.page_size}, {speculative_step_id=}, {speculative_num_steps=}"
            )
        self.device = model_runner.device
        self.page_size = model_runner.page_size
        self.max_context_len = model_runner.context_len
        self.req_to_token = model_runner.req_to_token
        self.speculative_step_id = speculative_step_id
        self.topk = topk
        self.speculative_num_steps = speculative_num_steps
        self.set_expand_metadata = set_expand_metadata or draft_decode_set_expand_metadata
        self.draft_decode_metadata_topk_normal: dict[int, FlashAttentionMetadata] = {}
        self.draft_decode_metadata_topk_expand: dict[int, FlashAttentionMetadata] = {}
        self._whole: tuple[FlashAttentionMetadata, FlashAttentionMetadata] | None = None

    def init_cuda_graph_state(self, max_bs: int, expand_page_table: torch.Tensor | None = None) -> None:
        """Allocate both halves' buffers for batches of up to ``max_bs`` requests; every size is a view of them.

        The expand page table, int32 ``[max_bs * topk, decode_length + 1]`` with ``decode_length = step + 1``, has a
        column more than the step has draft tokens, for the page that was partly filled before.

        Args:
            max_bs: requests in the largest batch.
            expand_page_table: an expand page table to use; None allocates one.

        Raises:
            ValueError: ``expand_page_table`` has another shape or dtype.
        """
        self.draft_decode_metadata_topk_normal.clear()
        self.draft_decode_metadata_topk_expand.clear()
        decode_length = self.speculative_step_id + 1
        prefix_pages = -(-self.max_context_len // self.page_size)
        expand = self._allocate(max_bs * self.topk, decode_length, 1, decode_length + 1)
        if expand_page_table is not None:
            if expand_page_table.shape != expand.page_table.shape or expand_page_table.dtype != torch.int32:
                raise ValueError(f"expand_page_table must be int32 {tuple(expand.page_table.shape)}")
            expand = replace(expand, page_table=expand_page_table)
        self._whole = (self._allocate(max_bs, 0, self.topk, prefix_pages), expand)

    def _allocate(self, rows: int, seq_len: int, queries: int, columns: int) -> FlashAttentionMetadata:
        def buffer(*shape: int, value: int = 0) -> torch.Tensor:
            return torch.full(shape, value, dtype=torch.int32, device=self.device)

        return FlashAttentionMetadata(
            cache_seqlens_int32=buffer(rows, value=seq_len),
            max_seq_len_q=queries,
            cu_seqlens_q=buffer(rows + 1, value=queries).cumsum(0, dtype=torch.int32) - queries,
            page_table=buffer(rows, columns),
            max_row_pages=buffer(1),
        )

    def _bind_metadata_buffers(self, bs: int) -> tuple[FlashAttentionMetadata, FlashAttentionMetadata]:
        """Both halves' metadata for a batch of ``bs``: views, made at the first use of this size and then kept."""
        if self._whole is None:
            raise RuntimeError("call init_cuda_graph_state() first")
        normal, expand = self._whole
        if not 0 <= bs <= normal.page_table.shape[0]:
            raise ValueError(f"a batch of {bs} requests; buffers are for up to {normal.page_table.shape[0]}")
        for kept, whole, rows in (
            (self.draft_decode_metadata_topk_normal, normal, bs),
            (self.draft_decode_metadata_topk_expand, expand, bs * self.topk),
        ):
            kept.setdefault(
                bs,
                FlashAttentionMetadata(
                    cache_seqlens_int32=whole.cache_seqlens_int32[:rows],
                    max_seq_len_q=whole.max_seq_len_q,
                    cu_seqlens_q=whole.cu_seqlens_q[: rows + 1],
                    page_table=whole.page_table[:rows],
                    max_row_pages=whole.max_row_pages,
                ),
            )
        return self.draft_decode_metadata_topk_normal[bs], self.draft_decode_metadata_topk_expand[bs]

    def _apply_cuda_graph_metadata(
        self, bs: int, req_pool_indices: torch.Tensor, seq_lens: torch.Tensor, out_cache_loc: torch.Tensor
    ) -> None:
        """Write the metadata of a batch of ``bs`` requests into the buffers, before a capture and before each replay.

        Args:
            bs: requests, padding included; may be 0.
            req_pool_indices: int64 ``[at least bs]``, rows of ``req_to_token``.
            seq_lens: int64 ``[at least bs]``, tokens in the cache.
            out_cache_loc: int64 or int32 ``[bs * topk * speculative_num_steps]``, cache slots: branch after branch,
                each with its steps in order.

        Raises:
            AssertionError: the slots are wider than the expand page table.
            ValueError: ``bs`` does not fit the buffers.
            RuntimeError: no buffers yet, or see :func:`draft_decode_set_expand_metadata`.
        """
        metadata, metadata_expand = self._bind_metadata_buffers(bs)
        req_pool_indices, seq_lens = req_pool_indices[:bs], seq_lens[:bs]

        # First half, the prefix: full pages only. What the last page holds is attended to in the second half.
        last_page_lens = seq_lens % self.page_size
        metadata.cache_seqlens_int32.copy_(seq_lens - last_page_lens)
        first_slots = self.req_to_token[req_pool_indices, :: self.page_size]
        metadata.page_table.copy_(first_slots // self.page_size)

        # Second half, the draft tokens: one row a branch.
        decode_length = self.speculative_step_id + 1
        cache_loc = out_cache_loc.view(-1, self.speculative_num_steps)
        if self.page_size > 1:
            cache_loc = cache_loc[:, :decode_length]
            assert_buffer_fits(
                cache_loc.shape[1],
                metadata_expand.page_table.shape[1],
                "draft expand page table",
                page_size=self.page_size,
                topk=self.topk,
                speculative_num_steps=self.speculative_num_steps,
            )
            max_row_pages = self.set_expand_metadata(
                cache_seqlens_int32=metadata_expand.cache_seqlens_int32,
                page_table=metadata_expand.page_table,
                last_page_lens=last_page_lens,
                decode_length=decode_length,
                cache_loc=cache_loc,
                topk=self.topk,
                page_size=self.page_size,
            )
            metadata_expand.max_row_pages.copy_(max_row_pages)
        else:
            metadata_expand.page_table[:, :decode_length].copy_(cache_loc[:, :decode_length])


class FlashAttentionMultiStepBackend:
    """A backend for each draft step that runs attention: all but the last of ``speculative_num_steps``.

    Args: as :class:`FlashAttentionBackend`.
    """

    def __init__(
        self,
        model_runner: ModelRunner,
        topk: int,
        speculative_num_steps: int,
        set_expand_metadata: SetExpandMetadata | None = None,
    ) -> None:
        self.topk = topk
        self.speculative_num_steps = speculative_num_steps
        self.attn_backends = tuple(
            FlashAttentionBackend(model_runner, step, topk, speculative_num_steps, set_expand_metadata)
            for step in range(speculative_num_steps - 1)
        )

    def init_cuda_graph_state(self, max_bs: int) -> None:
        """Allocate every step's buffers."""
        for backend in self.attn_backends:
            backend.init_cuda_graph_state(max_bs)

    def init_forward_metadata_out_graph(
        self, bs: int, req_pool_indices: torch.Tensor, seq_lens: torch.Tensor, out_cache_loc: torch.Tensor
    ) -> None:
        """Write every step's metadata, outside the graph. Arguments and errors: ``_apply_cuda_graph_metadata``."""
        for backend in self.attn_backends:
            backend._apply_cuda_graph_metadata(bs, req_pool_indices, seq_lens, out_cache_loc)
