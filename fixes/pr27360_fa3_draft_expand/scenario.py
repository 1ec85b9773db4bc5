"""Draft decode with 8 branches, 5 steps and pages of 2 slots: which pages end up where?

:func:`observe` fills the metadata of every step three ways: with the compiled scatter, which checks its indices, and
compares the page tables with a plain Python reference; with a scatter that checks nothing, between canaries; and for
an empty batch. On CUDA the tables are read by a replayed CUDA graph, and the scatter that may end in a device-side
assertion runs in a child process.

Example::

    observe("cpu")["page_tables_right"]     # True when fixed
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from prtoggle.scenario import Case
from prtoggle_fixes.bits import attempt, child_main, outcome
from prtoggle_fixes.pr27360_fa3_draft_expand import forward
from prtoggle_fixes.pr27360_fa3_draft_expand.unchecked import scatter_unchecked

MODULE = "prtoggle_fixes.pr27360_fa3_draft_expand.scenario"
BS, TOPK, STEPS, PAGE_SIZE, CONTEXT_LEN = 2, 8, 5, 2, 64
MARGIN = 32
"""Canaries on either side of a page table, int32 each."""
CANARY = -7


def make_runner(device: str, page_size: int) -> forward.ModelRunner:
    """A runner whose requests' tokens stand in slots 0, 1, 2, ..."""
    slots = torch.arange(BS * CONTEXT_LEN, dtype=torch.int32, device=device).view(BS, CONTEXT_LEN)
    return forward.ModelRunner(torch.device(device), page_size, CONTEXT_LEN, slots)


