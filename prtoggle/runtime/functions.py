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
import os
import sys
from types import AsyncGeneratorType, CodeType, CoroutineType, FunctionType, GeneratorType

from prtoggle.runtime.whereabouts import all_frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from types import FrameType
    from typing import Any

_SUSPENDED = ((GeneratorType, "gi"), (CoroutineType, "cr"), (AsyncGeneratorType, "ag"))
_WORDS = {"gi": "generator", "cr": "coroutine", "ag": "async generator"}
_NOTHING = object()
_LRU = type(functools.lru_cache(lambda: None))

COMPILERS = {"triton": ("fn",), "numba": ("py_func",), "cupyx": ("_func",), "taichi": ("func",)}
"""Compilers that read a function's text once: top package of the type, and its attributes that hold the function."""


COPIED = "<dynamic-code>"
"""What cloudpickle names as the file of a function that it sent by value."""


_NO_LINKS: set[str] = set()
"""File names that are no symbolic links. They are looked at once: every look at a file lets go of the interpreter lock,
and beside threads that are busy the wait until it comes back is longer than all the rest."""

_REAL: dict[str, str] = {}
"""Absolute file names, and what they lead to; looked at once too."""


class Files(dict[str, str]):
    """Which of some files the file name of a code object means; empty where none. Code of a module that was imported
    through a symbolic link, or run by a relative path, names its file otherwise. COPIED may mean any."""

    def __init__(self, files: Iterable[str]) -> None:
        super().__init__((file, file) for file in files)
        self._real = {_realpath(file): file for file in self}
        self._last = {os.path.basename(file) for file in (*self, *self._real)}
        self[COPIED] = COPIED

    def __missing__(self, name: str) -> str:
        mine = ""
        if not name.startswith("<") and (os.path.basename(name) in self._last or _is_link(name)):
            mine = self._real.get(_realpath(name), "")
        self[name] = mine
        return mine


def _realpath(name: str) -> str:
    found = _REAL.get(name)
    if found is None:
        found = os.path.realpath(name)
        if os.path.isabs(name):
            _REAL[name] = found
    return found


def _is_link(name: str) -> bool:
    if name in _NO_LINKS:
        return False
    if os.path.islink(name):
        return True
    _NO_LINKS.add(name)
    return False


class Alive:
    """What one look found, of the code of ``files``."""

    __slots__ = (
        "cached_properties",
        "classes",
        "compiled",
        "contexts",
        "files",
        "functions",
        "lru_caches",
        "scripted",
        "suspended",
    )

    def __init__(self, files: Iterable[str] = ()) -> None:
        self.files = Files(files)
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
    found = Alive(files)
    mine = found.files
    function, sort = FunctionType, _sorter(found)
    # What to do with objects of a type, by its identity, as a hash of its own may do anything: few types, many objects.
    kinds: dict[int, Callable[[Any], object] | None] = {}
    for each in all_objects():
        kind = type(each)
        if kind is function:
            if mine[each.__code__.co_filename]:  # type: ignore[attr-defined]
                found.functions.append(each)  # type: ignore[arg-type]
            continue
        try:
            note = kinds[id(kind)]
        except KeyError:
            note = kinds[id(kind)] = sort(kind)
        if note is not None:
            note(each)
    return found


def _sorter(found: Alive) -> Callable[[type], Callable[[Any], object] | None]:
    """Tells, for a type, what is to be done with each of its objects, if anything."""
    cached = functools.cached_property
    script = getattr(sys.modules.get("torch.jit"), "ScriptModule", None)
    dynamo = getattr(sys.modules.get("torch._dynamo.eval_frame"), "_TorchDynamoContext", None)
    greenlet = getattr(sys.modules.get("greenlet"), "greenlet", None)
    compilers = tuple(name for name in COMPILERS if name in sys.modules)

    def sort(kind: type) -> Callable[[Any], object] | None:
        for suspended, prefix in _SUSPENDED:
            if kind is suspended:
                return functools.partial(_note_suspended, prefix, found)
        if kind is _LRU:
            return found.lru_caches.append
        if issubclass(kind, type):
            return found.classes.append
        if issubclass(kind, cached):
            return found.cached_properties.append
        if script is not None and script in kind.__mro__:
            return found.scripted.append
        if dynamo is not None and dynamo in kind.__mro__:
            return found.contexts.append
        if greenlet is not None and greenlet in kind.__mro__:
            return functools.partial(_note_switched_out, found)
        if compilers and type(getattr(kind, "__module__", "")) is str:
            top = kind.__module__.partition(".")[0]
            if top in compilers:
                return functools.partial(_note_compiled, COMPILERS[top], found)
        return None

    return sort


def _note_compiled(names: tuple[str, ...], found: Alive, each: Any) -> None:
    for name in names:
        held = getattr(each, "__dict__", {}).get(name)
        if type(held) is FunctionType:
            found.compiled.append((each, held))


def _note_suspended(prefix: str, found: Alive, each: Any) -> None:
    code: CodeType = getattr(each, f"{prefix}_code")
    if not found.files[code.co_filename]:
        return
    frame, running = getattr(each, f"{prefix}_frame"), getattr(each, f"{prefix}_running")
    if running and prefix == "ag":  # said also of one that awaits something
        frames = all_frames()
        running = frame in frames
        frames.clear()
    if frame is not None and not running:
        name = getattr(each, "__qualname__", code.co_name)
        found.suspended.append((code, f"{_WORDS[prefix]} {name} is suspended at line {frame.f_lineno}"))


def _note_switched_out(found: Alive, each: Any) -> None:
    frame: FrameType | None = each.gr_frame  # None of one that runs, too
    while frame is not None:
        code = frame.f_code
        if found.files[code.co_filename]:
            found.suspended.append((code, f"a greenlet is switched out in {code.co_name} at line {frame.f_lineno}"))
        frame = frame.f_back


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
