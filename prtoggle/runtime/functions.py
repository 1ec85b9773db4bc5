"""Everything alive in the process that runs, wraps, caches or compiled given functions: one look over all objects.

Finds function objects by the file of their code, also what the collector does not show after ``gc.freeze()``; suspended
generators and coroutines; caches of :mod:`functools`; objects of compilers that hold a function's text or result.

Example::

    alive = look({"/site-packages/app/core.py"})
    [f for f in alive.functions if f.__code__ is old]
"""

from __future__ import annotations

import functools
import gc
import sys
from types import AsyncGeneratorType, CodeType, CoroutineType, FunctionType, GeneratorType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any

_SUSPENDED = {GeneratorType: "gi", CoroutineType: "cr", AsyncGeneratorType: "ag"}
_WORDS = {"gi": "generator", "cr": "coroutine", "ag": "async generator"}
_NOTHING = object()
_LRU = type(functools.lru_cache(lambda: None))

COMPILERS = {"triton": ("fn",), "numba": ("py_func",), "cupyx": ("_func",), "taichi": ("func",)}
"""Compilers that read a function's text once: top package of the type, and its attributes that hold the function."""


class Alive:
    """What one look found."""

    __slots__ = (
        "cached_properties",
        "classes",
        "compiled",
        "contexts",
        "functions",
        "lru_caches",
        "scripted",
        "suspended",
    )

    def __init__(self) -> None:
        self.functions: list[FunctionType] = []
        self.suspended: list[tuple[CodeType, str]] = []
        self.lru_caches: list[Any] = []
        self.cached_properties: list[Any] = []
        self.compiled: list[tuple[object, FunctionType]] = []
        self.classes: list[type] = []
        self.contexts: list[Any] = []
        self.scripted: list[Any] = []


def all_objects() -> list[object]:
    """Every object that the collector tracks, frozen ones too."""
    was_on = gc.isenabled()
    frozen = gc.get_freeze_count()
    gc.disable()
    try:
        if frozen:
            gc.unfreeze()  # what is frozen, gc.get_objects passes over
        return gc.get_objects()
    finally:
        if frozen:
            gc.freeze()
        if was_on:
            gc.enable()


def look(files: Collection[str]) -> Alive:
    """All that is alive of the code of ``files``, and what may stand around it."""
    found = Alive()
    lru, cached, function = _LRU, functools.cached_property, FunctionType
    script = getattr(sys.modules.get("torch.jit"), "ScriptModule", None)
    dynamo = getattr(sys.modules.get("torch._dynamo.eval_frame"), "_TorchDynamoContext", None)
    compilers = tuple(name for name in COMPILERS if name in sys.modules)
    for each in all_objects():
        kind = type(each)
        if kind is function:
            if each.__code__.co_filename in files:  # type: ignore[attr-defined]
                found.functions.append(each)  # type: ignore[arg-type]
        elif kind in _SUSPENDED:
            _note_suspended(each, _SUSPENDED[kind], files, found)
        elif kind is lru:
            found.lru_caches.append(each)
        elif isinstance(kind, type) and issubclass(kind, type):
            found.classes.append(each)  # type: ignore[arg-type]
        elif issubclass(kind, cached):
            found.cached_properties.append(each)
        elif script is not None and script in kind.__mro__:
            found.scripted.append(each)
        elif dynamo is not None and dynamo in kind.__mro__:
            found.contexts.append(each)
        elif compilers and getattr(kind, "__module__", "").__class__ is str:
            top = kind.__module__.partition(".")[0]
            if top in compilers:
                for name in COMPILERS[top]:
                    held = getattr(each, "__dict__", {}).get(name)
                    if type(held) is function:
                        found.compiled.append((each, held))
    return found


def _note_suspended(each: Any, prefix: str, files: Collection[str], found: Alive) -> None:
    code: CodeType = getattr(each, f"{prefix}_code")
    if code.co_filename in files and not getattr(each, f"{prefix}_running"):
        frame = getattr(each, f"{prefix}_frame")
        if frame is not None:
            name = getattr(each, "__qualname__", code.co_name)
            found.suspended.append((code, f"{_WORDS[prefix]} {name} is suspended at line {frame.f_lineno}"))


def clear(functions: Collection[FunctionType], alive: Alive) -> list[str]:
    """Clear the caches that hold results of ``functions``. Returns what was cleared, in words."""
    ids = {id(function) for function in functions}
    cleared = []
    for cache in alive.lru_caches:
        if _reaches(cache, ids):
            cache.cache_clear()
            cleared.append(f"functools.lru_cache of {getattr(cache, '__qualname__', cache)}")
    properties = [each for each in alive.cached_properties if id(_unwrapped(each.func, ids)) in ids]
    for each in properties:
        count = _forget(each, alive.classes)
        if count:
            cleared.append(f"cached_property {each.attrname} computed on {count} object{'s' if count > 1 else ''}")
    return cleared


def _reaches(wrapper: Any, ids: set[int]) -> bool:
    return id(_unwrapped(getattr(wrapper, "__wrapped__", None), ids)) in ids


def _unwrapped(function: Any, ids: set[int]) -> Any:
    """The first of ``ids`` behind ``function``, or its end."""
    for _ in range(100):
        if id(function) in ids:
            return function
        inner = getattr(function, "__func__", None) or getattr(function, "func", None)
        inner = inner or getattr(function, "__dict__", {}).get("__wrapped__")
        if inner is None:
            return function
        function = inner
    return function


def _forget(cached: Any, classes: Iterable[type]) -> int:
    """Delete the computed value of a cached_property from every instance that has one."""
    contents = type.__dict__["__dict__"].__get__
    owners = {id(each) for each in classes if any(value is cached for value in list(contents(each).values()))}
    if not owners:
        return 0
    count = 0
    mine: dict[type, bool] = {}
    for each in all_objects():
        kind = type(each)
        if kind not in mine:
            mine[kind] = any(id(base) in owners for base in kind.__mro__)
        if mine[kind] and getattr(each, "__dict__", {}).pop(cached.attrname, _NOTHING) is not _NOTHING:
            count += 1
    return count
