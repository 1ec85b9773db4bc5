"""What a function has besides its code: defaults, annotations, docstring, as the text it is to run has them.

Nothing is run to find out. A value that is written alike in both texts stays the object that it is; one that the
function had when it was first changed comes back; a literal is made; anything else is refused.

Example::

    attributes(f, old_scope, new_scope, kept)    # {"defaults": (2,)} for Change(f, code, **...)
"""

from __future__ import annotations

import ast
import builtins

from prtoggle.runtime import signatures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FunctionType
    from typing import Any

    from prtoggle.runtime.codes import Scope

_NONE: Any = object()


class CannotBeHad(Exception):
    """A value that only running the module's text would give."""


class Kept:
    """What a function had when it was first changed, and the scope whose text says so."""

    __slots__ = ("annotations", "defaults", "kwdefaults", "scope")

    def __init__(self, function: FunctionType, scope: Scope) -> None:
        self.scope = scope
        self.defaults = function.__defaults__
        self.kwdefaults = dict(function.__kwdefaults__ or {})
        self.annotations = dict(function.__annotations__)


def attributes(function: FunctionType, old: Scope, new: Scope, kept: Kept) -> dict[str, Any]:
    """What is to change, by the names that a Change takes. Raises CannotBeHad."""
    found: dict[str, Any] = {}
    before, after = signatures.written_defaults(old), signatures.written_defaults(new)
    if _written(before[0]) != _written(after[0]) or (
        after[0] and signatures.parameters(old) != signatures.parameters(new)
    ):
        now = _by_name(before[0], function.__defaults__)
        then = _by_name(signatures.written_defaults(kept.scope)[0], kept.defaults)
        values = _values("default", before[0], after[0], now, signatures.written_defaults(kept.scope)[0], then, None)
        found["defaults"] = tuple(values.values()) or None
    if _written(before[1]) != _written(after[1]):
        now = dict(function.__kwdefaults__ or {})
        then = kept.kwdefaults
        values = _values("default", before[1], after[1], now, signatures.written_defaults(kept.scope)[1], then, None)
        found["kwdefaults"] = values or None
    one, other = signatures.written_annotations(old), signatures.written_annotations(new)
    if _written(one) != _written(other):
        strings = bool(new.code.co_flags & _FUTURE)
        names = None if new.inner or (new.parent and new.parent.parent) else function.__globals__
        kept_nodes = signatures.written_annotations(kept.scope)
        now = dict(function.__annotations__)
        values = _values("annotation", one, other, now, kept_nodes, kept.annotations, names, strings)
        found["annotations"] = values
    if signatures.documentation(old) != signatures.documentation(new):
        found["doc"] = signatures.documentation(new)
    return found


_FUTURE = __import__("__future__").annotations.compiler_flag


def _written(nodes: dict[str, ast.expr]) -> list[tuple[str, str]]:
    return [(name, ast.dump(node)) for name, node in nodes.items()]


def _by_name(nodes: dict[str, ast.expr], values: tuple[object, ...] | None) -> dict[str, object]:
    return dict(zip(nodes, values, strict=True)) if values and len(values) == len(nodes) else {}


def _values(
    what: str,
    before: dict[str, ast.expr],
    after: dict[str, ast.expr],
    now: dict[str, object],
    first: dict[str, ast.expr],
    then: dict[str, object],
    names: dict[str, object] | None,
    strings: bool = False,
) -> dict[str, object]:
    """The value of each expression in ``after``; ``before`` and ``now``, ``first`` and ``then`` are texts and the
    values that they had."""
    found: dict[str, object] = {}
    for name, node in after.items():
        text = ast.dump(node)
        value = _NONE
        for nodes, values in ((before, now), (first, then)):
            if name in nodes and name in values and ast.dump(nodes[name]) == text:
                value = values[name]
                break
        if value is _NONE:
            value = ast.unparse(node) if strings else _literal(node, names)
        if value is _NONE:
            raise CannotBeHad(f"its {what} of {name!r} becomes {ast.unparse(node)}, which only an import evaluates")
        found[name] = value
    return found


def _literal(node: ast.expr, names: dict[str, object] | None) -> object:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    else:
        return value if not isinstance(value, (list, dict, set)) else _NONE  # of a mutable one there is one, shared
    if isinstance(node, ast.Name) and names is not None and node.id not in names:
        return getattr(builtins, node.id, _NONE)
    return _NONE
