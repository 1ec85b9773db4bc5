"""The gate: gives functions new code while threads call them, so that no thread runs one of them old and one new.

While the gate is closed, every function to change runs code of the gate. A thread that is inside old code goes on with
a twin of the old function; any other thread waits. Once no thread is inside old code any more, all functions get their
new code and the gate opens. Where that takes longer than the time limit everything is put back, and
:class:`GateTimeout` says which thread is where.

What is not waited for: generators, coroutines and tasks that are suspended in old code, or were made and have not begun
(they end in it, and are named in :attr:`Exchanged.suspended`), greenlets that are switched out, and functions given as
``plain``. A call that went through the closed gate has one frame more on its stack.

Example::

    done = exchange([Change(step, new_code), Change(helper, new_helper_code)], timeout=2.0)
    done.pause      # seconds for which calls may have waited
"""

from __future__ import annotations

import gc
import os
import sys
import time
from _thread import LockType, allocate_lock, get_ident
from collections import deque
from itertools import repeat
from types import CodeType, FunctionType

from prtoggle.errors import RefusedError
from prtoggle.runtime.change import Change, set_all, set_each
from prtoggle.runtime.whereabouts import SUSPENDABLE, all_frames, described, suspended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from types import FrameType
    from typing import Any

TWIN = "__prtoggle_twin__"
"""What tells a twin, which may be garbage that the collector has not found yet, from a function that somebody has."""

PAGE = "live#what-is-refused-and-why"
"""Where the documents say what cannot be changed while a process runs."""

_one_at_a_time = allocate_lock()
_closed: list[Gate] = []
_hooked = False


class GateTimeout(RefusedError):
    """Threads did not leave old code in time; everything is as it was. ``where`` says which thread is where."""

    page = "live#what-you-can-rely-on"

    def __init__(self, what: str, where: tuple[str, ...], *, hint: str = "") -> None:
        self.where = where
        super().__init__("\n".join((what, *(f"  {line}" for line in where))), hint=hint)


class Exchanged:
    """How an exchange went.

    Attributes:
        pause: seconds for which the gate was closed.
        forced: whether threads were still inside old code when the new was set.
        where: those threads.
        suspended: generators, coroutines and tasks that will end in old code.
    """

    __slots__ = ("forced", "pause", "suspended", "where")

    def __init__(self, pause: float, forced: bool, where: tuple[str, ...], suspended: tuple[str, ...]) -> None:
        self.pause = pause
        self.forced = forced
        self.where = where
        self.suspended = suspended


def exchange(
    changes: Sequence[Change],
    *,
    plain: Sequence[Change] = (),
    timeout: float = 2.0,
    force: bool = False,
    also: Container[int] = (),
    skip: Callable[[CodeType], object] | None = None,
) -> Exchanged:
    """Give all functions their new code and attributes, together, or raise and leave all as they were.

    ``plain`` are set in the same step, without a gate: for what a compiler would have to look into. With ``force`` the
    new code is set at the time limit too. ``also`` has the identities of more code that is old: what a compiler made.
    ``skip`` is given the code of the gate, for a compiler not to look at. Raises GateTimeout, or RefusedError for a
    function that cannot take its code.
    """
    _check((*changes, *plain))
    lock = _one_at_a_time  # a forked child gets another
    if not lock.acquire(True, timeout):
        raise RefusedError("another toggle is under way in this process", hint="try again when it is done", page=PAGE)
    try:
        _hook_forks()
        gate = Gate(changes, plain, also, skip)
        own = gate.frames_of(sys._getframe())
        if own and not force:
            where = tuple(described(get_ident(), frame) for frame in own[:1])
            raise GateTimeout("this thread is itself inside code that is to change", where, hint="toggle from outside")
        return gate.run(own, time.monotonic() + timeout, force)
    finally:
        lock.release()


