"""Two texts of one module: which scope of the one is which of the other, and what cannot change in a running process.

The scopes of a module or class body are paired one by one, since what runs there must be the same in both (else a
refusal, by name and line); those inside a function by name and likeness, since a changed function may hold other
functions than before.

Example::

    matched = match(Compiled(b"def f(): return 1\\n", "m.py"), Compiled(b"def f(): return 2\\n", "m.py"))
    matched.refusals                                             # []: nothing but the body of f differs
    [pair.new.code for pair in matched.pairs if pair.changed]    # [the code of the second f]
"""

from __future__ import annotations

import ast
import difflib

from prtoggle.runtime.codes import COMPREHENSIONS, Compiled, Scope, fingerprint, meaning
from prtoggle.runtime.shells import body, differences, emptied
from prtoggle.runtime.signatures import against, decorating, outside


class Pair:
    """A scope that both texts have.

    Attributes:
        changed: whether its code does something else, lines apart.
        against: why a function that runs the old code cannot be given the new; empty where it can.
    """

    __slots__ = ("against", "changed", "new", "old")

    def __init__(self, old: Scope, new: Scope) -> None:
        self.old = old
        self.new = new
        self.changed = meaning(old.code) != meaning(new.code) or (
            old.function and (outside(old) != outside(new) or decorating(old) != decorating(new))
        )
        self.against = against(old, new) if old.function else ""


class Matched:
    """What :func:`match` found.

    Attributes:
        pairs: scopes of functions that both have.
        gone: scopes of the old text, inside functions, that the new one does not have: nothing may run them any more.
        classes: qualified names of classes made inside functions whose body differs: none may be alive.
        refusals: what differs and runs when the module is imported.
    """

    __slots__ = ("classes", "gone", "pairs", "refusals")

    def __init__(self) -> None:
        self.pairs: list[Pair] = []
        self.gone: list[Scope] = []
        self.classes: list[str] = []
        self.refusals: list[str] = []


def match(old: Compiled, new: Compiled) -> Matched:
    """Pair the scopes of two texts of one module."""
    found = Matched()
    if fingerprint(old.root.code) == fingerprint(new.root.code):
        _pair_all(old.root, new.root, found)
        return found
    if old.root.code.co_flags != new.root.code.co_flags:
        found.refusals.append("its imports from __future__ differ")
    differences(body(old), body(new), "", found.refusals)
    if not found.refusals:
        _in_order(old.root, new.root, found)
    return found


def _pair_all(old: Scope, new: Scope, found: Matched) -> None:
    """Two trees that are equal."""
    if old.function or isinstance(old.node, COMPREHENSIONS):
        found.pairs.append(Pair(old, new))
    for one, other in zip(old.children, new.children, strict=True):
        _pair_all(one, other, found)


def _in_order(old: Scope, new: Scope, found: Matched) -> None:
    """The children of two bodies that run alike: of modules, classes, comprehensions."""
    same = [each.code.co_name for each in old.children] == [each.code.co_name for each in new.children]
    if old.merged or new.merged or not same:
        if _dump(old.node) != _dump(new.node):
            found.refusals.append(
                f"{old.qualname}: functions in it cannot be told apart (equal ones on one line, or others than before)"
            )
        return
    for one, other in zip(old.children, new.children, strict=True):
        _both(one, other, found)


def _both(old: Scope, new: Scope, found: Matched) -> None:
    if type(old.node) is not type(new.node):
        found.gone.append(old)
    elif old.function:
        found.pairs.append(Pair(old, new))
        _by_likeness(old, new, found)
    elif isinstance(old.node, ast.ClassDef) and old.inner:
        reasons: list[str] = []
        differences([emptied(old.node)], [emptied(new.node)], "", reasons)  # type: ignore[arg-type]
        if reasons:
            found.classes.append(old.qualname)
            found.gone.extend(old.children)
        else:
            _in_order(old, new, found)
    elif isinstance(old.node, (ast.ClassDef, *COMPREHENSIONS)) or old.code.co_name.startswith("<generic"):
        if isinstance(old.node, COMPREHENSIONS):
            found.pairs.append(Pair(old, new))  # a generator expression may be suspended
        if old.inner and not isinstance(old.node, ast.ClassDef):
            _by_likeness(old, new, found)
        else:
            _in_order(old, new, found)
    elif meaning(old.code) != meaning(new.code):
        found.refusals.append(f"{old.qualname}: code that Python made for it differs")


def _by_likeness(old: Scope, new: Scope, found: Matched) -> None:
    """The children of two functions: equal ones first, what lies between them in order where the numbers agree."""
    names = dict.fromkeys(child.code.co_name for child in old.children)
    for name in names:
        ours = [child for child in old.children if child.code.co_name == name]
        theirs = [child for child in new.children if child.code.co_name == name]
        prints = [[_key(child) for child in children] for children in (ours, theirs)]
        for tag, a, b, c, d in difflib.SequenceMatcher(None, prints[0], prints[1], autojunk=False).get_opcodes():
            if tag in ("equal", "replace") and b - a == d - c:
                for one, other in zip(ours[a:b], theirs[c:d], strict=True):
                    _both(one, other, found)
            else:
                found.gone.extend(ours[a:b])


def _key(scope: Scope) -> int:
    return hash(meaning(scope.code))


def _dump(node: ast.AST | None) -> str:
    return ast.dump(node) if node is not None else ""
