"""The real flashinfer draft backend of an SGLang release, on a CPU: see :mod:`.real_draft` for what runs."""

from __future__ import annotations

from typing import Any

from prtoggle.scenario import Case
from prtoggle_fixes.pr27338_eagle_draft_kv_indices import real_draft

PACKAGE = "sglang"
NEEDS = ("torch", "numpy")
REAL = real_draft.REAL
ABSENT = real_draft.ABSENT


def observe() -> dict[str, Any]:
    """Both batches; and that the other backend's buffer is as wide as ever."""
    return real_draft.observe(real_draft.ORDINARY, beside=real_draft.MLA)


CASES = (
    Case("none", "the real row is max_bs * topk * max_context_len wide and holds every slot", real_draft.all_right),
    Case(
        "27338",
        "the real row is max_bs * max_context_len wide; short sequences work, long ones are refused by SGLang's check",
        real_draft.refused,
    ),
    Case("27338/assert", "the same as fixed", real_draft.all_right),
    Case(
        "27338/all",
        "the real kernel writes long sequences' slots into the next steps' rows and over the draft tokens behind them",
        real_draft.overrun,
    ),
)
