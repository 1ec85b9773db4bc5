"""What EAGLE's draft model is given in a prefill: the component that fix 26329 changes.

Purpose: what SGLang's ``speculative.eagle_utils`` and ``speculative.eagle_worker_v2`` do to a prefill's tokens, with
their names, shapes and dtypes. Contract: a prompt gives the draft the same tokens whole and in chunks.

Example::

    batch = ScheduleBatch([a, b], torch.tensor([1, 2, 3, 7, 8]), [3, 2], chunked_req=a, chunked_req_next_prompt_token=4)
    draft_prefill_input_ids(batch, torch.tensor([50, 9]))      # tensor([2, 3, 4, 8, 9])
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch


@dataclass(eq=False)
class Req:
    """One request.

    Attributes:
        origin_input_ids: its prompt.
        fill_len: tokens of the prompt that are in the cache after this batch.
    """

    origin_input_ids: list[int]
    fill_len: int = 0


@dataclass
class ScheduleBatch:
    """A prefill batch.

    Attributes:
        reqs: its requests.
        input_ids: int64 ``[sum of extend_lens]``, their tokens, one request behind the other.
        extend_lens: tokens of each request in this batch, at least 1 each.
        chunked_req: the one request whose prompt goes on in a later batch, if any.
        chunked_req_next_prompt_token: the token with which it goes on.
    """

    reqs: list[Req]
    input_ids: torch.Tensor
    extend_lens: list[int] = field(default_factory=list)
    chunked_req: Req | None = None
    chunked_req_next_prompt_token: int | None = None


def _compute_chunked_req_next_prompt_token(chunked_req: Req | None) -> int | None:
    """The prompt's token behind what this batch fills; None where nothing is chunked, or the prompt ends here."""
    if chunked_req is None or chunked_req.fill_len >= len(chunked_req.origin_input_ids):
        return None
    return int(chunked_req.origin_input_ids[chunked_req.fill_len])


def _eagle_prefill_tail_tokens(batch: ScheduleBatch, next_token_ids: torch.Tensor) -> torch.Tensor:
    """Each request's last draft input.

    Args:
        next_token_ids: int64 or int32 ``[bs]``, what the target sampled behind each request's tokens.

    Returns:
        ``[bs]``, ``input_ids``' dtype; ``next_token_ids`` is not changed.
    """
    tail_tokens = next_token_ids.to(batch.input_ids.dtype)
    next_prompt_token = batch.chunked_req_next_prompt_token
    if next_prompt_token is not None:
        for i, req in enumerate(batch.reqs):
            if req is batch.chunked_req:
                tail_tokens = tail_tokens.clone()
                tail_tokens[i : i + 1].fill_(next_prompt_token)
    return tail_tokens


def draft_prefill_input_ids(batch: ScheduleBatch, next_token_ids: torch.Tensor) -> torch.Tensor:
    """The draft's tokens: each request's own from the second on, then its tail token.

    Raises:
        ValueError: ``extend_lens`` does not cover ``input_ids`` with at least one token each.
    """
    if sum(batch.extend_lens) != batch.input_ids.numel() or min(batch.extend_lens, default=1) < 1:
        raise ValueError(f"extend_lens {batch.extend_lens} do not cover {batch.input_ids.numel()} tokens")
    tail_tokens = _eagle_prefill_tail_tokens(batch, next_token_ids)
    rotated = torch.empty_like(batch.input_ids)
    pt = 0
    for i, extend_len in enumerate(batch.extend_lens):
        rotated[pt : pt + extend_len - 1] = batch.input_ids[pt + 1 : pt + extend_len]
        rotated[pt + extend_len - 1] = tail_tokens[i]
        pt += extend_len
    return rotated
