"""A statement that the revert takes out, and that the drift moved into the branches before it, or out of them.

``if a: x() else: y()`` and then ``p.add_(1)`` became ``if a: x(); p.add_(1) else: y_and_advance(p)``. Each way
through the branches must have it once: written out, or within a function that is called with what it works on, and
that is seen to do it. There the revert has to undo it behind the call. The other way round the same holds of what the
revert takes out and undoes.

Example::

    # [Handled(changes, statement, how, why)]; the rest are placed as usual
    Branches(site, sheet, resolve).handle(changes)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prtoggle.port.difference import Change, Hunk
from prtoggle.port.effects import UNDONE_BY, Effect, Resolve, does, effect_of, parameter_for
from prtoggle.port.fragments import Untellable
from prtoggle.port.sheet import Sheet
from prtoggle.port.site import Site
from prtoggle.port.syntax import Statement, key

_LEAVES = (ast.Break, ast.Continue, ast.Return, ast.Raise)


@dataclass(frozen=True)
class Handled:
    """Changes that are on the sheet, as one."""

    changes: tuple[Change, ...]
    at: Statement
    how: str
    why: str


class Branches:
    """For the changes of one unit. ``resolve``: the function of the other release that a name means."""

    def __init__(self, site: Site, sheet: Sheet, resolve: Resolve) -> None:
        self.site, self.sheet, self.resolve = site, sheet, resolve

    def handle(self, changes: Sequence[Change]) -> list[Handled]:
        """Put on the sheet what moved into branches or out of them."""
        taken: dict[str, list[Hunk]] = {}
        for change in changes:
            if not isinstance(change, Hunk) or len(change.statements) != 1 or change.put:
                continue
            if effect_of(change.statements[0].node):
                taken.setdefault(change.statements[0].head, []).append(change)
        found = []
        for head, hunks in taken.items():
            first = hunks[0].statements[0]
            olds = [s for s in self.site.old.statements if s.head == head]
            renamed = key(first.node, self.site.aligned.rename, head=True)
            news = [s for s in self.site.new.statements if s.head == renamed]
            if len(olds) != len(hunks) or len(news) == len(olds):
                continue
            try:
                if len(olds) == 1 and news:
                    found.append(self._into(hunks[0], news))
                elif len(news) == 1:
                    found.append(self._out_of(hunks, news[0], changes))
            except _Otherwise:
                continue
        return found

    def _into(self, hunk: Hunk, news: Sequence[Statement]) -> Handled:
        old = hunk.statements[0]
        chain = self._chain(news, old)
        ways = _ways(chain, lambda block: any(s in news for s in block))
        effect = effect_of(news[0].node)
        assert effect is not None
        undone: list[Statement] = []
        for block in ways:
            here = [s for s in block if s in news]
            if len(here) == 1:
                continue
            if here:
                raise _Otherwise
            undone.append(self._within(block, effect))
        if sum(s in news for block in ways for s in block) != len(news):
            raise _Otherwise
        for new in news:
            self.sheet.take_out(new)
        for call in undone:
            self.sheet.put(call, +1, self.sheet.indent_at(call) + self._undoing(news[0]) + "\n")
        names = ", ".join(f"line {call.line}" for call in undone)
        why = f"each of the {len(ways)} ways through the branches at line {chain.line} has it once"
        if undone:
            why += f"; at {names} the function that is called does it, and it is undone behind"
        return Handled((hunk,), news[0], "moved into the branches before it", why)

    def _chain(self, news: Sequence[Statement], old: Statement) -> Statement:
        """The branches that hold all of ``news``, and that stood before ``old``."""
        each: Statement | None = news[0]
        while each is not None:
            was = self.site.aligned.back.get(each)
            if isinstance(each.node, ast.If) and was is not None and was.siblings is old.siblings:
                inside = set(each.inside())
                between = old.siblings[was.index + 1 : old.index]
                if was.index < old.index and inside.issuperset(news) and not any(map(_leaves, between)):
                    return each
            each = each.parent
        raise _Otherwise

    def _within(self, block: Sequence[Statement], effect: Effect) -> Statement:
        """The one statement of ``block`` that calls a function which does it."""
        found = []
        for statement in block:
            for call in ast.walk(statement.node) if not statement.compound else ():
                if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                    continue
                function = self.resolve(self.site.new, call.func.id)
                parameter = parameter_for(call, function, effect.receiver) if function else None
                if function and parameter and does(effect, function, parameter, self.resolve):
                    found.append(statement)
        if len(found) != 1:
            raise Untellable(
                f"the drift moved `{ast.unparse(effect.receiver)}.{effect.method}` into branches, "
                "and one of them lacks it",
                block[0].line if block else 0,
            )
        return found[0]

    def _undoing(self, statement: Statement) -> str:
        source = statement.unit.module.source
        function = statement.node.value.func
        start, end = source.span(statement.node)
        at = source.span(function)[1] - len(function.attr)
        return source.text[start:at] + UNDONE_BY[function.attr] + source.text[at + len(function.attr) : end]

    def _out_of(self, hunks: Sequence[Hunk], new: Statement, changes: Sequence[Change]) -> Handled:
        effect = effect_of(hunks[0].statements[0].node)
        assert effect is not None
        taken = [hunk.statements[0] for hunk in hunks]
        undoing = [c for c in changes if isinstance(c, Hunk) and _undoes(c, effect)]
        blocks = [hunk.siblings for hunk in (*hunks, *undoing)]
        chain = self._chain_before(taken, new)
        ways = _ways(chain, lambda block: any(block[0] in other for other in blocks))
        used: list[Hunk] = []
        for block in ways:
            here = [hunk for hunk in (*hunks, *undoing) if block and hunk.siblings[0] is block[0]]
            if len(here) != 1:
                raise _Otherwise
            used += here
        if not used or not set(used).issuperset(hunks):
            raise _Otherwise
        self.sheet.take_out(new)
        why = f"each of the {len(ways)} ways through the branches at line {chain.line} had it taken out, or undone"
        return Handled(tuple(used), new, "moved behind the branches that held it", why)

    def _chain_before(self, olds: Sequence[Statement], new: Statement) -> Statement:
        each: Statement | None = olds[0]
        while each is not None:
            there = self.site.aligned.of.get(each)
            if isinstance(each.node, ast.If) and there is not None and there.siblings is new.siblings:
                between = there.siblings[there.index + 1 : new.index]
                inside = set(each.inside())
                if there.index < new.index and inside.issuperset(olds) and not any(map(_leaves, between)):
                    return each
            each = each.parent
        raise _Otherwise


class _Otherwise(Exception):
    """Not a matter of branches."""


def _ways(chain: Statement, telling: Callable[[Sequence[Statement]], bool]) -> list[list[Statement]]:
    """The blocks at the ends of branches. Raises :class:`_Otherwise` for a way that has no block."""
    found: list[list[Statement]] = []
    for field in ("body", "orelse"):
        block = chain.blocks.get(field)
        if not block:
            raise _Otherwise
        inner = [s for s in block if isinstance(s.node, ast.If)]
        if telling(block) or not inner:
            found.append(block)
        elif len(inner) == 1 and (len(block) == 1 or _holds(inner[0], telling)):
            found += _ways(inner[0], telling)
        else:
            found.append(block)
    return found


def _holds(statement: Statement, telling: Callable[[Sequence[Statement]], bool]) -> bool:
    return any(telling(block) for each in (statement, *statement.inside()) for block in each.blocks.values())


def _leaves(statement: Statement) -> bool:
    return any(isinstance(node, _LEAVES) for node in ast.walk(statement.node))


def _undoes(hunk: Hunk, effect: Effect) -> bool:
    if hunk.statements or len(hunk.put) != 1:
        return False
    other = effect_of(hunk.put[0])
    return (
        other is not None
        and other.method == UNDONE_BY[effect.method]
        and key(other.receiver) == key(effect.receiver)
        and key(other.amount) == key(effect.amount)
    )
