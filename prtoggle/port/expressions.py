"""What differs between two heads of statements, said small: expressions replaced, items put in or taken out.

Example::

    refine(ast.parse("f(a, b)").body[0], ast.parse("f(a)").body[0])     # [Items(owner=<f(a, b)>, "args", 1, 2, ())]
"""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prtoggle.edits.pattern_tree import fields_of
from prtoggle.port.syntax import DEFINITIONS, Name, key

_BLOCKS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
LISTED = {
    ast.Call: ("args", "keywords"),
    ast.List: ("elts",),
    ast.Tuple: ("elts",),
    ast.Set: ("elts",),
    ast.ClassDef: ("bases", "keywords", "decorator_list"),
    ast.FunctionDef: ("decorator_list",),
    ast.AsyncFunctionDef: ("decorator_list",),
    ast.Import: ("names",),
    ast.ImportFrom: ("names",),
}
"""Lists whose items can be taken out and put in one by one, in text too."""


@dataclass(frozen=True)
class Replace:
    """The expression ``old`` is ``new``."""

    old: ast.expr
    new: ast.expr


@dataclass(frozen=True)
class Items:
    """Of the list ``field`` of ``owner``, the items ``first`` to ``last`` (not included) are ``new``."""

    owner: ast.AST
    field: str
    first: int
    last: int
    new: tuple[ast.AST, ...]
    new_owner: ast.AST

    @property
    def items(self) -> list[Any]:
        """All items of the list."""
        return list(getattr(self.owner, self.field))


Piece = Replace | Items


class Coarse(Exception):
    """The difference cannot be said within the statement."""


def refine(old: ast.AST, new: ast.AST) -> list[Piece]:
    """The difference of two heads. Raises :class:`Coarse`."""
    pieces: list[Piece] = []
    if type(old) is not type(new):
        raise Coarse
    _fields(old, new, pieces, head=True)
    return pieces


def _node(old: Any, new: Any, pieces: list[Piece]) -> None:
    """Raises Coarse where the nearest expression around has to be replaced."""
    if key(old) == key(new):
        return
    whole = isinstance(old, ast.expr) and isinstance(new, ast.expr) and not isinstance(old, (ast.Slice, ast.Starred))
    if type(old) is not type(new) or isinstance(old, (ast.Constant, ast.Name, ast.JoinedStr)):
        if whole and not isinstance(new, (ast.Slice, ast.Starred)):
            pieces.append(Replace(old, new))
            return
        raise Coarse
    mine: list[Piece] = []
    try:
        _fields(old, new, mine, head=False)
    except Coarse:
        if not whole:
            raise
        mine = [Replace(old, new)]
    pieces += mine


def _fields(old: ast.AST, new: ast.AST, pieces: list[Piece], *, head: bool) -> None:
    for field in fields_of(old):
        if head and field in _BLOCKS and isinstance(getattr(old, field), list):
            continue
        one, other = getattr(old, field, None), getattr(new, field, None)
        if isinstance(one, list) and isinstance(other, list):
            _list(old, new, field, one, other, pieces)
        elif isinstance(one, ast.AST) and isinstance(other, ast.AST):
            _node(one, other, pieces)
        elif type(one) is not type(other) or one != other:
            raise Coarse


def _list(old: ast.AST, new: ast.AST, field: str, one: list[Any], other: list[Any], pieces: list[Piece]) -> None:
    if any(not isinstance(item, ast.AST) for item in (*one, *other)):
        if one != other:
            raise Coarse
        return
    keys = [key(item) for item in one], [key(item) for item in other]
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if i2 - i1 == j2 - j1 and not isinstance(old, (ast.Import, ast.ImportFrom)):
            for a, b in zip(one[i1:i2], other[j1:j2], strict=True):
                _node(a, b, pieces)
        elif field in LISTED.get(type(old), ()):
            pieces.append(Items(old, field, i1, i2, tuple(other[j1:j2]), new))
        else:
            raise Coarse


def pairs(old: ast.AST, new: ast.AST, rename: Callable[[Name], str] | None = None) -> dict[int, ast.AST]:
    """Which node of ``new`` each node of ``old`` (by identity) became, where the one grew out of the other in place.

    An expression that stands once on either side, and within another one now, is followed there.
    """
    pairing = _Pairing(old, rename)
    pairing.node(old, new, head=True)
    return pairing.found


class _Pairing:
    def __init__(self, root: ast.AST, rename: Callable[[Name], str] | None) -> None:
        self.found: dict[int, ast.AST] = {}
        self.rename = rename
        self.counts = Counter(key(node, rename) for node in ast.walk(root) if isinstance(node, ast.expr))

    def node(self, old: ast.AST, new: ast.AST, *, head: bool) -> None:
        if not head and isinstance(old, (ast.Call, ast.BinOp, ast.BoolOp, ast.Compare, ast.Attribute, ast.Subscript)):
            wanted = key(old, self.rename)
            if self.counts[wanted] == 1 and key(new) != wanted:
                within = [node for node in ast.walk(new) if isinstance(node, ast.expr) and key(node) == wanted]
                if len(within) == 1:
                    new = within[0]
        targets = (_target(old), _target(new))
        if type(old) is not type(new) and targets[0] is not None and targets[1] is not None:
            self.found[id(old)] = new  # An annotation came, or went.
            self.node(targets[0], targets[1], head=False)
            if old.value is not None and new.value is not None:  # type: ignore[attr-defined]
                self.node(old.value, new.value, head=False)  # type: ignore[attr-defined]
            return
        if type(old) is not type(new) and not (isinstance(old, DEFINITIONS) and isinstance(new, DEFINITIONS)):
            return
        self.found[id(old)] = new
        if isinstance(old, ast.Call) and isinstance(new, ast.Call) and not self._same_function(old, new):
            self.node(old.func, new.func, head=False)
            return
        for field in fields_of(old):
            if head and field in _BLOCKS and isinstance(getattr(old, field), list):
                continue
            one, other = getattr(old, field, None), getattr(new, field, None)
            if isinstance(one, ast.AST) and isinstance(other, ast.AST):
                self.node(one, other, head=False)
            elif isinstance(one, list) and isinstance(other, list):
                self.lists(one, other)

    def _same_function(self, old: ast.Call, new: ast.Call) -> bool:
        """Whether two calls may be one: of functions that end in the same name, or with the same arguments."""
        if isinstance(old.func, ast.Attribute) and isinstance(new.func, ast.Attribute):
            name = ("a", old.func.attr)
            if (self.rename(name) if self.rename else old.func.attr) == new.func.attr:
                return True
        if key(old.func, self.rename) == key(new.func):
            return True
        mine = [key(each, self.rename) for each in (*old.args, *old.keywords)]
        return bool(mine) and mine == [key(each) for each in (*new.args, *new.keywords)]

    def lists(self, one: list[Any], other: list[Any]) -> None:
        if any(not isinstance(item, ast.AST) for item in (*one, *other)):
            return
        if all(isinstance(item, ast.keyword) for item in (*one, *other)):
            named = {item.arg: item for item in other if item.arg}
            for item in one:
                if item.arg in named:
                    self.node(item, named[item.arg], head=False)
            return
        keys = [key(item, self.rename) for item in one], [key(item) for item in other]
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
            if tag == "equal" or i2 - i1 == j2 - j1:
                for a, b in zip(one[i1:i2], other[j1:j2], strict=True):
                    self.node(a, b, head=False)


def _target(node: ast.AST) -> ast.expr | None:
    """The one target of an assignment, annotated or not."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return node.targets[0]
    return node.target if isinstance(node, ast.AnnAssign) else None
