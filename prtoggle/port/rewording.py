"""A statement whose head the revert words differently, worded so in the other release, whatever else the drift did to
that head.

Example::

    # f(a, b) -> f(a), where the release has f(a, b, flag=True): f(a, flag=True)
    reword(change, site, statement, reverted, sheet)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from prtoggle.edits.pattern_tree import has_parentheses, item_spans, items_of, skip
from prtoggle.edits.text import SourceText
from prtoggle.port.difference import Reword
from prtoggle.port.effects import Resolve
from prtoggle.port.expressions import Items, Replace, pairs
from prtoggle.port.extracted import helpers, strangers
from prtoggle.port.fragments import Untellable, expression, outer
from prtoggle.port.sheet import Sheet
from prtoggle.port.site import Site
from prtoggle.port.syntax import DEFINITIONS, Name, Parsed, Statement, Unit, key


def reword(
    change: Reword,
    site: Site,
    new: Statement,
    reverted: Parsed,
    sheet: Sheet,
    resolve: Resolve,
    is_new: Callable[[Unit], bool],
) -> Statement:
    """Put all pieces of ``change`` on the sheet; the statement that they are in. Raises :class:`Untellable`.

    ``resolve``: the function that a name of the other release means; ``is_new``: whether it was not in the first.
    """
    mark = sheet.mark()
    rewording = _Rewording(change, site, new, reverted, sheet)
    try:
        rewording.all()
        return new
    except Untellable as error:
        sheet.back_to(mark)
        put = [node for piece in change.pieces for node in (piece.new if isinstance(piece, Items) else (piece.new,))]
        for helper in helpers(change.statement, new, site, resolve, is_new):
            if strangers(put, helper, site) is not None:
                continue
            rewording = _Rewording(change, site, helper.statement, reverted, sheet)
            rewording.pairs, rewording.rename = helper.pairs, helper.rename
            try:
                rewording.all()
                return helper.statement
            except Untellable:
                sheet.back_to(mark)
        raise error


class _Rewording:
    def __init__(self, change: Reword, site: Site, new: Statement, reverted: Parsed, sheet: Sheet) -> None:
        self.change, self.site, self.new, self.reverted, self.sheet = change, site, new, reverted, sheet
        self.old = change.statement
        self.pairs = pairs(self.old.node, new.node, site.aligned.rename)
        self.source = site.new.module.source
        self.rename: Callable[[Name], str] = site.aligned.rename

    def all(self) -> None:
        if self._key_of_head(self.change.new) == self.new.head or key(self.change.new, head=True) == self.new.head:
            raise Untellable("it says already what the revert makes it say", self.new.line)
        for piece in self.change.pieces:
            if isinstance(piece, Replace):
                self._replace(piece)
            else:
                self._items(piece)

    def _key_of_head(self, node: ast.AST) -> str:
        return key(node, self.rename, head=True)

    def _key(self, node: ast.AST) -> str:
        return key(node, self.rename)

    def _replace(self, piece: Replace) -> None:
        place = self._place_of(piece.old)
        wanted = {self._key(piece.new), key(piece.new)}
        if not isinstance(piece.new, (ast.Name, ast.Constant)):
            mine = {key(node) for node in _nodes(self.old.node)}
            there = {key(node) for node in _nodes(self.new.node)}
            if wanted & there and key(piece.new) not in mine:
                raise Untellable(f"{self._show(piece.new)} is there already", self.new.line)
        start, end = outer(self.source, place)
        text = expression(self.reverted.source, piece.new, self.rename)
        if not isinstance(piece.new, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)) and (
            outer(self.reverted.source, piece.new) != self.reverted.source.span(piece.new)
            or outer(self.source, place) != self.source.span(place)
        ):
            text = text if text.startswith("(") and text.endswith(")") and "(" not in text[1:] else f"({text})"
        self.sheet.write(start, end, text)

    def _place_of(self, old: ast.AST) -> ast.AST:
        """The expression that ``old`` became; it must say the same, at its place or as the only one of its kind."""
        wanted = self._key(old)
        there = self.pairs.get(id(old))
        if there is not None and key(there) == wanted:
            if isinstance(old, (ast.Name, ast.Constant)) and not self._same_context(old, there):
                raise Untellable(f"{self._show(old)} stands in something else now", self.new.line)
            return there
        mine = [node for node in _nodes(self.old.node) if key(node) == key(old)]
        found = [node for node in _nodes(self.new.node) if key(node) == wanted]
        if len(mine) == 1 == len(found) and not isinstance(old, (ast.Constant, ast.Name)):
            return found[0]
        if there is None:
            raise Untellable(f"{self._show(old)} is not in line {self.new.line}", self.new.line)
        raise Untellable(
            f"both the revert and the drift change {self._show(old)} (now {ast.unparse(there)})", self.new.line
        )

    def _same_context(self, old: ast.AST, new: ast.AST) -> bool:
        """Whether what is directly around two small expressions is the same; a call may have got other arguments."""
        one, other = _parent(self.old.node, old), _parent(self.new.node, new)
        if one is None or other is None or one is self.old.node or type(one) is not type(other):
            return one is self.old.node and other is self.new.node
        if isinstance(one, ast.keyword):
            return True  # Paired by its name, in a call of the same function.
        if isinstance(one, ast.Call) and isinstance(other, ast.Call) and old is not one.func:
            return self._key(one.func) == key(other.func) or self.pairs.get(id(one.func)) is other.func
        mine = [self._key(child) for child in ast.iter_child_nodes(one) if child is not old]
        return mine == [key(child) for child in ast.iter_child_nodes(other) if child is not new]

    def _show(self, node: ast.AST) -> str:
        return ast.unparse(node)

    def _items(self, piece: Items) -> None:
        owner = self.pairs.get(id(piece.owner))
        if owner is None:
            raise Untellable(f"{self._show(piece.owner)} is not in line {self.new.line}", self.new.line)
        theirs: list[Any] = list(getattr(owner, piece.field))
        keys = [key(item) for item in theirs]
        out: list[int] = []
        for item in piece.items[piece.first : piece.last]:
            wanted = self._key(item)
            if keys.count(wanted) != 1:
                raise Untellable(f"{self._show(item)} is not in line {self.new.line}", self.new.line)
            out.append(keys.index(wanted))
        before = [key(item) for item in piece.items]
        if any(self._key(item) in keys and key(item) not in before for item in piece.new):
            raise Untellable("what the revert puts in is there already", self.new.line)
        at = out[0] if out else self._gap(piece, keys)
        if out and out != list(range(out[0], out[0] + len(out))):
            raise Untellable("the drift put items between those that the revert takes out", self.new.line)
        texts = [expression(self.reverted.source, item, self.rename) for item in piece.new]
        if piece.field == "decorator_list":
            self._decorators(owner, theirs, at, out, texts)
            return
        self._write(owner, theirs, at, len(out), texts)

    def _gap(self, piece: Items, keys: Sequence[str]) -> int:
        """Where among the other release's items new ones go: between the same neighbours."""
        items = piece.items
        above = self._key(items[piece.first - 1]) if piece.first else None
        below = self._key(items[piece.first]) if piece.first < len(items) else None
        loose = piece.field in ("keywords", "names", "decorator_list")
        before = keys.index(above) if above is not None and keys.count(above) == 1 else None
        behind = keys.index(below) if below is not None and keys.count(below) == 1 else None
        if above is None and below is None and not keys:
            return 0
        if before is not None and (behind == before + 1 or (below is None and before + 1 == len(keys)) or loose):
            return before + 1
        if behind is not None and ((above is None and behind == 0) or loose):
            return behind
        raise Untellable("the neighbours of what the revert puts in are not what they were", self.new.line)

    def _write(self, owner: ast.AST, theirs: Sequence[Any], at: int, count: int, texts: Sequence[str]) -> None:
        """Items ``at`` to ``at + count`` of one list are ``texts``."""
        spans = _spans(self.source, owner)
        listed = [id(item) for item in _all_items(owner)]
        places = [listed.index(id(item)) for item in theirs]
        if count and texts:
            start, end = spans[places[at]][0], spans[places[at + count - 1]][1]
            self.sheet.write(start, end, ", ".join(texts))
        elif count:
            first, last = places[at], places[at + count - 1]
            if last != first + count - 1:
                raise Untellable("the drift put items between those that the revert takes out", self.new.line)
            if len(spans) == count and isinstance(owner, (ast.Tuple, ast.Import, ast.ImportFrom)):
                raise Untellable("nothing would be left of the list", self.new.line)
            if last + 1 < len(spans):
                self.sheet.write(spans[first][0], spans[last + 1][0], "")
            elif first:
                self.sheet.write(
                    spans[first - 1][1], spans[last][1], "," if self._one_left(owner, spans, count) else ""
                )
            else:
                end = skip(self.source.text, spans[last][1])
                self.sheet.write(spans[first][0], end + 1 if self.source.text[end] == "," else spans[last][1], "")
        elif not spans:
            raise Untellable("the list is empty there", self.new.line)
        else:
            place = places[at - 1] + 1 if at else (places[0] if places else len(spans))
            if place:
                self.sheet.write(spans[place - 1][1], spans[place - 1][1], "".join(f", {text}" for text in texts))
            else:
                self.sheet.write(spans[0][0], spans[0][0], "".join(f"{text}, " for text in texts))

    def _one_left(self, owner: ast.AST, spans: Sequence[tuple[int, int]], count: int) -> bool:
        end = skip(self.source.text, spans[-1][1])
        has = self.source.text[end : end + 1] == ","
        return (
            isinstance(owner, ast.Tuple) and len(spans) - count == 1 and not has and has_parentheses(self.source, owner)
        )

    def _decorators(
        self, owner: ast.AST, theirs: Sequence[Any], at: int, out: Sequence[int], texts: Sequence[str]
    ) -> None:
        lines = self.source.starts
        for index in out:
            node = theirs[index]
            row = self.source.line(node.lineno)
            if not row.lstrip().startswith("@"):
                raise Untellable("a decorator is written in an unusual way", node.lineno)
            self.sheet.write(lines[node.lineno - 1], lines[node.end_lineno], "")
        if texts:
            assert isinstance(owner, DEFINITIONS)
            line = theirs[at].lineno if at < len(theirs) else owner.lineno
            row = self.source.line(line)
            indent = row[: len(row) - len(row.lstrip())]
            written = "".join(f"{indent}@{text}\n" for text in texts)
            self.sheet.write(lines[line - 1], lines[line - 1], self.source.with_newlines(written))


def _parent(root: ast.AST, node: ast.AST) -> ast.AST | None:
    for each in ast.walk(root):
        if any(child is node for child in ast.iter_child_nodes(each)):
            return each
    return None


def _nodes(statement: ast.AST) -> list[ast.AST]:
    """All expressions in the head of a statement."""
    blocks = ("body", "orelse", "finalbody", "handlers", "cases")
    found: list[ast.AST] = []
    for field, value in ast.iter_fields(statement):
        if isinstance(value, list) and field in blocks:
            continue
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST):
                found += [node for node in ast.walk(child) if isinstance(node, (ast.expr, ast.keyword))]
    return found


def _all_items(owner: ast.AST) -> list[Any]:
    return list(owner.names) if isinstance(owner, (ast.Import, ast.ImportFrom)) else list(items_of(owner))


def _spans(source: SourceText, owner: ast.AST) -> list[tuple[int, int]]:
    if isinstance(owner, (ast.Import, ast.ImportFrom)):
        return [source.span(alias) for alias in owner.names]
    return item_spans(source, owner)
