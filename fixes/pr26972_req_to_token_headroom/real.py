"""The real reserve of an SGLang release, on a CPU: how wide rows are, how much decode reserves, and where it writes.

Runs, of the release: ``get_req_to_token_extra_context_len``, ``get_alloc_reserve_per_decode``, the whole of EAGLE's
``prepare_for_decode``, and the kernel that writes slots into rows, whose own text is interpreted. Stood in for: the
server's arguments, the batch, and the allocator of slots, which hands out numbers. Differs: there is nothing to free.

Example::

    observe()["row_width"]      # 320 or more when fixed, 268 when reverted
"""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from prtoggle.scenario import CannotRun, Case
from prtoggle_fixes import standins
from prtoggle_fixes.bits import attempt
from prtoggle_fixes.pr27338_eagle_draft_kv_indices.interpreted import Interpreted

PACKAGE = "sglang"
NEEDS = ("torch", "numpy")
# To 0.5.15.post1, and from 0.5.16 on; prepare_for_decode moved with 0.5.15.
SIZING = ("sglang.srt.mem_cache.common", "sglang.srt.mem_cache.allocation_sizing")
WRITING = ("sglang.srt.speculative.triton_ops.cache_locs", "sglang.srt.mem_cache.allocation")
PREPARING = ("sglang.srt.speculative.eagle_info_v2", "sglang.srt.speculative.eagle_utils")
REAL = (
    *SIZING,
    *WRITING,
    *PREPARING,
    "sglang.srt.environ",
    "sglang.srt.speculative.spec_info",
    "sglang.srt.speculative.spec_registry",
)
ABSENT = ("triton", "sgl_kernel")
ARGUMENTS = SimpleNamespace(
    speculative_algorithm="EAGLE",
    speculative_num_steps=3,
    speculative_eagle_topk=4,
    speculative_num_draft_tokens=8,
    max_speculative_num_draft_tokens=8,
    page_size=4,
    attn_dcp_size=1,
)
CONTEXT_LEN, EARLY, LATE = 256, 100, 250
FIRST_SLOT = 5000


def _next_power_of_2(n: int) -> int:
    return 1 << (n - 1).bit_length() if n > 0 else 1


def _with(names: tuple[str, ...], wanted: str) -> ModuleType:
    """The module that has ``wanted``, newest place first."""
    for name in reversed(names):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as problem:
            if problem.name != name and not name.startswith(f"{problem.name}."):
                raise
            continue
        if hasattr(module, wanted):
            return module
    raise CannotRun(f"{wanted} is in none of {', '.join(names)}")


def _called(function: Callable[..., int]) -> int:
    """With the server's arguments where it takes them; from 0.5.18 on it looks them up."""
    return function(ARGUMENTS) if inspect.signature(function).parameters else function()


def _hand_out(*given: Any, **named: Any) -> Any:
    import torch

    return torch.arange(FIRST_SLOT, FIRST_SLOT + int(given[6]))


def _prepare() -> Callable[[Any], None]:
    """The release's ``prepare_for_decode``, with an allocator that hands out numbers."""
    writing = _with(WRITING, "assign_req_to_token_pool_func")
    if not isinstance(writing.assign_req_to_token_pool, Interpreted):
        writing.assign_req_to_token_pool = Interpreted(writing.assign_req_to_token_pool)  # type: ignore[attr-defined]
    standins.provide(
        "sglang.srt.speculative.spec_utils", assign_req_to_token_pool_func=writing.assign_req_to_token_pool_func
    )
    try:
        utils: ModuleType | None = _with(PREPARING[1:], "eagle_prepare_for_decode")
    except CannotRun:
        utils = None
    preparing = utils or _with(PREPARING[:1], "EagleDraftInputV2Mixin")
    for module in (writing, preparing):
        for name, value in {
            "get_last_loc": lambda *given: None,
            "alloc_paged_token_slots_extend": _hand_out,
            "ALLOC_EXTEND_FUNCS": defaultdict(lambda: _hand_out),
        }.items():
            if hasattr(module, name):
                setattr(module, name, value)
    if utils is not None:
        prepare: Callable[[Any], None] = utils.eagle_prepare_for_decode
        return prepare
    owner = preparing.EagleDraftInputV2Mixin
    return lambda batch: owner.prepare_for_decode(object.__new__(owner), batch)


class Request(SimpleNamespace):
    """A request; from 0.5.16 on its lengths are in ``kv``, which here is the request itself."""

    @property
    def kv(self) -> Request:
        return self


def _batch(req_to_token: Any) -> SimpleNamespace:
    import torch

    allocator = SimpleNamespace(page_size=ARGUMENTS.page_size)
    reqs = [Request(kv_committed_len=EARLY, kv_allocated_len=EARLY, decode_batch_idx=0) for _ in range(2)]
    return SimpleNamespace(
        reqs=reqs,
        batch_size=lambda: len(reqs),
        maybe_evict_swa=lambda: None,
        sampling_info=SimpleNamespace(penalizer_orchestrator=SimpleNamespace(is_required=False)),
        token_to_kv_pool_allocator=allocator,
        tree_cache=SimpleNamespace(token_to_kv_pool_allocator=allocator),
        req_to_token_pool=SimpleNamespace(req_to_token=req_to_token),
        req_pool_indices=torch.arange(2),
        seq_lens=torch.tensor([EARLY, EARLY]),
        seq_lens_cpu=torch.tensor([EARLY, EARLY]),  # from 0.5.23 on: the lengths are known on the CPU
        hisparse_coordinator=None,  # from 0.5.22 on: attention is not sparse
        device=torch.device("cpu"),
    )


