"""Two requests decode, early in their context and then near its end: does each one's reserve stay in its own row?

:func:`observe` starts a server (sizes its pool), reserves slots for both requests, finishes one near the context limit,
and releases both. On CUDA the rows are read by a replayed CUDA graph.

Example::

    observe("cpu")["row_width"]     # 323 when fixed, 268 when reverted
"""

from __future__ import annotations

from typing import Any

import torch

from prtoggle.scenario import Case
from prtoggle_fixes.bits import attempt
from prtoggle_fixes.pr26972_req_to_token_headroom import forward
from prtoggle_fixes.pr27338_eagle_draft_kv_indices.overrun import pool_reader

CONTEXT_LEN, PAGES = 256, 400
ARGS = forward.ServerArgs(
    page_size=4, speculative_num_steps=3, speculative_eagle_topk=4, max_speculative_num_draft_tokens=8
)
EARLY, LATE = 100, 250
"""Committed tokens of the first request; the second one stays at EARLY."""


class Server:
    """A pool of two rows, as wide as the server makes them, and both requests with their prompts in it."""

    def __init__(self, device: str) -> None:
        where = torch.device(device)
        width = CONTEXT_LEN + forward.get_req_to_token_extra_context_len(ARGS)
        pool = forward.ReqToTokenPool(2, width, where)
        allocator = forward.PagedAllocator(PAGES, ARGS.page_size, where)
        self.batch = forward.ScheduleBatch(
            [forward.Req(row, EARLY) for row in range(2)], pool, allocator, server_args=ARGS
        )
        self.width = width
        forward.alloc_for_spec_decode(self.batch, [0, 0], [EARLY, EARLY])
        self.read = pool_reader(pool.req_to_token)

    def decode(self, committed: int) -> None:
        self.batch.reqs[0].kv_committed_len = committed
        forward.eagle_prepare_for_decode(self.batch)

    def prompt_of_the_second(self) -> list[int]:
        slots: list[int] = self.read()[1, :EARLY].tolist()
        return slots


def observe(device: str) -> dict[str, Any]:
    """Decode early and late on ``device``, then release everything."""
    servers: list[Server] = []

    def start(device: str) -> dict[str, Any]:
        servers.append(Server(device))
        return {}

    started = attempt(start, device)["error"]
    if not servers:
        return {"start": started}
    (server,) = servers
    prompt = server.prompt_of_the_second()

    def step(committed: int) -> str:
        def bit(device: str) -> dict[str, Any]:
            server.decode(committed)
            return {}

        return str(attempt(bit, device)["error"])

    early, late = step(EARLY), step(LATE)
    changed = sum(now != before for now, before in zip(server.prompt_of_the_second(), prompt, strict=True))
    reserved = server.batch.reqs[0].kv_allocated_len
    for req in server.batch.reqs:
        forward.release_kv_cache(req, server.batch)
    free = len(server.batch.token_to_kv_pool_allocator.free_pages)
    return {
        "start": started,
        "row_width": server.width,
        "early": early or "fine",
        "late": late or "fine",
        "reserved_to_column": reserved,
        "slots_of_the_other_prompt_changed": changed,
        "pages_leaked": PAGES - free,
    }


def _all_right(seen: dict[str, Any]) -> bool:
    return bool(
        seen["start"] == ""
        and seen["early"] == seen["late"] == "fine"
        and LATE < seen["reserved_to_column"] <= seen["row_width"]
        and seen["slots_of_the_other_prompt_changed"] == seen["pages_leaked"] == 0
    )


def _refused(seen: dict[str, Any]) -> bool:
    return bool(
        seen["start"] == ""
        and seen["early"] == "fine"
        and seen["late"].startswith("AssertionError")
        and str(seen["row_width"]) in seen["late"]
        and seen["slots_of_the_other_prompt_changed"] == seen["pages_leaked"] == 0
    )


def _outgrown(seen: dict[str, Any]) -> bool:
    return bool(
        seen["start"] == ""
        and seen["early"] == seen["late"] == "fine"
        and seen["reserved_to_column"] > seen["row_width"]
        and seen["slots_of_the_other_prompt_changed"] > 0
        and seen["pages_leaked"] > 0
    )


CASES = (
    Case(
        "none", "near the context limit, too, a request's reserve stays in its row, and every page is freed", _all_right
    ),
    Case(
        "26972",
        "early in the context all is well; near its end the reserve outgrows the row, and the size check refuses it",
        _refused,
    ),
    Case(
        "26972/assert",
        "the same as fixed: the reserve fits, so there is nothing for the size check to refuse",
        _all_right,
    ),
    Case(
        "26972/headroom+assert",
        "near the end of the context the reserve goes on in the next request's row, over the slots of its prompt, and "
        "pages are never freed",
        _outgrown,
    ),
    Case(
        "26972/reserve",
        "the server does not start: the reserve of a draft tree with pages of several slots is not implemented",
        lambda seen: bool(seen["start"].startswith("NotImplementedError")),
    ),
    Case(
        "26972/all",
        "the server starts, and the first decode step raises: the reserve is not implemented",
        lambda seen: bool(seen["start"] == "" and seen["early"].startswith("NotImplementedError")),
    ),
)
