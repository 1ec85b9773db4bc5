"""Pieces of one module's text, written for a place in another: renamed, indented as it is there, else as they stand.

Example::

    statements(source, [node], "        ", lambda name: name[1])     # "        x = f(\\n            y)\\n"
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from prtoggle.edits.pattern_tree import close, fields_of, first_line, opens_between, skip
from prtoggle.edits.rows import fragment_rows
from prtoggle.edits.text import SourceText
from prtoggle.port.syntax import Name, kind_of, names_in

Rename = Callable[[Name], str]
_ATOMS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Set, ast.Dict, ast.Constant, ast.ListComp)


class Untellable(Exception):
    """Why a change cannot be carried; ``nearest`` is a line of the other release, 0 for none."""

    def __init__(self, reason: str, nearest: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.nearest = reason, nearest


def blanks(line: str) -> str:
    """The leading white space of a line."""
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def own_lines(source: SourceText, first: ast.AST, last: ast.AST) -> tuple[int, int]:
    """First and last line of a run of statements. Raises :class:`Untellable` where they share a line with others."""
    top, bottom = first_line(first), int(last.end_lineno)  # type: ignore[attr-defined]
    while top > 1 and getattr(first, "decorator_list", None) and not source.line(top).lstrip().startswith("@"):
        top -= 1
    start = source.span(first)[0]
    end = source.span(last)[1]
    if not getattr(first, "decorator_list", None) and source.text[source.starts[top - 1] : start].strip(" \t\f"):
        raise Untellable("the statement shares its line with others", top)
    rest = source.text[end : source.starts[bottom]].strip(" \t\f\r\n;")
    if rest and not rest.startswith("#"):
        raise Untellable("the statement shares its line with others", bottom)
    return top, bottom


def renaming(source: SourceText, node: ast.AST, rename: Rename) -> list[tuple[int, int, str]]:
    """The spans of identifiers in ``node`` that are called otherwise, with their new text."""
    edits: list[tuple[int, int, str]] = []
    pending: list[ast.AST] = [node]
    while pending:
        each = pending.pop()
        for field in fields_of(each):
            value = getattr(each, field, None)
            if isinstance(value, str) and (kind := kind_of(each, field)):
                new = rename((kind, value))
                if new != value:
                    edits.append(_span(source, each, field, value, new))
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.JoinedStr):
                    if any(rename(name) != name[1] for name in names_in(child)):
                        raise Untellable("a renamed identifier stands inside an f-string")
                elif isinstance(child, ast.AST):
                    pending.append(child)
    return edits


def _span(source: SourceText, node: ast.AST, field: str, old: str, new: str) -> tuple[int, int, str]:
    if isinstance(node, (ast.Name, ast.Attribute, ast.keyword, ast.arg)):
        start, end = source.span(node)
        at = end - len(old) if isinstance(node, ast.Attribute) else start
        if source.text[at : at + len(old)] == old:
            return at, at + len(old), new
    raise Untellable(f"{old!r} is now called {new!r}, and cannot be renamed in the reverted text")


def replaced(text: str, offset: int, edits: Sequence[tuple[int, int, str]]) -> str:
    """``text``, which starts at ``offset`` of the source that ``edits`` are for, with the edits made."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[: start - offset] + new + text[end - offset :]
    return text


def expression(source: SourceText, node: ast.AST, rename: Rename) -> str:
    """The text of an expression, keyword argument or alias; in parentheses where it stands in some or spans lines."""
    start, end = source.span(node)
    text = replaced(source.text[start:end], start, renaming(source, node, rename))
    if not isinstance(node, ast.expr) or isinstance(node, (ast.Starred, ast.Slice)):
        return text
    return f"({text})" if "\n" in text and not isinstance(node, _ATOMS) else text


def outer(source: SourceText, node: ast.AST) -> tuple[int, int]:
    """The span of an expression with the parentheses directly around it that hold nothing else."""
    start, end = source.span(node)
    while True:
        before = start - 1
        while before >= 0 and source.text[before] in " \t\f\r\n":
            before -= 1
        after = skip(source.text, end)
        if before < 0 or source.text[before] != "(" or source.text[after : after + 1] != ")":
            return start, end
        head = source.text[:before].rstrip(" \t\f")
        if head and (head[-1].isalnum() or head[-1] in "_)]}'\""):
            word = head[-12:].replace("(", " ").replace("[", " ").split()
            if not word or word[-1] not in _KEYWORDS:
                return start, end
        if opens_between(source.text, before, start) != 1:
            return start, end
        start, end = before, close(source.text, end, 1)


_KEYWORDS = frozenset(
    {"and", "or", "not", "in", "is", "if", "else", "return", "yield", "lambda", "await", "assert", "elif", "while"}
)


def statements(source: SourceText, nodes: Sequence[ast.stmt], indent: str, rename: Rename) -> str:
    """The text of a run of statements at ``indent``, whole lines, ended by ``\\n``."""
    top, bottom = own_lines(source, nodes[0], nodes[-1])
    start, end = source.starts[top - 1], source.starts[bottom]
    edits = [edit for node in nodes for edit in renaming(source, node, rename)]
    text = replaced(source.text[start:end], start, edits).replace("\r\n", "\n").replace("\r", "\n")
    return indented(text, indent)


def indented(text: str, indent: str) -> str:
    """``text`` (whole statements) with its first line at ``indent``; lines inside strings stay."""
    rows = fragment_rows(text)
    old = blanks(rows[0].text)
    out = []
    for row in rows:
        if row.inside:
            out.append(row.text)
        elif not row.text.strip():
            out.append("")
        elif row.text.startswith(old):
            out.append(indent + row.text[len(old) :])
        else:
            out.append(indent + row.text.lstrip(" \t\f"))
    return "\n".join(out) + "\n"
