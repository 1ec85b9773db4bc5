"""The real EAGLE prefill of an SGLang release: which tokens is the draft model given for a chunk of a prompt?

From the release: ``_eagle_prefill_tail_tokens``, and ``EagleDraftWorker._draft_extend_for_prefill`` up to where it
hands its batch to the draft model. Stood in for: everything else; ``ForwardBatch.init_new`` takes the batch and ends
the call. What differs from a server: CPU tensors, and a worker that is not initialised but given the attributes that
the method reads.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from prtoggle.scenario import CannotRun, Case
from prtoggle_fixes import standins

PACKAGE = "sglang"
NEEDS = ("torch",)
REAL = ("sglang.srt.speculative.eagle_utils", "sglang.srt.speculative.eagle_worker_v2")
ABSENT = ("triton", "sgl_kernel")

NEXT_IN_PROMPT, SAMPLES = 14, [900, 901]


class Handed(Exception):
    """The batch is on its way to the draft model."""


def nothing(*_: Any, **__: Any) -> None:
    """Takes the place of what SGLang's root calls when it is imported, from 0.5.21 on."""


def hand_over(batch: Any, *_: Any, **__: Any) -> Any:
    raise Handed(batch.input_ids.tolist())


standins.provide("sglang.srt.environ", redirect_third_party_caches=nothing)
standins.provide(
    "sglang.srt.model_executor.forward_batch_info",
    ForwardBatch=SimpleNamespace(init_new=hand_over),
    CaptureHiddenMode=SimpleNamespace(NULL=0, LAST=1),
)
standins.provide(
    "sglang.srt.speculative.eagle_info", EagleDraftInput=SimpleNamespace, EagleDraftExtendInput=SimpleNamespace
)


def make_batch(chunked: bool) -> Any:
    """Two requests, of three tokens and of two; the first is a chunk of a longer prompt, or whole."""
    import torch

    reqs = [SimpleNamespace(), SimpleNamespace()]
    return SimpleNamespace(
        reqs=reqs,
        input_ids=torch.tensor([11, 12, 13, 31, 32]),
        extend_lens=[3, 2],
        forward_mode=SimpleNamespace(is_idle=lambda: False),
        chunked_req=reqs[0] if chunked else None,
        chunked_req_next_prompt_token=NEXT_IN_PROMPT if chunked else None,
    )


def observe() -> dict[str, Any]:
    """The tail tokens, and the tokens that the draft model is given, with a chunked request and without."""
    import torch
    from sglang.srt.speculative import eagle_utils, eagle_worker_v2

    seen: dict[str, Any] = {}
    worker = SimpleNamespace(
        speculative_algorithm=SimpleNamespace(is_standalone=lambda: False), draft_runner=SimpleNamespace()
    )
    for name, chunked in (("chunked", True), ("whole", False)):
        samples = torch.tensor(SAMPLES)
        seen[f"{name} tails"] = eagle_utils._eagle_prefill_tail_tokens(make_batch(chunked), samples).tolist()
        try:
            eagle_worker_v2.EagleDraftWorker._draft_extend_for_prefill(
                worker, make_batch(chunked), torch.zeros(2, 4), samples
            )
        except Handed as batch:
            seen[name] = batch.args[0]
        else:
            raise CannotRun("_draft_extend_for_prefill does not hand its batch to ForwardBatch.init_new")
        assert samples.tolist() == SAMPLES, "the target's samples are not the draft's to change"
    return seen


def _tails(seen: dict[str, Any], chunked: list[int]) -> bool:
    return bool(
        seen["whole tails"] == SAMPLES
        and seen["whole"] == [12, 13, SAMPLES[0], 32, SAMPLES[1]]
        and seen["chunked tails"] == chunked
        and seen["chunked"] == [12, 13, chunked[0], 32, chunked[1]]
    )


CASES = (
    Case(
        "none",
        "a chunk ends with the prompt's next token; a whole prompt with the target's sample",
        lambda seen: _tails(seen, [NEXT_IN_PROMPT, SAMPLES[1]]),
    ),
    Case(
        "26329",
        "a chunk ends with the target's sample, as a whole prompt does",
        lambda seen: _tails(seen, SAMPLES),
    ),
)
