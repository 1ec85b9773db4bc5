"""Who is where: the frames of all threads at one instant, and the generators and coroutines that are suspended.

Example::

    suspended([step.__code__])      # ("generator step, app/core.py:7",)
    described(ident, frame)         # "thread worker-0: in step, app/core.py:7"
"""

from __future__ import annotations

import gc
import sys
from itertools import chain, islice, repeat
from types import AsyncGeneratorType, CodeType, CoroutineType, GeneratorType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType
    from typing import Any

SUSPENDABLE = 0x20 | 0x80 | 0x200
"""Flags of the code of generators, coroutines and async generators: inspect.CO_*."""


def suspended(codes: Iterable[CodeType]) -> tuple[str, ...]:
    """The generators, coroutines and async generators that were started, or made, with one of ``codes`` and have not
    ended; generator expressions inside them too."""
    wanted: dict[int, CodeType] = {}  # by identity: equal code of another module is another's
    left = list(codes)
    while left:
        code = left.pop()
        if code.co_flags & SUSPENDABLE:
            wanted[id(code)] = code
        left.extend(const for const in code.co_consts if isinstance(const, CodeType))  # generator expressions
    if not wanted:
        return ()  # looking through all objects takes as long as many toggles
    was_on = gc.isenabled()
    frozen = gc.get_freeze_count()
    gc.disable()
    try:
        if frozen:
            gc.unfreeze()  # what is frozen, gc.get_referrers passes over
        holders = gc.get_referrers(*wanted.values())
        if frozen:
            gc.freeze()
    finally:
        if was_on:
            gc.enable()
    found = []
    for holder in holders:
        for kind, word, prefix in (
            (GeneratorType, "generator", "gi"),
            (CoroutineType, "coroutine", "cr"),
            (AsyncGeneratorType, "async generator", "ag"),
        ):
            if type(holder) is kind:
                code, frame = getattr(holder, f"{prefix}_code"), getattr(holder, f"{prefix}_frame")
                if id(code) in wanted and frame is not None:
                    name = getattr(holder, "__qualname__", code.co_name)
                    found.append(f"{word} {name}, {code.co_filename}:{frame.f_lineno}")
    return tuple(sorted(found))


def all_frames() -> list[FrameType]:
    """All frames of all threads at one instant.

    One call into C, so that no thread runs in between: the list feeds itself. Walked step by step, the stack above a
    generator would be lost if that yielded meanwhile.
    """
    frames: list[Any] = []
    tops = chain.from_iterable(map(dict.values, islice(iter(sys._current_frames, None), 1)))
    frames.extend(chain(tops, filter(None, map(getattr, frames, repeat("f_back"), repeat(None)))))
    return frames


def described(ident: int, frame: FrameType) -> str:
    """One thread and its place, for a person."""
    threading = sys.modules.get("threading")
    names = {each.ident: each.name for each in threading.enumerate()} if threading else {}
    name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
    return f"thread {names.get(ident, ident)}: in {name}, {frame.f_code.co_filename}:{frame.f_lineno}"
