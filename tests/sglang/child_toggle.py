"""Call the real ``maybe_revert_pr_fix`` of an SGLang release, then build the draft expand metadata, and print both.

Run with a release in PYTHONPATH, SGLANG_DEBUG_REVERT_PR as wished and TORCHDYNAMO_DISABLE=1. Prints one line of JSON:
whether the toggle returned or what it raised (twice: it may be called again), the source that Python gives for the
method afterwards, and what child_draft_expand observes. Knows nothing of prtoggle.

An argument sets the variable from within, after the process has started.

Example::

    PYTHONPATH=.../releases/sglang/0.5.16 SGLANG_DEBUG_REVERT_PR=27360 python child_toggle.py
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import warnings
from typing import Any

import child_draft_expand

PATCHER = "sglang.srt.debug_utils.source_patcher"
REAL = (
    "sglang.srt.debug_utils.pr_fix_toggle",
    PATCHER,
    *(f"{PATCHER}.{name}" for name in ("code_patcher", "source_editor", "types")),
    *child_draft_expand.REAL,
)


def call_toggle() -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            from sglang.srt.debug_utils.pr_fix_toggle import maybe_revert_pr_fix

            maybe_revert_pr_fix()
            seen: dict[str, Any] = {"returned": True}
        except Exception as problem:
            seen = {"returned": False, "error": type(problem).__name__, "message": str(problem)}
    return {**seen, "warnings": [str(warning.message) for warning in caught]}


def observe() -> dict[str, Any]:
    calls = [call_toggle(), call_toggle()]
    from sglang.srt.layers.attention.flashattention_backend import FlashAttentionBackend

    source = inspect.getsource(FlashAttentionBackend._apply_cuda_graph_metadata)
    return {
        "toggle": calls,
        "slices": source.count("cache_loc = cache_loc[:, :decode_length]"),
        **child_draft_expand.observe(),
    }


if __name__ == "__main__":
    if len(sys.argv) > 1:  # SGLang's own toggle alone: nothing was selected when the process started
        os.environ["SGLANG_DEBUG_REVERT_PR"] = sys.argv[1]
    child_draft_expand.prepare(compiled=False, real=REAL)
    print(json.dumps(observe()))
