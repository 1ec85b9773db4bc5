"""The text side of an edit: the text of ``put`` with the bound text in it.

Bound text is taken as it stands in the source. Where parentheses are needed is asked of Python's own parser: the text
without any is tried first; else with all, and each pair that turns out unnecessary is left out again.

Example::

    writing = Writer(source, put, bindings, span).expression()
    writing.text, writing.copied      # the text, and the spans of the source that it holds
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from prtoggle.edits.pattern_guard import CannotStand, same, substitute
from prtoggle.edits.pattern_match import Bindings, Run
from prtoggle.edits.pattern_parse import Hole, Pattern, run_in
from prtoggle.edits.pattern_tokens import lines_of, unix
from prtoggle.edits.pattern_tree import item_spans, items_of, skip, statement_start
from prtoggle.edits.text import SourceText

# Never in need of parentheses, wherever an expression can stand ...
_WHOLE = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp)
# ... and these cannot have any.
_NEVER = (ast.Slice, ast.Starred)

_ONE_LINE_COMMENT = re.compile(r"[ \t\f]*(?:;[ \t\f]*)?#[^\r\n]*")


@dataclass(frozen=True)
class Writing:
    """Text written with ``\\n``, and the spans of the source that were copied into it."""

    text: str
    copied: tuple[tuple[int, int], ...]


Parser = Callable[[str], list[ast.stmt]]


class Writer:
    """Writes one ``put`` with one set of bindings, in place of the span ``within``."""

    def __init__(self, source: SourceText, put: Pattern, bound: Bindings, within: tuple[int, int]) -> None:
        self.source, self.put, self.bound, self.within = source, put, bound, within
        self.copied: list[tuple[int, int]] = []

    def expression(self) -> Writing:
        """The text of a ``put`` that is one expression. Raises :class:`CannotStand`."""
        assert self.put.expression is not None
        start, end = self.put.source.span(self.put.expression)
        draft = _apply(self.put.code, self._commas(), start, end)
        [wanted] = substitute(self.put, self.bound)

        def parsed(text: str) -> list[ast.stmt]:
            return ast.parse(f"({text}\n)").body

        return self._filled(draft, [wanted], parsed, "")

    def statements(self, indent: str, unit: str) -> Writing:
        """The text of ``put`` as statements at ``indent`` (which the first line lacks). Raises :class:`CannotStand`."""
        wanted = substitute(self.put, self.bound)
        draft = _apply(self.put.code, self._commas(), 0, len(self.put.code)).strip("\n")
        draft = _laid_out(draft, indent, unit)

        def parsed(text: str) -> list[ast.stmt]:
            if not indent:
                return ast.parse(text).body
            [only] = ast.parse(f"if 1:\n{indent}{text}\n").body
            return only.body  # type: ignore[attr-defined, no-any-return]

        return self._filled(draft, wanted, parsed, indent)

    def _filled(self, draft: str, wanted: list[ast.stmt], parsed: Parser, indent: str) -> Writing:
        """``draft`` with the bound text in place of the marks, and as few parentheses as give the tree ``wanted``."""
        draft = self._with_blocks(draft, indent)
        doubtful = frozenset(mark for mark, hole in self.put.holes.items() if self._may_need_parentheses(hole))

        problem = "what put says, with the bound text in it, is something else"

        def text_with(wrapped: Iterable[str]) -> str | None:
            nonlocal problem
            text = self._with_expressions(draft, frozenset(wrapped))
            try:
                return text if same(wanted, parsed(text)) else None
            except SyntaxError as error:
                problem = f"put, with the bound text in it, is not Python: {error.msg}"
            except (ValueError, RecursionError, MemoryError) as error:
                problem = f"put, with the bound text in it, cannot be parsed: {error!r}"
            return None

        text = text_with(())
        if text is None and doubtful:
            needed = doubtful
            text = text_with(needed)
            for mark in sorted(doubtful) if text is not None else ():
                shorter = text_with(needed - {mark})
                if shorter is not None:
                    text, needed = shorter, needed - {mark}
        if text is None:
            raise CannotStand(problem)
        return Writing(text, tuple(self.copied))

    def _may_need_parentheses(self, hole: Hole) -> bool:
        value = self.bound[hole.name]
        if not isinstance(value, ast.expr) or hole.kind != "expression" or isinstance(value, _NEVER):
            return False
        if isinstance(value, ast.Tuple) and any(isinstance(item, ast.Slice) for item in value.elts):
            return False
        start, end = self.source.span(value)
        return not isinstance(value, _WHOLE) or "\n" in unix(self.source.text[start:end])

    def _with_expressions(self, draft: str, wrapped: frozenset[str]) -> str:
        """``draft`` with each mark that is left replaced by what is bound, in parentheses for ``wrapped``."""
        codes = {hole.code: hole for hole in self.put.holes.values()}

        def bound_text(found: re.Match[str]) -> str:
            hole = codes[found[0]]
            text = self._text(hole)
            return f"({text})" if hole.mark in wrapped else text

        if not codes:
            return draft
        return re.sub("|".join(re.escape(code) for code in sorted(codes, key=len, reverse=True)), bound_text, draft)

    def _text(self, hole: Hole) -> str:
        value = self.bound[hole.name]
        if isinstance(value, str):
            return value
        if isinstance(value, Run):
            if not value.items or value.owner is None or value.statements:
                return ""
            spans = item_spans(self.source, value.owner)
            at = _index(items_of(value.owner), value.items[0])
            start, end = spans[at][0], spans[at + len(value.items) - 1][1]
        else:
            start, end = self.source.span(value)
        self.copied.append((start, end))
        return unix(self.source.text[start:end])

    def _commas(self) -> list[tuple[int, int, str]]:
        """Edits of ``put.code`` that take out empty runs with their commas, and keep a tuple a tuple."""
        edits: list[tuple[int, int, str]] = []
        source = self.put.source
        for statement in self.put.body:
            for node in ast.walk(statement):
                items = items_of(node)
                runs = [run_in(item, self.put.holes) for item in items]
                if not any(runs):
                    continue
                sizes = [self._size(run) if run else 1 for run in runs]
                spans = item_spans(source, node)
                kept = [at for at, size in enumerate(sizes) if size]
                if not kept:
                    edits.append(self._nothing(node, spans))
                    continue
                if kept[0]:
                    edits.append((spans[0][0], spans[kept[0]][0], ""))
                for here, following in pairwise(kept):
                    if following > here + 1:
                        edits.append((spans[here + 1][0], spans[following][0], ""))
                has_comma = "," in source.text[spans[-1][1] : skip(source.text, spans[-1][1]) + 1]
                comma = "," if isinstance(node, ast.Tuple) and sum(sizes) == 1 and not has_comma else ""
                edits.append((spans[kept[-1]][1], spans[-1][1], comma))
        return edits

    def _nothing(self, node: ast.AST, spans: list[tuple[int, int]]) -> tuple[int, int, str]:
        """The edit for a list whose items are all empty runs: without items, and without a comma after them."""
        source = self.put.source
        if isinstance(node, ast.Tuple):
            return (*source.span(node), "()")
        end = skip(source.text, spans[-1][1])
        return spans[0][0], end + 1 if source.text[end : end + 1] == "," else spans[-1][1], ""

    def _size(self, run: Hole) -> int:
        value = self.bound[run.name]
        if not isinstance(value, Run):
            raise CannotStand(f"{run} is one expression, not a run")
        return len(value.items)

    def _with_blocks(self, draft: str, indent: str) -> str:
        """``draft`` with each ``$...X`` that stands for statements replaced; a block left empty gets ``pass``."""
        blocks = [hole for hole in self.put.holes.values() if hole.kind == "statements"]
        if not blocks:
            return draft
        passes = set(self._empty_blocks())
        texts: dict[str, str | None] = {}
        for hole in blocks:
            value = self.bound[hole.name]
            if not isinstance(value, Run) or (value.items and not value.statements):
                raise CannotStand(f"{hole} stands for statements")
            texts[hole.mark] = "pass" if hole.mark in passes else None if not value.items else ""
        rows, out = (indent + draft).split("\n"), []
        by_mark = {hole.mark: hole for hole in blocks}
        pattern = re.compile("|".join(map(re.escape, by_mark)))
        for row in rows:
            found = pattern.search(row)
            if not found:
                out.append(row)
                continue
            text = texts[found[0]]
            if text == "":
                before = row[: found.start()]
                value = self.bound[by_mark[found[0]].name]
                assert isinstance(value, Run)
                text = self._block(value, before if not before.strip() else "")
            if text is not None:
                out.append(row[: found.start()] + text + row[found.end() :])
        return "\n".join(out)[len(indent) :]

    def _empty_blocks(self) -> Iterator[str]:
        """The first mark of each block that ``put`` leaves without a statement."""
        for statement in self.put.body:
            for node in ast.walk(statement):
                for field in ("body", "orelse", "finalbody"):
                    block = getattr(node, field, None)
                    if isinstance(block, list) and block:
                        runs = [run_in(each, self.put.holes) for each in block]
                        if all(run and not self._size(run) for run in runs):
                            assert runs[0]
                            yield runs[0].mark

    def _behind(self, end: int, indent: str) -> int:
        """``end``, or the end of the comment lines behind it that still belong to a block at ``indent``."""
        source, last = self.source, end
        for number in range(source.line_of(end) + 1, len(source.lines) + 1):
            row = source.line(number)
            text = row.strip(" \t\f")
            if text.startswith("#") and row.startswith(indent) and source.starts[number - 1] < self.within[1]:
                last = source.starts[number - 1] + len(row)
            elif text:
                # Above a further statement of the block they would be that statement's.
                return end if row.startswith(indent) else last
        return last

    def _block(self, run: Run, indent: str) -> str:
        """The text of bound statements at ``indent`` (which the first line lacks), with comments above and behind."""
        source, statements = self.source, run.items
        first, last = statements[0], statements[-1]
        assert isinstance(first, ast.stmt) and isinstance(last, ast.stmt)
        start, end = statement_start(source, first), source.span(last)[1]
        comment = _ONE_LINE_COMMENT.match(source.text, end)
        if comment and comment.end() <= self.within[1]:
            end = comment.end()
        line = source.line_of(start)
        old = _blanks(source.lines[line - 1])
        if source.starts[line - 1] + len(old) == start:
            for above in range(line - 1, 0, -1):
                row = source.line(above).strip(" \t\f")
                if (row and not row.startswith("#")) or source.starts[above - 1] < self.within[0]:
                    break
                line = above if row else line
            start = source.starts[line - 1] + len(_blanks(source.lines[line - 1]))
            end = self._behind(end, old)
        self.copied.append((start, end))
        text = unix(source.text[start:end])
        rows = text.split("\n")
        facts = lines_of(old + text)
        for at in range(1, len(rows)):
            if at < len(facts) and not facts[at].in_string and rows[at].startswith(old):
                rows[at] = indent + rows[at][len(old) :] if rows[at].strip() else rows[at]
        return "\n".join(rows)


def _index(items: tuple[object, ...], item: object) -> int:
    """Where ``item`` stands. Parameters and dict entries are made anew each time, so they compare by what they hold."""
    for at, other in enumerate(items):
        if other is item or (not isinstance(item, ast.AST) and other == item):
            return at
    raise LookupError("not an item of this list")


def _blanks(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def _apply(text: str, edits: list[tuple[int, int, str]], start: int, end: int) -> str:
    """``text[start:end]`` with ``edits`` made; of two that overlap the wider counts."""
    pieces, at = [], start
    for first, last, new in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if first < at or last > end:
            continue
        pieces += [text[at:first], new]
        at = last
    return "".join([*pieces, text[at:end]])


def _laid_out(text: str, indent: str, unit: str) -> str:
    """Statements, each level indented by ``unit``, all at ``indent`` except the first line. Strings are left alone."""
    rows, made = text.split("\n"), []
    old = new = ""
    for at, (row, fact) in enumerate(zip(rows, lines_of(text), strict=True)):
        if fact.in_string:
            made.append(row)
        elif fact.blank:
            made.append("")
        elif fact.starts:
            old, new = fact.indent, indent + unit * fact.depth
            made.append((new if at else "") + row[len(fact.indent) :])
        else:
            made.append(new + (row[len(old) :] if row.startswith(old) else row.lstrip(" \t")))
    return "\n".join(made)