def observe() -> dict[str, Any]:
    """Make the rows, and prepare for decode early in the context and near its end."""
    import torch

    standins.provide("sglang.srt.server_args", get_global_server_args=lambda: ARGUMENTS)
    standins.provide(
        "sglang.srt.runtime_context",
        **dict.fromkeys(("get_server_args", "get_spec", "get_schedule", "get_parallel"), lambda: ARGUMENTS),
        max_speculative_num_draft_tokens=lambda: ARGUMENTS.max_speculative_num_draft_tokens,
    )
    for utilities in ("sglang.srt.utils", "sglang.srt.utils.common"):
        standins.provide(
            utilities,
            next_power_of_2=_next_power_of_2,
            support_triton=lambda backend: True,
            is_pin_memory_available=lambda: False,
        )
    sizing = _with(SIZING, "get_req_to_token_extra_context_len")
    prepare = _prepare()
    seen: dict[str, Any] = {}

    def start(device: str) -> dict[str, Any]:
        seen["row_width"] = CONTEXT_LEN + _called(sizing.get_req_to_token_extra_context_len)
        return {}

    seen["start"] = attempt(start, "cpu")["error"]
    seen["reserve"] = attempt(lambda device: {"slots": _called(sizing.get_alloc_reserve_per_decode)}, "cpu")
    if seen["start"]:
        return seen
    req_to_token = torch.zeros((2, seen["row_width"]), dtype=torch.int32)
    req_to_token[:, :EARLY] = torch.arange(1, 2 * EARLY + 1).view(2, EARLY)
    prompt = req_to_token[1, :EARLY].clone()
    batch = _batch(req_to_token)

    def step(committed: int) -> str:
        batch.reqs[0].kv_committed_len = committed
        batch.reqs[1].kv_committed_len = EARLY

        def bit(device: str) -> dict[str, Any]:
            prepare(batch)
            return {}

        return str(attempt(bit, "cpu")["error"]) or "fine"

    for name, committed in (("early", EARLY), ("late", LATE)):
        seen[name] = step(committed)
        if seen[name].startswith(("AttributeError", "StandInCalled")):
            raise CannotRun(f"prepare_for_decode wants what the stand-ins do not have: {seen[name]}")
    seen["reserved_to_column"] = batch.reqs[0].kv_allocated_len
    seen["slots_of_the_other_prompt_changed"] = int((req_to_token[1, :EARLY] != prompt).sum())
    return seen


UNFIXED_WIDTH = CONTEXT_LEN + 4 + ARGUMENTS.max_speculative_num_draft_tokens


def _sized(seen: dict[str, Any]) -> bool:
    return bool(seen["start"] == "" and seen["reserve"] == {"error": "", "slots": 64} and seen["early"] == "fine")


def _all_right(seen: dict[str, Any]) -> bool:
    return bool(
        _sized(seen)
        and seen["row_width"] >= CONTEXT_LEN + 64
        and seen["late"] == "fine"
        and LATE < seen["reserved_to_column"] <= seen["row_width"]
        and seen["slots_of_the_other_prompt_changed"] == 0
    )


def _refused(seen: dict[str, Any]) -> bool:
    return bool(
        _sized(seen)
        and seen["row_width"] == UNFIXED_WIDTH
        and seen["late"].startswith("AssertionError")
        and str(UNFIXED_WIDTH) in seen["late"]
        and seen["slots_of_the_other_prompt_changed"] == 0
    )


def _outgrown(seen: dict[str, Any]) -> bool:
    return bool(
        _sized(seen)
        and seen["row_width"] == UNFIXED_WIDTH
        and seen["late"] == "fine"
        and seen["reserved_to_column"] > UNFIXED_WIDTH
        and seen["slots_of_the_other_prompt_changed"] > 0
    )


def _not_implemented(error: str) -> bool:
    return error.startswith("NotImplementedError")


CASES = (
    Case("none", "real rows are wide enough for the real reserve near the context limit", _all_right),
    Case(
        "26972",
        "real rows are 4 + the number of draft tokens wider than the context; early in it all is well, near its end "
        "SGLang's check refuses the reserve",
        _refused,
    ),
    Case("26972/assert", "the same as fixed", _all_right),
    Case(
        "26972/headroom+assert",
        "near the end of the context the real kernel writes the reserve on into the next request's row",
        _outgrown,
    ),
    Case(
        "26972/reserve",
        "rows cannot be sized: the reserve of a draft tree with pages of several slots is not implemented",
        lambda seen: _not_implemented(seen["start"]) and _not_implemented(seen["reserve"]["error"]),
    ),
    Case(
        "26972/all",
        "rows are as wide as without the fix, and the first decode step raises: the reserve is not implemented",
        lambda seen: bool(
            seen["start"] == "" and seen["row_width"] == UNFIXED_WIDTH and _not_implemented(seen["early"])
        ),
    ),
)
