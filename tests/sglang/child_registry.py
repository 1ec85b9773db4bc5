"""Fill the real CUDA graph buffer registry of an SGLang release twice, and print what its buffers hold.

Run with a release in PYTHONPATH. Prints one line of JSON: the file of the registry, and what the real program of 24401
observes. Knows nothing of what is reverted.

Example::

    PYTHONPATH=.../releases/sglang/0.5.16 python child_registry.py
"""

from __future__ import annotations

import json

from prtoggle_fixes import standins
from prtoggle_fixes.pr24401_positions_zero_padding.real import ABSENT, REAL, TOKENS_EACH, batch, observe

__all__ = ["REAL", "TOKENS_EACH", "batch"]

if __name__ == "__main__":
    standins.install(real=REAL, absent=ABSENT)
    from sglang.srt.model_executor import cuda_graph_buffer_registry as module

    print(json.dumps({"file": module.__file__, **observe()}))
