"""One unit of the fixed text beside the unit that it became: whether a statement there is the statement meant, and
where a gap is.

Example::

    site = Site(unit, home)
    site.counterpart(statement)       # a statement of the other release, or Untellable
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from prtoggle.port.align import Alignment
from prtoggle.port.fragments import Untellable
from prtoggle.port.syntax import Statement, Unit, key

_TELLING = 4
"""Words from which on a statement that stands once is known by itself."""


class Site:
    """``old`` of the release that the revert comes from, ``new`` of the one it goes to."""

    def __init__(self, old: Unit, new: Unit) -> None:
        self.old, self.new = old, new
        self.aligned = Alignment(old, new)

    def exact(self, old: Statement, new: Statement) -> bool:
        """Whether the two say the same, with all that they hold, but for renames."""
        return self.aligned.same_whole(old, new)

    def counterpart(self, old: Statement, changed: Collection[Statement] = ()) -> Statement:
        """What ``old`` became. ``changed``: all statements that the revert changes. Raises :class:`Untellable`."""
        new = self.aligned.of.get(old)
        if new is None:
            raise Untellable(f"the statement at line {old.line} is not there: {self.show(old)}")
        self._one_of_how_many(old, changed)
        if self._telling(old, new):
            return new
        self._surrounded(old, new)
        return new

    def show(self, statement: Statement) -> str:
        """The first line of a statement."""
        return statement.unit.module.source.line(statement.line).strip()

    def _telling(self, old: Statement, new: Statement) -> bool:
        if not self.aligned.same_head(old, new) or old.size < _TELLING:
            return False
        return self._count(self.old, old.head) == 1 == self._count(self.new, new.head)

    def _count(self, unit: Unit, head: str) -> int:
        return unit.words[head]

    def _one_of_how_many(self, old: Statement, changed: Collection[Statement]) -> None:
        renamed = old.head if old.opaque else key(old.node, self.aligned.rename, head=True)
        before, after = self.old.words[old.head], max(self.new.words[renamed], self.new.words[old.head])
        taken = sum(other.head == old.head for other in changed)
        if after > before and taken == before and not isinstance(old.node, (ast.Pass, ast.Continue, ast.Break)):
            raise Untellable(
                f"the fixed statement stood {before} times and stands {after} times now: {self.show(old)}",
                next(s.line for s in self.new.statements if s.head in (renamed, old.head)),
            )

    def _surrounded(self, old: Statement, new: Statement) -> None:
        """The two stand in the same surroundings. Raises :class:`Untellable`."""
        above = self._same_side(old, new, -1)
        below = self._same_side(old, new, +1)
        around = self.same_parent(old, new)
        exact = self.aligned.same_head(old, new)
        if around and (above and below if not exact else above or below):
            return
        if exact and above and below:
            return
        raise Untellable(
            f"the place of line {old.line} ({self.show(old)}) is not certain: the statements around it differ", new.line
        )

    def same_parent(self, old: Statement, new: Statement) -> bool:
        """Whether what holds the two statements is the same."""
        if old.parent is None or new.parent is None:
            return old.parent is None and new.parent is None
        if old.parent.parent is None and old.parent is self.old.root:
            return new.parent is self.new.root
        return self.aligned.of.get(old.parent) is new.parent and (old.field == new.field)

    def _same_side(self, old: Statement, new: Statement, step: int) -> bool:
        one, other = neighbour(old, step), neighbour(new, step)
        if one is None or other is None:
            return one is None and other is None
        return self.aligned.of.get(one) is other


def neighbour(statement: Statement, step: int) -> Statement | None:
    """The sibling before (-1) or behind (+1); None at the end of the block."""
    at = statement.index + step
    return statement.siblings[at] if 0 <= at < len(statement.siblings) else None
