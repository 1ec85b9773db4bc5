"""Fix 26329: the draft's tokens of any chunking; each state: what the scenario claims."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from prtoggle_fixes.pr26329_eagle_prefill_tail import forward, scenario  # noqa: E402
from prtoggle_fixes.pr26329_eagle_prefill_tail.forward import Req, ScheduleBatch  # noqa: E402
from tests.fixes.states import each  # noqa: E402

BY_HAND = {
    "fix": (
        """\
    next_prompt_token = batch.chunked_req_next_prompt_token
    if next_prompt_token is not None:
        for i, req in enumerate(batch.reqs):
            if req is batch.chunked_req:
                tail_tokens = tail_tokens.clone()
                tail_tokens[i : i + 1].fill_(next_prompt_token)
""",
        "",
    ),
}
STATES = {"none": (), "26329": ("fix",)}


def flat(rows: Iterable[list[int]]) -> list[int]:
    return [token for row in rows for token in row]


prompts = st.lists(st.lists(st.integers(0, 999), min_size=1, max_size=9), min_size=1, max_size=5)


@pytest.mark.guards("26329")
@given(prompts=prompts, dtype=st.sampled_from([torch.int64, torch.int32]), data=st.data())
@settings(max_examples=100, deadline=None)
def test_the_draft_is_given_the_prompt_moved_by_one_and_its_true_continuation(
    prompts: list[list[int]], dtype: Any, data: Any
) -> None:
    chunked = data.draw(st.none() | st.integers(0, len(prompts) - 1))
    reqs = [Req(prompt, len(prompt)) for prompt in prompts]
    rows = [list(prompt) for prompt in prompts]
    samples = [2000 + number for number in range(len(prompts))]
    tails = list(samples)
    if chunked is not None:
        later = data.draw(st.lists(st.integers(0, 999), max_size=3))
        reqs[chunked].origin_input_ids = [*prompts[chunked], *later]
        tails[chunked] = later[0] if later else tails[chunked]
    batch = ScheduleBatch(
        reqs,
        torch.tensor(flat(rows), dtype=torch.int64),
        [len(row) for row in rows],
        None if chunked is None else reqs[chunked],
        forward._compute_chunked_req_next_prompt_token(None if chunked is None else reqs[chunked]),
    )
    next_token_ids = torch.tensor(samples, dtype=dtype)
    given_to_draft = forward.draft_prefill_input_ids(batch, next_token_ids)
    assert given_to_draft.tolist() == flat([*row[1:], tail] for row, tail in zip(rows, tails, strict=True))
    assert given_to_draft.dtype is torch.int64
    assert next_token_ids.tolist() == samples
    assert batch.input_ids.tolist() == flat(rows)


@pytest.mark.guards("26329")
@given(prompt=st.lists(st.integers(0, 99), min_size=1, max_size=12), chunk=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_chunks_of_any_length_give_the_draft_what_a_whole_prompt_gives(prompt: list[int], chunk: int) -> None:
    seen: list[int] = []
    req = Req(prompt)
    for start in range(0, len(prompt), chunk):
        row = prompt[start : start + chunk]
        req.fill_len = start + len(row)
        chunked = req if req.fill_len < len(prompt) else None
        token = forward._compute_chunked_req_next_prompt_token(chunked)
        batch = ScheduleBatch([req], torch.tensor(row), [len(row)], chunked, token)
        seen += forward.draft_prefill_input_ids(batch, torch.tensor([1000 + req.fill_len])).tolist()
    assert seen == [*prompt[1:], 1000 + len(prompt)]


@pytest.mark.guards("26329")
def test_two_requests_with_equal_prompts_are_told_apart() -> None:
    one, other = Req([1, 2, 3], 2), Req([1, 2, 3], 2)
    batch = ScheduleBatch([one, other], torch.tensor([1, 2, 1, 2]), [2, 2], other, 3)
    assert forward.draft_prefill_input_ids(batch, torch.tensor([8, 9])).tolist() == [2, 8, 2, 3]


@pytest.mark.parametrize("extend_lens", [[1, 1], [3, 0], [4]])
def test_lengths_that_do_not_cover_the_tokens_are_refused(extend_lens: list[int]) -> None:
    batch = ScheduleBatch([Req([1]), Req([2])], torch.tensor([1, 2, 3]), extend_lens)
    with pytest.raises(ValueError, match="do not cover"):
        forward.draft_prefill_input_ids(batch, torch.tensor([8, 9]))


@pytest.mark.parametrize("state", each(STATES))
def test_each_state_shows_exactly_what_its_case_claims(state: str) -> None:
    seen = scenario.observe("cpu")
    assert [case.revert for case in scenario.CASES if case.holds(seen)] == [state], seen


def test_every_state_has_a_case() -> None:
    assert [case.revert for case in scenario.CASES] == list(STATES)
