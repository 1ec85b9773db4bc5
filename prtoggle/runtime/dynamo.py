"""``torch.compile`` in a running process: what it inlined, and how its callers get rid of that.

It guards on the code of functions, and compiles again by itself when that changes. On methods it does not
(pytorch#197860), so what it made has to go. With one thread it starts afresh (``torch._dynamo.reset``). While other
threads run, nothing may be freed under them: each function that it ever compiled gets a *copy* of its own code, for
which nothing has been compiled yet. What was compiled hangs on the old code object, and goes with that when the last
frame that runs it ends. The functions change through the gate like those that are to change, so that no call runs old
compiled code and new code.

Example::

    afresh = Afresh()                     # None of it imports torch: what is not in the process compiled nothing
    gate.exchange([*changed, *afresh.changes(taken)], also=afresh.inside, skip=afresh.skip)
"""

from __future__ import annotations

import os
import sys
from types import CodeType, FunctionType, MethodType

from prtoggle.runtime import functions
from prtoggle.runtime.change import Change
from prtoggle.runtime.gate import TWIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any

    from prtoggle.runtime.functions import Alive

CLEARED = "what torch.compile made: it compiles again at the next call"
_RESUMED = ("torch_dynamo_resume_in_", "<resume in ")


def _frames() -> Any:
    return sys.modules.get("torch._dynamo.convert_frame")


def _seen(tracker: str) -> list[CodeType]:
    """The code objects alive that torch.compile was given (``input_codes``) or made (``output_codes``)."""
    refs = list(getattr(getattr(_frames(), tracker, None), "seen", ()))
    return [code for code in (ref() for ref in refs) if code is not None]


def used() -> bool:
    """Whether torch.compile made anything in this process."""
    return bool(_seen("input_codes"))


def alone() -> bool:
    """Whether this is the only thread: torch.compile can start afresh only while nobody runs what it made."""
    return len(sys._current_frames()) == 1


def without_own(found: list[FunctionType]) -> list[FunctionType]:
    """``found`` without the functions that torch.compile made for itself: of code that it rewrote and guards, and those
    in which a compiled function goes on behind what could not be compiled; and without the gate's twins: garbage, once
    it is open."""
    found = [f for f in found if TWIN not in f.__dict__]
    own = {id(code) for code in _seen("output_codes")}
    if not used():
        return found
    return [f for f in found if id(f.__code__) not in own and not f.__code__.co_name.startswith(_RESUMED)]


def reset() -> list[str]:
    """Start afresh, where this is the only thread."""
    if not used() or not alone():
        return []
    sys.modules["torch._dynamo"].reset()
    return [CLEARED]


def whole_graphs(alive: Alive) -> bool:
    """Whether torch.compile was told not to leave any function out: then it cannot look at a gate."""
    return not alone() and any(getattr(context, "fullgraph", False) is True for context in alive.contexts)


def methods(changed: Iterable[FunctionType], alive: Alive) -> list[FunctionType]:
    """Those of ``changed`` that may have been inlined as methods, in a process where torch.compile cannot be reset."""
    if not used() or alone():
        return []
    changed = list(changed)
    held = {id(f) for f in changed if "." in f.__qualname__.rpartition("<locals>.")[2]}
    ids = {id(f) for f in changed}
    contents = type.__dict__["__dict__"].__get__
    for each in alive.classes:
        for value in list(contents(each).values()):
            inner = getattr(value, "__func__", value) if type(value) in (staticmethod, classmethod) else value
            if id(inner) in ids:
                held.add(id(inner))
    if len(held) < len(ids):
        every: Any = functions.all_objects()
        # The type, not isinstance: that would ask proxies, which may answer with anything.
        held.update(id(each.__func__) for each in every if type(each) is MethodType and id(each.__func__) in ids)
    return [f for f in changed if id(f) in held]


