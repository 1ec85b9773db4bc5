"""Any draft batch against plain Python: what fixes 27338 and 27460 promise of their backends' KV slots, said once more."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

batches = st.fixed_dictionaries(
    {
        "topk": st.integers(1, 5),
        "steps": st.integers(2, 4),
        "page_size": st.sampled_from([1, 2, 4, 16]),
        "seq_lens": st.lists(st.integers(1, 48), min_size=1, max_size=4),
        "seed": st.integers(0, 99),
    }
)
MAX_BS, CONTEXT_LEN = 4, 64


def slots_of_branch(row: list[int], seq_len: int, branch: int, drafts: int, given: dict[str, Any]) -> list[int]:
    """A branch's slots: the sequence's, then its own. Where those start is said here in pages, not in columns."""
    if given["page_size"] == 1 or given["topk"] == 1:
        own = row[seq_len:][branch * given["steps"] :]
    else:
        size = given["page_size"]
        pages = [row[start : start + size] for start in range(0, len(row), size)]
        full, filled = divmod(seq_len, size)
        each = -(-(filled + given["steps"]) // size)
        own = [slot for page in pages[full + branch * each :] for slot in page][filled:]
    return row[:seq_len] + own[:drafts]


def check_any_batch(backend_class: Any, given: dict[str, Any], graph: bool) -> None:
    """Fill a backend's buffer for one batch, and compare every step's indices and pointers with plain Python."""
    import torch

    from prtoggle_fixes.pr27338_eagle_draft_kv_indices.spec_utils import ForwardBatch, GraphMemoryPool, ModelRunner

    rng = random.Random(given["seed"])
    topk, steps, seq_lens = given["topk"], given["steps"], given["seq_lens"]
    slots = torch.tensor([[rng.randrange(1, 10**6) for _ in range(600)] for _ in range(8)], dtype=torch.int32)
    pool = GraphMemoryPool(1 << 16, torch.device("cpu"))
    runner = ModelRunner(torch.device("cpu"), given["page_size"], CONTEXT_LEN, MAX_BS, slots, pool)
    backend = backend_class(runner, topk, steps)
    backend.init_cuda_graph_state(MAX_BS, MAX_BS * topk)
    assert backend.cuda_graph_kv_indices.shape == (steps, MAX_BS * topk * CONTEXT_LEN)
    assert backend.cuda_graph_kv_indices.dtype is torch.int32
    behind = pool.zeros((8,), torch.int64)
    requests = rng.sample(range(8), len(seq_lens))
    lengths = torch.tensor(seq_lens, dtype=torch.int64)
    batch = ForwardBatch(
        len(seq_lens),
        torch.tensor(requests, dtype=torch.int64),
        lengths,
        sum(seq_lens),
        lengths.repeat_interleave(topk),
    )
    (backend.init_forward_metadata_out_graph if graph else backend.init_forward_metadata)(batch)
    for step, one in enumerate(backend.attn_backends):
        branches = [
            slots_of_branch(slots[request].tolist(), seq_len, branch, step + 1, given)
            for request, seq_len in zip(requests, seq_lens, strict=True)
            for branch in range(topk)
        ]
        ends = one.kv_indptr.tolist()
        assert one.kv_indptr.dtype is torch.int32 and len(ends) == len(branches) + 1
        assert [one.kv_indices[a:b].tolist() for a, b in pairwise(ends)] == branches
        assert one.kv_indices.numel() == ends[-1]
        if graph:
            row = one.cuda_graph_kv_indices
            assert one.kv_indices.data_ptr() == row.data_ptr(), "at the address that captured graphs read"
    assert behind.tolist() == [0] * 8
