"""One module and the texts that it has run in this process: which function runs which, and what it would run in
another.

Code objects are kept: a function that is toggled back and forth gets the same two again and again, so that what guards
on them (dynamo) sees two, not ever new ones.

Example::

    module = Versions("app.core", "/site-packages/app/core.py", original)
    toggle = module.toggle(alive, original, reverted)
    toggle.refusals, toggle.changed, toggle.moved
"""

from __future__ import annotations

import ast
import weakref

from prtoggle.runtime.attributes import CannotBeHad, Kept, attributes
from prtoggle.runtime.change import Change
from prtoggle.runtime.codes import Compiled, Scope
from prtoggle.runtime.functions import COPIED
from prtoggle.runtime.matching import Matched, Pair, match

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FunctionType
    from typing import Any

    from prtoggle.runtime.functions import Alive


class Toggle:
    """What one module needs to run another text.

    Attributes:
        changed: changes of functions that are to do something else.
        moved: changes of functions that only stand at other lines.
        suspended: generators and coroutines that will end in code that is to change.
        refusals: why it cannot be done.
        inner: whether functions that are made anew with every call are among those that change.
        spans: first and last lines of what is to do something else.
    """

    __slots__ = ("changed", "inner", "moved", "refusals", "spans", "suspended")

    def __init__(self) -> None:
        self.changed: list[Change] = []
        self.moved: list[Change] = []
        self.suspended: list[str] = []
        self.refusals: list[str] = []
        self.inner = False
        self.spans: list[tuple[int, int]] = []


