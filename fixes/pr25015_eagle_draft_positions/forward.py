"""EAGLE's draft loop and the runner that captures it: the component that fix 25015 changes.

Purpose: what SGLang's ``speculative.eagle_worker_v2`` and ``speculative.eagle_draft_cuda_graph_runner`` do with
positions, small enough to read, with their names, shapes and dtypes. Contract: every forward of a draft runs at the
positions of the tokens that it is given, and a captured draft leaves the positions buffer as it was loaded. A request's
first draft token (from the prefill, or from the last verify) stands at position ``seq_len``.

Example::

    worker = EagleDraftWorker(model.forward, topk=1, speculative_num_steps=4, speculative_num_draft_tokens=4)
    runner = EAGLEDraftCudaGraphRunner(worker, max_bs=4, hidden_size=8, device=torch.device("cpu"))
    runner.capture_one_shape(4)
    parent_list, top_scores_index, draft_tokens = runner.replay(batch_of_3)      # runs as a batch of 4
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

DraftResult = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""``parent_list`` int64 ``[bs, topk * (steps - 2) + topk + 1]`` (``[bs, 0]`` for one step), ``top_scores_index`` and
``draft_tokens`` int64 ``[bs, draft tokens - 1]``."""


@dataclass
class EagleDraftInput:
    """What a draft starts from.

    Attributes:
        topk_p: float32 ``[bs, topk]``, probabilities of the first draft tokens.
        topk_index: int64 ``[bs, topk]``, those tokens.
        hidden_states: float32 ``[bs, hidden]``; within a draft ``[bs * topk, hidden]``.
    """

    topk_p: torch.Tensor
    topk_index: torch.Tensor
    hidden_states: torch.Tensor


@dataclass
class ForwardBatch:
    """A draft batch. Its fields are set anew for every step of a draft; ``positions`` is changed in place.

    Attributes:
        batch_size: number of requests.
        positions: int64 ``[bs * topk]``, place in the sequence of the tokens that a forward is given, from 0.
        out_cache_loc: int64 ``[bs * topk * steps]``, a branch's KV cache slots side by side; within a draft
            ``[bs * topk]``, those of one step.
        spec_info: what the draft starts from.
        input_ids: int64 ``[bs * topk]``, set by each step.
    """

    batch_size: int
    positions: torch.Tensor
    out_cache_loc: torch.Tensor
    spec_info: EagleDraftInput
    input_ids: torch.Tensor | None = None


@dataclass
class LogitsProcessorOutput:
    """What one forward gives.

    Attributes:
        next_token_logits: float32 ``[bs * topk, vocab]``.
        hidden_states: float32 ``[bs * topk, hidden]``.
    """

    next_token_logits: torch.Tensor
    hidden_states: torch.Tensor


def per_step_draft_out_cache_loc(
    out_cache_loc: torch.Tensor, batch_size: int, topk: int, speculative_num_steps: int
) -> torch.Tensor:
    """``[bs * topk * steps]``, a branch's slots side by side, as ``[steps, bs * topk]``."""
    return out_cache_loc.view(batch_size * topk, speculative_num_steps).t().contiguous()


