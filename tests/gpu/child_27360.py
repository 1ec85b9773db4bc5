"""Fix 27360 on a device: expand page tables in an arena that belongs to others too, filled by three scatters.

Knows nothing of the state it runs in. ``checked``: the compiled scatter of the fix (eager where TORCHDYNAMO_DISABLE=1)
into page tables between canaries, ``TOPK`` branches on pages of their own. ``beside``: a hand-written kernel that
checks nothing, with another batch's page table right behind, and the consumer of that table in a captured graph.
``canaries SCATTER``: a scatter that checks nothing, between canaries.
``sweep``: everything that the fix promises, against plain Python. ``alone SCATTER``: one small fill into a table that
is an allocation of its own, for a sanitizer. SCATTER is ``triton`` or ``compiled``, the latter without inductor's index
checks.

Example::

    python -m tests.gpu.child_27360 beside cpu
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch

from prtoggle_fixes.pr27360_fa3_draft_expand import forward
from prtoggle_fixes.pr27360_fa3_draft_expand.unchecked import scatter_unchecked
from tests.gpu.harness import tell

CANARY = -7
MARGIN = 64
"""Canaries on either side of a page table, int32 each."""
CONTEXT_LEN = 128
TOPK, STEPS, PAGE_SIZE = 8, 5, 2


def triton_scatter(**given: Any) -> torch.Tensor:
    """The fix's expand metadata with a hand-written scatter; on the CPU the same addresses by torch."""
    lengths, table, cache_loc = given["cache_seqlens_int32"], given["page_table"], given["cache_loc"]
    lengths.copy_(given["decode_length"] + given["last_page_lens"].repeat_interleave(given["topk"]))
    if cache_loc.shape[0] == 0:
        return torch.zeros((), dtype=torch.int64, device=table.device)
    pages, columns = forward.consecutive_pages(cache_loc, given["page_size"])
    scatter_unchecked(table, columns, pages)
    return columns.max() + 1


class Tables:
    """A backend whose page tables, one a step, stand in arenas with canaries on both sides."""

    def __init__(
        self,
        device: str,
        *,
        topk: int,
        steps: int,
        page_size: int,
        max_bs: int,
        scatter: Callable[..., torch.Tensor] | None,
        behind: int = 0,
    ) -> None:
        slots = torch.arange(max_bs * CONTEXT_LEN, dtype=torch.int32, device=device).view(max_bs, CONTEXT_LEN)
        runner = forward.ModelRunner(torch.device(device), page_size, CONTEXT_LEN, slots)
        self.device, self.topk, self.steps, self.page_size = device, topk, steps, page_size
        self.backend = forward.FlashAttentionMultiStepBackend(runner, topk, steps, scatter)
        self.arenas, self.tables, self.neighbours = [], [], []
        for step in self.backend.attn_backends:
            width = step.speculative_step_id + 2
            size = max_bs * topk * width
            arena = torch.full((MARGIN + size + behind + MARGIN,), CANARY, dtype=torch.int32, device=device)
            table = arena[MARGIN : MARGIN + size].view(max_bs * topk, width)
            table.fill_(0)
            step.init_cuda_graph_state(max_bs, table)
            self.arenas.append(arena)
            self.tables.append(table)
            self.neighbours.append(arena[MARGIN + size : MARGIN + size + behind])

    def fill(self, seq_lens: list[int], slots: list[list[int]], dtype: torch.dtype = torch.int64) -> None:
        bs = len(seq_lens)
        self.backend.init_forward_metadata_out_graph(
            bs,
            torch.arange(bs, dtype=torch.int64, device=self.device),
            torch.tensor(seq_lens, dtype=torch.int64, device=self.device),
            torch.tensor(slots, dtype=dtype, device=self.device).flatten(),
        )

    def canaries_changed(self) -> list[int]:
        """For each step, how many of the canaries on both sides are not what they were."""
        edges = [(arena[:MARGIN], arena[-MARGIN:]) for arena in self.arenas]
        return [int(sum((edge != CANARY).sum() for edge in both)) for both in edges]


def apart(rows: int, first_page: int, page_size: int) -> list[list[int]]:
    """Slots whose every step is on a page of its own: the most distinct pages that a branch can have."""
    return [[(first_page + row * STEPS + step) * page_size for step in range(STEPS)] for row in range(rows)]


