"""Where a pattern matches in a scope.

Places are found by walking the scope, but only into nodes whose lines hold the pattern's rarest identifier, so that a
large module costs little.

Example::

    [match] = matches(source, scope, parse("$X[:, :$N]"))
    match.line, match.bindings[0]["N"]
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from prtoggle.edits.pattern_match import Bindings, Items, Matcher, Pair
from prtoggle.edits.pattern_parse import Pattern, run_in
from prtoggle.edits.pattern_tokens import comments_in
from prtoggle.edits.pattern_tree import STRINGS, blocks_of, first_line, is_elif, statement_start
from prtoggle.edits.scope import Scope
from prtoggle.edits.text import SourceText


@dataclass(frozen=True)
class Match:
    """One place: the matched expression or statements, the nodes around, and each way the names can be bound.

    ``refused`` says why the rules keep the pattern from it, if they do.
    """

    nodes: tuple[ast.expr, ...] | tuple[ast.stmt, ...]
    around: tuple[ast.AST, ...]
    bindings: tuple[Bindings, ...]
    refused: str = ""

    @property
    def line(self) -> int:
        return first_line(self.nodes[0])

    @property
    def statement(self) -> ast.Expr | None:
        """The expression statement that a matched expression is the whole of."""
        parent = self.around[-1] if self.around else None
        return parent if isinstance(parent, ast.Expr) and isinstance(self.nodes[0], ast.expr) else None


def matches(source: SourceText, scope: Scope, pattern: Pattern, *, any_way: bool = False) -> list[Match]:
    """Every place in ``scope`` that has the syntax of ``pattern``, in source order.

    An ``elif``, or a statement that shares its line with another, comes with ``refused`` set. With ``any_way`` the
    bindings are one way to match the place, not all.
    """
    matcher = Matcher(pattern.holes, pattern.source, source, any_way=any_way)
    lines = _anchor_lines(source, scope, pattern)
    if lines is not None and not lines:
        return []
    found: list[Match] = []
    if pattern.expression is not None:
        kind = type(pattern.expression)
        for node, around in walk(scope.node, lines):
            if type(node) is kind and (ways := matcher.ways(Pair(pattern.expression, node))):
                found.append(Match((node,), _chain(around), tuple(ways)))
    else:
        for around, block in _blocks(scope, lines):
            for start, end, ways in _in_block(matcher, pattern, block):
                refused = _refused(source, block[start:end], around)
                found.append(Match(tuple(block[start:end]), _chain(around), tuple(ways), refused))
    return sorted(found, key=lambda match: source.span(match.nodes[0]))


def _in_block(matcher: Matcher, pattern: Pattern, block: list[ast.stmt]) -> Iterator[tuple[int, int, list[Bindings]]]:
    """Start, end and bindings of each match among the statements of one block."""
    wanted = pattern.body
    runs = [run_in(statement, pattern.holes) is not None for statement in wanted]
    fixed = len(wanted) - sum(runs)
    if len(block) < fixed:
        return
    heads = [None if run else type(each) for each, run in zip(wanted, runs, strict=True)]
    # A run at the pattern's start or end reaches to the start or end of the block: any other end would be a guess.
    for start in [0] if runs[0] else range(len(block) - fixed + 1):
        if heads[0] and type(block[start]) is not heads[0]:
            continue
        if not any(runs):
            ends: Sequence[int] = [start + fixed]
        else:
            ends = [len(block)] if runs[-1] else range(start + max(fixed, 1), len(block) + 1)
        for end in ends:
            if end <= start or (heads[-1] and type(block[end - 1]) is not heads[-1]):
                continue
            if ways := matcher.ways(Items(wanted, block[start:end], None, statements=True)):
                yield start, end, ways


def _refused(source: SourceText, statements: Sequence[ast.stmt], around: Any) -> str:
    if isinstance(statements[0], ast.If) and is_elif(source, statements[0]):
        return "an elif, which a pattern's if does not match"
    owner = around[0] if around else None
    if any(not alone(source, each, owner) for each in statements):
        return "a statement that shares its line with another, which a statement pattern does not match"
    return ""


_REST = re.compile(r"[ \t\f]*;?[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|$)")


def alone(source: SourceText, statement: ast.stmt, owner: ast.AST | None = None) -> bool:
    """Whether no other statement, nor the header of its block, stands on the lines of ``statement``."""
    start = statement_start(source, statement)
    line = source.line_of(start)
    if source.text[source.starts[line - 1] : start].strip(" \t\f"):
        return False
    if line > 1 and source.line(line - 1).endswith("\\") and _continues(source, line - 1, owner):
        return False
    return _REST.match(source.text, source.span(statement)[1]) is not None


def _continues(source: SourceText, line: int, owner: ast.AST | None) -> bool:
    """Whether the backslash that ends ``line`` joins it with the next (it does not at the end of a comment)."""
    text = source.line(line)
    if "#" not in text:
        return True
    first = first_line(owner) if owner is not None and hasattr(owner, "lineno") else 1
    start, end = source.starts[first - 1], source.starts[line]
    return not any(source.line_of(at) == line for at, _ in comments_in(source, start, end, statements=True))


Around = tuple[ast.AST, Any]


def _chain(around: Around | tuple[()]) -> tuple[ast.AST, ...]:
    """The linked list of a node's ancestors as a tuple, outermost first."""
    nodes = []
    while around:
        nodes.append(around[0])
        around = around[1]
    return tuple(reversed(nodes))


