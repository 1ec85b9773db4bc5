"""The MLA draft backend of flashinfer: one buffer of KV slots for all steps of an EAGLE draft, for captured graphs.

Purpose: what SGLang's ``FlashInferMLAMultiStepDraftBackend`` does with ``kv_indices``, with its names, shapes and
dtypes. Contract: every branch of every request of the largest captured batch fits into a row, however long the
sequences are; a batch that does not fit is refused before anything is written.

Example::

    backend = FlashInferMLAMultiStepDraftBackend(runner, topk=4, speculative_num_steps=3)
    backend.init_cuda_graph_state(max_bs=8, max_num_tokens=32)
    backend.init_forward_metadata_out_graph(batch)      # before each replay
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from prtoggle_fixes.pr27338_eagle_draft_kv_indices.spec_utils import (
    ForwardBatch,
    ModelRunner,
    StepBackend,
    assert_buffer_fits,
    draft_kv_indices_buffer_width,
    draft_kv_indices_used_len,
    generate_draft_decode_kv_indices,
)


class FlashInferMLAMultiStepDraftBackend:
    """Attention of ``speculative_num_steps - 1`` draft steps, each with ``topk`` branches a request.

    Raises:
        ValueError: no step needs attention, or no branch.
    """

    def __init__(self, model_runner: ModelRunner, topk: int, speculative_num_steps: int) -> None:
        if topk < 1 or speculative_num_steps < 2:
            raise ValueError(f"need topk > 0 and two steps or more, got {topk} and {speculative_num_steps}")
        self.topk = topk
        self.speculative_num_steps = speculative_num_steps
        self.generate_draft_decode_kv_indices = generate_draft_decode_kv_indices
        self.page_size = model_runner.page_size
        self.device = model_runner.device
        self.graph_pool = model_runner.graph_pool
        self.req_to_token = model_runner.req_to_token
        self.kv_indptr = torch.zeros(
            (speculative_num_steps, model_runner.max_num_reqs * topk + 1), dtype=torch.int32, device=self.device
        )
        self.attn_backends = [StepBackend(model_runner) for _ in range(speculative_num_steps - 1)]
        self.max_context_len = self.attn_backends[0].max_context_len
        self.cuda_graph_kv_indices: torch.Tensor | None = None

    def init_cuda_graph_state(self, max_bs: int, max_num_tokens: int) -> None:
        """Allocate ``cuda_graph_kv_indices``, int32 ``[speculative_num_steps, width]``, and deal out its rows."""
        kv_indices_width = draft_kv_indices_buffer_width(max_bs, self.topk, self.max_context_len)
        self.cuda_graph_kv_indices = self.graph_pool.zeros((self.speculative_num_steps, kv_indices_width), torch.int32)
        for i, backend in enumerate(self.attn_backends):
            backend.init_cuda_graph_state(max_bs, max_num_tokens, kv_indices_buf=self.cuda_graph_kv_indices[i])

    def common_template(
        self,
        forward_batch: ForwardBatch,
        kv_indices_buffer: torch.Tensor,
        call_fn: Callable[[int, ForwardBatch], None],
    ) -> None:
        """List every step's KV slots in ``kv_indices_buffer``, int32 ``[steps, width]``; ``call_fn`` plans each step.

        Raises:
            AssertionError: the slots of the last step outgrow a row.
        """
        num_seqs = forward_batch.batch_size
        bs = self.topk * num_seqs
        seq_lens_sum = forward_batch.seq_lens_sum
        required_kv_indices_len = draft_kv_indices_used_len(seq_lens_sum, self.topk, bs, self.speculative_num_steps)
        assert_buffer_fits(
            required_kv_indices_len,
            kv_indices_buffer.shape[1],
            "a row of the draft's kv_indices",
            bs=bs,
            seq_lens_sum=seq_lens_sum,
        )
        self.generate_draft_decode_kv_indices(
            forward_batch.req_pool_indices,
            self.req_to_token,
            forward_batch.seq_lens,
            kv_indices_buffer,
            self.kv_indptr,
            forward_batch.positions,
            self.topk,
            self.speculative_num_steps,
            self.page_size,
        )
        for i in range(self.speculative_num_steps - 1):
            used = draft_kv_indices_used_len(seq_lens_sum, self.topk, bs, i + 1)
            forward_batch.spec_info.kv_indptr = self.kv_indptr[i, : bs + 1]
            forward_batch.spec_info.kv_indices = kv_indices_buffer[i][:used]
            call_fn(i, forward_batch)

    def init_forward_metadata(self, forward_batch: ForwardBatch) -> None:
        """Without a graph: into a buffer made for this batch."""
        width = draft_kv_indices_buffer_width(forward_batch.batch_size, self.topk, self.max_context_len)
        kv_indices = torch.empty((self.speculative_num_steps, width), dtype=torch.int32, device=self.device)
        self.common_template(forward_batch, kv_indices, lambda i, fb: self.attn_backends[i].init_forward_metadata(fb))

    def init_forward_metadata_out_graph(self, forward_batch: ForwardBatch) -> None:
        """Before a replay: into the buffer that the captured graphs read.

        Raises:
            RuntimeError: :meth:`init_cuda_graph_state` was not called.
        """
        if self.cuda_graph_kv_indices is None:
            raise RuntimeError("call init_cuda_graph_state first")
        self.common_template(
            forward_batch,
            self.cuda_graph_kv_indices,
            lambda i, fb: self.attn_backends[i].init_forward_metadata(fb),
        )
