"""Where a definition of one release is in another: its place, another name, another class, another module.

A definition that is gone from its place is looked for among those that the other release *has and the first had not*:
a sibling that was there before is another one, however alike. The best must be alike, and be so by a margin.

Example::

    # Home(unit=<C.n of pkg.b>, how=("moved to another module",), why=...)
    Release(after_tree).home(unit, Release(before_tree))
"""

from __future__ import annotations

import ast
import re
import weakref
from collections import Counter, OrderedDict
from dataclasses import dataclass

from prtoggle.port.fragments import Untellable
from prtoggle.port.syntax import FUNCTIONS, Parsed, Unit, parsed_text
from prtoggle.port.values import Tree

_SAME_PLACE = 0.3
_ELSEWHERE = 0.6
_MARGIN = 0.15
_PARSED = 24


@dataclass(frozen=True)
class Home:
    """A unit in the other release, how it came there, and why it is the same."""

    unit: Unit
    how: tuple[str, ...]
    why: str


class Release:
    """A tree with its parsed modules remembered."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._parsed: dict[str, Parsed | None] = {}

    @property
    def label(self) -> str:
        """The tree's label."""
        return self.tree.label

    def parsed(self, module: str) -> Parsed | None:
        """A module; None where there is none that parses."""
        _USED[weakref.ref(self), module] = None
        _USED.move_to_end((weakref.ref(self), module))
        if module not in self._parsed:
            text = self.tree.text(module)
            try:
                self._parsed[module] = None if text is None else Parsed(module, text)
            except (SyntaxError, ValueError, RecursionError):
                self._parsed[module] = None
        return self._parsed[module]

    def has(self, module: str, qualname: str) -> bool:
        """Whether the release has that definition."""
        text = self.tree.text(module)
        if text is None or re.search(rf"\b(?:def|class)\s+{re.escape(_last(qualname))}\b", text) is None:
            return False
        parsed = self.parsed(module)
        return parsed is not None and parsed.unit(qualname) is not None

    def forget(self, module: str) -> None:
        """Drop a parsed module."""
        self._parsed.pop(module, None)

    def parsed_as(self, module: str, text: str) -> Parsed:
        """A module that has this text, or would have. Raises what :func:`ast.parse` raises."""
        here = self.parsed(module)
        return here if here is not None and here.source.text == text else parsed_text(module, text)

    def home(self, unit: Unit, before: Release) -> Home:
        """Where ``unit``, of ``before``, is here. Raises :class:`Untellable`."""
        module = unit.module.module
        here = self.parsed(module)
        there = here.unit(unit.qualname) if here else None
        if there is not None and type(there.node) is type(unit.node):
            if unit.is_body or alike(unit, there) >= _SAME_PLACE or _small(unit):
                return Home(there, (), f"{unit.qualname or 'the module'} is in its place")
            found = self._best(unit, [other for other in self._new(here, before, module)])
            if found is not None:
                return self._named(found, unit)
            return Home(there, (), f"{unit.qualname} is in its place")
        if unit.is_body:
            return self._body(unit, before)
        near = self._new(here, before, module) if here else []
        found = self._best(unit, near)
        if found is not None and found.name != unit.name:
            # Another of its name elsewhere may be it as well.
            namesakes = [u for u in self._far(unit, before, by_words=False) if u.name == unit.name]
            found = self._best(unit, [*near, *namesakes])
        if found is None:
            found = self._best(unit, [*near, *self._far(unit, before)])
        if found is None:
            raise Untellable(f"{module}:{unit.qualname} is gone, and nothing new is enough like it")
        return self._named(found, unit)

    def function(self, unit: Unit, name: str) -> Unit | None:
        """The function that a plain name means in the module of ``unit``: its own, or one imported from this
        package."""
        own = unit.module.unit(name)
        if own is not None:
            return own if isinstance(own.node, FUNCTIONS) else None
        for node in ast.walk(unit.module.tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        parsed = self.parsed(node.module)
                        found = parsed.unit(alias.name) if parsed else None
                        return found if found and isinstance(found.node, FUNCTIONS) else None
        return None

    def new_functions(self, module: str, before: Release, was: Parsed) -> list[Unit]:
        """Functions of a module here that ``before`` had neither there nor in ``was``."""
        here = self.parsed(module)
        found = self._new(here, before, module) if here else []
        return found if was.module == module else [u for u in found if was.unit(u.qualname) is None]

    def _new(self, here: Parsed | None, before: Release, module: str) -> list[Unit]:
        if here is None:
            return []
        return [u for u in here.units if not u.is_body and not before.has(module, u.qualname)]

    def _body(self, unit: Unit, before: Release) -> Home:
        """A class or module that is not in its place: where its methods went, if they all went to one."""
        if not unit.qualname:
            raise Untellable(f"module {unit.module.module} is gone")
        methods = {s.node.name for s in unit.statements if s.opaque}
        here = self.parsed(unit.module.module)
        found: list[Unit] = []
        candidates = [here] if here else []
        if not any(_is_class(u) and u.name == unit.name for p in candidates for u in p.units):
            candidates += [p for p in self._modules_with([f"class {unit.name}"]) if p is not here]
        for parsed in candidates:
            for other in parsed.units:
                if not _is_class(other) or before.has(parsed.module, other.qualname):
                    continue
                shared = {s.node.name for s in other.statements if s.opaque} & methods
                if other.name == unit.name or (methods and len(shared) > 0.6 * len(methods)):
                    found.append(other)
        if len(found) != 1:
            raise Untellable(f"class {unit.qualname} of {unit.module.module} is gone, and no one new class is like it")
        return self._named(found[0], unit)

    def _far(self, unit: Unit, before: Release, *, by_words: bool = True) -> list[Unit]:
        """Functions of other modules, new there, that could be it."""
        words = (
            []
            if not by_words
            else sorted((w for w in unit.bag if w.isidentifier() and len(w) > 5), key=lambda w: (-len(w), w))[:12]
        )
        found = []
        for parsed in self._modules_with([f"def {unit.name}"], words):
            if parsed.module != unit.module.module:
                found += self._new(parsed, before, parsed.module)
        return found

    def _modules_with(self, texts: list[str], words: list[str] | None = None) -> list[Parsed]:
        """Modules that hold one of ``texts``, or most of ``words``."""
        patterns = [re.compile(re.escape(text) + r"\b") for text in texts]
        scored: list[tuple[float, str]] = []
        for name in sorted(self.tree.modules()):
            text = self.tree.text(name)
            if text is None:
                continue
            share = sum(word in text for word in words) / len(words) if words else 0.0
            if any(pattern.search(text) for pattern in patterns):
                share += 1
            if share >= 0.7:
                scored.append((-share, name))
        parsed = [self.parsed(name) for _, name in sorted(scored)[:_PARSED]]
        return [each for each in parsed if each is not None]

    def _best(self, unit: Unit, others: list[Unit]) -> Unit | None:
        """The one that is it, None where none is. Raises :class:`Untellable` where two could be."""
        scored = sorted(
            ((alike(unit, other) + 0.1 * (other.name == unit.name), other) for other in others if _fits(unit, other)),
            key=lambda pair: -pair[0],
        )
        if not scored:
            return None
        score, best = scored[0]
        if score < _ELSEWHERE or (_small(unit) and best.name != unit.name):
            return None
        if len(scored) > 1 and scored[1][0] > score - _MARGIN:
            other = scored[1][1]
            raise Untellable(
                f"{unit.qualname} is gone, and two are like it: {best.module.module}:{best.qualname} and "
                f"{other.module.module}:{other.qualname}",
                best.node.lineno,  # type: ignore[attr-defined]
            )
        return best

    def _named(self, found: Unit, unit: Unit) -> Home:
        how = []
        old_class, new_class = unit.qualname.rpartition(".")[0], found.qualname.rpartition(".")[0]
        kind = "class" if unit.is_body else "function"
        if found.name != unit.name:
            how.append(f"{kind} renamed")
        if found.module.module != unit.module.module:
            how.append("moved to another module")
        if old_class != new_class:
            how.append("moved to another class" if new_class else "moved out of its class")
        share = round(100 * alike(unit, found))
        why = f"{unit.qualname} is gone from its place; {found.qualname} is new, and alike in {share} % of its words"
        return Home(found, tuple(how), why)


_KNOWN: weakref.WeakKeyDictionary[Tree, Release] = weakref.WeakKeyDictionary()


def release_of(tree: Tree) -> Release:
    """The release that a tree is: the same one each time, so that nothing is parsed twice."""
    try:
        known = _KNOWN.get(tree)
        if known is None:
            # Not the tree itself: what is remembered of it must not keep it alive.
            known = _KNOWN[tree] = Release(weakref.proxy(tree))
        return known
    except TypeError:
        return Release(tree)


_USED: OrderedDict[tuple[weakref.ref[Release], str], None] = OrderedDict()
_REMEMBERED = 64


def forget_most() -> None:
    """Keep only the modules that were asked for last. Not while something is carried: a module is known by identity."""
    while len(_USED) > _REMEMBERED:
        (release, module), _ = _USED.popitem(last=False)
        known = release()
        if known is not None:
            known.forget(module)


def _last(qualname: str) -> str:
    return qualname.rpartition(".")[2].partition("#")[0]


def alike(one: Unit, other: Unit) -> float:
    """How much of two units is the same, by words and by heads of statements: 0 to 1."""
    return 0.5 * _dice(one.bag, other.bag) + 0.5 * max(_dice(one.bag, other.bag), _dice(one.words, other.words))


def _dice(one: Counter[str], other: Counter[str]) -> float:
    total = sum(one.values()) + sum(other.values())
    return 2 * sum((one & other).values()) / total if total else 1.0


def _small(unit: Unit) -> bool:
    return sum(unit.bag.values()) < 20


def _is_class(unit: Unit) -> bool:
    return isinstance(unit.node, ast.ClassDef)


def _fits(unit: Unit, other: Unit) -> bool:
    return isinstance(unit.node, FUNCTIONS) and isinstance(other.node, FUNCTIONS)
