"""Compilers that keep what they made of a function and cannot make it again: what went into one is refused by name.

TorchScript, Triton and others read a function's text once. (``torch.compile``: :mod:`prtoggle.runtime.dynamo`.)
Nothing is imported for this: what is not in the process compiled nothing.

Example::

    compilers.refusals(functions, spans, alive)      # ["f is compiled from its text by triton ..."]
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
