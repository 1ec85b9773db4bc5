"""What a statement does in place, what undoes it, and whether a function does the same to one of its parameters.

Known are the in-place sums of tensors, ``x.add_(n)`` and ``x.sub_(n)``; and of kernels, a store of what was loaded
from the same place plus ``n``. A function is followed into what it calls with the parameter.

Example::

    effect = effect_of(ast.parse("a.positions.add_(1)").body[0])     # Effect("add_", <a.positions>, <1>)
    does(effect, unit, "p", resolve)                                 # True where the body of unit says p.add_(1)
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from prtoggle.port.syntax import FUNCTIONS, Unit, key

UNDONE_BY = {"add_": "sub_", "sub_": "add_"}
_OPERATORS: dict[str, type[ast.operator]] = {"add_": ast.Add, "sub_": ast.Sub}
_DEEP = 3

Resolve = Callable[[Unit, str], "Unit | None"]
"""The function that a name of a unit's module means."""


@dataclass(frozen=True)
class Effect:
    """``receiver.method(amount)``."""

    method: str
    receiver: ast.expr
    amount: ast.expr


def effect_of(node: ast.AST) -> Effect | None:
    """The effect that a statement is, None where it is none that could be undone."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return None
    call = node.value
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in UNDONE_BY:
        return None
    if len(call.args) != 1 or call.keywords:
        return None
    return Effect(call.func.attr, call.func.value, call.args[0])


def does(effect: Effect, function: Unit, parameter: str, resolve: Resolve, deep: int = _DEEP) -> bool:
    """Whether ``function`` has ``effect`` on ``parameter``, once, on its way through."""
    if not isinstance(function.node, FUNCTIONS) or not isinstance(effect.amount, ast.Constant):
        return False
    found = 0
    loads: dict[str, str] = {}
    for statement in function.node.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, loaded = statement.targets[0], _loaded(statement.value)
            if isinstance(target, ast.Name) and loaded is not None and _mentions(loaded, parameter):
                loads[target.id] = key(loaded)
        done = _times(statement, effect, function, parameter, resolve, deep, loads)
        if done and hasattr(statement, "body"):
            return False  # Under a condition, or over and over.
        if not found and not done and _may_leave(statement):
            return False
        found += done
    return found == 1


def _times(
    statement: ast.stmt,
    effect: Effect,
    function: Unit,
    parameter: str,
    resolve: Resolve,
    deep: int,
    loads: dict[str, str],
) -> int:
    """How often a statement has the effect, or another of its kind (which counts as too often)."""
    found = 0
    for node in ast.walk(statement):
        if isinstance(node, ast.stmt) and (same := effect_of(node)) and key(same.receiver) == key(ast.Name(parameter)):
            agrees = same.method == effect.method and key(same.amount) == key(effect.amount)
            found += 1 if agrees else 2
        if not isinstance(node, ast.Call):
            continue
        if _stores_sum(node, effect, parameter, loads):
            found += 1
        elif deep and (called := _called(node)) and (inner := resolve(function, called)) is not None:
            name = parameter_for(node, inner, parameter)
            found += bool(name and does(effect, inner, name, resolve, deep - 1))
    return found


def _may_leave(statement: ast.stmt) -> bool:
    """Whether a statement may return; not where there is nothing to work on (``if count == 0: return``)."""
    if isinstance(statement, ast.If) and isinstance(statement.test, ast.Compare) and not statement.orelse:
        test = statement.test
        last = test.comparators[-1]
        if (
            len(test.ops) == 1
            and isinstance(test.ops[0], ast.Eq)
            and isinstance(last, ast.Constant)
            and last.value == 0
        ):
            return False
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return False
    return any(isinstance(node, ast.Return) for node in ast.walk(statement))


def parameter_for(call: ast.Call, function: Unit, argument: ast.expr | str) -> str | None:
    """Which parameter of ``function`` the argument is passed as; None where it is none or several."""
    wanted = key(ast.Name(argument) if isinstance(argument, str) else argument)
    assert isinstance(function.node, FUNCTIONS)
    names = [arg.arg for arg in (*function.node.args.posonlyargs, *function.node.args.args)]
    found = [names[at] if at < len(names) else "" for at, arg in enumerate(call.args) if key(arg) == wanted]
    found += [keyword.arg or "" for keyword in call.keywords if key(keyword.value) == wanted]
    return found[0] if len(found) == 1 and found[0] else None


def _called(call: ast.Call) -> str:
    """The plain name that is called, or launched: ``kernel[grid](...)``."""
    function = call.func.value if isinstance(call.func, ast.Subscript) else call.func
    return function.id if isinstance(function, ast.Name) else ""


def _loaded(node: ast.AST) -> ast.expr | None:
    """The place that a ``load(place)`` reads."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "load" and node.args:
        return node.args[0]
    return None


def _stores_sum(call: ast.Call, effect: Effect, parameter: str, loads: dict[str, str]) -> bool:
    if (
        not (isinstance(call.func, ast.Attribute) and call.func.attr == "store" and len(call.args) == 2)
        or call.keywords
    ):
        return False
    place, value = call.args[0], call.args[1]
    if not _mentions(place, parameter) or not isinstance(value, ast.BinOp):
        return False
    if not isinstance(value.op, _OPERATORS[effect.method]) or key(value.right) != key(effect.amount):
        return False
    loaded = _loaded(value.left)
    was = (
        key(loaded) if loaded is not None else loads.get(value.left.id, "") if isinstance(value.left, ast.Name) else ""
    )
    return was == key(place)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))