def select_top_k_tokens(
    step: int,
    topk_p: torch.Tensor,
    topk_index: torch.Tensor,
    hidden_states: torch.Tensor,
    scores: torch.Tensor | None,
    topk: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """The ``topk`` best branches of each request after ``step`` forwards.

    Args:
        topk_p, topk_index: ``[bs, topk]`` at step 0, later ``[bs * topk, topk]``, the continuations of each branch.
        hidden_states: ``[bs, hidden]`` at step 0, later ``[bs * topk, hidden]``.
        scores: float32 ``[bs, topk]``, the branches' probabilities so far; None at step 0.

    Returns:
        ``input_ids`` int64 ``[bs * topk]``; ``hidden_states`` ``[bs * topk, hidden]`` of the branches that they
        continue; ``scores`` ``[bs, topk]``; and for the tree: scores ``[bs, n, topk]``, tokens ``[bs, n * topk]`` (n
        is 1 at step 0, else topk), and the parents of the next step's tokens, int64 ``[bs, topk + 1]`` at step 0,
        else ``[bs, topk]``.
    """
    bs = topk_p.shape[0] if scores is None else scores.shape[0]
    device = topk_p.device
    if scores is None:
        parents = torch.arange(-1, topk, device=device).expand(bs, -1)
        return (
            topk_index.flatten(),
            hidden_states.repeat_interleave(topk, 0),
            topk_p,
            (
                topk_p[:, None],
                topk_index,
                parents,
            ),
        )
    every = scores[:, :, None] * topk_p.view(bs, topk, topk)
    best, which = every.flatten(1).topk(topk, dim=-1)
    tokens = topk_index.view(bs, topk * topk)
    branches = (which // topk + topk * torch.arange(bs, device=device)[:, None]).flatten()
    parents = which + topk + topk * topk * (step - 1)
    return tokens.gather(1, which).flatten(), hidden_states[branches], best, (every, tokens, parents)


def organize_draft_results(
    score_list: list[torch.Tensor],
    token_list: list[torch.Tensor],
    parents_list: list[torch.Tensor],
    num_draft_token: int,
) -> DraftResult:
    """The ``num_draft_token - 1`` best tokens of the tree, in the order in which they were drafted."""
    scores = torch.cat([score.flatten(1) for score in score_list], dim=1)
    tokens = torch.cat(token_list, dim=1)
    chosen = scores.topk(num_draft_token - 1, dim=-1).indices.sort().values
    parents = torch.cat(parents_list[:-1], dim=1) if len(parents_list) > 1 else tokens.new_empty(len(tokens), 0)
    return parents, chosen, tokens.gather(1, chosen)


class EagleDraftWorker:
    """Drafts a tree of tokens for each request.

    Args:
        draft_forward_fn: the draft model. Reads ``input_ids``, ``positions``, ``out_cache_loc`` and
            ``spec_info.hidden_states`` of the batch; must not change them.
        topk: branches of a request.
        speculative_num_steps: tokens of a branch, the first included.
        speculative_num_draft_tokens: tokens that are verified for a request, the last accepted one included.
    """

    def __init__(
        self,
        draft_forward_fn: Callable[[ForwardBatch], LogitsProcessorOutput],
        *,
        topk: int,
        speculative_num_steps: int,
        speculative_num_draft_tokens: int,
    ) -> None:
        self.draft_forward_fn = draft_forward_fn
        self.topk = topk
        self.speculative_num_steps = speculative_num_steps
        self.speculative_num_draft_tokens = speculative_num_draft_tokens

    def draft_forward(self, forward_batch: ForwardBatch) -> DraftResult:
        """Draft a tree. Leaves ``positions`` ``speculative_num_steps - 1`` further than it found them."""
        spec_info = forward_batch.spec_info
        out_cache_loc = per_step_draft_out_cache_loc(
            forward_batch.out_cache_loc, forward_batch.batch_size, self.topk, self.speculative_num_steps
        )
        topk_p, topk_index, hidden_states = spec_info.topk_p, spec_info.topk_index, spec_info.hidden_states
        scores: torch.Tensor | None = None
        tree: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        for i in range(self.speculative_num_steps):
            input_ids, hidden_states, scores, tree_info = select_top_k_tokens(
                i, topk_p, topk_index, hidden_states, scores, self.topk
            )
            tree.append(tree_info)
            if i == self.speculative_num_steps - 1:
                break  # the last tokens need no forward
            forward_batch.input_ids = input_ids
            forward_batch.out_cache_loc = out_cache_loc[i]
            spec_info.hidden_states = hidden_states
            logits_output = self.draft_forward_fn(forward_batch)
            topk_p, topk_index = logits_output.next_token_logits.softmax(dim=-1).topk(self.topk, dim=-1)
            hidden_states = logits_output.hidden_states
            forward_batch.positions.add_(1)
        score_list, token_list, parents_list = (list(column) for column in zip(*tree, strict=True))
        return organize_draft_results(score_list, token_list, parents_list, self.speculative_num_draft_tokens)


class EAGLEDraftCudaGraphRunner:
    """Captures drafts of fixed batch sizes and replays the next larger one for a batch.

    On CUDA a captured draft is a :class:`torch.cuda.CUDAGraph`; on the CPU it is the same function, run again.

    Args:
        eagle_worker: whose drafts are captured.
        max_bs: requests in the largest captured batch.
        hidden_size: columns of the hidden states.
        device: CPU or CUDA.
    """

    def __init__(self, eagle_worker: EagleDraftWorker, *, max_bs: int, hidden_size: int, device: torch.device) -> None:
        self.eagle_worker = eagle_worker
        self.device = device
        self.num_tokens_per_bs = eagle_worker.topk
        tokens = max_bs * self.num_tokens_per_bs
        self.positions = torch.zeros(tokens, dtype=torch.int64, device=device)
        slots = tokens * eagle_worker.speculative_num_steps
        self.out_cache_loc = torch.zeros(slots, dtype=torch.int64, device=device)
        self.topk_p = torch.zeros(max_bs, eagle_worker.topk, device=device)
        self.topk_index = torch.zeros(max_bs, eagle_worker.topk, dtype=torch.int64, device=device)
        self.hidden_states = torch.zeros(max_bs, hidden_size, device=device)
        self.graphs: dict[int, Callable[[], DraftResult]] = {}

    def _batch(self, bs: int) -> ForwardBatch:
        """A batch of views of the buffers."""
        tokens = bs * self.num_tokens_per_bs
        slots = tokens * self.eagle_worker.speculative_num_steps
        spec_info = EagleDraftInput(self.topk_p[:bs], self.topk_index[:bs], self.hidden_states[:bs])
        return ForwardBatch(bs, self.positions[:tokens], self.out_cache_loc[:slots], spec_info)

    def capture_one_shape(self, bs: int) -> None:
        """Run a draft of ``bs`` requests twice to warm up, then capture it."""
        forward_batch = self._batch(bs)

        def run_once() -> DraftResult:
            # What a draft sets anew comes back to what the next run starts from.
            out_cache_loc_backup = forward_batch.out_cache_loc
            hidden_states_backup = forward_batch.spec_info.hidden_states
            ret = self.eagle_worker.draft_forward(forward_batch)
            forward_batch.out_cache_loc = out_cache_loc_backup
            forward_batch.spec_info.hidden_states = hidden_states_backup
            forward_batch.positions.sub_(self.eagle_worker.speculative_num_steps - 1)
            return ret

        for _ in range(2):
            run_once()
        if self.device.type != "cuda":
            self.graphs[bs] = run_once
            return
        torch.cuda.synchronize(self.device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = run_once()

        def replay() -> DraftResult:
            graph.replay()
            return out

        self.graphs[bs] = replay

    def replay(self, forward_batch: ForwardBatch) -> DraftResult:
        """Load a batch and run the captured draft of the next larger size; without the padded rows.

        Raises:
            ValueError: no captured size holds the batch.
        """
        raw_bs = forward_batch.batch_size
        bs = min((size for size in self.graphs if size >= raw_bs), default=0)
        if raw_bs < 1 or not bs:
            raise ValueError(f"a batch of {raw_bs} fits no captured size; captured: {sorted(self.graphs)}")
        if bs != raw_bs:
            for buffer in (self.positions, self.out_cache_loc, self.topk_p, self.topk_index, self.hidden_states):
                buffer.zero_()
        into, spec_info = self._batch(raw_bs), forward_batch.spec_info
        into.positions.copy_(forward_batch.positions)
        into.out_cache_loc.copy_(forward_batch.out_cache_loc)
        into.spec_info.topk_p.copy_(spec_info.topk_p)
        into.spec_info.topk_index.copy_(spec_info.topk_index)
        into.spec_info.hidden_states.copy_(spec_info.hidden_states)
        parent_list, top_scores_index, draft_tokens = self.graphs[bs]()
        return parent_list[:raw_bs], top_scores_index[:raw_bs], draft_tokens[:raw_bs]
