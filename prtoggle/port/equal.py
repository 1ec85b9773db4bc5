"""Whether two reverted texts come to the same: same syntax, but for ways of writing that nothing depends on.

``if condition: pass`` is nothing, where the condition only reads. A ``pass`` beside other statements is nothing.

Example::

    equal("if a > 1:\\n    pass\\nx = 1\\n", "x = 1\\n")       # True
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from prtoggle.port.syntax import key
from prtoggle.port.values import Texts

_READS = (
    ast.Name,
    ast.Attribute,
    ast.Constant,
    ast.BoolOp,
    ast.Compare,
    ast.UnaryOp,
    ast.BinOp,
    ast.boolop,
    ast.cmpop,
    ast.unaryop,
    ast.operator,
    ast.expr_context,
)


def equal(one: str, other: str) -> bool:
    """Whether two texts come to the same."""
    return one == other or key(normal(ast.parse(one))) == key(normal(ast.parse(other)))


def alike_texts(one: Sequence[Texts], other: Sequence[Texts]) -> bool:
    """Whether the reverted texts of the same modules come to the same."""
    mine = {texts.module: texts.reverted for texts in one}
    theirs = {texts.module: texts.reverted for texts in other}
    return mine.keys() == theirs.keys() and all(equal(mine[name], theirs[name]) for name in mine)


def normal(tree: ast.Module) -> ast.Module:
    """``tree``, changed in place: without what does nothing."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block:
                block[:] = _block(block, empty=field != "body" or isinstance(node, ast.Module))
    return tree


def _block(block: list[ast.stmt], *, empty: bool) -> list[ast.stmt]:
    kept = []
    for statement in block:
        if isinstance(statement, ast.If):
            statement.body = _block(statement.body, empty=False)
            statement.orelse = _block(statement.orelse, empty=True)
        if not _nothing(statement):
            kept.append(statement)
    return kept or ([] if empty else [ast.Pass()])


def _nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass):
        return True
    if not isinstance(statement, ast.If) or statement.orelse or not isinstance(statement.body[0], ast.Pass):
        return False
    return all(isinstance(node, _READS) or _getter(node) for node in ast.walk(statement.test))


def _getter(node: ast.AST) -> bool:
    """A call without arguments of a plain name: ``get_spec().x`` reads too."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args and not node.keywords
