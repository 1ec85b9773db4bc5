"""A bit of a scenario: it either ends well or fails loudly, and the scenario goes on to say which.

A failing bit can end a process's use of its CUDA device, so on CUDA it runs in a child process of its own, which
inherits the environment (and so the reverted state). Standard library only, but for torch in the child.

Example::

    plan = outcome("prtoggle_fixes.pr24401_positions_zero_padding.scenario", "plan", plan_bit, device)
    plan["error"]     # "" where it ended well, else "IndexError: index 606 is out of bounds ..."

A scenario whose bits run on CUDA ends with ``if __name__ == "__main__": child_main({"plan": plan_bit})``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

Bit = Callable[[str], dict[str, Any]]
"""Takes the device; returns what it saw, plain JSON values; raises where something fails loudly."""

TIME_LIMIT = 240.0
"""Seconds that a child may take; it imports torch and may compile kernels."""


def attempt(bit: Bit, device: str) -> dict[str, Any]:
    """Run ``bit`` here and wait for the device: what it saw, and ``error``, one line ``Type: message`` or empty."""
    try:
        seen = bit(device)
        if device == "cuda":
            import torch

            torch.cuda.synchronize()
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        return {"error": f"{type(error).__name__}: {lines[0]}"}
    return {"error": "", **seen}


def outcome(module: str, name: str, bit: Bit, device: str) -> dict[str, Any]:
    """:func:`attempt`, in a child process ``python -m module name`` where ``device`` is ``"cuda"``."""
    if device != "cuda":
        return attempt(bit, device)
    command = [sys.executable, "-m", module, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    try:
        seen = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        seen = None
    if isinstance(seen, dict) and "error" in seen:
        return seen
    last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    return {"error": f"the child process ended with {done.returncode}: {last}"}


def child_main(bits: Mapping[str, Bit]) -> None:
    """Entry point of the child: run the bit named on the command line on CUDA and print its outcome as JSON."""
    print(json.dumps(attempt(bits[sys.argv[1]], "cuda")), flush=True)
    os._exit(0)  # a lost CUDA context may abort an ordinary exit
