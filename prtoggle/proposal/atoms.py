"""The difference between two texts of a module as the smallest changes of its syntax: what edits have to be written
for.

Contract: pure. An atom is a run of statements that another run takes the place of (either may be empty), or one
statement of which a header or one expression differs. Atoms of equal texts are none; layout and comments do not count.

Example::

    atoms(SourceText("f()\\nx = g(1)\\n"), SourceText("x = g(2)\\n"))
    # a deletion; one with the expressions (g(1), g(2)) and (1, 2)
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from prtoggle.edits.text import SourceText

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_LIKE = 0.5
_MOST_PAIRS = 1_000_000
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, eq=False)
class Atom:
    """One change.

    Attributes:
        old, new: the statements of both texts; an empty ``old`` is an insertion, an empty ``new`` a deletion.
        before, behind: the statements of the first text that stand around ``old`` in its block, if any.
        parents: pairs of statements around it, outermost first; the block is in the last one.
        exprs: pairs of expressions around the one difference, innermost first; empty where statements differ.
        header: whether the header of a compound statement (its first line, decorators) is all that differs.
        key: the same for the same change in another text of which the second one is to be made.
    """

    old: tuple[ast.stmt, ...]
    new: tuple[ast.stmt, ...]
    before: ast.stmt | None
    behind: ast.stmt | None
    parents: tuple[tuple[ast.stmt, ast.stmt], ...]
    exprs: tuple[tuple[ast.expr, ast.expr], ...]
    header: bool
    key: tuple[str, ...]


def atoms(fixed: SourceText, reverted: SourceText) -> tuple[Atom, ...]:
    """The changes that make ``reverted`` of ``fixed``, in the order of the first."""
    return tuple(_in_block(fixed.tree.body, reverted.tree.body, ()))


def deletes(atom: Atom) -> bool:
    """Whether nothing comes in the place of statements, or the ``pass`` that an empty block is written with."""
    emptied = atom.before is None and atom.behind is None and [type(each) for each in atom.new] == [ast.Pass]
    return bool(atom.old) and (not atom.new or emptied) and not atom.exprs and not atom.header


def same(one: ast.AST, other: ast.AST) -> bool:
    """Whether two trees are equal, places aside."""
    return ast.dump(one) == ast.dump(other)


def blocks(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The statement lists directly in ``node``, each with a name that tells which; handlers and cases by number."""
    for name in _BLOCKS:
        value = getattr(node, name, None)
        if not isinstance(value, list):
            continue
        if name in ("handlers", "cases"):
            yield from ((f"{name}{number}", each.body) for number, each in enumerate(value))
        elif value and isinstance(value[0], ast.stmt):
            yield name, value


def _in_block(
    old: Sequence[ast.stmt], new: Sequence[ast.stmt], parents: tuple[tuple[ast.stmt, ast.stmt], ...]
) -> Iterator[Atom]:
    texts = [ast.dump(each) for each in old], [ast.dump(each) for each in new]
    matcher = difflib.SequenceMatcher(None, *texts, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        for a, b in _paired(old[i1:i2], new[j1:j2]):
            first = i1 + a.start
            last = i1 + a.stop
            run = tuple(old[first:last])
            into = tuple(new[j1 + b.start : j1 + b.stop])
            around = (old[first - 1] if first else None, old[last] if last < len(old) else None)
            if len(run) == len(into) == 1:
                yield from _in_statement(run[0], into[0], around, parents)
            else:
                yield _atom(run, into, around, parents, at=j1 + b.start)


def _paired(old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> Iterator[tuple[range, range]]:
    """Which of the statements are the same one, changed; what is between those, as runs."""
    if len(old) == len(new) == 1 or not old or not new:
        yield range(len(old)), range(len(new))
        return
    score = [[_likeness(a, b) for b in new] for a in old]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            together = best[i + 1][j + 1] + score[i][j] if score[i][j] >= _LIKE else 0.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], together)
    i = j = start = into = 0
    while i < len(old) and j < len(new):
        if score[i][j] >= _LIKE and best[i][j] == best[i + 1][j + 1] + score[i][j]:
            if start < i or into < j:
                yield range(start, i), range(into, j)
            yield range(i, i + 1), range(j, j + 1)
            i, j = i + 1, j + 1
            start, into = i, j
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    if start < len(old) or into < len(new):
        yield range(start, len(old)), range(into, len(new))


def _likeness(one: ast.stmt, other: ast.stmt) -> float:
    if type(one) is not type(other) or getattr(one, "name", "") != getattr(other, "name", ""):
        return 0.0
    return _ratio(ast.dump(one), ast.dump(other))


