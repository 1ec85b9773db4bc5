"""Whether the names in text that is put in still mean there what they meant: bound in the function, in the module, or
built in.

Example::

    # "`count` is a local name of f in pkg 1.0, and none of g in pkg 1.1"
    missing(put, old_unit, new_unit, rename, result)
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable
from functools import lru_cache

from prtoggle.port.syntax import DEFINITIONS, FUNCTIONS, Name, Parsed, Unit, names_in

_BUILTINS = frozenset(dir(builtins)) | {"__name__", "__file__", "__class__"}


def missing(
    put: Iterable[ast.AST], old: Unit, new: Unit, rename: Callable[[Name], str], reverted: Parsed, result: Parsed
) -> str | None:
    """The first reason why a name of ``put`` may mean something else; None where there is none."""
    put = list(put)
    inside = {name for node in put for name in bound(node)}
    local_old, local_new = _locals(old), _locals(new)
    module_old = old.module.identifiers
    used = set(names_in(new.node))  # What the function names already needs no proof.
    for name in sorted({name for node in put for name in names_in(node)}):
        kind, text = name
        called = rename(name)
        if kind == "a":
            if module_old[name] and not new.module.identifiers[kind, called]:
                return f"`.{called}` is nowhere in {new.module.module} any more"
            continue
        if kind != "n" or text in inside or text in _BUILTINS or ((kind, called) in used and not new.is_body):
            continue
        if text in local_old and called not in local_new:
            return f"`{text}` is a local name there, and {called!r} is none of {new.qualname or 'the module'}"
        if text not in local_old and called in local_new and not old.is_body:
            return f"`{called}` is a local name of {new.qualname} now"
        if text not in local_old and text not in module_names(reverted):
            continue  # Bound by an import of `*`, or nowhere: not to be told here or there.
        if text not in local_old and not result.identifiers["n", called]:
            return f"`{called}` is not known in {new.module.module}"
        if text not in local_old and called not in local_new and called not in module_names(result):
            return f"`{called}` is not bound in {new.module.module}"
    return None


def dangling(fixed: Parsed, result: Parsed) -> str | None:
    """A name of the module that the change took away and that is still used; None where there is none."""
    gone = module_names(fixed) - module_names(result)
    used = {node.id for node in ast.walk(result.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for name in sorted(gone & used):
        return f"`{name}` would be gone from {fixed.module}, where it is still used"
    return None


@lru_cache(maxsize=12)
def module_names(parsed: Parsed) -> set[str]:
    """What is bound at the top of a module, under ``if`` and ``try`` too, or by ``global``."""
    found = bound(parsed.tree)
    for node in ast.walk(parsed.tree):
        if isinstance(node, ast.Global):
            found.update(node.names)
    return found


def _locals(unit: Unit) -> set[str]:
    if unit.is_body:
        return set()
    return bound(unit.node, inner=True)


def bound(node: ast.AST, *, inner: bool = False) -> set[str]:
    """Names that are bound in ``node``; ``inner``: it is a function, and its parameters and nested functions' names
    count."""
    found: set[str] = set()
    pending: list[ast.AST] = []
    if inner and isinstance(node, FUNCTIONS):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        found.update(arg.arg for arg in every if arg)
        pending += node.body
    elif isinstance(node, ast.Module):
        pending += node.body
    else:
        pending.append(node)
    while pending:
        each = pending.pop()
        if isinstance(each, DEFINITIONS):
            found.add(each.name)
            if inner:
                found |= bound(each, inner=True) if isinstance(each, FUNCTIONS) else set()
            continue
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        elif isinstance(each, ast.arg):
            found.add(each.arg)
        elif isinstance(each, ast.alias):
            found.add((each.asname or each.name).partition(".")[0])
        elif (isinstance(each, ast.ExceptHandler) and each.name) or (
            isinstance(each, (ast.MatchAs, ast.MatchStar)) and each.name
        ):
            found.add(each.name)
        pending += ast.iter_child_nodes(each)
    return found
