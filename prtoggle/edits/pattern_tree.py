"""What the pattern modules share about syntax trees: fields, constants, arguments, parameters, the text of list items.

Nothing here knows what a pattern is. Trees are never changed; positions are asked of the :class:`SourceText` that was
parsed.

Example::

    source = SourceText("f((a), k=1)")
    call = source.tree.body[0].value
    [source.text[a:b] for a, b in item_spans(source, call)] == ["(a)", "k=1"]
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from prtoggle.edits.text import SourceText

Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
STRINGS = tuple(getattr(ast, name) for name in ("JoinedStr", "TemplateStr") if hasattr(ast, name))
"""Nothing matches inside these; their inner positions are not to be trusted before Python 3.12 either."""

# Never compared: load or store is said by the place, `u''` and type comments are layout.
_LAYOUT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


_FIELDS: dict[Any, tuple[str, ...]] = {}


def fields_of(node: ast.AST) -> tuple[str, ...]:
    """The fields of a node that are syntax, whatever this Python's version has."""
    kind: Any = type(node)
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(field for field in kind._fields if field not in _LAYOUT)
    return _FIELDS[kind]


def same_constant(one: object, other: object) -> bool:
    """Whether two constants are the same in type and value: ``1``, ``True`` and ``1.0`` are three."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (float, complex)):
        return repr(one) == repr(other)
    return one == other


def is_elif(source: SourceText, node: ast.stmt) -> bool:
    """Whether an ``if`` is written ``elif``."""
    return isinstance(node, ast.If) and source.text.startswith("elif", source.offset(node.lineno, node.col_offset))


def ends_in_elif(source: SourceText, node: ast.If) -> bool:
    """Whether what follows an ``if`` is an ``elif`` (and not ``else:`` with an ``if`` in it)."""
    return len(node.orelse) == 1 and is_elif(source, node.orelse[0])


def dotted_name(node: ast.AST) -> str | None:
    """``a.b.c`` for names and attributes of names, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def expression_of(name: str) -> ast.expr:
    """The expression that a name, perhaps dotted, is."""
    first, *rest = name.split(".")
    node: ast.expr = ast.Name(id=first, ctx=ast.Load())
    for part in rest:
        node = ast.Attribute(value=node, attr=part, ctx=ast.Load())
    return node


@dataclass(frozen=True)
class Parameter:
    """One item between a function's parentheses; ``stars`` is ``''``, ``'*'``, ``'**'`` or ``'/'``.

    The markers ``/`` and ``*`` alone have no ``arg``.
    """

    stars: str
    arg: ast.arg | None = None
    default: ast.expr | None = None


@dataclass(frozen=True)
class Entry:
    """One item of a dict display; no ``key`` for ``**value``."""

    key: ast.expr | None
    value: ast.expr


Item = ast.expr | ast.keyword | ast.stmt | Parameter | Entry


def parameters(arguments: ast.arguments) -> tuple[Parameter, ...]:
    """The parameters in source order, the markers ``/`` and ``*`` among them."""
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    items = [Parameter("", arg, default) for arg, default in zip(plain, defaults, strict=True)]
    if arguments.posonlyargs:
        items.insert(len(arguments.posonlyargs), Parameter("/"))
    if arguments.vararg:
        items.append(Parameter("*", arguments.vararg))
    elif arguments.kwonlyargs:
        items.append(Parameter("*"))
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    items += [Parameter("", arg, default) for arg, default in pairs]
    if arguments.kwarg:
        items.append(Parameter("**", arguments.kwarg))
    return tuple(items)


def arguments_of(items: Sequence[Parameter]) -> ast.arguments:
    """The other way round of :func:`parameters`. ValueError where no such parameter list can be written."""
    made = ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])
    starred = False
    for at, item in enumerate(items):
        if made.kwarg:
            raise ValueError("a parameter behind **")
        if item.stars == "/":
            if starred or made.posonlyargs or not made.args:
                raise ValueError("a / out of place")
            made.posonlyargs, made.args = made.args, []
        elif item.stars == "*":
            if starred or (item.arg is None and (at + 1 == len(items) or items[at + 1].stars)):
                raise ValueError("a * out of place")
            starred, made.vararg = True, item.arg
        elif item.stars == "**":
            made.kwarg = item.arg
        elif starred:
            assert item.arg is not None
            made.kwonlyargs.append(item.arg)
            made.kw_defaults.append(item.default)
        else:
            assert item.arg is not None
            made.args.append(item.arg)
            if item.default is not None:
                made.defaults.append(item.default)
            elif made.defaults:
                raise ValueError("a parameter without a default behind one with")
    return made


def call_items(node: ast.Call | ast.ClassDef) -> list[ast.expr | ast.keyword]:
    """Arguments of a call, or bases of a class, in source order."""
    plain = node.args if isinstance(node, ast.Call) else node.bases
    if not node.keywords:
        return list(plain)
    return sorted([*plain, *node.keywords], key=lambda item: (item.lineno, item.col_offset))


def items_of(node: ast.AST) -> tuple[Item, ...]:
    """The comma-separated items that a node lists; empty for a node that lists none."""
    if isinstance(node, (ast.Call, ast.ClassDef)):
        return tuple(call_items(node))
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return tuple(node.elts)
    if isinstance(node, ast.Dict):
        return tuple(Entry(key, value) for key, value in zip(node.keys, node.values, strict=True))
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return parameters(node.args)
    return ()


