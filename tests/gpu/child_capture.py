"""What a change of code does to a CUDA graph that is captured already, and to torch.compile: nothing, and at once.

Loads fix 27360's ``forward`` twice: as the process imports it (reverted, where it was started so) and as it stands on
disk (fixed), under another name. ``swap_code`` gives a function of the first the code of the second, in place, as a
toggle in a running process would. The batch has few distinct pages, so that no state writes outside its rows: fixed and
reverted differ in what they write, and both are safe to run.

Example::

    PRTOGGLE_REVERT=27360/slice+assert python -m tests.gpu.child_capture graph cuda
"""

from __future__ import annotations

import importlib.util
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

from prtoggle_fixes.pr27360_fa3_draft_expand import forward
from tests.gpu.harness import tell

TOPK, STEPS, PAGE_SIZE, STEP = 2, 5, 2, 0
SLOTS = [[200, 201, 202, 203, 203], [300, 301, 302, 302, 303]]
"""One live slot and four more on the row's two pages: fixed fills one column, reverted both."""


def from_disk() -> ModuleType:
    """The module as its file says, past every import hook."""
    assert forward.__file__ is not None
    spec = importlib.util.spec_from_file_location("forward_as_on_disk", forward.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def swap_code(function: FunctionType, code: CodeType) -> CodeType:
    before = function.__code__
    function.__code__ = code
    return before


class Step:
    """One draft step's backend and a captured graph of its metadata."""

    def __init__(self, device: str) -> None:
        slots = torch.arange(64, dtype=torch.int32, device=device).view(1, 64)
        runner = forward.ModelRunner(torch.device(device), PAGE_SIZE, 64, slots)
        self.backend = forward.FlashAttentionBackend(
            runner, STEP, TOPK, STEPS, forward.draft_decode_set_expand_metadata
        )
        self.backend.init_cuda_graph_state(1)
        self.device = device
        self.arguments = (
            1,
            torch.zeros(1, dtype=torch.int64, device=device),
            torch.full((1,), 20, dtype=torch.int64, device=device),
            torch.tensor(SLOTS, dtype=torch.int64, device=device).flatten(),
        )
        self.table = self.backend._bind_metadata_buffers(1)[1].page_table

    def run(self) -> None:
        self.backend._apply_cuda_graph_metadata(*self.arguments)

    def capture(self) -> torch.cuda.CUDAGraph | None:
        """The metadata's graph; None on the CPU, which has none."""
        self.run()  # compiled and launched once before
        if self.device != "cuda":
            return None
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.run()
        return graph

    def filled(self, graph: torch.cuda.CUDAGraph | None = None) -> str:
        """Which state wrote the table: its columns that are filled after one replay, or one call, say so."""
        self.table.fill_(-1)
        if graph is None:
            self.run()
        else:
            graph.replay()
        columns = (self.table != -1).sum(1).tolist()
        return {(1, 1): "fixed", (2, 2): "reverted"}.get(tuple(columns), f"filled {columns}")


def graph(device: str) -> dict[str, Any]:
    """As started: capture. Then the other state's code: call, replay, capture again. Then back."""
    step = Step(device)
    method = forward.FlashAttentionBackend._apply_cuda_graph_metadata
    assert isinstance(method, FunctionType)
    seen = {"called_as_started": step.filled()}
    first = step.capture()
    seen["replayed_as_captured"] = step.filled(first)
    other = from_disk().FlashAttentionBackend._apply_cuda_graph_metadata.__code__
    mine = swap_code(method, other)
    seen["called_after_the_change"] = step.filled()
    seen["replayed_after_the_change"] = step.filled(first)
    again = step.capture()
    seen["replayed_after_a_new_capture"] = step.filled(again)
    swap_code(method, mine)
    seen["called_after_changing_back"] = step.filled()
    seen["old_graph_after_changing_back"] = step.filled(first)
    seen["new_graph_after_changing_back"] = step.filled(again)
    return {**seen, "graph": first is not None, "error": ""}


def compiled(device: str) -> dict[str, Any]:
    """The compiled function: an empty batch is fine when fixed and raises when its pad is taken out."""
    function = forward.draft_decode_set_expand_metadata
    inner = function._torchdynamo_orig_callable  # type: ignore[attr-defined]
    other = from_disk().draft_decode_set_expand_metadata._torchdynamo_orig_callable.__code__

    def call() -> str:
        def nobody(*shape: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        try:
            most = function(
                nobody(0), nobody(4, 2), nobody(0, dtype=torch.int64), 1, nobody(0, 5, dtype=torch.int64), TOPK, 2
            )
        except (RuntimeError, IndexError) as error:
            return f"raises {type(error).__name__}"
        return f"gives {int(most)}"

    seen = {"as_started": call()}
    mine = swap_code(inner, other)
    seen["after_the_change"] = call()
    swap_code(inner, mine)
    seen["after_changing_back"] = call()
    return {**seen, "graphs_compiled": int(torch._dynamo.utils.counters["stats"]["unique_graphs"]), "error": ""}


if __name__ == "__main__":
    tell({"graph": graph, "compiled": compiled})
