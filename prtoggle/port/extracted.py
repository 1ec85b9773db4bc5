"""An expression that moved into a helper: ``f(a * b)`` became ``f(size(a, b))``, with ``return a * b`` in ``size``.

The helper is new, is called once, and returns one expression; with the arguments of the call in place of its
parameters that expression is the one that stood there.

Example::

    # Helper(statement=<return a * b + 1>, pairs=..., rename=...)
    for helper in helpers(statement, new, site, resolve, is_new):
        ...
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prtoggle.edits.pattern_tree import fields_of
from prtoggle.port.effects import Resolve
from prtoggle.port.names import bound
from prtoggle.port.site import Site
from prtoggle.port.syntax import FUNCTIONS, Name, Statement, Unit, key, names_in


@dataclass(frozen=True)
class Helper:
    """A helper's ``return``, and which of its nodes each node of the old statement (by identity) became."""

    statement: Statement
    pairs: dict[int, ast.AST]
    rename: Callable[[Name], str]
    known: frozenset[str]
    """Names that mean something in the helper alone."""


def helpers(
    old: Statement, new: Statement, site: Site, resolve: Resolve, is_new: Callable[[Unit], bool]
) -> Iterator[Helper]:
    """The helpers that ``new`` calls where ``old`` had the expression."""
    for call in _expressions(new.node):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        helper = resolve(site.new, call.func.id)
        if helper is None or helper.module is not site.new.module or not is_new(helper):
            continue
        if helper.module.identifiers["n", helper.name] != 2:  # its definition, and the one call
            continue
        statement = _only_return(helper)
        given = _arguments(call, helper)
        if statement is None or given is None:
            continue
        value = statement.node.value
        wanted = key(_substituted(value, given))
        for node in _expressions(old.node):
            if isinstance(node, ast.expr) and key(node, site.aligned.rename) == wanted:
                found: dict[int, ast.AST] = {}
                _walk(node, value, set(given), found)
                yield Helper(statement, found, _rename(site, given), frozenset(bound(helper.node, inner=True)))


def strangers(nodes: list[ast.AST], helper: Helper, site: Site) -> str | None:
    """A local name of the old function in ``nodes`` that the helper does not know."""
    local = bound(site.old.node, inner=True)
    for node in nodes:
        for kind, text in names_in(node):
            if kind == "n" and text in local and helper.rename((kind, text)) not in helper.known:
                return text
    return None


def _rename(site: Site, given: dict[str, ast.expr]) -> Callable[[Name], str]:
    called = {value.id: parameter for parameter, value in given.items() if isinstance(value, ast.Name)}

    def rename(name: Name) -> str:
        text = site.aligned.rename(name)
        return called.get(text, text) if name[0] == "n" else text

    return rename


def _only_return(helper: Unit) -> Statement | None:
    assert helper.root is not None
    body = [s for s in helper.root.blocks["body"] if not _is_string(s.node)]
    if len(body) == 1 and isinstance(body[0].node, ast.Return) and body[0].node.value is not None:
        return body[0]
    return None


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _arguments(call: ast.Call, helper: Unit) -> dict[str, ast.expr] | None:
    """Parameter -> what is given for it; None where that is not plain."""
    assert isinstance(helper.node, FUNCTIONS)
    listed = helper.node.args
    if listed.vararg or listed.kwarg or any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    names = [arg.arg for arg in (*listed.posonlyargs, *listed.args)]
    every = {*names, *(arg.arg for arg in listed.kwonlyargs)}
    given = dict(zip(names, call.args, strict=False))
    given.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg})
    return given if given.keys() == every else None


class _Substituting(ast.NodeTransformer):
    def __init__(self, given: dict[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.given.get(node.id, node)


def _substituted(value: ast.expr, given: dict[str, ast.expr]) -> ast.AST:
    return _Substituting(given).visit(copy.deepcopy(value))  # type: ignore[no-any-return]


def _walk(old: ast.AST, new: ast.AST, parameters: set[str], found: dict[int, ast.AST]) -> None:
    found[id(old)] = new
    if isinstance(new, ast.Name) and new.id in parameters:
        return
    for field in fields_of(old):
        one, other = getattr(old, field, None), getattr(new, field, None)
        if isinstance(one, ast.AST) and isinstance(other, ast.AST):
            _walk(one, other, parameters, found)
        elif isinstance(one, list) and isinstance(other, list):
            for a, b in zip(one, other, strict=False):
                if isinstance(a, ast.AST) and isinstance(b, ast.AST):
                    _walk(a, b, parameters, found)


def _expressions(statement: ast.AST) -> list[ast.AST]:
    blocks = ("body", "orelse", "finalbody", "handlers", "cases")
    found: list[ast.AST] = []
    for field, value in ast.iter_fields(statement):
        for child in (
            () if field in blocks and isinstance(value, list) else value if isinstance(value, list) else (value,)
        ):
            if isinstance(child, ast.AST):
                found += ast.walk(child)
    return found
