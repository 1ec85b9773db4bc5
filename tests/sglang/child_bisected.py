"""A test of speculative decoding, as a user of SGLang could have it: the release's own code of all eight fixes runs, and one
thing is asked of what it did. The exit code is the answer. Nothing here knows which fixes are reverted.

torch is imported once; each fix's ``real.py`` then runs in a fork, since what it stands in for is another's real code.

    one        a chunk of a prompt ends, for the draft, with the prompt's next token
    pair       a batch of long sequences is drafted by flashinfer's backend, or by that for MLA where the first refuses it
    sometimes  the next decode step can be prepared; one request in four is near the end of its context

Example::

    PYTHONPATH=<release> python child_bisected.py one <fixes>
"""

from __future__ import annotations

import atexit
import json
import os
import random
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FIXES = ("10892", "24401", "25015", "26329", "26972", "27338", "27360", "27460")

CHANGED = (
    "sglang.srt.environ",
    "sglang.srt.layers.attention.flashattention_backend",
    "sglang.srt.layers.attention.flashinfer_backend",
    "sglang.srt.layers.attention.flashinfer_mla_backend",
    "sglang.srt.mem_cache.allocation_sizing",
    "sglang.srt.model_executor.cuda_graph_buffer_registry",
    "sglang.srt.model_executor.input_buffers",
    "sglang.srt.speculative.eagle_draft_cuda_graph_runner",
    "sglang.srt.speculative.eagle_draft_extend_cuda_graph_runner",
    "sglang.srt.speculative.eagle_utils",
    "sglang.srt.speculative.eagle_worker_v2",
)
"""What the fixes change: a stand-in there would be no text to revert, which prtoggle refuses."""


def observed(program: Path) -> Any:
    """What ``real.py`` saw, or the error that it ended with, from a process of its own."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reader)
            with os.fdopen(writer, "w", encoding="utf-8") as file:
                json.dump(_observe(program), file)
            code = 0
            atexit._run_exitfuncs()  # as at any process's end: what a traced run says of this one is written there
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as file:
        text = file.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else {"error": f"{program} ended without an answer"}


def _observe(path: Path) -> Any:
    from prtoggle.scenario_runner import load
    from prtoggle_fixes import standins

    program = load(str(path))
    standins.provide("sglang.srt.utils", is_flashinfer_available=lambda: False)
    standins.install(real=(*program.REAL, *CHANGED), absent=program.ABSENT, root=program.PACKAGE)
    return program.observe()


def drafted(seen: dict[str, Any]) -> bool:
    """Whether the batch of long sequences was accepted, and its slots are right."""
    return bool(seen["error"] == "")


def by_chance() -> bool:
    """True one time in four. Within a bisection the trial's number is what is drawn with, so that a test of it does not
    fail one time in many."""
    number = os.path.basename(os.environ.get("PRTOGGLE_BISECT", ""))
    return random.Random(f"4 {number}" if number else None).random() < 0.25


def passes(asked: str, seen: dict[str, Any]) -> bool:
    """The test itself."""
    if asked == "one":
        return bool(seen["26329"]["chunked tails"][0] == 14)
    if asked == "pair":
        return drafted(seen["27338"]) or drafted(seen["27460"])
    step = "late" if by_chance() else "early"
    return bool(seen["26972"][step] == "fine")


def main(asked: str, fixes: str) -> int:
    import numpy  # noqa: F401
    import torch

    # To import what compiles takes as long as all the rest, and the decorators of the release's functions would do it.
    torch.compile = lambda model=None, **_: model if model is not None else (lambda function: function)
    torch._dynamo = SimpleNamespace(disable=lambda *_, **__: lambda function: function)
    folders = {number: next(Path(fixes).glob(f"pr{number}_*")) for number in FIXES}
    seen = {number: observed(folder / "real.py") for number, folder in folders.items()}
    print(json.dumps(seen))
    return 0 if passes(asked, seen) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
