"""What of a function stands outside its code (parameters, defaults, annotations, docstring), and whether a function
that is alive can be given that of another text.

Example::

    against(old_scope, new_scope)     # "it takes other names from around it: __class__", or ""
"""

from __future__ import annotations

import ast
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prtoggle.runtime.codes import Scope

_KIND = 0x20 | 0x80 | 0x100 | 0x200
"""Flags of a code object: generator, coroutine, iterable coroutine, async generator."""

_HARMLESS = frozenset({"property", "staticmethod", "classmethod", "abstractmethod", "setter", "getter", "deleter"})
"""Decorators, by the last piece of their name, that look at neither parameters nor annotations; others may."""
_BLIND = _HARMLESS | {"contextmanager", "asynccontextmanager", "lru_cache", "cache", "cached_property", "wraps"}
_BLIND |= {"no_grad", "inference_mode", "final", "override"}
"""Those that do not look at the names of parameters."""


def against(old: Scope, new: Scope) -> str:
    """Why a function that runs the code of ``old`` cannot be given that of ``new``; empty where it can."""
    one, other = old.code, new.code
    if one.co_freevars != other.co_freevars:
        names = sorted(set(one.co_freevars) ^ set(other.co_freevars))
        return f"it takes other names from around it: {', '.join(names)}"
    if one.co_flags & _KIND != other.co_flags & _KIND:
        return "it becomes another kind of function (generator, coroutine)"
    if old.inner and decorating(old) != decorating(new):  # others ran at import, and are looked at there
        return "its decorators change, and those of one that is alive ran when it was made"
    decorators = {_last_name(each) for each in getattr(old.node, "decorator_list", ())}
    if not decorators:
        return ""
    if documentation(old) != documentation(new):
        return f"its docstring changes, which {_list(decorators)} may have copied"
    looking = decorators - _HARMLESS
    if looking and outside(old) != outside(new):
        return f"its defaults or annotations change, which {_list(looking)} may have looked at"
    looking = decorators - _BLIND
    if looking and parameters(old) != parameters(new):
        return f"its parameters change, which {_list(looking)} may have looked at"
    return ""


def _list(names: set[str]) -> str:
    return ", ".join(f"@{name}" for name in sorted(names))


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ast.unparse(node)


def documentation(scope: Scope) -> str | None:
    """The docstring as the function has it."""
    node = scope.node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or sys.flags.optimize >= 2:
        return None
    if ast.get_docstring(node, clean=False) is None:
        return None
    first = scope.code.co_consts[0]
    return first if isinstance(first, str) else None


def decorating(scope: Scope) -> list[str]:
    """What is written as decorators."""
    return [ast.dump(each) for each in getattr(scope.node, "decorator_list", ())]


def parameters(scope: Scope) -> tuple[object, ...]:
    """How the function may be called, without defaults."""
    code = scope.code
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return (code.co_varnames[:count], code.co_argcount, code.co_posonlyargcount, code.co_flags & 12)


def outside(scope: Scope) -> tuple[object, ...]:
    """What of a function is evaluated where it is defined."""
    positional, keyword = written_defaults(scope)
    written = [(name, ast.dump(node)) for table in (positional, keyword) for name, node in table.items()]
    return (*written, *((name, ast.dump(node)) for name, node in written_annotations(scope).items()))


def written_defaults(scope: Scope) -> tuple[dict[str, ast.expr], dict[str, ast.expr]]:
    """What is written as default of each parameter: positional ones, keyword-only ones."""
    args = scope.node.args  # type: ignore[union-attr]
    names = [each.arg for each in (*args.posonlyargs, *args.args)]
    positional = dict(zip(names[len(names) - len(args.defaults) :], args.defaults, strict=True))
    pairs = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    return positional, {each.arg: node for each, node in pairs if node is not None}


def written_annotations(scope: Scope) -> dict[str, ast.expr]:
    """What is written as annotation of each parameter, in Python's order, and of the result."""
    node = scope.node
    if isinstance(node, ast.Lambda):
        return {}
    args = node.args  # type: ignore[union-attr]
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    found = {each.arg: each.annotation for each in every if each is not None and each.annotation is not None}
    if node.returns is not None:  # type: ignore[union-attr]
        found["return"] = node.returns  # type: ignore[union-attr]
    return found
