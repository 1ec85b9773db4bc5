"""Definitions of an older text put into a newer one, and nothing else of it.

Contract: pure. The result differs from the newer text in the named definitions alone, and in what those need that is
gone from it: imports, helpers, constants. :class:`Unspliced` says why it cannot be had.

Example::

    spliced(newer, older, ["Runner.step"])      # Spliced(SourceText(...), needed=("import warnings",))
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prtoggle.authoring.names import bound_at_top, unbound
from prtoggle.edits.outcome import Missing, Several
from prtoggle.edits.scope import Scope, definitions, first_line, resolve, statement_lists
from prtoggle.edits.text import SourceText
from prtoggle.errors import did_you_mean


class Unspliced(Exception):
    """Why the older definition cannot stand in the newer text; ``unknown`` is a name that neither text has, and
    ``nearest`` one that is near."""

    def __init__(self, what: str, unknown: str = "", nearest: str = "") -> None:
        super().__init__(what)
        self.unknown, self.nearest = unknown, nearest


@dataclass(frozen=True)
class Spliced:
    """The text, and the statements of the older one that came along since the definitions need them."""

    text: SourceText
    needed: tuple[str, ...] = ()


def spliced(newer: SourceText, older: SourceText, names: Sequence[str], *, alone: bool = False) -> Spliced:
    """``newer`` with the definitions ``names`` as they are in ``older``: changed back, taken out, or put back.

    ``alone``: nothing comes along, and whether the result has all its names is not asked.
    """
    text = newer
    for name in names:
        text = _one(text, older, name)
    if alone:
        return Spliced(text)
    text, needed = _completed(text, newer, older)
    lost = sorted(unbound(text) - unbound(newer) - unbound(older))
    if lost:
        raise Unspliced(f"{', '.join(lost)} would be gone, where the rest of the module still uses it")
    return Spliced(text, needed)


def brought(newer: SourceText, older: SourceText, names: Iterable[str]) -> SourceText | None:
    """``newer`` with the statements of ``older`` that bind ``names``, which it does not bind, and with what those need;
    None where that cannot be had without another change."""
    text = newer
    taken = bound_at_top(newer.tree.body)
    for name in names:
        if name in bound_at_top(text.tree.body):
            continue
        found = [each for each in older.tree.body if name in bound_at_top([each])]
        if len(found) != 1 or bound_at_top(found) & taken:
            return None
        text = _with_statement(text, older, found[0], [name])
    text, _ = _completed(text, newer, older)
    lost = unbound(text) - unbound(newer)
    return None if lost or bound_at_top(newer.tree.body) - bound_at_top(text.tree.body) else text


def _one(newer: SourceText, older: SourceText, name: str) -> SourceText:
    new, old = resolve(newer, name), resolve(older, name)
    for scope in (new, old):
        if isinstance(scope, Several):
            raise Unspliced(f"{name!r} is defined several times: {scope.reason}")
    if isinstance(new, Missing) and isinstance(old, Missing):
        known = dict.fromkeys(each for source in (newer, older) for each, _ in definitions(source))
        near = did_you_mean(name, tuple(known)) or next((each for each in known if each.endswith(f".{name}")), "")
        raise Unspliced("neither text has such a definition", name, near)
    if isinstance(new, Scope) and isinstance(old, Scope):
        return _replaced(newer, new.first, new.last, _placed(older, old, _indent(newer, new)))
    if isinstance(new, Scope):
        return _removed(newer, new)
    assert isinstance(old, Scope)
    return _inserted(newer, older, old)


def _indent(source: SourceText, scope: Scope) -> str:
    line = source.line(scope.first)
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def _lines(source: SourceText, scope: Scope) -> list[str]:
    last = scope.node
    if not isinstance(last, ast.Module) and _shares_line(source, last):
        raise Unspliced(f"{scope.qualname} shares a line with something else")
    return [source.line(number) for number in range(scope.first, scope.last + 1)]


def _shares_line(source: SourceText, node: ast.stmt) -> bool:
    before = source.line(node.lineno)[:1] if node.col_offset == 0 else source.line(node.lineno)[: node.col_offset]
    _, end = source.span(node)
    rest = source.text[end:].split("\n", 1)[0].strip()
    return (node.col_offset > 0 and bool(before.strip())) or (bool(rest) and not rest.startswith("#"))


def _placed(older: SourceText, scope: Scope, indent: str) -> list[str]:
    own = _indent(older, scope)
    if own != indent:
        raise Unspliced(f"{scope.qualname} stands at another depth in the older text")
    return _lines(older, scope)


def _replaced(source: SourceText, first: int, last: int, lines: Sequence[str]) -> SourceText:
    new = "".join(line + source.newline for line in lines)
    start, end = source.starts[first - 1], source.starts[last]
    text = source.text[:start] + new + source.text[end:]
    if not source.text.endswith(("\n", "\r")) and end == len(source.text):
        text = text.rstrip("\r\n")
    return _parsed(source, text)


def _parsed(source: SourceText, text: str) -> SourceText:
    made = SourceText(text, source.encoding, source.bom)
    try:
        _ = made.tree
        source.encode(text)
    except (SyntaxError, ValueError) as error:
        raise Unspliced(f"the older definition does not fit into the newer text: {error}") from None
    return made


def _removed(source: SourceText, scope: Scope) -> SourceText:
    _lines(source, scope)
    block = _block(source.tree, scope.node)
    owner = scope.qualname.rpartition(".")[0]
    if len(block) == 1 and owner:
        indent = _indent(source, scope)
        return _replaced(source, scope.first, scope.last, [f"{indent}pass"])
    return _replaced(source, scope.first, scope.last, [])


def _block(tree: ast.AST, node: ast.AST) -> list[ast.stmt]:
    pending: list[ast.AST] = [tree]
    while pending:
        for block in statement_lists(pending.pop()):
            if any(each is node for each in block):
                return block
            pending += block
    raise AssertionError("a scope's node is in a block")


def _inserted(newer: SourceText, older: SourceText, scope: Scope) -> SourceText:
    """The older definition behind the nearest one before it that both texts have, else before the next one."""
    owner, _, own = scope.qualname.rpartition(".")
    block = _block(older.tree, scope.node)
    around = resolve(newer, owner)
    if not isinstance(around, Scope) or isinstance(around.node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise Unspliced(f"{owner or own} is not in the newer text, so {own} has no place there")
    if block is not _body(resolve(older, owner)):
        raise Unspliced(f"{scope.qualname} stands under an if, try or with in the older text")
    lines = _lines(older, scope)
    at = next(index for index, each in enumerate(block) if each is scope.node)
    here = {getattr(each, "name", ""): each for each in around.node.body}
    for each in reversed(block[:at]):
        there = here.get(getattr(each, "name", "") or "-")
        if there is not None and there.end_lineno is not None:
            return _checked_indent(newer, older, scope, there, there.end_lineno + 1, ["", *lines])
    for each in block[at + 1 :]:
        there = here.get(getattr(each, "name", "") or "-")
        if there is not None:
            return _checked_indent(newer, older, scope, there, first_line(newer, there), [*lines, ""])
    last = around.node.body[-1]
    return _checked_indent(newer, older, scope, last, (last.end_lineno or last.lineno) + 1, ["", *lines])


def _body(scope: Scope | Missing | Several) -> list[ast.stmt]:
    return scope.node.body if isinstance(scope, Scope) else []


def _checked_indent(
    newer: SourceText, older: SourceText, scope: Scope, beside: ast.stmt, line: int, lines: list[str]
) -> SourceText:
    text = newer.line(first_line(newer, beside))
    if text[: len(text) - len(text.lstrip(" \t\f"))] != _indent(older, scope):
        raise Unspliced(f"{scope.qualname} stands at another depth in the older text")
    if line > len(newer.lines) and not newer.text.endswith(("\n", "\r")):
        newer = SourceText(newer.text + newer.newline, newer.encoding, newer.bom)
    return _replaced(newer, line, line - 1, lines)


def _completed(text: SourceText, newer: SourceText, older: SourceText) -> tuple[SourceText, tuple[str, ...]]:
    """``text`` with the statements of ``older`` that bind names which are unbound in it now."""
    needed: list[str] = []
    for _ in range(20):
        lost = unbound(text) - unbound(newer) - unbound(older)
        found = next((each for each in older.tree.body if bound_at_top([each]) & lost), None)
        if found is None:
            return text, tuple(needed)
        text = _with_statement(text, older, found, sorted(bound_at_top([found]) & lost))
        needed.append(older.line(found.lineno).strip())
    return text, tuple(needed)


def _with_statement(text: SourceText, older: SourceText, statement: ast.stmt, names: Iterable[str]) -> SourceText:
    first, last = first_line(older, statement), statement.end_lineno or statement.lineno
    lines = [older.line(number) for number in range(first, last + 1)]
    if isinstance(statement, ast.ImportFrom):
        kept = [alias for alias in statement.names if (alias.asname or alias.name) in names]
        if kept:
            lines = [ast.unparse(ast.ImportFrom(statement.module, kept, statement.level))]
    return _replaced(text, _after_imports(text), _after_imports(text) - 1, lines)


def _after_imports(source: SourceText) -> int:
    """The line before which statements of the module's top are put."""
    body = source.tree.body
    imports = [each for each in body if isinstance(each, ast.Import | ast.ImportFrom)]
    if imports:
        return (imports[-1].end_lineno or imports[-1].lineno) + 1
    documented = bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return (body[0].end_lineno or 1) + 1 if documented else 1