def _check(changes: tuple[Change, ...]) -> None:
    """Refuse, before anything changes, what a function would refuse when half of the others have changed."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise RefusedError(
            "a Python without the global interpreter lock cannot be toggled while it runs",
            hint="restart with the variable set",
            page=PAGE,
        )
    seen: set[int] = set()
    for change in changes:
        function = change.function
        if type(function) is not FunctionType:
            raise RefusedError(f"{function!r} is a {type(function).__name__}, not a Python function", page=PAGE)
        if id(function) in seen:
            raise RefusedError(f"{function.__qualname__} is to change twice in one step", page=PAGE)
        seen.add(id(function))
        before, after = function.__code__.co_freevars, change.code.co_freevars
        if before != after:
            raise RefusedError(
                f"{function.__qualname__} takes other names from the functions around it: "
                f"({', '.join(before)}) now, ({', '.join(after)}) wanted",
                hint="restart with the variable set",
                page=PAGE,
            )


class Gate:
    """One exchange: the functions as they are, as they are to become, and the way between."""

    def __init__(
        self,
        changes: Sequence[Change],
        plain: Sequence[Change],
        also: Container[int] = (),
        skip: Callable[[CodeType], object] | None = None,
    ) -> None:
        self.functions = [change.function for change in changes]
        self.before = [Change(change.function, change.function.__code__) for change in (*changes, *plain)]
        self.after = [*changes, *plain]
        self.old = {id(change.code) for change in self.before[: len(changes)]}
        self.also = also
        self.twins = [_twin(function) for function in self.functions]
        self.codes = [_gate_code(self.enter, index, function) for index, function in enumerate(self.functions)]
        if skip is not None:
            for code in (*self.codes, Gate.enter.__code__, Gate.frames_of.__code__):
                skip(code)
        self.thread = get_ident()
        self.open = False
        self.waiting: deque[LockType] = deque()

    def run(self, own: list[FrameType], limit: float, force: bool) -> Exchanged:
        """Close, drain, set, open. ``own`` frames are not waited for."""
        gc_was_on = gc.isenabled()
        done = forced = False
        where: tuple[str, ...] = ()
        pending: tuple[str, ...] = ()
        start = time.perf_counter()
        try:
            _closed.append(self)
            gc.disable()  # a finalizer in the middle of all_frames would let other threads run
            set_each(self.functions, repeat("__code__"), self.codes)
            turns = 0
            while self.inside(own):
                if time.monotonic() >= limit:
                    where = self.where()
                    if force:
                        break
                    if where:
                        raise GateTimeout(
                            "threads are inside code that is to change, and did not leave it in time; nothing changed",
                            where,
                            hint="try again with a longer time limit, or with force",
                        )
                turns += 1
                time.sleep(0 if turns < 10 else 0.0005)
            forced = force and bool(own or where)
            pending = suspended([change.code for change in self.before])  # once open, they may have ended
            set_all(self.after)
            done = True
        finally:
            if not done:
                set_all(self.before)
            self.let_go()
            self.codes.clear()  # they know the gate: without this, twins would live on until the collector runs
            pause = time.perf_counter() - start
            if self in _closed:
                _closed.remove(self)
            if gc_was_on:
                gc.enable()
        if own:
            where = (*(described(self.thread, frame) for frame in own[:1]), *where)
        return Exchanged(pause, forced, where if forced else (), pending)

    def enter(self, index: int) -> FunctionType:
        """What a call of function ``index`` that met the gate is to call; waits where it may not go on yet."""
        # In the thread of the exchange this is a signal handler or a finalizer: it ends before the new code is set.
        if not self.open and (get_ident() == self.thread or self.frames_of(sys._getframe(1))):
            return self.twins[index]
        # A lock for each wait, none shared: a signal handler may come to wait on top of the wait that it interrupted.
        own = allocate_lock()
        own.acquire()
        self.waiting.append(own)
        if not self.open:
            own.acquire()
        return self.functions[index]

    def let_go(self) -> None:
        """Open: whoever waits goes on with what the functions are by now."""
        self.open = True
        while self.waiting:
            self.waiting.popleft().release()

    def put_back(self) -> None:
        """In a forked child, where the thread of the exchange is not."""
        set_all(self.before)
        self.let_go()

    def frames_of(self, frame: FrameType | None) -> list[FrameType]:
        """The frames in old code on the stack that ends in ``frame``, which is this thread's."""
        found = []
        while frame is not None:
            if id(frame.f_code) in self.old or id(frame.f_code) in self.also:
                found.append(frame)
            frame = frame.f_back
        return found

    def inside(self, own: list[FrameType]) -> bool:
        """Whether any thread is inside old code."""
        frames = all_frames()
        try:
            codes = ((id(frame.f_code), frame) for frame in frames)
            return any((code in self.old or code in self.also) and frame not in own for code, frame in codes)
        finally:
            frames.clear()  # it holds the frame that it was made in, and every thread's locals

    def where(self) -> tuple[str, ...]:
        """Every other thread that is inside old code, and at which line."""
        found = []
        for ident, top in sys._current_frames().items():
            frames = self.frames_of(top) if ident != self.thread else []
            if frames:
                found.append(described(ident, frames[0]))
        return tuple(sorted(found))


