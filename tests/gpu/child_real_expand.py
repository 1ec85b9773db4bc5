"""The real fa3 draft-decode metadata of an SGLang release, compiled, on a device.

Run with a release and ``tests/sglang`` in PYTHONPATH; ``--compile`` as in child_draft_expand, whose cases these are,
with every tensor on the device. ``walk``: all steps, pages of one slot and of two. ``overflow``: one case whose pages do
not fit, alone, since on CUDA it may end the process's use of the device. Prints one line of JSON. Knows nothing of prtoggle.

Example::

    PYTHONPATH=.../releases/sglang/0.5.16:tests/sglang python tests/gpu/child_real_expand.py walk cuda --compile
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import child_draft_expand

from prtoggle_fixes import standins


def walk() -> dict[str, Any]:
    return child_draft_expand.observe()


def overflow() -> dict[str, Any]:
    from sglang.srt.layers.attention import flashattention_backend as module

    standins.hide(child_draft_expand.ABSENT)
    return {"file": module.__file__, "cases": [child_draft_expand.run_case(2, 0, child_draft_expand.STEPS)]}


if __name__ == "__main__":
    what, device = sys.argv[1:3]
    child_draft_expand.prepare("--compile" in sys.argv)
    import torch

    torch.set_default_device(device)
    try:
        seen = {"walk": walk, "overflow": overflow}[what]()
        if device == "cuda":
            torch.cuda.synchronize()
    except RuntimeError as error:
        seen = {"error": type(error).__name__, "message": str(error).strip().splitlines()[0]}
    seen["compiled_graphs"] = int(torch._dynamo.utils.counters["stats"]["unique_graphs"])
    print(json.dumps(seen), flush=True)
    os._exit(0)  # a lost CUDA context may abort an ordinary exit