class Versions:
    """A module, its original text, and every text that it was to run so far."""

    def __init__(self, name: str, file: str, base: bytes) -> None:
        self.name = name
        self.file = file
        self.base = base
        self._compiled: dict[bytes, Compiled] = {}
        self._matched: dict[tuple[bytes, bytes], tuple[Matched, dict[int, Pair]]] = {}
        self._known: dict[int, tuple[CodeType, Compiled, Scope]] = {}
        self._kept: weakref.WeakKeyDictionary[FunctionType, Kept] = weakref.WeakKeyDictionary()

    def compiled(self, text: bytes) -> Compiled:
        """The text, compiled once."""
        if text not in self._compiled:
            self._compiled[text] = made = Compiled(text, self.file)
            for scope in made.root.walk():
                self._known[id(scope.code)] = (scope.code, made, scope)
        return self._compiled[text]

    def matched(self, old: bytes, new: bytes) -> tuple[Matched, dict[int, Pair]]:
        """The match of two texts, and its pairs by the identity of the old scope."""
        if (old, new) not in self._matched:
            found = match(self.compiled(old), self.compiled(new))
            self._matched[old, new] = found, {id(pair.old): pair for pair in found.pairs}
        return self._matched[old, new]

    def scope_of(self, code: CodeType) -> tuple[Compiled, Scope] | None:
        """The text that ``code`` is of, and its place there; None where no known text compiles to it."""
        known = self._known.get(id(code))
        if known is not None:
            return known[1], known[2]
        for compiled in self._compiled.values():
            scopes = compiled.find(code)
            if scopes:
                self._adopt(code, compiled, scopes[0])
                return compiled, scopes[0]
        return None

    def _adopt(self, code: CodeType, compiled: Compiled, scope: Scope) -> None:
        """From now on, what is alive is the code of this scope, and of those in it."""
        self._known[id(code)] = (code, compiled, scope)
        scope.code = code
        inner = [const for const in code.co_consts if type(const) is type(code)]
        for each, child in zip(inner, scope.children, strict=False):
            self._adopt(each, compiled, child)

    def forget(self) -> None:
        """Drop the code objects that are kept: compilers hold on to them what must not be used again."""
        self._compiled.clear()
        self._matched.clear()
        self._known.clear()

    def toggle(self, alive: Alive, now: bytes, text: bytes) -> Toggle:
        """What is to be done so that everything alive of this module runs ``text``; ``now`` is what it ran last."""
        found = Toggle()
        self.compiled(self.base)
        self.compiled(now)
        self.compiled(text)
        matched, pairs = self.matched(now, text)
        found.refusals += [f"{self.name}: {reason}" for reason in matched.refusals]
        if matched.refusals:
            return found
        lines = _changed_lines(matched)
        names = _changed_names(matched)
        seen: set[int] = set()
        for function in alive.functions:
            code = function.__code__
            if not self._has(code, function.__module__, alive):
                continue
            place = self.scope_of(code)
            if place is not None:
                seen.add(id(self._now(place, now)))
                self._plan(function, place, text, found)
            elif code.co_name in names or any(a <= code.co_firstlineno <= b for a, b in lines):
                found.refusals.append(
                    f"{self.name}.{function.__qualname__}: runs code that {self.file} does not compile to: the file "
                    "changed since it was imported, or something rewrote the function"
                )
        for pair in pairs.values():
            if pair.changed and pair.old.function and not pair.old.inner and id(pair.old) not in seen:
                found.refusals.append(
                    f"{self.name}.{pair.old.qualname}: no live function runs it: what decorates it compiled it, "
                    "keeps a copy of another kind, or dropped it"
                )
            found.inner = found.inner or (pair.changed and pair.old.inner)
        found.inner = found.inner or bool(matched.gone)
        found.refusals += [
            f"{self.name}.{each.__qualname__}: a class made by a call, and its body differs"
            for each in alive.classes
            if each.__module__ == self.name and each.__qualname__ in matched.classes
        ]
        found.spans = lines
        self._look_at_suspended(alive, text, found)
        found.refusals = list(dict.fromkeys(found.refusals))
        return found

    def _has(self, code: CodeType, module: str | None, alive: Alive) -> bool:
        """Whether ``code``, of a function that says that it is of ``module``, is of this file."""
        file = alive.files[code.co_filename]
        if file != COPIED:
            return file == self.file
        return module == self.name or (module == "__main__" and self.scope_of(code) is not None)

    def move_classes(self, alive: Alive, now: bytes, text: bytes) -> None:
        """From Python 3.13 on a class knows its first line, and ``inspect.getsource`` believes it."""
        old, new = (self._class_lines(each) for each in (now, text))
        if now == text or [name for name, _ in old] != [name for name, _ in new]:
            return
        moved = {place: line for place, (_, line) in zip(old, new, strict=True)}
        for each in alive.classes:
            if each.__module__ == self.name:
                line = each.__dict__.get("__firstlineno__")
                wanted = moved.get((each.__qualname__, line))  # type: ignore[arg-type]
                if wanted is not None and wanted != line:
                    type.__setattr__(each, "__firstlineno__", wanted)

    def _class_lines(self, text: bytes) -> list[tuple[str, int]]:
        scopes = self.compiled(text).root.walk()
        return [(s.qualname, s.code.co_firstlineno) for s in scopes if isinstance(s.node, ast.ClassDef)]

    def _now(self, place: tuple[Compiled, Scope], now: bytes) -> Scope | None:
        """The scope in the text ``now`` that is the one at ``place``."""
        compiled, scope = place
        if compiled.text == now:
            return scope
        pair = self.matched(compiled.text, now)[1].get(id(scope))
        return pair.new if pair else None

    def _plan(self, function: FunctionType, place: tuple[Compiled, Scope], text: bytes, found: Toggle) -> None:
        compiled, scope = place
        if compiled.text == text:
            return
        who = f"{self.name}.{function.__qualname__}"
        matched, pairs = self.matched(compiled.text, text)
        pair = pairs.get(id(scope))
        if pair is None:
            why = "; ".join(matched.refusals) or "it is alive, and the text that it is to run has no such function"
            found.refusals.append(f"{who}: {why}")
            return
        if pair.against:
            found.refusals.append(f"{who}: {pair.against}")
            return
        kept = self._kept.get(function)
        if kept is None:
            kept = self._kept[function] = Kept(function, scope)
        try:
            more = attributes(function, scope, pair.new, kept)
        except CannotBeHad as error:
            found.refusals.append(f"{who}: {error}")
            return
        changes = found.changed if pair.changed or more else found.moved
        changes.append(Change(function, pair.new.code, **more))

    def _look_at_suspended(self, alive: Alive, text: bytes, found: Toggle) -> None:
        for code, words in alive.suspended:
            place = self.scope_of(code) if self._has(code, self.name, alive) else None
            if place is None or place[0].text == text:
                continue
            pair = self.matched(place[0].text, text)[1].get(id(place[1]))
            if pair is None or pair.changed:
                found.suspended.append(f"{self.name}: {words}")


def _changed_lines(matched: Matched) -> list[tuple[int, int]]:
    scopes = [pair.old for pair in matched.pairs if pair.changed and pair.old.function] + matched.gone
    return [_lines(scope.node) for scope in scopes if scope.node is not None]


def _changed_names(matched: Matched) -> set[str]:
    scopes = [pair.old for pair in matched.pairs if pair.changed and pair.old.function] + matched.gone
    return {scope.code.co_name for scope in scopes}


def _lines(node: Any) -> tuple[int, int]:
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]), node.end_lineno
