"""The definitions of a module as syntax trees that compare, and have digests, the same on every Python.

A module falls into pieces by qualified name: functions, methods, names that are assigned, and what is left of a module
or class. A piece's canonical text has no positions, no empty lists, no ``None``, nothing that only some Pythons have.

Example::

    changed(before, after)                     # {"FlashAttentionBackend._apply_cuda_graph_metadata": "5e0c..."}
    digest(pieces(source)["f"])                # the same on 3.10 and 3.13, with other comments and line breaks too
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence

Pieces = dict[str, tuple[str, ...]]
"""Name -> the canonical texts of the statements of that name, in order."""

GONE = "gone"
"""The digest of a piece that is no longer there."""
REST = "<body>"
"""What is left of a module or class: statements without a name, and a class's own head."""
_LEFT_OUT = {"kind", "type_comment"}


def canonical(node: object) -> str:
    """A syntax tree as text; equal for equal code, on every Python that can parse it."""
    if isinstance(node, ast.JoinedStr):  # Python 3.12 puts empty texts between its values
        return f"JoinedStr({canonical([value for value in node.values if getattr(value, 'value', None) != ''])})"
    if isinstance(node, ast.AST):
        shown = [
            f"{name}={canonical(value)}"
            for name, value in ast.iter_fields(node)
            if name not in _LEFT_OUT and value is not None and value != []
        ]
        return f"{type(node).__name__}({','.join(sorted(shown))})"
    if isinstance(node, list):
        return f"[{','.join(map(canonical, node))}]"
    # By type, so that 1 is not True; ascii, since what repr escapes depends on Python's table of characters.
    return f"{type(node).__name__}:{node!a}"


def pieces(source: str | bytes) -> Pieces:
    """The pieces of a module's source."""
    return {
        name: tuple(text if isinstance(text, str) else canonical(text) for text, _ in found)
        for name, found in _nodes(source).items()
    }


_Nodes = dict[str, list[tuple["ast.stmt | str", list[bytes]]]]
"""Name -> its statements (of a class's head the canonical text), each with its lines."""


def _nodes(source: str | bytes) -> _Nodes:
    data = source.encode() if isinstance(source, str) else source
    found: _Nodes = {}
    for name, node, lines in _walk(ast.parse(source).body, "", data.splitlines()):
        found.setdefault(name, []).append((node, lines))
    return found


def _walk(
    body: Sequence[ast.stmt], prefix: str, lines: list[bytes]
) -> Iterator[tuple[str, ast.stmt | str, list[bytes]]]:
    for node in body:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(each.lineno for each in decorators)])
        if isinstance(node, ast.ClassDef):
            parts = [node.bases, node.keywords, node.decorator_list, getattr(node, "type_params", [])]
            head = f"class {node.name} {canonical([part for part in parts if part])}"
            yield f"{prefix}{node.name}.{REST}", head, [head.encode("ascii", "backslashreplace")]
            yield from _walk(node.body, f"{prefix}{node.name}.", lines)
        else:
            yield f"{prefix}{_name(node)}", node, lines[first - 1 : node.end_lineno]


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if isinstance(node, ast.Assign | ast.AnnAssign) and len(targets) == 1 and isinstance(targets[0], ast.Name):
        return targets[0].id
    return REST


def digest(texts: Sequence[str]) -> str:
    """The digest of a piece; :data:`GONE` where there is none."""
    if not texts:
        return GONE
    return hashlib.sha256("\n".join(texts).encode("ascii")).hexdigest()[:32]


def changed(before: str | bytes, after: str | bytes) -> dict[str, str]:
    """Name -> digest afterwards, of every piece that differs between two sources of one module."""
    old, new = _nodes(before), _nodes(after)
    found: dict[str, str] = {}
    for name in dict.fromkeys((*old, *new)):
        was, now = old.get(name, []), new.get(name, [])
        if [lines for _, lines in was] == [lines for _, lines in now]:
            continue  # the same text is the same tree, and most of a module is
        texts = [tuple(node if isinstance(node, str) else canonical(node) for node, _ in each) for each in (was, now)]
        if texts[0] != texts[1]:
            found[name] = digest(texts[1])
    return found
