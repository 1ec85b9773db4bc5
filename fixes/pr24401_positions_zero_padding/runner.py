"""A decode runner that replays padded batches on fix 24401's buffers, and the verify plan that reads the padding.

Purpose: shows what a padded tail does. Contract: nothing here is part of the fix; both states run the same text.

What :func:`plan_verify` models, and what it does not: the report of the change (issue 24361) says that a verify plan
computed its index pointers (``qo_indptr``) from the positions of padded tokens and read outside memory.
``plan_verify`` does what the report says. It is no copy of SGLang: in 0.5.13.post1 the n-gram path takes
``qo_indptr`` from a range times the number of draft tokens and does not read positions there. The stale tail itself
is real in that release.

Example::

    runner = DecodeCudaGraphRunner(device=torch.device("cpu"), capture_bs=(2, 4), num_tokens_per_bs=4)
    runner.capture()
    hidden = runner.replay(batch_of_3)      # runs as a batch of 4
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import torch

from prtoggle_fixes.pr24401_positions_zero_padding.forward import ForwardBatch, build_decode_registry


@dataclass(frozen=True)
class VerifyPlan:
    """What the verify attention needs to know of a padded batch.

    Attributes:
        qo_indptr: int32 ``[padded_bs + 1]``; the queries of request ``i`` are tokens ``qo_indptr[i]:qo_indptr[i + 1]``.
        last_loc: ``out_cache_loc``'s dtype, ``[padded_bs]``; the cache slot of the last query up to and with request
            ``i``.
    """

    qo_indptr: torch.Tensor
    last_loc: torch.Tensor


def verify_indptr(positions: torch.Tensor, seq_lens: torch.Tensor) -> torch.Tensor:
    """Index pointers from positions: a request has as many queries as its last position lies beyond its sequence.

    Args:
        positions: int64 ``[bs * tokens per request]``.
        seq_lens: int64 ``[bs]``, ``bs`` at least 1.

    Returns:
        int32 ``[bs + 1]``, starting with 0, never falling. A padded request (positions 0) has no queries where it
        claims a sequence of at least one token, and one where it claims none.
    """
    last = positions.view(seq_lens.shape[0], -1).amax(dim=1)
    queries = (last + 1 - seq_lens).clamp(min=0)
    return torch.nn.functional.pad(queries.cumsum(0), (1, 0)).to(torch.int32)


def plan_verify(positions: torch.Tensor, seq_lens: torch.Tensor, out_cache_loc: torch.Tensor) -> VerifyPlan:
    """Plan a verify step; reads the padded tail of ``positions`` (the module's docstring says what this models).

    Raises:
        IndexError: on the CPU, where a pointer lies outside ``out_cache_loc``. On CUDA that is a device-side
            assertion, which is reported at some later call and ends the process's use of the device.
    """
    qo_indptr = verify_indptr(positions, seq_lens)
    last_query = (qo_indptr[1:].long() - 1).clamp(min=0)
    return VerifyPlan(qo_indptr, out_cache_loc[last_query])


class DecodeCudaGraphRunner:
    """Captures one graph for each padded batch size and replays the next larger one for a batch.

    The model is an embedding plus a rotary-like table look-up by position (and three more by ``mrope_positions`` for
    a multimodal one), so that its output shows every position that it read. On CUDA the graphs are
    :class:`torch.cuda.CUDAGraph`; on the CPU a replay runs the same model on the same buffers.

    Args:
        device: CPU or CUDA.
        capture_bs: padded batch sizes, in requests.
        num_tokens_per_bs: draft tokens that are verified for each request.
        vocab_size, max_position: rows of the embedding and of the position table.
        hidden_size: columns of both, float32.
        is_multimodal: whether the model reads ``mrope_positions``.
        cache_loc_dtype: int64 or int32.

    Raises:
        ValueError: no batch size to capture.
    """

    SEQ_LEN_FILL_VALUE = 1

    def __init__(
        self,
        *,
        device: torch.device,
        capture_bs: tuple[int, ...] = (1, 2, 4, 8),
        num_tokens_per_bs: int = 4,
        vocab_size: int = 128,
        max_position: int = 4096,
        hidden_size: int = 8,
        is_multimodal: bool = False,
        cache_loc_dtype: torch.dtype = torch.int64,
    ) -> None:
        if not capture_bs or min(capture_bs) < 1:
            raise ValueError(f"capture_bs must hold sizes of at least 1, got {capture_bs}")
        self.device = device
        self.capture_bs = tuple(sorted(set(capture_bs)))
        self.num_tokens_per_bs = num_tokens_per_bs
        self.is_multimodal = is_multimodal
        self.registry = build_decode_registry(
            device=device,
            max_bs=self.capture_bs[-1],
            max_num_token=self.capture_bs[-1] * num_tokens_per_bs,
            seq_len_fill_value=self.SEQ_LEN_FILL_VALUE,
            cache_loc_dtype=cache_loc_dtype,
        )
        rows = torch.arange(max(vocab_size, max_position), dtype=torch.float32, device=device)
        self.embedding = rows[:vocab_size, None].expand(-1, hidden_size).contiguous()
        self.rotary = (rows[:max_position, None] / max_position).expand(-1, hidden_size).contiguous()
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.outputs: dict[int, torch.Tensor] = {}
        self.last_plan: VerifyPlan | None = None

    def padded_bs(self, bs: int) -> int:
        """The captured size that a batch of ``bs`` requests runs as. Raises ValueError for one that fits none."""
        if not 1 <= bs <= self.capture_bs[-1]:
            raise ValueError(f"a batch of {bs} fits no captured size; captured: {self.capture_bs}")
        return self.capture_bs[bisect_left(self.capture_bs, bs)]

    def _model(self, bs: int) -> torch.Tensor:
        """float32 ``[bs * num_tokens_per_bs, hidden_size]``, from the buffers."""
        num_tokens = bs * self.num_tokens_per_bs
        hidden = self.embedding[self.registry.get_slot("input_ids").view(num_tokens)]
        hidden = hidden + self.rotary[self.registry.get_slot("positions").view(num_tokens)]
        if self.is_multimodal:
            hidden = hidden + self.rotary[self.registry.get_slot("mrope_positions").view(num_tokens)].sum(0)
        return hidden

    def capture(self) -> None:
        """Capture a graph for each size, largest first, in one memory pool. On the CPU: run each size once."""
        pool = torch.cuda.graph_pool_handle() if self.device.type == "cuda" else None
        for bs in reversed(self.capture_bs):
            if pool is None:
                self.outputs[bs] = self._model(bs)
                continue
            self._model(bs)  # a capture must not be a kernel's first launch
            torch.cuda.synchronize(self.device)
            self.graphs[bs] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[bs], pool=pool):
                self.outputs[bs] = self._model(bs)

    def load_batch(self, batch: ForwardBatch) -> ForwardBatch:
        """Fill the buffers from ``batch`` and return the padded batch, made of views of them."""
        padded_bs = self.padded_bs(batch.batch_size)
        padded_num_tokens = padded_bs * self.num_tokens_per_bs
        self.registry.fill_from(
            batch,
            raw_bs=batch.batch_size,
            padded_bs=padded_bs,
            raw_num_tokens=batch.batch_size * self.num_tokens_per_bs,
            padded_num_tokens=padded_num_tokens,
        )
        return self.registry.extract_buffer(
            padded_bs=padded_bs, padded_num_tokens=padded_num_tokens, forward_batch_template=batch
        )

    def run_graph(self, padded_bs: int) -> torch.Tensor:
        """Replay the graph of this size on what the buffers hold.

        Returns:
            float32 ``[padded_bs * num_tokens_per_bs, hidden_size]``, the graph's own output buffer on CUDA.

        Raises:
            RuntimeError: :meth:`capture` has not captured this size.
        """
        if padded_bs not in self.outputs:
            raise RuntimeError(f"size {padded_bs} is not captured: call capture() first")
        if padded_bs in self.graphs:
            self.graphs[padded_bs].replay()
        else:
            self.outputs[padded_bs] = self._model(padded_bs)
        return self.outputs[padded_bs]

    def replay(self, batch: ForwardBatch) -> torch.Tensor:
        """Fill, plan, replay.

        Returns:
            float32 ``[batch.batch_size * num_tokens_per_bs, hidden_size]``, without the padded rows.

        Raises:
            ValueError: the batch fits no captured size.
            IndexError: the plan left its table (CPU; see :func:`plan_verify` for CUDA).
        """
        padded = self.load_batch(batch)
        self.last_plan = plan_verify(padded.positions, padded.seq_lens, padded.out_cache_loc)
        return self.run_graph(padded.batch_size)[: batch.batch_size * self.num_tokens_per_bs]
