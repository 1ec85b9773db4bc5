"""A module's syntax as it is compared: keys of nodes, statements with their place, units of statements in a row.

A *unit* is what is aligned as a whole: an outermost function or method with all that is nested in it, or what a class
body or a module holds besides. Its statements stand in source order, nested ones behind their head, so that code
wrapped in an ``if`` or a ``with`` is still the same row with one head more.

Example::

    module = Parsed("pkg.a", "class C:\\n    def m(self):\\n        if x:\\n            y()\\n")
    [unit.qualname for unit in module.units] == ["", "C", "C.m"]
    [statement.node.lineno for statement in module.unit("C.m").statements] == [3, 4]
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import Any

from prtoggle.edits.pattern_tree import fields_of
from prtoggle.edits.text import SourceText

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")

Name = tuple[str, str]
"""An identifier and what kind it is of: ``n`` a name, ``a`` an attribute, ``k`` a keyword of a call."""


def key(node: Any, rename: Callable[[Name], str] | None = None, *, head: bool = False) -> str:
    """``node`` as text that is equal for equal syntax. ``rename`` is asked for each identifier; ``head`` leaves
    blocks out."""
    out: list[str] = []
    _write(node, out, rename, head)
    return "".join(out)


def _write(node: Any, out: list[str], rename: Callable[[Name], str] | None, head: bool) -> None:
    if isinstance(node, ast.AST):
        out.append(type(node).__name__)
        out.append("(")
        compound = head and isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case))
        for field in fields_of(node):
            if compound and field in _BLOCKS:
                continue
            value = getattr(node, field, None)
            kind = kind_of(node, field)
            if rename and kind and isinstance(value, str):
                value = rename((kind, value))
            _write(value, out, rename, False)
            out.append(",")
        out.append(")")
    elif isinstance(node, list):
        out.append("[")
        for item in node:
            _write(item, out, rename, False)
            out.append(";")
        out.append("]")
    else:
        out.append(repr(node) if node is None or isinstance(node, str) else f"{type(node).__name__}:{node!r}")


def kind_of(node: ast.AST, field: str) -> str:
    """Which kind of identifier ``field`` of ``node`` holds; empty for none that can be renamed."""
    if (field == "id" and isinstance(node, ast.Name)) or (field == "arg" and isinstance(node, ast.arg)):
        return "n"
    if field == "attr" and isinstance(node, ast.Attribute):
        return "a"
    if field == "arg" and isinstance(node, ast.keyword):
        return "k"
    return "n" if field == "name" and isinstance(node, (*DEFINITIONS, ast.ExceptHandler)) else ""


def names_in(node: ast.AST, *, head: bool = False) -> Iterator[Name]:
    """Identifiers in ``node``, in the order of the fields."""
    compound = head and isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case))
    for field in fields_of(node):
        if compound and field in _BLOCKS:
            continue
        value = getattr(node, field, None)
        kind = kind_of(node, field)
        if kind and isinstance(value, str):
            yield kind, value
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST):
                yield from names_in(child)


def words_of(node: ast.AST, *, head: bool = False) -> Counter[str]:
    """What stands in ``node``, as a bag: identifiers, constants, kinds of nodes."""
    found: Counter[str] = Counter()
    pending: list[tuple[ast.AST, bool]] = [(node, head)]
    while pending:
        each, only_head = pending.pop()
        compound = only_head and isinstance(each, (ast.stmt, ast.ExceptHandler, ast.match_case))
        if not isinstance(each, (ast.Name, ast.Attribute, ast.expr_context, ast.Constant)):
            found[f"<{type(each).__name__}>"] += 1
        for field in fields_of(each):
            if compound and field in _BLOCKS:
                continue
            value = getattr(each, field, None)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.AST):
                    pending.append((child, False))
                elif isinstance(child, str) and field == "value" and " " in child:
                    found.update(child.split())
                elif child is not None:
                    found[str(child)] += 1
    return found


class Statement:
    """A statement (or handler, or case) with its place. Compared by identity."""

    def __init__(self, node: ast.AST, unit: Unit, parent: Statement | None, field: str, index: int) -> None:
        self.node: Any = node
        self.unit, self.parent, self.field, self.index = unit, parent, field, index
        self.siblings: list[Statement] = []
        self.blocks: dict[str, list[Statement]] = {}
        self.position = 0

    @cached_property
    def head(self) -> str:
        """The key of the statement without its blocks; of a definition that is a unit of its own, its kind and name."""
        if self.opaque:
            return f"{type(self.node).__name__} {self.node.name}"
        return key(self.node, head=True)

    @cached_property
    def whole(self) -> str:
        """The key of the statement with all that it holds."""
        return key(self.node)

    @cached_property
    def words(self) -> Counter[str]:
        """The bag of words of the head."""
        return Counter([self.node.name]) if self.opaque else words_of(self.node, head=True)

    @cached_property
    def size(self) -> int:
        """How many words the head has."""
        return sum(self.words.values())

    @property
    def opaque(self) -> bool:
        """A definition in a class or module body: what it holds is a unit of its own."""
        return self.unit.is_body and isinstance(self.node, DEFINITIONS)

    @property
    def compound(self) -> bool:
        """It holds statements of its unit."""
        return bool(self.blocks)

    @property
    def line(self) -> int:
        """Its line, without decorators."""
        node = self.node.pattern if isinstance(self.node, ast.match_case) else self.node
        return int(node.lineno)

    def inside(self) -> Iterator[Statement]:
        """All statements within, in order."""
        for block in self.blocks.values():
            for statement in block:
                yield statement
                yield from statement.inside()


class Unit:
    """Statements in a row. ``node`` is the function, class or module."""

    def __init__(self, qualname: str, node: ast.AST, module: Parsed) -> None:
        self.qualname, self.node, self.module = qualname, node, module
        self.statements: list[Statement] = []
        self.root: Statement | None = None

    @property
    def is_body(self) -> bool:
        """A class or module body, and no function."""
        return not isinstance(self.node, FUNCTIONS)

    @cached_property
    def words(self) -> Counter[str]:
        """The bag of heads."""
        return Counter(statement.head for statement in self.statements)

    @cached_property
    def bag(self) -> Counter[str]:
        """The bag of words of all statements."""
        total: Counter[str] = Counter()
        for statement in self.statements:
            total.update(statement.words)
        return total

    @property
    def name(self) -> str:
        """The last part of its qualified name."""
        return self.qualname.rpartition(".")[2].partition("#")[0]


class Parsed:
    """One module's text, parsed, and cut into units. Raises what :func:`ast.parse` raises."""

    def __init__(self, module: str, text: str) -> None:
        self.module = module
        self.source = SourceText(text)
        self.tree = self.source.tree
        self.units: list[Unit] = []
        self._of: dict[int, Statement] = {}
        self._units: dict[int, Unit] = {}
        self._cut(self.tree, "", {})

    def unit(self, qualname: str) -> Unit | None:
        """The unit of that name."""
        return self._by_name.get(qualname)

    @cached_property
    def _by_name(self) -> dict[str, Unit]:
        return {unit.qualname: unit for unit in self.units}

    def statement(self, node: ast.AST) -> Statement:
        """The statement that ``node`` is."""
        return self._of[id(node)]

    def unit_of(self, node: ast.AST) -> Unit:
        """The unit of the definition (or the module) that ``node`` is."""
        return self._units[id(node)]

    def knows(self, node: ast.AST) -> bool:
        """Whether ``node`` is a statement of a unit (and not the module)."""
        return id(node) in self._of

    @cached_property
    def identifiers(self) -> Counter[Name]:
        """How often each identifier occurs, imports included."""
        found: Counter[Name] = Counter(names_in(self.tree))
        for node in ast.walk(self.tree):
            if isinstance(node, ast.alias):
                found["n", (node.asname or node.name).partition(".")[0]] += 1
        return found

    def _cut(self, node: ast.AST, qualname: str, seen: dict[str, int]) -> None:
        unit = Unit(qualname, node, self)
        self.units.append(unit)
        self._units[id(node)] = unit
        inner: list[tuple[ast.AST, str]] = []
        if isinstance(node, FUNCTIONS):
            # The function's own head is a statement of its unit: parameters and decorators change too.
            unit.root = Statement(node, unit, None, "", 0)
            unit.statements.append(unit.root)
            unit.root.siblings = [unit.root]
            self._fill(unit, node, unit.root, inner)
        else:
            self._fill(unit, node, None, inner)
        for position, statement in enumerate(unit.statements):
            statement.position = position
        for child, name in inner:
            full = f"{qualname}.{name}" if qualname else name
            seen[full] = seen.get(full, 0) + 1
            self._cut(child, full if seen[full] == 1 else f"{full}#{seen[full]}", seen)

    def _fill(self, unit: Unit, node: ast.AST, parent: Statement | None, inner: list[tuple[ast.AST, str]]) -> None:
        for field in _BLOCKS:
            block = getattr(node, field, None)
            if not isinstance(block, list) or not block:
                continue
            made: list[Statement] = []
            for index, child in enumerate(block):
                statement = Statement(child, unit, parent, field, index)
                statement.siblings = made
                made.append(statement)
                unit.statements.append(statement)
                self._of.setdefault(id(child), statement)
                if unit.is_body and isinstance(child, DEFINITIONS):
                    inner.append((child, child.name))
                else:
                    self._fill(unit, child, statement, inner)
            if parent is not None:
                parent.blocks[field] = made


@lru_cache(maxsize=12)
def parsed_text(module: str, text: str) -> Parsed:
    """As :class:`Parsed`; the latest are remembered."""
    return Parsed(module, text)


def same(one: ast.AST, other: ast.AST) -> bool:
    """Whether two nodes are the same syntax."""
    return key(one) == key(other)
