"""Build the real fa3 draft-decode expand metadata of an SGLang release, and print the page tables.

Run with a release in PYTHONPATH. Prints one line of JSON: the backend's file, and what the real program of 27360 observes.
With ``--compile`` the metadata function is compiled, as in production; without, run with TORCHDYNAMO_DISABLE=1. Knows
nothing of what is reverted.

Example::

    PYTHONPATH=.../releases/sglang/0.5.16 TORCHDYNAMO_DISABLE=1 python child_draft_expand.py
"""

from __future__ import annotations

import json
import sys
from typing import Any

from prtoggle_fixes import standins
from prtoggle_fixes.pr27360_fa3_draft_expand import real as program
from prtoggle_fixes.pr27360_fa3_draft_expand.real import ABSENT, REAL, STEPS, run_case

__all__ = ["ABSENT", "REAL", "STEPS", "run_case"]


def prepare(compiled: bool, real: tuple[str, ...] = REAL) -> None:
    """Put the stand-ins in place; torch must have looked for Triton before."""
    if compiled:
        import torch._inductor.compile_fx  # noqa: F401
    standins.install(real=real, absent=ABSENT)


def observe() -> dict[str, Any]:
    from sglang.srt.layers.attention import flashattention_backend as module

    return {"file": module.__file__, **program.observe()}


if __name__ == "__main__":
    prepare("--compile" in sys.argv)
    print(json.dumps(observe()))
