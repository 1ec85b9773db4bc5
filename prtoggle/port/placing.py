"""One change of a revert, put where it belongs in the other release: the merge.

A statement taken out must be there, at its place. Text that is put in goes between the same neighbours. What is
replaced must still say what it said, but for consistent renames: where the drift altered it too, both sides are named
and nothing is proposed.

Example::

    # the statement of the other release that the change is at
    Placer(site, reverted, sheet, changed).place(change)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from prtoggle.edits.pattern_tree import is_elif
from prtoggle.port.difference import Change, Hunk, Reword
from prtoggle.port.effects import Resolve
from prtoggle.port.fragments import Untellable, blanks, indented, own_lines, statements
from prtoggle.port.rewording import reword
from prtoggle.port.sheet import Sheet
from prtoggle.port.site import Site, neighbour
from prtoggle.port.syntax import Parsed, Statement, Unit, key


class Placer:
    """For the changes of one unit. ``changed``: the statements of the fixed text that the revert takes out or rewords.

    ``put``: the keys of statements that the revert puts somewhere. ``resolve`` and ``is_new``: as for
    :func:`~prtoggle.port.rewording.reword`.
    """

    def __init__(
        self,
        site: Site,
        reverted: Parsed,
        sheet: Sheet,
        changed: Collection[Statement],
        resolve: Resolve,
        is_new: Callable[[Unit], bool],
        put: Collection[str],
    ) -> None:
        self.site, self.reverted, self.sheet, self.changed = site, reverted, sheet, changed
        self.resolve, self.is_new = resolve, is_new
        self.put = put

    def place(self, change: Change) -> tuple[Statement, tuple[str, ...]]:
        """Put the change on the sheet; where it is, and how it came there. Raises :class:`Untellable`."""
        if isinstance(change, Reword):
            return self._reword(change)
        put = change.put
        if len(put) == 1 and isinstance(put[0], ast.Pass) and change.last - change.first == len(change.siblings):
            put = ()
        if change.statements and not put:
            return self._take_out(change)
        if change.statements:
            return self._unwrap(change) or self._wrap(change) or self._replace(change)
        return self._put_in(change)

    def _reword(self, change: Reword) -> tuple[Statement, tuple[str, ...]]:
        new = self.site.counterpart(change.statement, self.changed)
        at = reword(change, self.site, new, self.reverted, self.sheet, self.resolve, self.is_new)
        if at is not new:
            return at, ("expression moved into a helper",)
        return new, self._how(change.statement, new)

    def _take_out(self, hunk: Hunk) -> tuple[Statement, tuple[str, ...]]:
        hows: list[str] = []
        first: Statement | None = None
        for old in hunk.statements:
            for each in self._meant(old):
                new = self.site.counterpart(each, self.changed)
                self._may_go(each, new)
                self.sheet.take_out(new)
                first = first or new
                hows += self._how(each, new)
            if old.compound and old not in self.site.aligned.of:
                hows.append("its head reworded")
        assert first is not None
        return first, tuple(dict.fromkeys(hows))

    def _meant(self, old: Statement) -> Sequence[Statement]:
        """``old``; or of an ``if`` that the drift changed, the statements in it, so that nothing else goes with
        them."""
        if not old.compound:
            return [old]
        new = self.site.aligned.of.get(old)
        if new is not None:
            if self.site.exact(old, new):
                return [old]
            inside = [self.site.aligned.of.get(each) for each in old.inside()]
            if self.site.aligned.same_head(old, new) and inside == list(new.inside()):
                return [old]
        leaves = [each for each in old.inside() if not each.compound]
        if any(each.whole in self.put for each in (old, *leaves)):
            raise Untellable(f"the revert moves a statement that the drift changed: {self.site.show(old)}")
        heads = [old, *(each for each in old.inside() if each.compound)]
        if any(not isinstance(head.node, ast.If) for head in heads):
            raise Untellable(
                f"the drift changed the block that the revert takes out: {self.site.show(old)}", new.line if new else 0
            )
        self._nothing_else_inside(old, leaves)
        return leaves

    def _nothing_else_inside(self, old: Statement, leaves: Sequence[Statement]) -> None:
        """What the drift put into the ``if`` that the revert takes out must be there for its conditions alone."""
        back = self.site.aligned.back
        mine = {old, *old.inside()}
        outer: Statement | None = None
        for leaf in leaves:
            each = self.site.aligned.of.get(leaf)
            while each is not None and each.parent is not None and isinstance(each.parent.node, ast.If):
                each = each.parent
                if each not in back or back[each] in mine:
                    outer = each
        if outer is None:
            return
        within = [each for each in outer.inside() if back.get(each) not in mine]
        names = {id(node) for node in ast.walk(outer.node)}
        for each in within:
            if isinstance(each.node, (ast.If, ast.Import, ast.ImportFrom)):
                continue
            stored = _plain_names(each.node)
            elsewhere = (n for n in ast.walk(self.site.new.node) if isinstance(n, ast.Name) and id(n) not in names)
            if stored is None or any(node.id in stored for node in elsewhere):
                raise Untellable(
                    f"the drift put more into the block that the revert takes out: {self.site.show(each)}", each.line
                )

    def _may_go(self, old: Statement, new: Statement) -> None:
        """A statement that says something else now may only be taken out where it still does the same thing."""
        source = self.site.new.module.source
        if isinstance(new.node, ast.stmt) and is_elif(source, new.node):
            raise Untellable("an elif cannot be taken out alone", new.line)
        if old.whole in self.put and not self.site.exact(old, new):
            raise Untellable(f"the revert moves a statement that the drift changed: {self.site.show(old)}", new.line)
        if old.compound or self.site.aligned.same_head(old, new):
            return
        one, other = _target(old.node, self.site), _target(new.node, None)
        if one is None or one != other:
            raise Untellable(
                f"both the revert and the drift change it: {self.site.show(old)} is now {self.site.show(new)}", new.line
            )

    def _replace(self, hunk: Hunk) -> tuple[Statement, tuple[str, ...]]:
        news = [self.site.counterpart(old, self.changed) for old in hunk.statements]
        for old, new in zip(hunk.statements, news, strict=True):
            if not self.site.exact(old, new):
                raise Untellable(
                    f"both the revert and the drift change it: {self.site.show(old)} is now {self.site.show(new)}",
                    new.line,
                )
            if is_elif(self.site.new.module.source, new.node):
                raise Untellable("an elif cannot be replaced alone", new.line)
        for one, other in pairwise(news):
            if neighbour(one, +1) is not other:
                raise Untellable("the drift put statements between those that the revert replaces", other.line)
        self.sheet.put(news[0], -1, self._text(hunk, news[0]))
        for new in news:
            self.sheet.take_out(new)
        return news[0], self._how(hunk.statements[0], news[0])

    def _unwrap(self, hunk: Hunk) -> tuple[Statement, tuple[str, ...]] | None:
        """The revert takes a head away from around statements that stay: so it does here, whatever became of them."""
        [old, *more] = hunk.statements
        if more or not isinstance(old.node, (ast.If, ast.With)) or list(old.blocks) != ["body"]:
            return None
        if [key(node) for node in hunk.put] != [s.whole for s in old.blocks["body"]]:
            return None
        new = self.site.counterpart(old, self.changed)
        if not self.site.aligned.same_head(old, new) or list(new.blocks) != ["body"]:
            return None
        source, block = self.site.new.module.source, new.blocks["body"]
        if is_elif(source, new.node):
            return None
        top, bottom = own_lines(source, block[0].node, block[-1].node)
        while source.line(top - 1).lstrip().startswith("#"):
            top -= 1
        first, last = own_lines(source, new.node, new.node)
        text = source.text[source.starts[top - 1] : source.starts[bottom]].replace("\r\n", "\n").replace("\r", "\n")
        written = source.with_newlines(indented(text, self.sheet.indent_at(new)))
        self.sheet.write(source.starts[first - 1], source.starts[last], written)
        return new, self._how(old, new)

    def _wrap(self, hunk: Hunk) -> tuple[Statement, tuple[str, ...]] | None:
        """The revert puts a head around statements that stay: so it does here, whatever became of them."""
        [put, *more] = hunk.put
        if more or not isinstance(put, (ast.If, ast.With)) or getattr(put, "orelse", None):
            return None
        if [key(node) for node in put.body] != [s.whole for s in hunk.statements]:
            return None
        news = [self.site.counterpart(old, self.changed) for old in hunk.statements]
        if any(neighbour(one, +1) is not other for one, other in pairwise(news)):
            return None
        source, theirs = self.site.new.module.source, self.reverted.source
        if any(is_elif(source, new.node) for new in news):
            return None
        top, bottom = own_lines(source, news[0].node, news[-1].node)
        head, _ = own_lines(theirs, put, put)
        body, _ = own_lines(theirs, put.body[0], put.body[-1])
        indent = self.sheet.indent_at(news[0])
        unit = blanks(theirs.line(body))[len(blanks(theirs.line(head))) :]
        whole = statements(theirs, [put], indent, self.site.aligned.rename).split("\n")[: body - head]
        text = source.text[source.starts[top - 1] : source.starts[bottom]].replace("\r\n", "\n").replace("\r", "\n")
        written = "\n".join(whole) + "\n" + indented(text, indent + unit)
        self.sheet.write(source.starts[top - 1], source.starts[bottom], source.with_newlines(written))
        return news[0], self._how(hunk.statements[0], news[0])

    def _text(self, hunk: Hunk, beside: Statement) -> str:
        rename = self.site.aligned.rename
        return statements(self.reverted.source, hunk.put, self.sheet.indent_at(beside), rename)

    def _put_in(self, hunk: Hunk) -> tuple[Statement, tuple[str, ...]]:
        above = hunk.siblings[hunk.first - 1] if hunk.first else None
        below = hunk.siblings[hunk.first] if hunk.first < len(hunk.siblings) else None
        beside, side, old = self._gap(hunk, above, below)
        if is_elif(self.site.new.module.source, beside.node):
            raise Untellable("nothing can be put beside an elif", beside.line)
        self._not_there_yet(hunk, beside, side)
        self.sheet.put(beside, side, self._text(hunk, beside))
        return beside, self._how(old, beside)

    def _gap(self, hunk: Hunk, above: Statement | None, below: Statement | None) -> tuple[Statement, int, Statement]:
        """The statement to put it beside, the side, and what that statement was."""
        of = self.site.aligned.of
        one, other = of.get(above) if above else None, of.get(below) if below else None
        if above and below:
            if one and other:
                if neighbour(one, +1) is other:
                    self._certain(above, below)
                    return one, +1, above
                if _loose(hunk):
                    return one, +1, above
                self._not_there_yet(hunk, one, +1)
                raise Untellable("the drift put statements where the revert puts some", one.line)
            # One neighbour is gone: then what the drift left beside the other has to be what followed.
            if one:
                following = self._next_there(above, +1)
                if neighbour(one, +1) is following or _loose(hunk):
                    self.site.counterpart(above)
                    return one, +1, above
            if other:
                following = self._next_there(below, -1)
                if neighbour(other, -1) is following or _loose(hunk):
                    self.site.counterpart(below)
                    return other, -1, below
            raise Untellable(f"the neighbours of what the revert puts in are gone: {self.site.show(above)}")
        if below:
            first = other is not None and (neighbour(other, -1) is None or _is_docstring(neighbour(other, -1)))
            if other and (_loose(hunk) or (first and self.site.same_parent(below, other))):
                self.site.counterpart(below)
                return other, -1, below
            raise Untellable(
                f"the start of the block before {self.site.show(below)} is not what it was", other.line if other else 0
            )
        assert above is not None
        if one and (neighbour(one, +1) is None or _loose(hunk)) and self.site.same_parent(above, one):
            self.site.counterpart(above)
            return one, +1, above
        raise Untellable(
            f"the end of the block behind {self.site.show(above)} is not what it was", one.line if one else 0
        )

    def _certain(self, above: Statement, below: Statement) -> None:
        """Of two neighbours that are still neighbours, one must be the same."""
        of = self.site.aligned.of
        if not (self.site.aligned.same_head(above, of[above]) or self.site.aligned.same_head(below, of[below])):
            raise Untellable("both neighbours of what the revert puts in say something else", of[above].line)
        try:
            self.site.counterpart(above)
        except Untellable:
            self.site.counterpart(below)

    def _next_there(self, old: Statement, step: int) -> Statement | None:
        """What the nearest sibling of ``old`` on that side that is still there became."""
        each = neighbour(old, step)
        while each is not None and each not in self.site.aligned.of:
            each = neighbour(each, step)
        return self.site.aligned.of[each] if each is not None else None

    def _not_there_yet(self, hunk: Hunk, beside: Statement, side: int) -> None:
        at = beside.index + (1 if side > 0 else 0)
        keys = [key(node, self.site.aligned.rename) for node in hunk.put]
        if _beside(keys, [each.whole for each in beside.siblings], at) and not _beside(
            [key(node) for node in hunk.put], [each.whole for each in hunk.siblings], hunk.first
        ):
            raise Untellable("what the revert puts in is there already", beside.line)

    def _how(self, old: Statement, new: Statement) -> tuple[str, ...]:
        found = []
        aligned = self.site.aligned
        if old in aligned.moved:
            found.append("moved in the function")
        if old.head != new.head and not old.opaque:
            found.append("names changed" if aligned.same_head(old, new) else "reworded")
        elif not old.opaque and not old.compound and _rows(old) != _rows(new):
            found.append("wrapped over lines")
        if not self.site.same_parent(old, new):
            found.append("wrapped in another block")
        return tuple(found)


def _plain_names(node: ast.AST) -> set[str] | None:
    """The names that an assignment assigns to; None for everything else."""
    if isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return None


def _beside(keys: list[str], block: list[str], at: int) -> bool:
    """Whether ``keys`` stand before or behind a gap."""
    return block[at : at + len(keys)] == keys or block[max(at - len(keys), 0) : at] == keys


def _rows(statement: Statement) -> list[str]:
    source = statement.unit.module.source
    start, end = source.span(statement.node)
    return [row.strip() for row in source.text[start:end].splitlines()]


def _loose(hunk: Hunk) -> bool:
    """Imports and definitions: where among their neighbours they stand means nothing."""
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return hunk.unit.is_body and all(isinstance(node, kinds) for node in hunk.put)


def _is_docstring(statement: Statement | None) -> bool:
    if statement is None or statement.index or not isinstance(statement.node, ast.Expr):
        return False
    value = statement.node.value
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _target(node: ast.AST, site: Site | None) -> str | None:
    """What a simple statement does, and to what: its kind, what it assigns to, or which function it calls."""
    rename = site.aligned.rename if site else None
    if isinstance(node, ast.Assign):
        inner = (
            f" {key(node.value.func, rename)}" if isinstance(node.value, ast.Call) else f" {type(node.value).__name__}"
        )
        return "= " + " ".join(key(target, rename) for target in node.targets) + inner
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        return f"{type(node).__name__} {key(node.target, rename)}"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return f"call {key(node.value.func, rename)}"
    if isinstance(node, (ast.Assert, ast.Raise)):
        return type(node).__name__
    return None
