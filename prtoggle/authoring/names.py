"""Names of a module that its code uses and nothing in it binds; what its statements bind; what it brings in and asks
of other modules.

Contract: pure. Built-in names are bound. A module with ``import *`` can bind anything, and then nothing is unbound.

Example::

    unbound(SourceText("def f():\\n    return helper(1)\\n"))      # {"helper"}
"""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prtoggle.edits.text import SourceText

_BUILT_IN = frozenset(dir(builtins)) | {
    "__name__",
    "__file__",
    "__doc__",
    "__package__",
    "__spec__",
    "__loader__",
    "__path__",
    "__builtins__",
    "__dict__",
    "__annotations__",
    "__class__",
    "__module__",
    "__qualname__",
    "WindowsError",
}


def unbound(source: SourceText) -> frozenset[str]:
    """The global names that are read and never bound."""
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(source.tree)):
        return frozenset()
    top = symtable.symtable(source.text, "<module>", "exec")
    bound = {each.get_name() for each in top.get_symbols() if each.is_assigned() or each.is_imported()}
    bound |= {each.get_name() for each in top.get_symbols() if each.is_namespace()}
    used: set[str] = set()
    for table in _tables(top):
        for symbol in table.get_symbols():
            if table is not top and symbol.is_declared_global() and symbol.is_assigned():
                bound.add(symbol.get_name())
            if symbol.is_referenced() and (table is top or symbol.is_global()):
                used.add(symbol.get_name())
    return frozenset(used - bound - _BUILT_IN)


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def bound_at_top(body: Iterable[ast.stmt]) -> frozenset[str]:
    """What statements bind where they stand, under ``if``, ``try`` and ``with`` too, but not in functions' bodies."""
    found: set[str] = set()
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        if isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        if isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        pending += ast.iter_child_nodes(node)
    return frozenset(found)


def identifiers(tree: ast.AST) -> frozenset[str]:
    """Every name that stands in a tree, attributes, parameters and keywords too."""
    found: set[str] = set()
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                found.update(value.split("."))
        if isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
    return frozenset(found)


@dataclass(frozen=True)
class Import:
    """One name that a module takes from another: ``name`` is empty for ``import module``."""

    module: str
    name: str
    line: int


def imports(source: SourceText, module: str, is_package: bool) -> frozenset[Import]:
    """What ``module`` imports, wherever it stands, relative names made absolute."""
    found: set[Import] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            found.update(Import(alias.name, "", node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                pieces = module.split(".")
                kept = pieces[: len(pieces) - node.level + is_package]
                base = ".".join([*kept, *([node.module] if node.module else [])])
            found.update(Import(base, alias.name, node.lineno) for alias in node.names if alias.name != "*")
    return frozenset(found)
