"""Two texts of one module, compiled: which code object of the one is which of the other, and what cannot change live.

A :class:`Compiled` module is a tree of scopes: the module, its classes, functions, lambdas and comprehensions, each
with its syntax and its code object. Which code belongs to which syntax is found by compiling the tree a second time,
with a line number of its own for every scope. :func:`match` pairs the scopes of two such trees: those of a module or
class body one by one, since what runs there must be the same in both (else a refusal, by name and line); those inside
a function by name and likeness, since a changed function may hold other functions than before.

Example::

    old, new = Compiled(b"def f(): return 1\\n", "m.py"), Compiled(b"def f(): return 2\\n", "m.py")
    matched = match(old, new)
    matched.refusals            # (): nothing but the body of f differs
    [pair.new.code for pair in matched.pairs if pair.changed]
"""

from __future__ import annotations

import ast
from types import CodeType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_GENERIC = ("TypeAlias", "TypeVar", "ParamSpec", "TypeVarTuple")
_LAZY = tuple(getattr(ast, name) for name in _GENERIC if hasattr(ast, name))
_SCOPES = (*FUNCTIONS, ast.ClassDef, *COMPREHENSIONS, *_LAZY)


class Scope:
    """One code object with its syntax.

    Attributes:
        node: its syntax; None where Python made the code for something else.
        merged: whether Python made one code object of several equal ones in it, so that they cannot be told apart.
    """

    __slots__ = ("children", "code", "merged", "node", "parent")

    def __init__(self, node: ast.AST | None, code: CodeType, parent: Scope | None) -> None:
        self.node = node
        self.code = code
        self.parent = parent
        self.children: tuple[Scope, ...] = ()
        self.merged = False

    @property
    def function(self) -> bool:
        """Whether function objects run this code."""
        return isinstance(self.node, FUNCTIONS) and not self.code.co_name.startswith("<generic")

    @property
    def inner(self) -> bool:
        """Whether it stands in a function, so that it is made anew with every call."""
        scope = self.parent
        while scope is not None:
            if isinstance(scope.node, FUNCTIONS):
                return True
            scope = scope.parent
        return False

    @property
    def qualname(self) -> str:
        """As Python names it."""
        if self.parent is None:
            return "the module"
        name = self.code.co_name
        above: Scope | None = self.parent
        while above is not None and above.code.co_name.startswith("<generic"):
            above = above.parent
        if above is None or above.parent is None:
            return name
        return f"{above.qualname}.{'<locals>.' if above.function else ''}{name}"

    def walk(self) -> Iterator[Scope]:
        """This scope and all in it."""
        yield self
        for child in self.children:
            yield from child.walk()


class Compiled:
    """The text of a module, compiled as Python compiles the file ``file``."""

    def __init__(self, text: bytes, file: str) -> None:
        self.text = text
        self.file = file
        self.tree = ast.parse(text, file)
        code = compile(text, file, "exec", dont_inherit=True)
        marked, nodes = _marked(self.tree, text, file)
        self.root = _scope(self.tree, code, marked, nodes, None)
        self.by_print: dict[object, list[Scope]] = {}
        for scope in self.root.walk():
            self.by_print.setdefault(fingerprint(scope.code), []).append(scope)

    def find(self, code: CodeType) -> list[Scope]:
        """The scopes whose code is equal to ``code`` in every respect."""
        return self.by_print.get(fingerprint(code), [])


def fingerprint(code: CodeType) -> object:
    """All that decides what ``code`` is, its lines included, its file not. Equal for equal text at an equal place."""
    return (code.co_firstlineno, _table(code), *_without_lines(code, fingerprint))


def meaning(code: CodeType) -> object:
    """What ``code`` does: its fingerprint without lines."""
    return _without_lines(code, meaning)


def _table(code: CodeType) -> object:
    return code.co_linetable


def _without_lines(code: CodeType, of: object) -> tuple[object, ...]:
    return (
        code.co_name,
        getattr(code, "co_qualname", ""),
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        getattr(code, "co_exceptiontable", b""),
        tuple(_constant(const, of) for const in code.co_consts),
    )


def _constant(value: object, of: object) -> object:
    if isinstance(value, CodeType):
        return of(value)  # type: ignore[operator]
    if isinstance(value, tuple):
        return (tuple, tuple(_constant(item, of) for item in value))
    if isinstance(value, frozenset):
        return (frozenset, frozenset(_constant(item, of) for item in value))
    return (type(value), repr(value))


def _marked(tree: ast.Module, text: bytes, file: str) -> tuple[CodeType, dict[int, ast.AST]]:
    """The code of ``tree`` with a line number of its own for each scope, and which scope each number is."""
    marked = ast.parse(text, file)
    nodes: dict[int, ast.AST] = {}
    for original, node in zip(ast.walk(tree), ast.walk(marked), strict=True):
        if hasattr(node, "lineno"):
            for name, value in (("lineno", 1), ("end_lineno", 1), ("col_offset", 0), ("end_col_offset", 0)):
                setattr(node, name, value)
        if isinstance(node, _SCOPES):
            nodes[len(nodes) + 2] = original
            node._prtoggle = len(nodes) + 1
    for node in ast.walk(marked):
        number = getattr(node, "_prtoggle", None)
        if number is not None:
            for each in (node, *getattr(node, "decorator_list", ())):
                each.lineno = each.end_lineno = number
    return compile(marked, file, "exec", dont_inherit=True), nodes


def _scope(
    node: ast.AST | None, code: CodeType, marked: CodeType, nodes: dict[int, ast.AST], parent: Scope | None
) -> Scope:
    scope = Scope(node, code, parent)
    codes = [const for const in code.co_consts if isinstance(const, CodeType)]
    numbered = [const for const in marked.co_consts if isinstance(const, CodeType)]
    if [each.co_name for each in codes] != [each.co_name for each in numbered]:
        scope.merged = True
        return scope
    scope.children = tuple(
        _scope(nodes.get(numbered_one.co_firstlineno), one, numbered_one, nodes, scope)
        for one, numbered_one in zip(codes, numbered, strict=True)
    )
    return scope
