"""Start the programs of this folder in child processes, fixed or reverted by the environment variable alone.

Contract: a child is ``python -m tests.gpu.<program> ARGUMENTS`` from the checkout, so that it imports the checkout's
``prtoggle_fixes``, in an environment without variables of prtoggle, SGLang, pytest or torch's compiler, but for those
given here. A child prints JSON on its last line and ends by :func:`tell`. A selection other than ``none`` must be in
force: prtoggle's own line on stderr is looked for, so that a test of the reverted state cannot pass on fixed code.

Example::

    seen = run_child("child_24401", "tails", "cuda", reverted="24401")
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLEARED = ("PRTOGGLE_", "SGLANG_", "PYTEST_", "TORCHDYNAMO_", "TORCHINDUCTOR_", "TORCH_COMPILE", "PYTORCH_")
SANITIZER = ("compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer")


@dataclass(frozen=True)
class Ended:
    """How a child ended: what it printed last as JSON (or None), its exit status and its words."""

    seen: dict[str, Any] | None
    code: int
    stdout: str
    stderr: str


def start(
    program: str,
    *arguments: str,
    reverted: str = "none",
    env: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    timeout: float = 240,
) -> Ended:
    """Run a program of this folder to its end, whatever that is; ``before`` stands before ``python`` (a sanitizer)."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(CLEARED)}
    selection = {} if reverted == "none" else {"PRTOGGLE_REVERT": reverted}
    done = subprocess.run(
        [*before, sys.executable, "-m", f"tests.gpu.{program}", *arguments],
        env={**clean, **selection, **(env or {})},
        cwd=ROOT,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
    )
    at_import = [
        line for line in done.stderr.splitlines() if line.startswith("prtoggle: ") and "while running" not in line
    ]
    said = any(" reverted in " in line for line in at_import)
    assert said == (reverted != "none"), f"selected {reverted}, and on stderr:\n{done.stderr[-3000:]}"
    return Ended(_last_json(done.stdout), done.returncode, done.stdout, done.stderr)


def _last_json(text: str) -> dict[str, Any] | None:
    for line in reversed(text.strip().splitlines()):
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except ValueError:
                continue
            return found if isinstance(found, dict) else None
    return None


def run_child(program: str, *arguments: str, **how: Any) -> dict[str, Any]:
    """What the program saw; it must have ended well."""
    ended = start(program, *arguments, **how)
    assert ended.seen is not None and ended.code == 0, f"{program} {arguments}: {ended.code}\n{ended.stderr[-4000:]}"
    return ended.seen


def sanitizer() -> str:
    """The path of compute-sanitizer; the test is skipped where there is none."""
    for name in SANITIZER:
        if found := shutil.which(name):
            return found
    pytest.skip("compute-sanitizer is not installed (it comes with the CUDA toolkit)")


def tell(bits: Mapping[str, Callable[..., dict[str, Any]]]) -> None:
    """A child's entry point: run the bit that the command line names and print what it saw.

    An error that names the device is printed too, as ``error``: seeing it is what some children are for. The process
    then ends at once, since a lost CUDA context may abort an ordinary exit.
    """
    name, device, *rest = sys.argv[1:]
    try:
        seen = bits[name](device, *rest)
        if device == "cuda":
            import torch

            torch.cuda.synchronize()
    except (AssertionError, IndexError, RuntimeError) as error:
        lines = [line for line in str(error).strip().splitlines() if line]
        seen = {"error": type(error).__name__, "message": lines[0] if lines else ""}
    print(json.dumps(seen), flush=True)
    sys.stderr.flush()
    os._exit(0)
