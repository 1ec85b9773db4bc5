"""The two graph runners of EAGLE's draft model, as they pad a batch: the component that fix 10892 changes.

Purpose: what SGLang's ``speculative.eagle_draft_cuda_graph_runner`` and its draft-extend sibling did with their buffers
in 0.5.3, where the fix came in, with their names, shapes and dtypes. There a captured draft advances ``positions`` in
place and takes nothing back. Contract: what a graph reads for padded rows never depends on an earlier batch.

Example::

    runner = EAGLEDraftCudaGraphRunner(RotaryModel(4096, device), capture_bs=(4,), topk=2, speculative_num_steps=3)
    runner.capture()
    hidden, positions = runner.replay(batch_of_3)      # runs as a batch of 4
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

import torch

Output = tuple[torch.Tensor, torch.Tensor]
"""The hidden states, float32 ``[forwards, tokens, hidden]``, and the positions that each forward read, int64
``[forwards, tokens]``; of all rows, the padded ones last."""


class RotaryModel:
    """An embedding plus a table of rotary embeddings, looked up by position.

    Args:
        max_position: rows of the table; a look-up beyond raises IndexError on the CPU, and is an assertion on CUDA.
        device: of the tables.
    """

    VOCAB, HIDDEN = 128, 4

    def __init__(self, max_position: int, device: torch.device) -> None:
        rows = torch.arange(max(max_position, self.VOCAB), dtype=torch.float32, device=device)
        self.device = device
        self.embedding = rows[: self.VOCAB, None].expand(-1, self.HIDDEN).contiguous()
        self.rotary = (rows[:max_position, None] / max_position).expand(-1, self.HIDDEN).contiguous()

    def __call__(self, input_ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """float32 ``[tokens, HIDDEN]`` of int64 ``[tokens]`` each."""
        return self.embedding[input_ids] + self.rotary[positions]


@dataclass(frozen=True)
class ForwardBatch:
    """A batch for either runner; a request has ``tokens / batch_size`` tokens.

    Attributes:
        batch_size: number of requests.
        seq_lens: int64 ``[bs]``.
        input_ids: int64 ``[tokens]``; for a draft its first tokens (``spec_info.topk_index`` in SGLang).
        positions: int64 ``[tokens]``, from 0.
        out_cache_loc: int64, a draft's ``[tokens * steps]``, a draft-extend's ``[tokens]``.
        accept_length: int32 ``[bs]``, for a draft-extend: accepted tokens of each request.
    """

    batch_size: int
    seq_lens: torch.Tensor
    input_ids: torch.Tensor
    positions: torch.Tensor
    out_cache_loc: torch.Tensor
    accept_length: torch.Tensor | None = None


class _GraphRunner:
    """What both have in common: captured sizes, buffers, capture and replay.

    On CUDA a captured run is a :class:`torch.cuda.CUDAGraph`; on the CPU it is the same function, run again.
    """

    def __init__(
        self, model: RotaryModel, capture_bs: tuple[int, ...], num_tokens_per_bs: int, slots_per_token: int
    ) -> None:
        self.model = model
        self.capture_bs = tuple(sorted(capture_bs))
        self.num_tokens_per_bs = num_tokens_per_bs
        self.slots_per_token = slots_per_token
        self.seq_len_fill_value = 1
        most = self.capture_bs[-1]
        tokens, device = most * num_tokens_per_bs, model.device
        self.seq_lens = torch.full((most,), self.seq_len_fill_value, dtype=torch.int64, device=device)
        self.input_ids = torch.zeros(tokens, dtype=torch.int64, device=device)
        self.positions = torch.zeros(tokens, dtype=torch.int64, device=device)
        self.out_cache_loc = torch.zeros(tokens * slots_per_token, dtype=torch.int64, device=device)
        self.graphs: dict[int, Callable[[], Output]] = {}

    def _run(self, tokens: int) -> Output:
        raise NotImplementedError

    def capture(self) -> None:
        """Capture a graph for each size, on CUDA after one run to warm up."""
        for bs in reversed(self.capture_bs):
            tokens = bs * self.num_tokens_per_bs
            self.graphs[bs] = self._graph(tokens) if self.model.device.type == "cuda" else lambda n=tokens: self._run(n)
        self.positions.zero_()

    def _graph(self, tokens: int) -> Callable[[], Output]:
        self._run(tokens)
        torch.cuda.synchronize(self.model.device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = self._run(tokens)

        def replay() -> Output:
            graph.replay()
            return out

        return replay

    def _size(self, raw_bs: int) -> int:
        """The captured size that a batch of ``raw_bs`` runs as."""
        if not self.graphs or not 1 <= raw_bs <= self.capture_bs[-1]:
            raise ValueError(f"a batch of {raw_bs} fits no captured size; captured: {sorted(self.graphs)}")
        return self.capture_bs[bisect_left(self.capture_bs, raw_bs)]

    def _load(self, forward_batch: ForwardBatch) -> None:
        tokens = forward_batch.batch_size * self.num_tokens_per_bs
        self.seq_lens[: forward_batch.batch_size].copy_(forward_batch.seq_lens)
        self.input_ids[:tokens].copy_(forward_batch.input_ids)
        self.positions[:tokens].copy_(forward_batch.positions)
        self.out_cache_loc[: tokens * self.slots_per_token].copy_(forward_batch.out_cache_loc)


class EAGLEDraftCudaGraphRunner(_GraphRunner):
    """Drafts: ``speculative_num_steps - 1`` forwards, ``positions`` one further for each.

    Args:
        model: the draft model.
        capture_bs: sizes to capture, in requests.
        topk: branches of a request, so its tokens in a forward.
        speculative_num_steps: tokens of a branch, the first included.
    """

    def __init__(
        self, model: RotaryModel, *, capture_bs: tuple[int, ...], topk: int, speculative_num_steps: int
    ) -> None:
        super().__init__(model, capture_bs, topk, speculative_num_steps)
        self.speculative_num_steps = speculative_num_steps

    def _run(self, tokens: int) -> Output:
        input_ids, positions = self.input_ids[:tokens], self.positions[:tokens]
        hidden, read = [], []
        for _ in range(self.speculative_num_steps - 1):
            read.append(positions.clone())
            hidden.append(self.model(input_ids, positions))
            input_ids = (input_ids + 1) % self.model.VOCAB
            positions.add_(1)
        return torch.stack(hidden), torch.stack(read)

    def replay(self, forward_batch: ForwardBatch) -> Output:
        """Load a batch and run the draft of the next larger captured size.

        Raises:
            ValueError: no captured size holds the batch.
            IndexError: a position lies outside the model's table (CPU).
        """
        raw_bs = forward_batch.batch_size
        bs = self._size(raw_bs)
        if bs != raw_bs:
            self.seq_lens.fill_(self.seq_len_fill_value)
            self.out_cache_loc.zero_()
            self.positions.zero_()
            self.input_ids.zero_()
        self._load(forward_batch)
        return self.graphs[bs]()


class EAGLEDraftExtendCudaGraphRunner(_GraphRunner):
    """Draft-extends: one forward over the accepted tokens of each request.

    Args:
        model: the draft model.
        capture_bs: sizes to capture, in requests.
        speculative_num_steps: a request has one token more.
    """

    def __init__(self, model: RotaryModel, *, capture_bs: tuple[int, ...], speculative_num_steps: int) -> None:
        super().__init__(model, capture_bs, speculative_num_steps + 1, 1)
        self.accept_length = torch.ones(self.capture_bs[-1], dtype=torch.int32, device=model.device)

    def _run(self, tokens: int) -> Output:
        input_ids, positions = self.input_ids[:tokens], self.positions[:tokens]
        return self.model(input_ids, positions)[None], positions.clone()[None]

    def replay(self, forward_batch: ForwardBatch) -> Output:
        """Load a batch and run the draft-extend of the next larger captured size. Raises as a draft's ``replay``."""
        raw_bs = forward_batch.batch_size
        bs = self._size(raw_bs)
        if bs != raw_bs:
            self.seq_lens.fill_(self.seq_len_fill_value)
            self.out_cache_loc.zero_()
            self.positions.zero_()
            self.accept_length.fill_(1)
        self._load(forward_batch)
        if forward_batch.accept_length is not None:
            self.accept_length[:raw_bs].copy_(forward_batch.accept_length)
        return self.graphs[bs]()
