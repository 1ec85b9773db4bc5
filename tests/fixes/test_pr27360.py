"""Fix 27360: page tables against plain Python; each state: the symptoms that the scenario claims."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import groupby
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from prtoggle_fixes.pr27360_fa3_draft_expand import forward, scenario  # noqa: E402
from prtoggle_fixes.pr27360_fa3_draft_expand.unchecked import scatter_unchecked  # noqa: E402
from tests.fixes.states import each  # noqa: E402

FOLDER = "pr27360_fa3_draft_expand"
CHECK = """\
            assert_buffer_fits(
                cache_loc.shape[1],
                metadata_expand.page_table.shape[1],
                "draft expand page table",
                page_size=self.page_size,
                topk=self.topk,
                speculative_num_steps=self.speculative_num_steps,
            )
"""
BY_HAND = {
    "slice": ("            cache_loc = cache_loc[:, :decode_length]\n", ""),
    "assert": (CHECK, ""),
    "empty-batch-pad": ("F.pad(positions, (0, 0, 0, 1), value=-1) if num_seqs == 0 else positions", "positions"),
}
STATES = {
    "none": (),
    "27360": ("slice",),
    "27360/assert": ("assert",),
    "27360/slice+assert": ("slice", "assert"),
    "27360/empty-batch-pad": ("empty-batch-pad",),
    "27360/all": ("slice", "assert", "empty-batch-pad"),
}
SAME = {"none": ["none", "27360/assert"], "27360/assert": ["none", "27360/assert"]}
"""States that show the same, and say so."""
CONTEXT_LEN = 192


def backend_for(topk: int, steps: int, page_size: int, max_bs: int) -> forward.FlashAttentionMultiStepBackend:
    slots = torch.randint(0, 10_000, (max_bs + 1, CONTEXT_LEN), dtype=torch.int32)
    runner = forward.ModelRunner(torch.device("cpu"), page_size, CONTEXT_LEN, slots)
    backend = forward.FlashAttentionMultiStepBackend(runner, topk, steps)
    backend.init_cuda_graph_state(max_bs)
    return backend


def pages_of(row: list[int], page_size: int) -> list[int]:
    """An oracle of its own: the standard library's groupby."""
    if page_size == 1:
        return row
    return [page for page, _ in groupby(slot // page_size for slot in row)]


@pytest.mark.parametrize("topk", [pytest.param(2, marks=pytest.mark.guards("27360")), *range(3, 9)])
def test_every_step_lists_the_pages_of_its_live_slots(topk: int) -> None:
    torch._dynamo.reset()
    for page_size in (1, 2, 3, 4, 16, 64):
        for steps in (2, 5, 7):
            check_every_step(topk, page_size, steps, torch.int32 if topk % 2 else torch.int64)


def check_every_step(topk: int, page_size: int, steps: int, dtype: Any) -> None:
    rng = random.Random(topk * 1000 + page_size * 10 + steps)
    max_bs = 3
    backend = backend_for(topk, steps, page_size, max_bs)
    tables = [torch.full((max_bs * topk, step + 2), -1) for step in range(steps - 1)]
    for bs in (3, 1, 0, 2, 3):
        wild = [[rng.randrange(500) for _ in range(steps)] for _ in range(bs * topk)]
        tidy = [list(range(start, start + steps)) for start in rng.sample(range(0, 9000, 100), bs * topk)]
        slots = rng.choice((wild, tidy))
        seq_lens = [rng.randint(1, CONTEXT_LEN) for _ in range(bs)]
        rows = rng.sample(range(max_bs + 1), bs)
        backend.init_forward_metadata_out_graph(
            bs,
            torch.tensor(rows, dtype=torch.int64),
            torch.tensor(seq_lens, dtype=torch.int64),
            torch.tensor(slots, dtype=dtype).flatten(),
        )
        for step, one in enumerate(backend.attn_backends):
            expand = one.draft_decode_metadata_topk_expand[bs]
            wanted = [pages_of(row[: step + 1], page_size) for row in slots]
            assert expand.page_table.shape == (bs * topk, step + 2) and expand.page_table.dtype is torch.int32
            for found, pages, before in zip(expand.page_table.tolist(), wanted, tables[step].tolist(), strict=False):
                assert found[: len(pages)] == pages
                assert found[len(pages) :] == [max(value, 0) for value in before[len(pages) :]], "left as it was"
            tables[step][: bs * topk] = expand.page_table
            last = [length % page_size for length in seq_lens for _ in range(topk)]
            assert expand.cache_seqlens_int32.tolist() == [step + 1 + length for length in last]
            assert expand.cu_seqlens_q.tolist() == list(range(bs * topk + 1))
            most = max(map(len, wanted), default=0) if page_size > 1 else 0
            assert expand.max_row_pages.tolist() == [most]
            normal = one.draft_decode_metadata_topk_normal[bs]
            assert normal.cache_seqlens_int32.tolist() == [length - length % page_size for length in seq_lens]
            assert normal.cu_seqlens_q.tolist() == [topk * i for i in range(bs + 1)]
            prefix = [one.req_to_token[row].tolist()[::page_size] for row in rows]
            assert normal.page_table.tolist() == [[slot // page_size for slot in slots] for slots in prefix]


def test_one_server_compiles_a_handful_of_variants() -> None:
    """No batch size or step of one server may cost a compilation of its own: that is what dynamic=True is for."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    backend = backend_for(topk=8, steps=7, page_size=2, max_bs=16)
    for bs in (16, 1, 0, *range(2, 16)):
        backend.init_forward_metadata_out_graph(
            bs, torch.zeros(bs, dtype=torch.int64), torch.full((bs,), 9), torch.arange(bs * 8 * 7)
        )
    assert 0 < torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 8


def test_too_many_pages_raise_and_are_named_by_the_size_check_before() -> None:
    table, lengths = torch.zeros(2, 2, dtype=torch.int32), torch.zeros(2, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="out of bounds"):
        forward.draft_decode_set_expand_metadata(
            lengths, table, torch.tensor([1]), 1, torch.tensor([[0, 2, 4], [6, 8, 10]]), 2, 2
        )
    with pytest.raises(AssertionError) as refused:
        forward.assert_buffer_fits(5, 2, "draft expand page table", page_size=2, topk=8, speculative_num_steps=5)
    for said in ("5 columns", "into 2", "page_size=2", "topk=8", "speculative_num_steps=5"):
        assert said in str(refused.value)
    forward.assert_buffer_fits(2, 2, "draft expand page table")


def test_misuse_is_refused() -> None:
    runner = forward.ModelRunner(torch.device("cpu"), 2, 8, torch.zeros(1, 8, dtype=torch.int32))
    for step, topk, steps in ((0, 1, 3), (3, 2, 3), (-1, 2, 3)):
        with pytest.raises(ValueError, match="need topk > 1"):
            forward.FlashAttentionBackend(runner, step, topk, steps)
    backend = forward.FlashAttentionBackend(runner, 0, 2, 3)
    nobody = torch.zeros(0, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="init_cuda_graph_state"):
        backend._apply_cuda_graph_metadata(0, nobody, nobody, nobody)
    with pytest.raises(ValueError, match="int32"):
        backend.init_cuda_graph_state(1, torch.zeros(2, 3, dtype=torch.int32))
    backend.init_cuda_graph_state(1)
    with pytest.raises(ValueError, match="up to 1"):
        backend._apply_cuda_graph_metadata(2, nobody, nobody, nobody)


def test_the_unchecked_scatter_writes_by_address_and_stays_in_its_storage() -> None:
    arena = torch.full((8,), -7, dtype=torch.int32)
    table = arena[2:6].view(2, 2)
    columns = torch.tensor([[0, 1, 1], [0, 1, 2]])
    scatter_unchecked(table, columns, torch.tensor([[1, 2, 2], [3, 4, 5]], dtype=torch.int32))
    assert arena.tolist() == [-7, -7, 1, 2, 3, 4, 5, -7]
    with pytest.raises(IndexError, match="outside"):
        scatter_unchecked(table, columns + 2, torch.zeros(2, 3, dtype=torch.int32))


@pytest.mark.parametrize("state", each(STATES))
def test_each_state_shows_exactly_what_its_case_claims(state: str) -> None:
    torch._dynamo.reset()
    seen = scenario.observe("cpu")
    held = [case.revert for case in scenario.CASES if case.holds(seen)]
    assert held == SAME.get(state, [state]), seen


def test_every_state_has_a_case() -> None:
    assert [case.revert for case in scenario.CASES] == list(STATES)


def test_importing_needs_no_compiler_and_compiles_nothing() -> None:
    program = (
        f"import prtoggle_fixes.{FOLDER}.scenario\n"
        "import torch._dynamo.utils as utils\n"
        "assert not utils.counters['frames'], utils.counters\n"
    )
    env = {**os.environ, "CC": "/nonexistent", "CXX": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
