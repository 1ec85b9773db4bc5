"""A prompt prefilled whole and in chunks, beside a short one: does the draft see the same tokens, and cache the same?

The target samples a token behind every chunk, which for all but the last is thrown away. The draft model here caches,
for each place of the prompt, the token that it was given, and then says its first draft token from all of them.

Example::

    observe("cpu")["chunked"] == observe("cpu")["whole"]     # when fixed
"""

from __future__ import annotations

from typing import Any

import torch

from prtoggle.scenario import Case
from prtoggle_fixes.pr26329_eagle_prefill_tail import forward

PROMPT = [11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
BESIDE = [31, 32]
"""A short prompt, whole in the first batch."""
CHUNK = 4
SAMPLED = 900
"""What the target samples behind ``n`` tokens of the long prompt is ``SAMPLED + n``."""
VOCAB = 1000


def prefill(chunk: int, device: str) -> tuple[list[int], list[int]]:
    """What the draft was given for each place of the long prompt and the short one, ``chunk`` tokens at a time."""
    long, short = forward.Req(PROMPT), forward.Req(BESIDE)
    seen: list[int] = []
    beside: list[int] = []
    while long.fill_len < len(PROMPT):
        reqs = [short, long] if not long.fill_len else [long]
        start, long.fill_len = long.fill_len, min(long.fill_len + chunk, len(PROMPT))
        rows = [BESIDE, PROMPT[start : long.fill_len]] if len(reqs) == 2 else [PROMPT[start : long.fill_len]]
        chunked = long if long.fill_len < len(PROMPT) else None
        batch = forward.ScheduleBatch(
            reqs,
            torch.tensor([token for row in rows for token in row], device=device),
            [len(row) for row in rows],
            chunked,
            forward._compute_chunked_req_next_prompt_token(chunked),
        )
        samples = [SAMPLED + 99, SAMPLED + long.fill_len][-len(reqs) :]
        given = forward.draft_prefill_input_ids(batch, torch.tensor(samples, device=device)).tolist()
        seen += given[len(given) - len(rows[-1]) :]
        beside += given[: len(given) - len(rows[-1])]
    return seen, beside


def first_draft_token(cached: list[int]) -> int:
    """The draft model's answer from all that is in its cache."""
    answer = 7
    for token in cached:
        answer = (31 * answer + token) % VOCAB
    return answer


def observe(device: str) -> dict[str, Any]:
    """Prefill whole and in chunks on ``device``."""
    whole, beside_whole = prefill(len(PROMPT), device)
    chunked, beside_chunked = prefill(CHUNK, device)
    return {
        "whole": whole,
        "chunked": chunked,
        "beside": beside_chunked,
        "beside_is_the_same": beside_whole == beside_chunked,
        "first_draft_token_whole": first_draft_token(whole),
        "first_draft_token_chunked": first_draft_token(chunked),
    }


def _others_right(seen: dict[str, Any]) -> bool:
    return bool(
        seen["whole"] == [*PROMPT[1:], SAMPLED + len(PROMPT)]
        and seen["beside"] == [*BESIDE[1:], SAMPLED + 99]
        and seen["beside_is_the_same"]
    )


def _with_samples(seen: dict[str, Any]) -> list[int]:
    ends = range(CHUNK, len(PROMPT), CHUNK)
    return [SAMPLED + place if place in ends else token for place, token in enumerate(seen["whole"], 1)]


CASES = (
    Case(
        "none",
        "the draft is given the same tokens whole and in chunks, and drafts the same first token",
        lambda seen: (
            _others_right(seen)
            and seen["chunked"] == seen["whole"]
            and seen["first_draft_token_chunked"] == seen["first_draft_token_whole"]
        ),
    ),
    Case(
        "26329",
        "at the end of each chunk but the last the draft is given the token that the target sampled and threw away, "
        "and it drafts another first token; a prompt that is not chunked is as before",
        lambda seen: (
            _others_right(seen)
            and seen["chunked"] == _with_samples(seen) != seen["whole"]
            and seen["first_draft_token_chunked"] != seen["first_draft_token_whole"]
        ),
    ),
)
