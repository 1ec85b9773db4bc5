"""What a revert changes in a module: places in the fixed text, and what stands there in the reverted one.

Example::

    fixed, reverted = Parsed("m", "def f():\\n    a()\\n    b()\\n"), Parsed("m", "def f():\\n    b()\\n")
    difference(fixed, reverted)      # [Hunk(statements=[<a()>], put=())]
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from prtoggle.edits.pattern_tree import is_elif
from prtoggle.port.expressions import Coarse, Piece, refine
from prtoggle.port.syntax import FUNCTIONS, Parsed, Statement, Unit, key, words_of

_FIELDS = ("body", "orelse", "finalbody", "handlers", "cases")
_ALIKE = 0.5


@dataclass(frozen=True)
class Hunk:
    """Of the block ``siblings``, the statements ``first`` to ``last`` (not included) are ``put`` in the reverted
    text."""

    unit: Unit
    siblings: tuple[Statement, ...]
    first: int
    last: int
    put: tuple[ast.stmt, ...]
    block: tuple[ast.stmt, ...]
    """The whole block of the reverted text, with ``put`` in it."""

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What the revert takes out."""
        return self.siblings[self.first : self.last]

    @property
    def line(self) -> int:
        """A line of the fixed text, to show."""
        if self.first < len(self.siblings):
            return self.siblings[self.first].line
        return int(self.siblings[-1].node.end_lineno)


@dataclass(frozen=True)
class Reword:
    """The head of one statement says something else."""

    unit: Unit
    statement: Statement
    new: ast.AST
    pieces: tuple[Piece, ...]

    @property
    def line(self) -> int:
        """A line of the fixed text, to show."""
        return self.statement.line


Change = Hunk | Reword


def difference(fixed: Parsed, reverted: Parsed) -> list[Change]:
    """All changes, in the order of the fixed text."""
    unit = fixed.unit_of(fixed.tree)
    top = [statement for statement in unit.statements if statement.parent is None]
    return _Differ(fixed, reverted).block(unit, top, reverted.tree.body)


class _Lift(Exception):
    """A change that cannot be said within this block: the statement around it is replaced as a whole."""


class _Differ:
    def __init__(self, fixed: Parsed, reverted: Parsed) -> None:
        self.fixed, self.reverted = fixed, reverted

    def block(self, unit: Unit, olds: Sequence[Statement], news: Sequence[Any]) -> list[Change]:
        changes: list[Change] = []
        keys = [old.whole for old in olds], [key(new) for new in news]
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
            if tag == "equal":
                continue
            at, to = i1, j1
            for old, new in [*pair(olds[i1:i2], news[j1:j2]), (i2 - i1, j2 - j1)]:
                if at < i1 + old or to < j1 + new:
                    changes.append(self._hunk(unit, olds, at, i1 + old, news[to : j1 + new], news))
                if i1 + old < i2 and (old, new) != (i2 - i1, j2 - j1):
                    changes += self._statement(unit, olds, i1 + old, news, j1 + new)
                at, to = i1 + old + 1, j1 + new + 1
        return changes

    def _hunk(
        self, unit: Unit, olds: Sequence[Statement], first: int, last: int, put: Sequence[Any], block: Sequence[Any]
    ) -> Hunk:
        sides = ((self.fixed, [old.node for old in olds[first:last]]), (self.reverted, put))
        for parsed, nodes in sides:
            for node in nodes:
                if not isinstance(node, ast.stmt) or is_elif(parsed.source, node):
                    raise _Lift
        return Hunk(unit, tuple(olds), first, last, tuple(put), tuple(block))

    def _statement(self, unit: Unit, olds: Sequence[Statement], at: int, news: Sequence[Any], to: int) -> list[Change]:
        old, new = olds[at], news[to]
        try:
            return self._inside(old, new)
        except (Coarse, _Lift):
            return [self._hunk(unit, olds, at, at + 1, [new], news)]

    def _inside(self, old: Statement, new: Any) -> list[Change]:
        unit, blocks = old.unit, old.blocks
        if old.opaque:
            unit = self.fixed.unit_of(old.node)
            top = unit.root.blocks["body"] if unit.root else [s for s in unit.statements if s.parent is None]
            blocks = {"body": top}
        changes: list[Change] = []
        pieces = refine(old.node, new)
        if pieces:
            head = unit.root if old.opaque and unit.root else old
            changes.append(Reword(head.unit, head, new, tuple(pieces)))
        for field in _FIELDS:
            before, after = blocks.get(field, []), getattr(new, field, None) or []
            if isinstance(after, list) and (before or after):
                if not before or not after:
                    raise _Lift
                changes += self.block(unit, before, after)
        return changes


def pair(olds: Sequence[Statement], news: Sequence[Any]) -> list[tuple[int, int]]:
    """Which of ``news`` each of ``olds`` became, by likeness and in order."""
    if not olds or not news:
        return []
    score = [[_alike(old, new) for new in news] for old in olds]
    best = [[0.0] * (len(news) + 1) for _ in range(len(olds) + 1)]
    for i in range(len(olds) - 1, -1, -1):
        for j in range(len(news) - 1, -1, -1):
            taken = score[i][j] + best[i + 1][j + 1] if score[i][j] >= _ALIKE else 0.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], taken)
    found, i, j = [], 0, 0
    while i < len(olds) and j < len(news):
        if score[i][j] >= _ALIKE and best[i][j] == score[i][j] + best[i + 1][j + 1]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _alike(old: Statement, new: Any) -> float:
    if type(old.node) is not type(new):
        return 0.0
    if isinstance(new, (*FUNCTIONS, ast.ClassDef)):
        return 1.0 if old.node.name == new.name else 0.0
    one, other = words_of(old.node), words_of(new)
    return 2 * sum((one & other).values()) / max(sum(one.values()) + sum(other.values()), 1)