def _twin(function: FunctionType) -> FunctionType:
    """The function as it is, under another identity."""
    twin = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__qualname__ = function.__qualname__
    twin.__module__ = function.__module__
    twin.__dict__[TWIN] = True
    return twin


FILE = "<frozen importlib, prtoggle gate>"
"""The gate's file: by how it begins torch.compile knows what it is not to look into. Where it compiles a caller in
another thread just then, it calls the gate, as Python would; of the gate's own code it makes nothing but an error."""
_KINDS = SUSPENDABLE | 0x100
"""Flags of the code of generators, coroutines and async generators, iterable coroutines too."""
_FORMS = {0x20: ("def", "return (yield from {})"), 0x80: ("async def", "return await {}")}
"""How a gate of that kind is written where Python goes by the flags themselves."""
_templates: dict[tuple[int, int], CodeType] = {}


def _gate_code(enter: object, index: int, function: FunctionType) -> CodeType:
    """Code that asks ``enter`` what to call, and calls it with what it was given.

    As many free variables as the function has, since Python asks for that; their names and values are not used. Of the
    function's kind, since who asks meanwhile whether this is a coroutine function, to await it or not, must hear the
    truth: from Python 3.11 on that is but a flag, as Python itself goes by the instructions.
    """
    kind = function.__code__.co_flags & _KINDS
    by_flag = sys.version_info >= (3, 11)
    key = len(function.__code__.co_freevars), 0 if by_flag or kind not in _FORMS else kind
    template = _templates.get(key)
    if template is None:
        template = _templates[key] = _template(*key)
    put = {("enter", "index"): (enter, index), "enter": enter, "index": index}
    consts: Any = tuple(put.get(const, const) for const in template.co_consts)
    flags = template.co_flags | kind if by_flag else template.co_flags
    return template.replace(co_consts=consts, co_name=function.__name__, co_flags=flags)


def _template(count: int, kind: int) -> CodeType:
    """A gate with ``count`` free variables."""
    names = "".join(f"free{number}, " for number in range(count))
    define, answer = _FORMS.get(kind, ("def", "return {}"))
    source = (
        f"def outer({names}):\n"
        f"    {define} gate(*args, **kwargs):\n"
        "        enter, index = 'enter', 'index'\n"
        f"        {answer.format('enter(index)(*args, **kwargs)')}\n"
        f"        ({names})\n"
    )
    module = compile(source, FILE, "exec", dont_inherit=True)
    outer = next(const for const in module.co_consts if isinstance(const, CodeType))
    template = next(const for const in outer.co_consts if isinstance(const, CodeType))
    assert len(template.co_freevars) == count
    return template


def _hook_forks() -> None:
    """A child that is forked while a gate is closed has nobody to open it."""
    global _hooked
    if not _hooked and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forked)
        _hooked = True


def _forked() -> None:
    global _one_at_a_time
    if _one_at_a_time.locked():
        _one_at_a_time = allocate_lock()
    while _closed:
        _closed.pop().put_back()