@lru_cache(maxsize=2048)
def _ratio(one: str, other: str) -> float:
    """How much of the words of two trees is the same; asked again and again of the same ones while edits are tried."""
    mine: list[str] = _WORD.findall(one)
    others: list[str] = _WORD.findall(other)
    matcher = difflib.SequenceMatcher(None, mine, others, autojunk=False)
    # The order of the words of a whole class says little more than the words, and takes their number squared.
    return matcher.ratio() if len(mine) * len(others) <= _MOST_PAIRS else matcher.quick_ratio()


def _in_statement(
    old: ast.stmt,
    new: ast.stmt,
    around: tuple[ast.stmt | None, ast.stmt | None],
    parents: tuple[tuple[ast.stmt, ast.stmt], ...],
) -> Iterator[Atom]:
    whole = _atom((old,), (new,), around, parents)
    if type(old) is not type(new):
        yield whole
        return
    inside, into = dict(blocks(old)), dict(blocks(new))
    if inside.keys() != into.keys():
        yield whole
        return
    changed = [name for name in inside if _texts(inside[name]) != _texts(into[name])]
    headers = [pair for pair in _headers(old, new) if _differ(*pair)]
    if headers:
        exprs = _down(headers[0]) if len(headers) == 1 else ()
        if changed and not exprs and not isinstance(old, DEFINITIONS):
            yield whole
            return
        yield _atom((old,), (new,), around, parents, exprs=exprs, header=bool(inside))
    for name in changed:
        yield from _in_block(inside[name], into[name], (*parents, (old, new)))


def _texts(block: Sequence[ast.stmt]) -> list[str]:
    return [ast.dump(each) for each in block]


Value = object


def _headers(old: ast.stmt, new: ast.stmt) -> Iterator[tuple[Value, Value]]:
    """All fields that are no blocks; of handlers and cases what stands before their blocks."""
    for name in old._fields:
        one, other = getattr(old, name, None), getattr(new, name, None)
        if name in ("handlers", "cases"):
            for a, b in zip(one or (), other or (), strict=False):
                for field in a._fields:
                    if field != "body":
                        yield getattr(a, field), getattr(b, field)
        elif name == "body" or (name in _BLOCKS and isinstance(one, list)):
            if not (isinstance(one, list) and isinstance(other, list)):
                yield one, other
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            yield from zip(one, other, strict=True)
        else:
            yield one, other


def _differ(one: Value, other: Value) -> bool:
    if isinstance(one, ast.AST) and isinstance(other, ast.AST):
        return not same(one, other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) != len(other) or any(_differ(a, b) for a, b in zip(one, other, strict=True))
    return type(one) is not type(other) or one != other


def _down(pair: tuple[Value, Value]) -> tuple[tuple[ast.expr, ast.expr], ...]:
    """The expressions around the one difference, innermost first; none where it is not within one expression."""
    found: list[tuple[ast.expr, ast.expr]] = []
    one, other = pair
    while isinstance(one, ast.AST) and isinstance(other, ast.AST):
        if isinstance(one, ast.expr) and isinstance(other, ast.expr):
            found.insert(0, (one, other))
        elif not found and not isinstance(one, ast.keyword | ast.withitem | ast.arguments | ast.arg):
            return ()
        if type(one) is not type(other):
            break
        differing: list[tuple[Value, Value]] = []
        for name in one._fields:
            a, b = getattr(one, name, None), getattr(other, name, None)
            if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
                differing += [each for each in zip(a, b, strict=True) if _differ(*each)]
            elif _differ(a, b):
                differing.append((a, b))
        if len(differing) != 1:
            break
        [(one, other)] = differing
    return tuple(found)


def _atom(
    old: tuple[ast.stmt, ...],
    new: tuple[ast.stmt, ...],
    around: tuple[ast.stmt | None, ast.stmt | None],
    parents: tuple[tuple[ast.stmt, ast.stmt], ...],
    *,
    exprs: tuple[tuple[ast.expr, ast.expr], ...] = (),
    header: bool = False,
    at: int = 0,
) -> Atom:
    where = new[0].lineno if new else parents[-1][1].lineno if parents else 0
    key = (
        f"{where}:{at if not new else 0}:{header}",
        *map(ast.dump, exprs[0] if exprs else ()),
        *(ast.dump(each) for each in (*old, *new) if not exprs and not header),
    )
    return Atom(old, new, *around, parents, exprs, header, key)
