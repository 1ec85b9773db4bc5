"""Code patterns: ``find`` compared as syntax, ``$X`` for one expression, ``$...X`` for a run, replaced by ``put``.

:func:`check` says all that is wrong with an edit before any source is seen; :func:`locate` says where an edit stands
and what replaces it, or why it does not apply. Before a place is reported as found, the edited text is parsed and must
have the tree of the source with the substitution made. Nodes of ``scope`` must be those of ``source.tree``.

Example::

    edit = PatternEdit(find="cache = cache[:, :$N]", put="")
    locate(source, scope, edit)   # Found((Replacement(120, 161, ""),), line=7)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from prtoggle.edits.kinds import PatternEdit
from prtoggle.edits.outcome import Found, Missing, Replacement, Several
from prtoggle.edits.pattern_guard import CannotStand, objection, same, substitute
from prtoggle.edits.pattern_match import Bindings, TooManyWays, equal
from prtoggle.edits.pattern_nearest import nearest
from prtoggle.edits.pattern_parse import Hole, Pattern, PatternSyntaxError, hole_at, parse, place, run_in
from prtoggle.edits.pattern_search import Match, alone, matches
from prtoggle.edits.pattern_tokens import comments_in
from prtoggle.edits.pattern_tree import block_with, statement_start
from prtoggle.edits.pattern_write import Writer, Writing
from prtoggle.edits.scope import Scope
from prtoggle.edits.text import SourceText

__all__ = ["Pattern", "PatternSyntaxError", "check", "locate", "parse", "sightings"]

_KINDS = {
    "expression": "an expression",
    "name": "a name",
    "arguments": "a run of arguments",
    "elements": "a run of elements",
    "entries": "a run of dict entries",
    "parameters": "a run of parameters",
    "statements": "a run of statements",
}
_GUARD = "the guard refused"


def check(edit: PatternEdit) -> tuple[PatternSyntaxError, ...]:
    """All problems of an edit that can be seen without a source; each names its ``field``."""
    problems: list[PatternSyntaxError] = []
    parsed: dict[str, Pattern] = {}
    looks = zip(unfixed_fields(edit), edit.unfixed, strict=True)
    for field, text in (("find", edit.find), ("put", edit.put), *looks):
        if field == "put" and not text.strip():
            continue
        try:
            pattern = parse(text)
        except PatternSyntaxError as error:
            problems.append(PatternSyntaxError(error.what, error.line, error.column, error.hint, field))
            continue
        parsed[field] = pattern
        if field != "put":
            problems += _too_wide(pattern, field)
        problems += _mixed_names(pattern, field)
    if "find" in parsed and "put" in parsed:
        problems += _unbound(parsed["find"], parsed["put"])
    return tuple(problems)


def unfixed_fields(edit: PatternEdit) -> tuple[str, ...]:
    """What the patterns of ``unfixed`` are called in problems: ``unfixed``, or ``unfixed 2`` where there are
    several."""
    several = len(edit.unfixed) > 1
    return tuple(f"unfixed {number}" if several else "unfixed" for number in range(1, len(edit.unfixed) + 1))


def _too_wide(pattern: Pattern, field: str) -> Iterator[PatternSyntaxError]:
    if all(run_in(each, pattern.holes) or _is_hole(each, pattern) for each in pattern.body):
        yield PatternSyntaxError(f"{field} matches everything", hint="name something that stands there", field=field)
    first = sorted(pattern.holes.values(), key=lambda hole: hole.start)
    for one, other in pairwise(first):
        between = pattern.text[one.start + one.length : other.start]
        if one.run and other.run and one.kind == other.kind and not between.strip(", \t\n"):
            yield PatternSyntaxError(
                f"{one} and {other} stand side by side, and nothing says where one ends",
                *place(pattern.text, other.start),
                hint="use one run",
                field=field,
            )


def _is_hole(statement: ast.stmt, pattern: Pattern) -> bool:
    return isinstance(statement, ast.Expr) and hole_at(statement.value, pattern.holes) is not None


def _mixed_names(pattern: Pattern, field: str) -> Iterator[PatternSyntaxError]:
    """A name that is a run in one place and an expression in another."""
    for hole in pattern.holes.values():
        if not _fits(pattern.names[hole.name], hole):
            what = f"{hole} is {_KINDS[hole.kind]} here and {_KINDS[pattern.names[hole.name]]} before"
            yield PatternSyntaxError(what, *place(pattern.text, hole.start), field=field)


def _unbound(find: Pattern, put: Pattern) -> Iterator[PatternSyntaxError]:
    """Names of ``put`` that ``find`` does not bind, or binds to something that cannot stand there."""
    reported = set()
    for hole in put.holes.values():
        at = place(put.text, hole.start)
        if hole.name not in find.names:
            if hole.name not in reported:
                names = ", ".join(sorted(find.names))
                hint = f"find binds {names}" if names else "find binds no name"
                yield PatternSyntaxError(f"put uses {hole}, which find does not bind", *at, hint=hint, field="put")
            reported.add(hole.name)
        elif not _fits(find.names[hole.name], hole):
            what = f"{hole} stands for {_KINDS[hole.kind]} in put, and find binds {_KINDS[find.names[hole.name]]}"
            yield PatternSyntaxError(what, *at, field="put")
        elif hole.kind == "statements" and not _own_line(put.text, hole):
            yield PatternSyntaxError(f"{hole} stands for statements and needs a line of its own", *at, field="put")


def _fits(bound: str, hole: Hole) -> bool:
    if not hole.run:
        return bound in ("expression", "name")
    lists = ("arguments", "elements")
    return bound == hole.kind or (bound in lists and hole.kind in lists)


def _own_line(text: str, hole: Hole) -> bool:
    before = text[text.rfind("\n", 0, hole.start) + 1 : hole.start]
    after = text[hole.start + hole.length :].split("\n", 1)[0].strip()
    return not before.strip() and (not after or after.startswith("#"))


def sightings(source: SourceText, scope: Scope, pattern_text: str) -> tuple[int, ...]:
    """The lines of all matches in ``scope``; nested and overlapping ones count each."""
    try:
        found = matches(source, scope, parse(pattern_text), any_way=True)
        return tuple(match.line for match in found if not match.refused)
    except (TooManyWays, RecursionError):
        return ()


def locate(source: SourceText, scope: Scope, edit: PatternEdit) -> Found | Missing | Several:
    """The place of ``edit`` in ``scope`` and what replaces it. Raises :class:`PatternSyntaxError` for a bad pattern."""
    find = parse(edit.find)
    put = parse(edit.put) if edit.put.strip() else None
    where = scope.qualname or "the module"
    try:
        every = matches(source, scope, find)
    except (TooManyWays, RecursionError):
        return Missing(f"find can be matched in too many ways in {where} to look at all of them")
    found = [match for match in every if not match.refused]
    if len(found) > 1:
        return Several(tuple(match.line for match in found))
    if not found:
        if every:
            text = source.text[slice(*_span(source, every[0]))]
            return Missing(f"find is there, but as {every[0].refused}", text, every[0].line)
        return Missing(f"find matches nothing in {where}", *nearest(source, scope, find))
    [match] = found
    used = {hole.name for hole in put.holes.values()} if put else set()
    if any(not _alike(match.bindings[0], other, used, source) for other in match.bindings[1:]):
        reason = "the names can be bound in more than one way there, with different results"
        return Several((match.line,) * len(match.bindings), reason)
    try:
        if put is not None and put.is_expression and find.is_expression:
            return _replace_expression(source, match, put)
        return _replace_statements(source, match, put)
    except (CannotStand, KeyError) as error:
        return _refusal(source, match, f"{_GUARD}: {error}")
    except RecursionError:
        return _refusal(source, match, f"{_GUARD}: nested too deeply")


def _alike(one: Bindings, other: Bindings, names: set[str], source: SourceText) -> bool:
    return all(equal(one[name], other[name], source) for name in names if name in one)


def _refusal(source: SourceText, match: Match, reason: str) -> Missing:
    return Missing(reason, source.text[slice(*_span(source, match))], match.line)


def _span(source: SourceText, match: Match) -> tuple[int, int]:
    first, last = match.nodes[0], match.nodes[-1]
    start = statement_start(source, first) if isinstance(first, ast.stmt) else source.span(first)[0]
    return start, source.span(last)[1]


def _replace_expression(source: SourceText, match: Match, put: Pattern) -> Found | Missing:
    [node] = match.nodes
    start, end = source.span(node)
    writing = Writer(source, put, match.bindings[0], (start, end)).expression()
    [made] = substitute(put, match.bindings[0])
    swaps = {id(node): made.value}  # type: ignore[attr-defined]
    bare, wrapped = writing.text, f"({writing.text})"
    parent = match.around[-1] if match.around else None
    if isinstance(node, ast.GeneratorExp) and isinstance(parent, ast.Call) and source.span(parent)[1] == end:
        attempts = [wrapped]  # its parentheses are the call's as well
    else:
        attempts = [bare, wrapped] if _stands_bare(source, match, bare, swaps) else [wrapped, bare]
    for text in attempts:
        edited = source.text[:start] + source.with_newlines(text) + source.text[end:]
        objected = objection(source, edited, swaps, (start, end))
        if not objected:
            notes = _lost(source, (start, end), writing.copied, statements=False)
            return Found((Replacement(start, end, text),), match.line, notes)
    return _refusal(source, match, f"{_GUARD}: {objected}")


def _stands_bare(source: SourceText, match: Match, text: str, swaps: dict[int, Any]) -> bool:
    """Whether ``text`` seems to need no parentheses in the expression around it. The guard has the last word."""
    [node] = match.nodes
    outer: ast.AST = node
    for each in reversed(match.around):
        if isinstance(each, ast.stmt):
            break
        if isinstance(each, ast.expr) and not isinstance(each, (ast.Starred, ast.Slice)):
            outer = each
    first, last = source.span(outer)
    start, end = source.span(node)
    around = "{}" if outer is node else "({}\n)"
    try:
        tree = ast.parse(around.format(source.text[first:start] + text + source.text[end:last])).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return len(tree) == 1 and isinstance(tree[0], ast.Expr) and same(outer, tree[0].value, swaps)


def _replace_statements(source: SourceText, match: Match, put: Pattern | None) -> Found | Missing:
    """Whole statements by whole statements (none: a deletion)."""
    nodes: Sequence[Any] = match.nodes
    bound = match.bindings[0]
    if isinstance(nodes[0], ast.expr):
        whole = match.statement
        what = "put is empty" if put is None else "put is not one expression"
        if whole is None:
            return _refusal(source, match, f"{what}, but find matches only a part of a statement")
        owner = match.around[-2] if len(match.around) > 1 else None
        if not alone(source, whole, owner):
            return _refusal(source, match, f"{what}, but the matched statement shares its line with another")
        nodes = (whole,)
    start, end = statement_start(source, nodes[0]), source.span(nodes[-1])[1]
    first, last = source.line_of(start), source.line_of(end - 1)
    made = substitute(put, bound) if put else []
    owner, block = block_with(source.tree, nodes[0])
    emptied = not made and len(block) == len(nodes) and not isinstance(owner, ast.Module)
    swaps: dict[int, Any] = {id(nodes[0]): (len(nodes), [ast.Pass()] if emptied else made)}
    indent = source.text[source.starts[first - 1] : start].replace("\f", "")
    writing = Writing("", ())
    if made:
        assert put is not None
        writing = Writer(source, put, bound, (start, end)).statements(indent, _unit(source, owner, indent))
    else:
        start, end = source.starts[first - 1], source.starts[last]
    # combine() puts the pass into a block that all edits together leave empty; the guard does here as it will.
    text = f"{indent}pass\n" if emptied else writing.text
    edited = source.text[:start] + source.with_newlines(text) + source.text[end:]
    if objected := objection(source, edited, swaps, (start, end)):
        return _refusal(source, match, f"{_GUARD}: {objected}")
    return Found(
        (Replacement(start, end, writing.text),),
        match.line,
        _lost(source, (start, end), writing.copied, statements=True),
    )


def _unit(source: SourceText, owner: ast.AST, indent: str) -> str:
    """One level of indentation as this file has it: here if it can be seen here, else as in its first block."""
    if indent and hasattr(owner, "lineno"):
        outer = source.line(owner.lineno)
        blanks = outer[: len(outer) - len(outer.lstrip(" \t\f"))].replace("\f", "")
        if indent.startswith(blanks) and len(indent) > len(blanks):
            return indent[len(blanks) :]
    for statement in source.tree.body:
        inner = getattr(statement, "body", None)
        if inner and inner[0].lineno > statement.lineno and inner[0].col_offset:
            line = source.line(inner[0].lineno)
            return line[: len(line) - len(line.lstrip(" \t"))] or "    "
    return "    "


def _lost(
    source: SourceText, span: tuple[int, int], copied: tuple[tuple[int, int], ...], *, statements: bool
) -> tuple[str, ...]:
    """A note for each comment in ``span`` that no copied text holds."""
    return tuple(
        f"comment lost at line {source.line_of(at)}: {comment}"
        for at, comment in comments_in(source, *span, statements=statements)
        if not any(first <= at < last for first, last in copied)
    )
