"""A bit of a scenario: it either ends well or fails loudly, and the scenario goes on to say which.

A failing bit ends a process's use of its CUDA device, so on CUDA it runs in a child process of its own, which
inherits the environment (and so the reverted state). Standard library only, but for torch in the child.

Example::

    error = outcome("prtoggle_fixes.pr24401_positions_zero_padding.scenario", "plan", plan, device)
    # "" where it ended well, else "IndexError: index 606 is out of bounds ..."

A scenario whose bits run on CUDA ends with ``if __name__ == "__main__": child_main({"plan": plan})``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping

Bit = Callable[[str], None]
"""Takes the device, returns when all is well, raises otherwise."""

TIME_LIMIT = 240.0
"""Seconds that a child may take; it imports torch and may compile kernels."""


def attempt(bit: Bit, device: str) -> str:
    """Run ``bit`` here and wait for the device; the error as one line ``Type: message``, or an empty string."""
    try:
        bit(device)
        if device == "cuda":
            import torch

            torch.cuda.synchronize()
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        return f"{type(error).__name__}: {lines[0]}"
    return ""


def outcome(module: str, name: str, bit: Bit, device: str) -> str:
    """:func:`attempt`, in a child process ``python -m module name`` where ``device`` is ``"cuda"``."""
    if device != "cuda":
        return attempt(bit, device)
    command = [sys.executable, "-m", module, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    try:
        error = json.loads(done.stdout.strip().splitlines()[-1])["error"]
    except (IndexError, KeyError, TypeError, ValueError):
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return f"the child process ended with {done.returncode}: {last}"
    return str(error)


def child_main(bits: Mapping[str, Bit]) -> None:
    """Entry point of the child: run the bit named on the command line on CUDA and print its outcome as JSON."""
    error = attempt(bits[sys.argv[1]], "cuda")
    print(json.dumps({"error": error}), flush=True)
    os._exit(0)  # a lost CUDA context may abort an ordinary exit
