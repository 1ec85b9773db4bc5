"""Fix 26972: the reserve of any server fits its rows; each state: the symptoms that the scenario claims."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from prtoggle_fixes.pr26972_req_to_token_headroom import forward, scenario  # noqa: E402
from tests.fixes.states import each  # noqa: E402

CHECK = """\
    if page_size > 1 and (server_args.speculative_eagle_topk or 1) > 1:
        max_alloc_len = max(nxt_kv_lens_cpu, default=0)
        row_width = batch.req_to_token_pool.req_to_token.shape[1]
        assert max_alloc_len <= row_width, (
            f"the draft's reserve ends at column {max_alloc_len} of a row of {row_width} (page_size={page_size})"
        )
"""
BY_HAND = {
    "headroom": (
        "        extra = max(extra, get_alloc_reserve_per_decode(server_args) + page_size - 1)\n",
        "        pass\n",
    ),
    "assert": (CHECK, ""),
    "reserve": (
        "        num_new_pages_per_topk = -(-(page_size - 1 + spec_steps) // page_size)\n"
        "        return max(num_new_pages_per_topk * page_size * spec_topk, spec_tokens)\n",
        '        raise NotImplementedError("page_size > 1 and topk > 1")\n',
    ),
}
STATES = {
    "none": (),
    "26972": ("headroom",),
    "26972/assert": ("assert",),
    "26972/headroom+assert": ("headroom", "assert"),
    "26972/reserve": ("reserve",),
    "26972/all": ("headroom", "assert", "reserve"),
}
SAME = {"none": ["none", "26972/assert"], "26972/assert": ["none", "26972/assert"]}
"""States that show the same, and say so."""
CPU = torch.device("cpu")

servers = st.builds(
    forward.ServerArgs,
    page_size=st.sampled_from([1, 2, 4, 16, 64]),
    speculative_algorithm=st.sampled_from(["EAGLE", None]),
    speculative_num_steps=st.one_of(st.none(), st.integers(1, 8)),
    speculative_eagle_topk=st.one_of(st.none(), st.integers(1, 8)),
    max_speculative_num_draft_tokens=st.one_of(st.none(), st.integers(1, 32)),
)


def pages_of_a_branch(filled: int, steps: int, page_size: int) -> int:
    """How many pages a branch touches that starts where the last page holds ``filled`` slots, counted one by one."""
    return len({(filled + step) // page_size for step in range(steps)})


@given(args=servers)
@settings(max_examples=200, deadline=None)
def test_a_step_reserves_what_the_fullest_last_page_needs(args: forward.ServerArgs) -> None:
    steps, topk = args.speculative_num_steps or 1, args.speculative_eagle_topk or 1
    each = forward.get_alloc_len_per_decode(args)
    if args.speculative_algorithm is None:
        assert each == 1
    elif topk > 1 and args.page_size > 1:
        most = max(pages_of_a_branch(filled, steps, args.page_size) for filled in range(args.page_size))
        assert each == max(most * args.page_size * topk, args.max_speculative_num_draft_tokens or 0)
    else:
        assert each == max(steps * topk, args.max_speculative_num_draft_tokens or 0)
    assert forward.get_alloc_reserve_per_decode(args) == 2 * each


@pytest.mark.guards("26972")
@given(args=servers.filter(lambda args: args.page_size > 1), context_len=st.integers(1, 300), data=st.data())
@settings(max_examples=100, deadline=None)
def test_whatever_is_committed_up_to_the_context_length_the_reserve_stays_in_its_row(
    args: forward.ServerArgs, context_len: int, data: st.DataObject
) -> None:
    if args.speculative_algorithm is None:
        return
    width = context_len + forward.get_req_to_token_extra_context_len(args)
    pool = forward.ReqToTokenPool(3, width, CPU)
    allocator = forward.PagedAllocator(3 * (width // args.page_size + 1), args.page_size, CPU)
    pages = len(allocator.free_pages)
    lengths = data.draw(st.lists(st.integers(1, context_len), min_size=3, max_size=3))
    batch = forward.ScheduleBatch([forward.Req(row, n) for row, n in enumerate(lengths)], pool, allocator, args)
    for _ in range(3):  # the third request is never asked for more, the others grow
        forward.eagle_prepare_for_decode(batch)
        for req in batch.reqs[:2]:
            req.kv_committed_len = min(context_len, req.kv_committed_len + 1)
    reserve = forward.get_alloc_reserve_per_decode(args)
    named: list[int] = []
    for req in batch.reqs:
        assert req.kv_allocated_len % args.page_size == 0 and req.kv_allocated_len <= width
        assert req.kv_allocated_len >= min(lengths[req.req_pool_idx] + reserve, width - args.page_size)
        named += pool.req_to_token[req.req_pool_idx, : req.kv_allocated_len].tolist()
    assert len(set(named)) == len(named) and 0 not in named, "every slot is one request's"
    for req in batch.reqs:
        forward.release_kv_cache(req, batch)
    assert len(allocator.free_pages) == pages


@pytest.mark.guards("26972")
def test_the_headroom_is_exact_where_the_row_is_fullest() -> None:
    args = scenario.ARGS
    width = 256 + forward.get_req_to_token_extra_context_len(args)
    assert (forward.get_alloc_reserve_per_decode(args), width) == (64, 323)
    batch = forward.ScheduleBatch(
        [forward.Req(0, 256)],
        forward.ReqToTokenPool(1, width, CPU),
        forward.PagedAllocator(90, 4, CPU),
        args,
    )
    batch.reqs[0].kv_committed_len = 257
    with pytest.raises(AssertionError, match=r"ends at column 324 of a row of 323 \(page_size=4\)"):
        forward.eagle_prepare_for_decode(batch)
    assert len(batch.token_to_kv_pool_allocator.free_pages) == 90, "nothing was allocated"
    batch.reqs[0].kv_committed_len = 256
    forward.eagle_prepare_for_decode(batch)
    assert batch.reqs[0].kv_allocated_len == 320


@pytest.mark.parametrize("state", each(STATES))
def test_each_state_shows_exactly_what_its_case_claims(state: str) -> None:
    seen = scenario.observe("cpu")
    held = [case.revert for case in scenario.CASES if case.holds(seen)]
    assert held == SAME.get(state, [state]), seen


def test_every_state_has_a_case() -> None:
    assert [case.revert for case in scenario.CASES] == list(STATES)


def test_what_is_outside_the_pool_or_not_free_is_refused() -> None:
    pool = forward.ReqToTokenPool(2, 4, CPU)
    pool.write(0, 3, torch.tensor([7, 8], dtype=torch.int32))
    assert pool.req_to_token.tolist() == [[0, 0, 0, 7], [8, 0, 0, 0]], "by address: on into the next row"
    with pytest.raises(IndexError, match="entry 9 of 8"):
        pool.write(1, 3, torch.tensor([7, 8], dtype=torch.int32))
    allocator = forward.PagedAllocator(2, 4, CPU)
    assert allocator.alloc(8).tolist() == list(range(4, 12))
    with pytest.raises(MemoryError, match="1 pages are asked for and 0"):
        allocator.alloc(4)
    allocator.free(torch.tensor([9, 10, 0]))
    assert allocator.free_pages == [2]
