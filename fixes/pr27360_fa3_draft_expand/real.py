"""The real fa3 draft-decode expand metadata of an SGLang release: the page tables of its steps, pages of 1 and 2 slots.

From the release: ``FlashAttentionBackend._apply_cuda_graph_metadata`` and what it calls. Stood in for: the rest of
SGLang, Triton and the kernels, none of which is called. What differs from a server: CPU tensors, nothing compiled (so
``scatter_`` checks its indices), and a backend that is not initialised but given the attributes that the method reads.
"""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

from prtoggle.scenario import Case
from prtoggle_fixes import standins

PACKAGE = "sglang"
NEEDS = ("torch", "numpy", "msgspec", "pydantic")
BACKEND = "sglang.srt.layers.attention.flashattention_backend"
REAL = (
    BACKEND,
    "sglang.srt.environ",
    "sglang.srt.layers.attention.base_attn_backend",
    "sglang.srt.layers.attention.utils",  # assert_buffer_fits, to 0.5.15.post1
    "sglang.kernels.ops.attention.utils",  # and from 0.5.16 on
    "sglang.kernels.registry",
    "sglang.kernels.spec",
)
ABSENT = ("sgl_kernel", "triton")

UNTOUCHED = -7
"""What the page table holds before."""
REQUESTS, TOPK, STEPS = 2, 3, 5
LENGTHS = (9, 14)
STRIDE = 64
"""Slots of one request in req_to_token."""

for _module in ("sglang.srt.utils", "sglang.srt.utils.common"):
    standins.provide(_module, get_compiler_backend=lambda mode=None: "inductor")