class Afresh:
    """Every function that torch.compile compiled, alive now, to be given a copy of its code.

    Attributes:
        problem: why that cannot be done with this version of torch; empty where it can.
        inside: the identities of code that is old: a frame that runs it is to be waited for. What torch.compile made,
            and, while it compiles, itself.
    """

    def __init__(self) -> None:
        self.problem = _problem()
        self._old = {} if self.problem else {id(code): code for code in _seen("input_codes") if not _its_own(code)}
        self._renewed: dict[int, tuple[CodeType, CodeType]] = {}
        self.inside = _Inside()

    def changes(self, taken: Collection[int]) -> list[Change]:
        """A change for each function that was compiled, or in which one that was compiled is written, other than those
        whose identities are ``taken``."""
        files = {code.co_filename for code in self._old.values()}  # a function stands in the file of those around it
        every: Any = functions.all_objects()
        found = [each for each in every if type(each) is FunctionType and each.__code__.co_filename in files]
        return [
            Change(each, self.renewed(each.__code__))
            for each in without_own(found)
            if id(each) not in taken and self.compiled(each)
        ]

    def refusals(self, methods: Iterable[FunctionType]) -> list[str]:
        """Why ``methods`` cannot change; empty where they can."""
        if not self.problem:
            return []
        return [
            f"{each.__qualname__} is a method, and torch.compile, which was used in this process, may have inlined it: "
            f"that cannot be dropped while other threads run ({self.problem}); use force where it is not inlined"
            for each in methods
        ]

    def compiled(self, function: FunctionType) -> bool:
        """Whether it, or a function in it, was compiled."""
        return self.renewed(function.__code__) is not function.__code__

    def renewed(self, code: CodeType) -> CodeType:
        """A copy of ``code`` where it, or code in it, was compiled; else itself."""
        known = self._renewed.get(id(code))
        if known is not None:
            return known[1]
        consts = tuple(self.renewed(const) if type(const) is CodeType else const for const in code.co_consts)
        same = all(one is other for one, other in zip(consts, code.co_consts, strict=True))
        made = code if same and id(code) not in self._old else code.replace(co_consts=consts)
        self._renewed[id(code)] = (code, made)
        if made is not code:
            self._renewed[id(made)] = (made, made)
        return made

    def skip(self, code: CodeType) -> None:
        """Have torch.compile leave ``code`` to the interpreter."""
        _frames().skip_code(code)

    def done(self) -> None:
        """What torch.compile keeps by the identity of code is to be made again."""
        kept = sys.modules.get("torch._dynamo.variables.nn_module")
        ids = getattr(getattr(kept, "UnspecializedNNModuleVariable", None), "_nn_module_method_ids", None)
        clear = getattr(ids, "cache_clear", None)
        if clear is not None:
            clear()
        self._let_go()

    def _let_go(self) -> None:
        """What was compiled hangs on the old code, and torch's map from the one to the other holds the old code: each
        would keep the other alive for ever."""
        origins: Any = getattr(sys.modules.get("torch._dynamo.utils"), "orig_code_map", None)
        kept = getattr(origins, "values", None)
        if not isinstance(kept, dict):
            return
        for key, origin in list(kept.items()):
            if id(origin) in self._old:
                kept[key] = self.renewed(origin)


class _Inside:
    """Holds the identity of code where that is what torch.compile made, up to now, or its entry for compiling."""

    def __init__(self) -> None:
        frames = _frames()
        self._made: Collection[int] = getattr(getattr(frames, "output_codes", None), "seen_ids", ())
        self._compiling = {id(code) for code in map(_entry, _ENTRIES) if code is not None}

    def __contains__(self, code: object) -> bool:
        return code in self._made or code in self._compiling


_ENTRIES = ("CatchErrorsWrapper", "ConvertFrame")
"""The classes whose calls compile a frame."""


def _entry(name: str) -> CodeType | None:
    call = vars(getattr(_frames(), name, None) or object).get("__call__")
    code = getattr(call, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _problem() -> str:
    """Why functions cannot be given copies of their code under this torch: what is looked at is not there."""
    frames = _frames()
    for tracker in ("input_codes", "output_codes"):
        found = getattr(frames, tracker, None)
        if not isinstance(getattr(found, "seen", None), list) or not isinstance(getattr(found, "seen_ids", None), set):
            return f"torch._dynamo.convert_frame.{tracker} is not as it is known"
    for name in _ENTRIES:
        if _entry(name) is None:
            return f"torch._dynamo.convert_frame.{name} is not as it is known"
    if not callable(getattr(frames, "skip_code", None)):
        return "torch._dynamo.convert_frame.skip_code is not as it is known"
    return ""


_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _its_own(code: CodeType) -> bool:
    """Whether ``code`` is of torch.compile itself, which it only looked at; what it compiled of it hangs on it. Or
    prtoggle's own: the gate cannot go through the gate."""
    if code.co_filename.startswith((_OURS, "<prtoggle")):
        return True
    folder = os.path.dirname(getattr(sys.modules.get("torch._dynamo"), "__file__", None) or "?")
    if not code.co_filename.startswith((folder + os.sep, os.path.join(os.path.dirname(folder), "_compile.py"))):
        return False
    entries: Any = getattr(sys.modules.get("torch._C._dynamo.eval_frame"), "_debug_get_cache_entry_list", None)
    return entries is not None and not entries(code)
