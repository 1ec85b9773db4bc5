"""What is bisected on GPUs: a bit of work of several fixes, on the one device that the trial was given.

Fails where stale positions take a gather out of its table: a CUDA error on a device, an exception on the CPU. Prints which
device it ran on.

Example::

    prtoggle bisect --among 10892,24401,26972 -- python -m tests.gpu.child_bisected cuda
"""

from __future__ import annotations

import contextlib
import os
import sys

import torch

from prtoggle_fixes.pr10892_eagle_draft_padding import scenario as draft
from prtoggle_fixes.pr26972_req_to_token_headroom import scenario as buffers
from tests.gpu.child_24401 import far_unchecked

if __name__ == "__main__":
    (device,) = sys.argv[1:]
    for scenario in (draft, buffers):
        with contextlib.suppress(RuntimeError, AssertionError, IndexError):
            scenario.observe(device)
    if device == "cuda":
        print("device", torch.cuda.get_device_properties(0).uuid, torch.cuda.device_count(), flush=True)
    seen = far_unchecked(device, "1024")
    if device == "cuda":
        torch.cuda.synchronize()
    if seen["error"]:
        print(seen, file=sys.stderr)
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(1 if seen["error"] else 0)