def skip(text: str, at: int, also: str = "") -> int:
    """The offset at or after ``at`` of the first character that is not layout, a comment, or one of ``also``."""
    while at < len(text):
        char = text[at]
        if char == "#":
            while at < len(text) and text[at] not in "\r\n":
                at += 1
        elif char in " \t\f\r\n" or char in also or (char == "\\" and text[at + 1 : at + 2] in ("\r", "\n")):
            at += 1
        else:
            break
    return at


def opens_between(text: str, at: int, end: int) -> int:
    """How many ``(`` stand between layout and comments in ``text[at:end]``."""
    count = 0
    while (at := skip(text, at)) < end:
        count += text[at] == "("
        at += 1
    return count


def close(text: str, at: int, count: int) -> int:
    """The offset after ``count`` closing parentheses, which stand at ``at`` between layout and comments."""
    for _ in range(count):
        at = skip(text, at) + 1
    return at


def _inside(source: SourceText, node: ast.AST) -> int:
    """Offset just inside the bracket (or keyword) that opens the items of ``node``."""
    text = source.text
    if isinstance(node, ast.Call):
        return skip(text, source.span(node.func)[1], ")") + 1
    start = source.span(node)[0]
    if isinstance(node, ast.Lambda):
        return start + len("lambda")
    if isinstance(node, Definition):
        at = start
        if isinstance(node, ast.AsyncFunctionDef):
            at = skip(text, at + len("async"))
        at = skip(text, at + len("class" if isinstance(node, ast.ClassDef) else "def"))
        while text[at].isalnum() or text[at] == "_" or not text[at].isascii():
            at += 1
        if params := getattr(node, "type_params", None):
            at = text.index("]", source.span(params[-1])[1]) + 1
        return skip(text, at) + 1
    if isinstance(node, ast.Tuple):
        return start + 1 if has_parentheses(source, node) else start
    return start + 1


def has_parentheses(source: SourceText, node: ast.Tuple) -> bool:
    """Whether the parentheses around a tuple, if any, are its own (and not its first item's)."""
    if not node.elts:
        return True
    first = source.span(node.elts[0])
    opened = opens_between(source.text, source.span(node)[0], first[0])
    at, closed = first[1], 0
    while source.text[(at := skip(source.text, at)) : at + 1] == ")":
        at, closed = at + 1, closed + 1
    # One item always has its comma, so the parentheses before the first comma are the first item's.
    return opened > closed


def item_spans(source: SourceText, node: ast.AST) -> list[tuple[int, int]]:
    """Start and end of each of :func:`items_of`, parentheses around an item included."""
    text, spans = source.text, []
    at = _inside(source, node)
    for item in items_of(node):
        if isinstance(item, Parameter):
            at = skip(text, at, ",")
            end = source.span(item.arg)[1] if item.arg else at + 1
            if item.default:
                end = _outer_end(source, skip(text, end) + 1, item.default)
        elif isinstance(item, Entry):
            at = skip(text, at, ",")
            if item.key is None:
                end = _outer_end(source, at + 2, item.value)
            else:
                end = _outer_end(source, skip(text, _outer_end(source, at, item.key)) + 1, item.value)
        elif source.span(item)[0] < at:  # f(x for x in y): the parentheses are the call's and the generator's
            at, end = source.span(item)
        else:
            at = skip(text, at, ",")
            end = _outer_end(source, at, item)
        spans.append((at, end))
        at = end
    return spans


def _outer_end(source: SourceText, at: int, node: ast.AST) -> int:
    """Where ``node`` ends with the parentheses that were opened for it since ``at``."""
    start, end = source.span(node)
    return close(source.text, end, opens_between(source.text, at, start))


def statement_start(source: SourceText, node: ast.stmt) -> int:
    """Where a statement starts, with its decorators."""
    decorators = getattr(node, "decorator_list", None)
    if not decorators:
        return source.span(node)[0]
    at = source.span(decorators[0])[0]
    while True:
        at = source.text.rindex("@", 0, at)
        if not source.text[source.starts[source.line_of(at) - 1] : at].strip():
            return at


def first_line(node: ast.AST) -> int:
    """The first line of a node, decorators included."""
    decorators = getattr(node, "decorator_list", None)
    line: int = node.lineno  # type: ignore[attr-defined]
    return min(line, decorators[0].lineno) if decorators else line


def blocks_of(node: ast.AST) -> list[tuple[str, list[ast.stmt]]]:
    """The non-empty lists of statements that a node holds, with their field's name."""
    found = []
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list) and block:
            found.append((field, block))
    return found


def block_with(tree: ast.Module, node: ast.stmt) -> tuple[ast.AST, list[ast.stmt]]:
    """The owner and the list of statements that hold ``node`` (by identity). LookupError if it is not of ``tree``."""
    stack: list[ast.AST] = [tree]
    while stack:
        owner = stack.pop()
        for _, block in blocks_of(owner):
            if any(statement is node for statement in block):
                return owner, block
            stack += [inner for inner in block if inner.lineno <= node.lineno <= (inner.end_lineno or 0)]
        stack += [*getattr(owner, "handlers", ()), *getattr(owner, "cases", ())]
    raise LookupError("the statement is not of this tree")
