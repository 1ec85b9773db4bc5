"""Draft decode with 4 branches and 3 steps, short sequences and then long ones: do their KV slots fit the buffer?

Example::

    observe("cpu")["row_width"]     # 512 when fixed, 128 when reverted
"""

from __future__ import annotations

from typing import Any

from prtoggle.scenario import Case
from prtoggle_fixes.bits import child_main, outcome
from prtoggle_fixes.pr27338_eagle_draft_kv_indices import overrun
from prtoggle_fixes.pr27338_eagle_draft_kv_indices.forward import FlashInferMultiStepDraftBackend

MODULE = "prtoggle_fixes.pr27338_eagle_draft_kv_indices.scenario"


def verify(device: str) -> dict[str, Any]:
    """The bit that may fail: the draft tokens' look-up in the embedding."""
    return overrun.verify(FlashInferMultiStepDraftBackend, device)


def observe(device: str) -> dict[str, Any]:
    """Both batches on ``device``."""
    seen = overrun.look(FlashInferMultiStepDraftBackend, device)
    return {**seen, "verify": outcome(MODULE, "verify", verify, device)["error"]}


CASES = (
    Case("none", "a row holds every branch's KV slots, and the draft tokens behind the buffer stay", overrun.all_right),
    Case(
        "27338",
        "a row is topk times too narrow: short sequences work, and long ones are refused by the size check",
        overrun.refused,
    ),
    Case(
        "27338/assert",
        "the same as fixed: every row is wide enough, so there is nothing for the size check to refuse",
        overrun.all_right,
    ),
    Case(
        "27338/all",
        "short sequences work; long ones make steps read each other's KV slots and write slots over the draft tokens, "
        "which the embedding then cannot look up",
        overrun.overrun,
    ),
)


if __name__ == "__main__":
    child_main({"verify": verify})