def draft_slots(page_size: int, pages_each: int) -> list[list[int]]:
    """A KV slot for each branch and step; each branch walks over ``pages_each`` pages of its own."""
    rows = []
    for branch in range(REQUESTS * TOPK):
        first = 100 + branch * STEPS
        rows.append([(first + step * pages_each // STEPS) * page_size for step in range(STEPS)])
    return rows


def run_case(page_size: int, step: int, pages_each: int) -> dict[str, Any]:
    """Build the metadata of one draft step: the expand page table and sequence lengths that came out or the error that
    was raised, and which attributes of the backend were read."""
    import torch
    from sglang.srt.layers.attention.flashattention_backend import FlashAttentionBackend, FlashAttentionMetadata

    read: set[str] = set()

    class Watched(FlashAttentionBackend):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            read.add(name)
            return super().__getattribute__(name)

    branches, width = REQUESTS * TOPK, step + 2
    max_pages = STRIDE // page_size
    expand = FlashAttentionMetadata()
    expand.cache_seqlens_int32 = torch.full((branches,), UNTOUCHED, dtype=torch.int32)
    expand.page_table = torch.full((branches, width), UNTOUCHED, dtype=torch.int32)
    normal = FlashAttentionMetadata()
    normal.cache_seqlens_int32 = torch.full((REQUESTS,), UNTOUCHED, dtype=torch.int32)
    normal.page_table = torch.full((REQUESTS, max_pages), UNTOUCHED, dtype=torch.int32)
    backend = object.__new__(Watched)
    backend.__dict__.update(
        topk=TOPK,
        page_size=page_size,
        speculative_step_id=step,
        speculative_num_steps=STEPS,
        max_context_len=STRIDE,
        use_sliding_window_kv_pool=False,
        req_to_token=torch.arange(REQUESTS * STRIDE, dtype=torch.int32).view(REQUESTS, STRIDE),
        decode_cuda_graph_metadata={"strided_indices": torch.arange(0, STRIDE, page_size)},
        draft_decode_metadata_topk_normal={REQUESTS: normal},
        draft_decode_metadata_topk_expand={REQUESTS: expand},
    )
    slots = draft_slots(page_size, pages_each)
    lengths = torch.tensor(LENGTHS)
    known = {
        "plan": None,  # of topk 1 alone
        "bs": REQUESTS,
        "req_pool_indices": torch.arange(REQUESTS),
        "seq_lens": lengths,
        "seq_lens_sum": int(lengths.sum()),
        "encoder_lens": None,
        "forward_mode": SimpleNamespace(is_decode_or_idle=lambda: True),
        "spec_info": SimpleNamespace(),
        "seq_lens_cpu": lengths,
        "out_cache_loc": torch.tensor(slots).flatten(),
    }
    method = backend._apply_cuda_graph_metadata
    wanted = inspect.signature(method).parameters
    read.clear()
    case: dict[str, Any] = {"page_size": page_size, "step": step, "pages_each": pages_each, "slots": slots}
    try:
        method(**{name: known[name] for name in wanted})
    except Exception as problem:
        case.update(error=type(problem).__name__, message=str(problem))
    case.update(
        page_table=expand.page_table.tolist(),
        cache_seqlens=expand.cache_seqlens_int32.tolist(),
        prefix_seqlens=normal.cache_seqlens_int32.tolist(),
        bound=backend.__dict__.get("forward_metadata_spec_decode_expand") is expand,
        read=sorted(name for name in read if name in backend.__dict__ and not name.startswith("__")),
    )
    return case


def observe() -> dict[str, Any]:
    """Every step but the last with pages of one slot and of two, each branch on pages of its own; then one case with as
    many pages as the row has columns: too wide, and no index out of range."""
    import sglang.srt.layers.attention.flashattention_backend  # noqa: F401

    standins.hide(ABSENT)
    cases = [run_case(page_size, step, STEPS) for page_size in (1, 2) for step in range(STEPS - 1)]
    cases.append(run_case(2, 1, 3))
    return {"cases": cases}


def live_pages(case: dict[str, Any], columns: int) -> list[list[int]]:
    """The page table by a plain loop: each branch's distinct pages over its first ``columns`` slots, then untouched."""
    rows = []
    for slots in case["slots"]:
        pages: list[int] = []
        for slot in slots[:columns]:
            page = slot // case["page_size"]
            if case["page_size"] == 1 or not pages or pages[-1] != page:
                pages.append(page)
        rows.append(pages + [UNTOUCHED] * (case["step"] + 2 - len(pages)))
    return rows


def _right(case: dict[str, Any]) -> bool:
    """Whether the table holds the pages of the live slots and nothing more."""
    return "error" not in case and bool(case["page_table"] == live_pages(case, case["step"] + 1))


def _all_right(seen: dict[str, Any]) -> bool:
    return len(seen["cases"]) == 2 * (STEPS - 1) + 1 and all(map(_right, seen["cases"]))


def _split(seen: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    """The cases with slots wider than the row, those with pages of one slot, and the last: too wide, and it fits."""
    *walks, last = seen["cases"]
    narrow = [case for case in walks if case["page_size"] == 2 and case["step"] + 2 < STEPS]
    return narrow, [case for case in walks if case["page_size"] == 1], last


def _refused(seen: dict[str, Any]) -> bool:
    narrow, single, last = _split(seen)
    return (
        len(narrow) == 3
        and all(case.get("error") == "AssertionError" for case in (*narrow, last))
        and len(single) == STEPS - 1
        and all(map(_right, single))
        and all(page == UNTOUCHED for case in narrow for row in case["page_table"] for page in row)
    )


def _scattered(seen: dict[str, Any]) -> bool:
    narrow, single, last = _split(seen)
    return (
        len(narrow) == 3
        and all(case.get("error") == "RuntimeError" and "out of bounds" in case["message"] for case in narrow)
        and len(single) == STEPS - 1
        and all(map(_right, single))
        and "error" not in last
        and last["page_table"] == live_pages(last, STEPS) != live_pages(last, last["step"] + 1)
    )


CASES = (
    Case("none", "every page table holds the pages of the live draft tokens, and nothing more", _all_right),
    Case(
        "27360",
        "with pages of two slots the size check refuses slots that are wider than the row, before anything is written",
        _refused,
    ),
    Case(
        "27360/assert",
        "the same as fixed: the slots are cut, so there is nothing for the size check to refuse",
        _all_right,
    ),
    Case(
        "27360/slice+assert",
        "with pages of two slots more pages than the row holds are scattered: an index out of bounds, or pages of "
        "tokens that are not live",
        _scattered,
    ),
)