def _holds(node: Any, lines: list[int]) -> bool:
    """Whether one of ``lines`` is a line of ``node``, as far as its position is known."""
    return not hasattr(node, "lineno") or bisect_left(lines, first_line(node)) < bisect_right(lines, node.end_lineno)


def walk(top: ast.AST, lines: list[int] | None) -> Iterator[tuple[ast.AST, Any]]:
    """Nodes from ``top`` on (not those in f-strings) that hold one of ``lines``, each with its ancestors."""
    stack: list[tuple[ast.AST, Any]] = [(top, ())]
    pop, push = stack.pop, stack.append
    while stack:
        node, around = pop()
        if lines is not None and not _holds(node, lines):
            continue
        yield node, around
        if isinstance(node, STRINGS):
            continue
        inner = None
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                if field == "ctx" or not value._fields:
                    continue
                inner = inner or (node, around)
                push((value, inner))
            elif isinstance(value, list):
                inner = inner or (node, around)
                for item in value:
                    if isinstance(item, ast.AST) and item._fields:
                        push((item, inner))


def _blocks(scope: Scope, lines: list[int] | None) -> Iterator[tuple[Any, list[ast.stmt]]]:
    """The blocks of statements in a scope; a definition is, alone, a block too."""
    if not isinstance(scope.node, ast.Module):
        yield (), [scope.node]
    stack: list[tuple[ast.AST, Any]] = [(scope.node, ())]
    while stack:
        node, around = stack.pop()
        if lines is not None and not _holds(node, lines):
            continue
        inner = (node, around)
        for _, block in blocks_of(node):
            if isinstance(block[0], ast.stmt):
                yield inner, block
                stack += [(each, inner) for each in block]
        stack += [(each, inner) for each in (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))]


def _anchor_lines(source: SourceText, scope: Scope, pattern: Pattern) -> list[int] | None:
    """Lines that hold the pattern's rarest identifier; None if it has none.

    Python normalises identifiers, so any line that is not ASCII may hold one in another spelling.
    """
    text = source.text
    start, end = (
        (0, len(text))
        if isinstance(scope.node, ast.Module)
        else (source.starts[scope.first - 1], source.starts[scope.last])
    )
    names = sorted(pattern.identifiers, key=len, reverse=True)[:6]
    if not names:
        return None
    name = min(names, key=lambda each: text.count(each, start, end))
    found, at = set(), text.find(name, start, end)
    while at >= 0:
        found.add(source.line_of(at))
        at = text.find(name, at + 1, end)
    if not text.isascii():
        first = source.line_of(start)
        found.update(
            number
            for number, line in enumerate(source.lines[first - 1 : scope.last or None], first)
            if not line.isascii()
        )
    return sorted(found)
