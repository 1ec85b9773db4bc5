"""Definitions that belong together by what they ask and give, which no new name tells: a tuple that is returned where
one value was, and who unpacks it; a property that was a method, and who reads it; what ``super().__init__`` is given.

Contract: pure. Two changed definitions are *tied* where a changed statement of one names the other in a way that is
sure to mean it, or in any way and the other asks or gives otherwise; and where one names the other anywhere and the
other gives otherwise. They are *suspected* where one names the other in any other way, or where one sets an attribute
that the other reads, both in changed statements.

Example::

    found = ties(pairs, [("engine.core", "f"), ("engine.core", "caller")])
    found.tied          # {(0, 1)}: f returns two values, where it returned one
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from prtoggle.authoring.change import Pair
from prtoggle.authoring.classes import base_names
from prtoggle.authoring.names import bound_at_top
from prtoggle.authoring.words import asks_otherwise, called
from prtoggle.edits.scope import Scope, resolve
from prtoggle.edits.text import SourceText

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_OWN = frozenset({"self", "cls", "super"})


@dataclass(frozen=True)
class Ties:
    """Pairs of indices, the smaller one first."""

    tied: frozenset[tuple[int, int]]
    suspected: frozenset[tuple[int, int]]


@dataclass
class _Uses:
    """What statements name: plain names, and attributes with the name that they are taken from ('' for another)."""

    names: set[str] = field(default_factory=set)
    attributes: set[tuple[str, str]] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)

    def take(self, nodes: Iterable[ast.AST]) -> None:
        for top in nodes:
            for node in ast.walk(top):
                if isinstance(node, ast.Name):
                    self.names.add(node.id)
                elif isinstance(node, ast.Attribute):
                    if not isinstance(node.ctx, ast.Load):
                        self.stored.add(node.attr)
                    self.attributes.add((_base(node.value), node.attr))

    @property
    def words(self) -> set[str]:
        return self.names | {attribute for _, attribute in self.attributes}


class _Changed:
    """One changed definition."""

    def __init__(self, pair: Pair, unit: str, bases: dict[str, set[str]]) -> None:
        self.pair, self.unit, self.called = pair, unit, called(unit)
        self.owner = unit.rpartition(".")[0]
        self.leaf = pair.module.rpartition(".")[2]
        self.special = self.called != unit.rpartition(".")[2]
        now, before = _statements(pair.fixed, unit), _statements(pair.reverted, unit)
        counts = Counter(key for key, _ in now), Counter(key for key, _ in before)
        same = counts[0] & counts[1]
        self.everywhere, self.changed = _Uses(), _Uses()
        for key, nodes in (*now, *before):
            self.everywhere.take(nodes)
            if counts[0][key] != same[key] or counts[1][key] != same[key]:
                self.changed.take(nodes)
        self.asks = asks_otherwise(pair, unit)
        self.gives = _gives(pair.fixed, unit) != _gives(pair.reverted, unit)
        self.above = _above(self.owner.rpartition(".")[2], bases)

    def surely_names(self, uses: _Uses, other: _Changed) -> bool:
        """Whether ``uses`` of this definition mean ``other`` by its name."""
        name = other.called
        if other.special or not other.owner:
            if name in uses.names or (other.leaf, name) in uses.attributes:
                return True
            method = other.unit.rpartition(".")[2]
            return other.special and name in self.above and ("super", method) in uses.attributes
        return any((base, name) in uses.attributes for base in (*_OWN, other.owner.rpartition(".")[2]))

    def ties_to(self, other: _Changed) -> bool:
        named = other.called in self.changed.words
        if self.surely_names(self.changed, other) or (named and (other.asks or other.gives)):
            return True
        if other.gives and self.surely_names(self.everywhere, other):
            return True
        overrides = not self.special and self.owner and other.owner and self.called == other.called
        return bool(overrides and self.asks and other.asks)

    def may_need(self, other: _Changed) -> bool:
        if other.called in self.changed.words or self.surely_names(self.everywhere, other):
            return True
        return bool(other.changed.stored & {attribute for _, attribute in self.changed.attributes})


def ties(pairs: Sequence[Pair], units: Sequence[tuple[str, str]]) -> Ties:
    """Which of the changed definitions ``units`` (module and name) belong together."""
    by_module = {pair.module: pair for pair in pairs}
    bases = _bases(pairs)
    changed = [_Changed(by_module[module], unit, bases) for module, unit in units]
    tied, suspected = set(), set()
    for b, other in enumerate(changed):
        for a, one in enumerate(changed[:b]):
            if one.ties_to(other) or other.ties_to(one):
                tied.add((a, b))
            elif one.may_need(other) or other.may_need(one):
                suspected.add((a, b))
    return Ties(frozenset(tied), frozenset(suspected))


def _base(node: ast.expr) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
        return "super"
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _bases(pairs: Iterable[Pair]) -> dict[str, set[str]]:
    """The names of the bases of every class of both texts."""
    found: dict[str, set[str]] = {}
    for pair in pairs:
        for source in (pair.fixed, pair.reverted):
            for node in ast.walk(source.tree):
                if isinstance(node, ast.ClassDef):
                    found.setdefault(node.name, set()).update(base_names(node))
    return found


def _above(name: str, bases: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = [name]
    while pending:
        for base in bases.get(pending.pop(), ()):
            if base not in found:
                found.add(base)
                pending.append(base)
    return found


def _statements(source: SourceText, unit: str) -> list[tuple[str, list[ast.AST]]]:
    """The statements of a definition, those with a block as what stands before it, each with a key that tells it from
    another."""
    scope = resolve(source, unit)
    if isinstance(scope, Scope) and not isinstance(scope.node, ast.Module):
        tops: list[ast.stmt] = [scope.node]
    else:
        owner, _, last = unit.rpartition(".")
        around = resolve(source, owner)
        body = around.node.body if isinstance(around, Scope) else []
        tops = [each for each in body if last in bound_at_top([each])]
    found = []
    for top in tops:
        for node in ast.walk(top):
            if isinstance(node, ast.stmt):
                own = list(_own(node))
                found.append((f"{type(node).__name__} {' '.join(map(ast.dump, own))}", own))
    return found


def _own(node: ast.stmt) -> Iterator[ast.AST]:
    """The children of a statement that are no statements, nor hold any."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child
        elif isinstance(child, ast.ExceptHandler) and child.type is not None:
            yield child.type


def _gives(source: SourceText, unit: str) -> object:
    """How a function is used and what comes of it: decorators, ``async``, whether it yields, the shapes returned."""
    scope = resolve(source, unit)
    if not isinstance(scope, Scope) or not isinstance(scope.node, _Function):
        return None
    node = scope.node
    inner = list(_inside(node.body))
    shapes = {_shape(each.value) for each in inner if isinstance(each, ast.Return)}
    yields = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in inner)
    decorators = tuple(ast.dump(each) for each in node.decorator_list)
    return type(node).__name__, decorators, yields, frozenset(shapes or {"nothing"})


def _inside(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield node
            yield from _inside(ast.iter_child_nodes(node))


def _shape(value: ast.expr | None) -> str:
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return "nothing"
    if isinstance(value, ast.Tuple):
        return f"{len(value.elts)} values"
    if isinstance(value, ast.Dict) and all(isinstance(key, ast.Constant) for key in value.keys):
        return f"keys {sorted(ast.unparse(key) for key in value.keys if key is not None)}"
    return "a value"