def checked(device: str) -> dict[str, Any]:
    """Fill one batch; where that is refused on the host, say what was written until then."""
    tables = Tables(device, topk=TOPK, steps=STEPS, page_size=PAGE_SIZE, max_bs=2, scatter=None)
    slots = apart(2 * TOPK, 100, PAGE_SIZE)
    try:
        tables.fill([20, 33], slots)
    except AssertionError as error:
        first = tables.backend.attn_backends[0]
        _, expand = first._bind_metadata_buffers(2)
        return {
            "error": type(error).__name__,
            "message": str(error),
            "page_table_untouched": not bool(tables.tables[0].any()),
            "cache_seqlens_untouched": bool((expand.cache_seqlens_int32 == 1).all()),
            "max_row_pages_untouched": int(expand.max_row_pages) == 0,
            "canaries_changed": sum(tables.canaries_changed()),
            "device_usable": int(torch.arange(4, device=device).sum()) == 6,
        }
    right = [
        [row[: step + 1] for row in table.tolist()]
        == [[slot // PAGE_SIZE for slot in row[: step + 1]] for row in slots]
        for step, table in enumerate(tables.tables)
    ]
    return {"error": "", "page_tables_right": all(right), "canaries_changed": sum(tables.canaries_changed())}


def beside(device: str, written: str) -> dict[str, Any]:
    """Another batch's page table right behind ours; its consumer gathers its pages' keys in a captured graph.

    Keys hold their page's number, and NaN where no token has been written yet. The other batch's pages are 1 to 9;
    ours are 100 and up. ``written``: of ours, ``live`` steps' pages alone have been written, or ``all``.
    """
    behind = 2 * TOPK * 2
    tables = Tables(
        device, topk=TOPK, steps=STEPS, page_size=PAGE_SIZE, max_bs=2, scatter=triton_scatter, behind=behind
    )
    slots = apart(2 * TOPK, 100, PAGE_SIZE)
    keys = torch.full((400, 4), float("nan"), device=device)
    keys[:10] = torch.arange(10, dtype=torch.float32, device=device)[:, None]
    seen = []
    for step, neighbour in enumerate(tables.neighbours):
        upto = step + 1 if written == "live" else STEPS
        pages = torch.tensor([slot // PAGE_SIZE for row in slots for slot in row[:upto]], device=device)
        mine = keys.clone()
        mine[pages] = pages[:, None].float()
        neighbour.copy_(torch.arange(behind, dtype=torch.int32, device=device) % 9 + 1)
        seen.append({"keys": mine, "before": neighbour.clone()})
    consumers = [
        capture(device, lambda t=table, s=step: s["keys"][t.long()])  # type: ignore[misc]
        for table, step in zip(tables.neighbours, seen, strict=True)
    ]
    wanted = [consumer().clone() for consumer in consumers]
    assert not any(bool(out.isnan().any()) for out in wanted)
    tables.fill([20, 33], slots)
    steps = []
    for step, (consumer, out) in enumerate(zip(consumers, wanted, strict=True)):
        now = consumer()
        rows = tables.tables[step].tolist()
        steps.append(
            {
                "columns": step + 2,
                "entries_changed": int((tables.neighbours[step] != seen[step]["before"]).sum()),
                "rows_read_from_wrong_pages": int(((now != out) & ~now.isnan()).any(1).sum()),
                "rows_nan": int(now.isnan().any(1).sum()),
                "own_rows_wrong": sum(
                    row[: step + 1] != [slot // PAGE_SIZE for slot in mine[: step + 1]]
                    for row, mine in zip(rows, slots, strict=True)
                ),
            }
        )
    return {"error": "", "graph": device == "cuda", "steps": steps, "canaries_changed": sum(tables.canaries_changed())}


def capture(device: str, compute: Callable[[], torch.Tensor]) -> Callable[[], torch.Tensor]:
    """``compute`` as a replayed CUDA graph; on the CPU, itself."""
    if device != "cuda":
        return compute
    compute()  # a capture must not be a kernel's first launch
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = compute()

    def replay() -> torch.Tensor:
        graph.replay()
        return out

    return replay


def canaries(device: str, scatter: str) -> dict[str, Any]:
    """A scatter that checks nothing, with nothing but canaries around each table."""
    tables = Tables(device, topk=TOPK, steps=STEPS, page_size=PAGE_SIZE, max_bs=1, scatter=without_checks(scatter))
    tables.fill([20], apart(TOPK, 100, PAGE_SIZE))
    return {"error": "", "canaries_changed": tables.canaries_changed()}


def without_checks(scatter: str) -> Callable[..., torch.Tensor] | None:
    """``triton``: the hand-written one; ``compiled``: the fix's own, and no index checks in what inductor makes of it."""
    if scatter == "triton":
        return triton_scatter
    import torch._inductor.config as inductor

    inductor.assert_indirect_indexing = False
    return None


def reference(row: list[int], decode_length: int, page_size: int) -> list[int]:
    """The pages of a row's live slots, each run of one page once; with pages of one slot, the slots."""
    pages: list[int] = []
    for slot in row[:decode_length]:
        if page_size == 1 or not pages or pages[-1] != slot // page_size:
            pages.append(slot // page_size)
    return pages


def sweep(device: str, kind: str, thorough: str) -> dict[str, Any]:
    """topk 2 to 8, pages of 1 to 64 slots, all steps, batches of 4, 1, 0 and 3: every entry of every arena."""
    page_sizes = (1, 2, 3, 4, 8, 16, 32, 64) if thorough == "thorough" else (1, 2, 64)
    torch._dynamo.config.recompile_limit = 64  # no shape may fall back to eager
    checked_entries = wrong_entries = tables_checked = fills = empty_fills = wrong_lengths = wrong_maxima = 0
    changed = 0
    for topk in range(2, 9):
        for page_size in page_sizes:
            for steps in (2, 5, 7):
                rng = random.Random(topk * 10_000 + page_size * 10 + steps)
                tables = Tables(
                    device,
                    topk=topk,
                    steps=steps,
                    page_size=page_size,
                    max_bs=4,
                    scatter=triton_scatter if kind == "triton" else None,
                )
                mirror = [[[0] * (step + 2) for _ in range(4 * topk)] for step in range(steps - 1)]
                for bs in (4, 1, 0, 3):
                    seq_lens = [rng.randrange(1, CONTEXT_LEN) for _ in range(bs)]
                    starts = [rng.randrange(1, 5000) for _ in range(bs * topk)]
                    # Half the rows walk on from slot to slot, half jump to another page at every step.
                    slots = [
                        [start + step if row % 2 else (start + 3 * step) * page_size for step in range(steps)]
                        for row, start in enumerate(starts)
                    ]
                    tables.fill(seq_lens, slots, torch.int32 if bs == 3 else torch.int64)
                    fills += 1
                    empty_fills += bs == 0
                    for step, arena in enumerate(tables.arenas):
                        most = 0
                        for row, mine in enumerate(slots):
                            pages = reference(mine, step + 1, page_size)
                            mirror[step][row][: len(pages)] = pages
                            most = max(most, len(pages))
                        edge = [CANARY] * MARGIN
                        wanted = edge + [page for row in mirror[step] for page in row] + edge
                        found = arena.tolist()
                        tables_checked += 1
                        checked_entries += len(wanted)
                        wrong_entries += sum(a != b for a, b in zip(found, wanted, strict=True))
                        _, expand = tables.backend.attn_backends[step]._bind_metadata_buffers(bs)
                        if page_size > 1:
                            lengths = [step + 1 + length % page_size for length in seq_lens for _ in range(topk)]
                            wrong_lengths += expand.cache_seqlens_int32.tolist() != lengths
                            wrong_maxima += int(expand.max_row_pages) != most
                changed += sum(tables.canaries_changed())
    return {
        "error": "",
        "page_sizes": list(page_sizes),
        "fills": fills,
        "empty_fills": empty_fills,
        "tables_checked": tables_checked,
        "entries_checked": checked_entries,
        "wrong_entries": wrong_entries,
        "wrong_lengths": wrong_lengths,
        "wrong_maxima": wrong_maxima,
        "canaries_changed": changed,
        "compiled_graphs": int(torch._dynamo.utils.counters["stats"]["unique_graphs"]),
    }


def alone(device: str, scatter: str) -> dict[str, Any]:
    """One fill of the first step, whose table (and whatever else is written) is an allocation of its own."""
    bs = 1
    slots = torch.arange(CONTEXT_LEN, dtype=torch.int32, device=device).view(1, CONTEXT_LEN)
    runner = forward.ModelRunner(torch.device(device), PAGE_SIZE, CONTEXT_LEN, slots)
    backend = forward.FlashAttentionBackend(runner, 0, TOPK, STEPS, without_checks(scatter))
    backend.init_cuda_graph_state(bs)
    mine = apart(bs * TOPK, 100, PAGE_SIZE)
    backend._apply_cuda_graph_metadata(
        bs,
        torch.zeros(bs, dtype=torch.int64, device=device),
        torch.full((bs,), 20, dtype=torch.int64, device=device),
        torch.tensor(mine, dtype=torch.int64, device=device).flatten(),
    )
    _, expand = backend._bind_metadata_buffers(bs)
    first = [row[0] for row in expand.page_table.tolist()]
    return {"error": "", "last_row_starts_right": first[-1] == mine[-1][0] // PAGE_SIZE}


if __name__ == "__main__":
    tell({"checked": checked, "beside": beside, "canaries": canaries, "sweep": sweep, "alone": alone})