def draft_slots(bs: int, first_page: int, seq_lens: list[int], page_size: int) -> list[list[int]]:
    """Each branch's slots: ``STEPS`` in a row, on pages of its own, from where its request's last page is filled to."""
    pages_each = -(-(STEPS + page_size - 1) // page_size)
    starts = [
        (first_page + row * pages_each) * page_size + seq_lens[row // TOPK] % page_size for row in range(bs * TOPK)
    ]
    return [list(range(start, start + STEPS)) for start in starts]


def page_table_reference(slots: list[list[int]], decode_length: int, page_size: int) -> list[list[int]]:
    """Each row's pages, by plain Python: those of the live slots, each run of one page once."""
    rows = []
    for row in slots:
        pages: list[int] = []
        for slot in row[:decode_length]:
            if not pages or pages[-1] != slot // page_size:
                pages.append(slot // page_size)
        rows.append(pages)
    return rows


def fill(
    backend: forward.FlashAttentionMultiStepBackend, device: str, seq_lens: list[int], slots: list[list[int]]
) -> None:
    """Write every step's metadata for one batch."""
    bs = len(seq_lens)
    backend.init_forward_metadata_out_graph(
        bs,
        torch.arange(bs, dtype=torch.int64, device=device),
        torch.tensor(seq_lens, dtype=torch.int64, device=device),
        torch.tensor(slots, dtype=torch.int64, device=device).flatten(),
    )


def graph_reader(tensors: list[torch.Tensor]) -> Callable[[], list[list[Any]]]:
    """A function that reads the tensors as a captured graph does: by replaying one on CUDA, directly on the CPU."""
    if not tensors[0].is_cuda:
        return lambda: [tensor.tolist() for tensor in tensors]
    copies = [tensor.clone() for tensor in tensors]
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for copy, tensor in zip(copies, tensors, strict=True):
            copy.copy_(tensor)

    def read() -> list[list[Any]]:
        graph.replay()
        return [copy.tolist() for copy in copies]

    return read


def checked(device: str) -> dict[str, Any]:
    """The bit that may fail: the compiled scatter, two batches in turn, with pages of one slot and of several."""
    right = True
    for page_size in (1, PAGE_SIZE):
        backend = forward.FlashAttentionMultiStepBackend(make_runner(device, page_size), TOPK, STEPS)
        backend.init_cuda_graph_state(BS)
        metadata = [step._bind_metadata_buffers(BS)[1] for step in backend.attn_backends]
        read = graph_reader([step.page_table for step in metadata])
        for seq_lens, first_page in (([20, 33], 100), ([41, 18], 300)):
            slots = draft_slots(BS, first_page, seq_lens, page_size)
            fill(backend, device, seq_lens, slots)
            for step, table in enumerate(read()):
                wanted = page_table_reference(slots, step + 1, page_size)
                right = right and all(row[: len(pages)] == pages for row, pages in zip(table, wanted, strict=True))
    return {"page_tables_right": right}


def unchecked(device: str) -> dict[str, Any]:
    """A scatter that checks nothing, into page tables between canaries: columns, pages, canaries changed."""
    columns: list[int] = []
    pages: list[int] = []

    def set_expand_metadata(**given: Any) -> torch.Tensor:
        table: torch.Tensor = given["page_table"]
        row_pages, places = forward.consecutive_pages(given["cache_loc"], given["page_size"])
        columns.append(table.shape[1])
        pages.append(int(places.max()) + 1)
        scatter_unchecked(table, places, row_pages)
        return places.max() + 1

    backend = forward.FlashAttentionMultiStepBackend(
        make_runner(device, PAGE_SIZE), TOPK, STEPS, set_expand_metadata=set_expand_metadata
    )
    arenas = []
    for step in backend.attn_backends:
        width = step.speculative_step_id + 2
        arena = torch.full((MARGIN + BS * TOPK * width + MARGIN,), CANARY, dtype=torch.int32, device=device)
        step.init_cuda_graph_state(BS, arena[MARGIN:-MARGIN].view(BS * TOPK, width))
        arenas.append(arena)
    read = graph_reader(arenas)
    seq_lens = [20, 33]
    fill(backend, device, seq_lens, draft_slots(BS, 100, seq_lens, PAGE_SIZE))
    changed = sum(value != CANARY for arena in read() for value in arena[:MARGIN] + arena[-MARGIN:])
    return {"columns": columns, "most_pages_in_a_row": pages, "canaries_changed": changed}


def empty(device: str) -> dict[str, Any]:
    """A batch of no requests, as an idle rank runs it."""
    backend = forward.FlashAttentionMultiStepBackend(make_runner(device, PAGE_SIZE), TOPK, STEPS)
    backend.init_cuda_graph_state(BS)
    fill(backend, device, [], [])
    return {
        "most_pages_in_a_row": [int(step._bind_metadata_buffers(0)[1].max_row_pages) for step in backend.attn_backends]
    }


def observe(device: str) -> dict[str, Any]:
    """Fill all steps' metadata on ``device``: checked, unchecked, and for an empty batch."""
    with_checks = outcome(MODULE, "checked", checked, device)
    without_checks = attempt(unchecked, device)
    for_nobody = attempt(empty, device)
    columns, pages = without_checks.get("columns", []), without_checks.get("most_pages_in_a_row", [])
    return {
        "error": with_checks["error"],
        "page_tables_right": with_checks.get("page_tables_right"),
        "unchecked_error": without_checks["error"],
        "columns": columns,
        "most_pages_in_a_row": pages,
        "steps_with_pages_beyond_the_row": sum(most > width for most, width in zip(pages, columns, strict=True)),
        "canaries_changed": without_checks.get("canaries_changed"),
        "empty_batch": for_nobody["error"] or "fine",
    }


def _all_right(seen: dict[str, Any]) -> bool:
    return bool(
        seen["error"] == seen["unchecked_error"] == ""
        and seen["page_tables_right"]
        and seen["steps_with_pages_beyond_the_row"] == 0
        and seen["canaries_changed"] == 0
    )


def _refused(seen: dict[str, Any]) -> bool:
    named = (f"page_size={PAGE_SIZE}", f"topk={TOPK}", f"speculative_num_steps={STEPS}")
    return all(
        error.startswith("AssertionError") and all(name in error for name in named)
        for error in (seen["error"], seen["unchecked_error"])
    )


def _outside(seen: dict[str, Any]) -> bool:
    return bool(
        seen["error"]
        and not seen["error"].startswith("AssertionError")
        and seen["unchecked_error"] == ""
        and seen["steps_with_pages_beyond_the_row"] > 0
        and seen["canaries_changed"] > 0
    )


def _empty_fine(seen: dict[str, Any]) -> bool:
    return bool(seen["empty_batch"] == "fine")


CASES = (
    Case(
        "none",
        "every step's page table holds the pages of the live draft tokens, nothing beside it changes, and an empty "
        "batch is fine",
        lambda seen: _all_right(seen) and _empty_fine(seen),
    ),
    Case(
        "27360",
        "the slots arrive too wide for the page table, and the size check refuses them before anything is written",
        _refused,
    ),
    Case(
        "27360/assert",
        "the same as fixed: the slots are cut, so there is nothing for the size check to refuse",
        lambda seen: _all_right(seen) and _empty_fine(seen),
    ),
    Case(
        "27360/slice+assert",
        "more pages than the row has columns are scattered: an index error where the scatter checks, memory beside the "
        "table changed where it does not",
        lambda seen: _outside(seen) and _empty_fine(seen),
    ),
    Case(
        "27360/empty-batch-pad",
        "an empty batch raises, since a maximum is taken over nothing; other batches are fine",
        lambda seen: _all_right(seen) and not _empty_fine(seen),
    ),
    Case(
        "27360/all",
        "more pages than the row has columns are scattered, outside the row, and an empty batch raises",
        lambda seen: _outside(seen) and not _empty_fine(seen),
    ),
)


if __name__ == "__main__":
    child_main({"checked": checked})
