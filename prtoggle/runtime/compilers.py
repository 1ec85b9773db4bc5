"""Compilers that keep what they made of a function: refused by name where it cannot be made again, else cleared.

TorchScript, Triton and others read a function's text once, so a function that went into one of them is refused.
``torch.compile`` can start afresh, and does. Nothing is imported for this: what is not in the process compiled nothing.

Example::

    compilers.refusals(functions, alive)      # ["f is compiled by triton ..."]
    compilers.clear()                         # ["what torch.compile made: ..."]
"""

from __future__ import annotations

import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FunctionType
    from typing import Any

    from prtoggle.runtime.functions import Alive

Span = tuple[str, int, int]
"""A file, and the first and last line of a function in it."""


def refusals(functions: Iterable[FunctionType], spans: Iterable[Span], alive: Alive) -> list[str]:
    """What was compiled from one of ``functions``, or from code within ``spans``, and cannot be made again."""
    found = []
    ids = {id(function): function for function in functions}
    for holder, function in alive.compiled:
        if id(function) in ids:
            kind = type(holder)
            found.append(f"{function.__qualname__} is compiled from its text by {kind.__module__}.{kind.__qualname__}")
    spans = tuple(spans)
    for name, graph in _scripted(ids.values(), alive):
        for file, first, last in spans:
            lines = [int(line) for line in re.findall(re.escape(file) + r":(\d+):\d+", graph)]
            if any(first <= line <= last for line in lines):
                found.append(f"{name} is compiled by TorchScript from lines {first} to {last} of {file}")
                break
    return found


def _scripted(functions: Iterable[FunctionType], alive: Alive) -> Iterator[tuple[str, str]]:
    """Name and graph of everything that TorchScript compiled or traced."""
    state = sys.modules.get("torch.jit._state")
    if state is None:
        return
    unit = getattr(state, "_python_cu", None)
    made: list[Any] = list(unit.get_functions()) if unit is not None else []
    for module in alive.scripted:
        try:
            made.extend(module._c._get_method(name) for name in module._c._method_names())
        except (AttributeError, RuntimeError):
            continue
    for each in made:
        graph = str(getattr(each, "inlined_graph", "")) + str(each.graph)
        yield str(getattr(each, "qualified_name", getattr(each, "name", each))), graph


def dynamo_compiled() -> bool:
    """Whether torch.compile made anything in this process."""
    frames: Any = sys.modules.get("torch._dynamo.convert_frame")
    codes = getattr(getattr(frames, "input_codes", None), "seen", ())
    return any(code() is not None for code in list(codes))


def without_own(functions: list[FunctionType]) -> list[FunctionType]:
    """``functions`` without those that torch.compile made for itself, of code that it rewrote and guards."""
    frames: Any = sys.modules.get("torch._dynamo.convert_frame")
    seen = getattr(getattr(frames, "output_codes", None), "seen", ())
    own = {id(code()) for code in list(seen)}
    return [function for function in functions if id(function.__code__) not in own] if own else functions


def alone() -> bool:
    """Whether this is the only thread: torch.compile can start afresh only while nobody runs what it made."""
    return len(sys._current_frames()) == 1


def inlined(functions: Iterable[FunctionType]) -> list[str]:
    """Methods that torch.compile may have inlined and would go on running old (pytorch#197860).

    It guards on the code of a function, and compiles again; on that of a bound method it does not.
    """
    if not dynamo_compiled() or alone():
        return []
    return [
        f"{function.__qualname__} is a method, and torch.compile, which was used in this process, may have inlined it: "
        "what it made cannot be dropped while other threads run; use force where it is not inlined"
        for function in functions
        if "." in function.__qualname__.rpartition("<locals>.")[2]
    ]


def clear() -> list[str]:
    """Have torch.compile start afresh, where that is safe."""
    if not dynamo_compiled() or not alone():
        return []
    sys.modules["torch._dynamo"].reset()
    return ["what torch.compile made: it compiles again at the next call"]


def whole_graphs(alive: Alive) -> bool:
    """Whether torch.compile was told not to leave any function out: then it cannot look at a gate."""
    return not alone() and any(getattr(context, "fullgraph", False) is True for context in alive.contexts)
