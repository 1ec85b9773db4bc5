"""The tree side of an edit: what the tree must be, and whether an edited text has that tree.

Independent of how the text is made: bindings are put into the tree of ``put``, that is put into the tree of the source,
and the edited text must parse to the same. Nodes are shared, never changed.

Example::

    expected = substitute(put, bindings)
    objection(source, edited_text, {id(node): expected}, span) == ""
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from prtoggle.edits.pattern_match import Bindings, Run
from prtoggle.edits.pattern_parse import Hole, Pattern, hole_at, run_in
from prtoggle.edits.pattern_tree import (
    Entry,
    Parameter,
    arguments_of,
    call_items,
    dotted_name,
    expression_of,
    fields_of,
    first_line,
    items_of,
    parameters,
    same_constant,
)
from prtoggle.edits.text import SourceText


class CannotStand(Exception):
    """A binding was put where nothing of its kind can stand."""


def substitute(put: Pattern, bound: Bindings) -> list[ast.stmt]:
    """The statements of ``put`` with its names replaced. Raises :class:`CannotStand`."""
    return _Substitution(put.holes, bound).block(list(put.body))


class _Substitution:
    def __init__(self, holes: Mapping[str, Hole], bound: Bindings) -> None:
        self.holes, self.bound = holes, bound

    def run(self, hole: Hole) -> Sequence[Any]:
        value = self.bound[hole.name]
        if not isinstance(value, Run):
            raise CannotStand(f"{hole} is one expression, not a run")
        return value.items

    def block(self, statements: list[Any]) -> list[Any]:
        made: list[Any] = []
        for statement in statements:
            hole = run_in(statement, self.holes)
            made += self.run(hole) if hole else [self.node(statement)]
        if any(not isinstance(each, (ast.stmt, ast.ExceptHandler, ast.match_case)) for each in made):
            raise CannotStand("a run of arguments stands where statements do")
        return made

    def items(self, items: Sequence[Any]) -> list[Any]:
        made: list[Any] = []
        for item in items:
            hole = run_in(item, self.holes)
            if hole:
                made += self.run(hole)
            elif isinstance(item, Parameter):
                made.append(
                    Parameter(item.stars, item.arg and self.node(item.arg), item.default and self.node(item.default))
                )
            elif isinstance(item, Entry):
                made.append(Entry(item.key and self.node(item.key), self.node(item.value)))
            else:
                made.append(self.node(item))
        return made

    def node(self, node: Any) -> Any:
        if isinstance(node, ast.Name) and (hole := hole_at(node, self.holes)):
            bound = self.bound[hole.name]
            if isinstance(bound, Run):
                raise CannotStand(f"{hole} is a run")
            return expression_of(bound) if isinstance(bound, str) else bound
        fields: dict[str, Any] = {}
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.arguments):
                value = self._arguments(parameters(value))
            elif isinstance(value, ast.AST):
                value = self.node(value)
            elif isinstance(value, str) and not isinstance(node, ast.Constant):
                value = self._identifier(value)
            elif isinstance(value, list) and field not in ("args", "bases", "keywords", "keys", "values", "elts"):
                value = self._list(value, field)
            elif isinstance(value, list) and not items_of(node):
                value = [self.node(each) for each in value]
            fields[field] = value
        if isinstance(node, (ast.Call, ast.ClassDef)):
            items = self.items(call_items(node))
            plain = "args" if isinstance(node, ast.Call) else "bases"
            fields[plain] = [item for item in items if not isinstance(item, ast.keyword)]
            fields["keywords"] = [item for item in items if isinstance(item, ast.keyword)]
        elif isinstance(node, ast.Dict):
            entries = self.items(items_of(node))
            fields["keys"], fields["values"] = [each.key for each in entries], [each.value for each in entries]
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            fields["elts"] = self.items(node.elts)
            if any(not isinstance(each, ast.expr) for each in fields["elts"]):
                raise CannotStand("a keyword argument stands where elements do")
        if isinstance(node, ast.AnnAssign):
            fields["simple"] = int(bool(node.simple) and isinstance(fields["target"], ast.Name))
        return type(node)(**fields)

    def _arguments(self, items: Sequence[Parameter]) -> ast.arguments:
        made = self.items(items)
        if any(not isinstance(each, Parameter) for each in made):
            raise CannotStand("a run of arguments stands where parameters do")
        try:
            return arguments_of(made)
        except ValueError as error:
            raise CannotStand(str(error)) from None

    def _list(self, values: list[Any], field: str) -> list[Any]:
        if field in ("body", "orelse", "finalbody", "handlers", "cases"):
            made = self.block(values)
            return made if made or not values else [ast.Pass()]
        return [
            self._identifier(each) if isinstance(each, str) else self.node(each) if isinstance(each, ast.AST) else each
            for each in values
        ]

    def _identifier(self, text: str) -> str:
        hole = hole_at(text, self.holes)
        if not hole:
            return text
        value = self.bound[hole.name]
        name = value if isinstance(value, str) else None if isinstance(value, Run) else dotted_name(value)
        if name is None:
            raise CannotStand(f"{hole} is not a name, and only a name can stand there")
        return name


Swaps = Mapping[int, Any]
"""What replaces a node, by its ``id``: an expression, or for the first of some statements ``(count, new ones)``."""


def same(expected: Any, actual: Any, swaps: Swaps | None = None) -> bool:
    """Whether two trees are the same syntax, with ``swaps`` made in the first."""
    return _Comparison(swaps or {}).same(expected, actual)


class _Comparison:
    """Compares trees; knows which statements are the same text at the same place, and so need no look inside."""

    def __init__(self, swaps: Swaps, unchanged: tuple[int, int, int] = (0, 0, 0)) -> None:
        self.swaps = swaps
        self.before, self.after, self.shift = unchanged

    def same(self, expected: Any, actual: Any) -> bool:
        stack: list[tuple[Any, Any]] = [(expected, actual)]
        one: Any
        other: Any
        while stack:
            one, other = stack.pop()
            if isinstance(one, ast.AST):
                swap = self.swaps.get(id(one))
                if isinstance(swap, ast.AST):
                    one = swap
                if type(one) is not type(other):
                    return False
                if isinstance(one, ast.Constant):
                    if not same_constant(one.value, other.value):
                        return False
                    continue
                if isinstance(one, ast.stmt) and self._untouched(one, other):
                    continue
                for field in fields_of(one):
                    # Follows from the target alone, which may have been swapped.
                    if field == "simple" and id(one.target) in self.swaps:
                        continue
                    stack.append((getattr(one, field, None), getattr(other, field, None)))
            elif isinstance(one, list):
                one = self._swapped(one)
                if not isinstance(other, list) or len(one) != len(other):
                    return False
                stack += zip(one, other, strict=True)
            elif not same_constant(one, other):
                return False
        return True

    def _swapped(self, items: list[Any]) -> list[Any]:
        for at, item in enumerate(items):
            swap = self.swaps.get(id(item))
            if isinstance(swap, tuple):
                count, statements = swap
                return [*items[:at], *statements, *items[at + count :]]
        return items

    def _untouched(self, one: ast.stmt, other: ast.stmt) -> bool:
        """Whether both are the same lines outside of what changed, at the same columns: then they parse to the same."""
        if not self.after or not hasattr(one, "lineno"):
            return False
        start, end = first_line(one), one.end_lineno or 0
        shift = 0 if end < self.before else self.shift if start > self.after else None
        return (
            shift is not None
            and (first_line(other), other.lineno, other.end_lineno) == (start + shift, one.lineno + shift, end + shift)
            and (other.col_offset, other.end_col_offset) == (one.col_offset, one.end_col_offset)
        )


def objection(source: SourceText, text: str, swaps: Swaps, changed: tuple[int, int]) -> str:
    """Why ``text`` has not the tree of ``source`` with ``swaps``, or nothing. ``changed`` is the span replaced."""
    first, last = source.line_of(changed[0]), source.line_of(max(changed[0], changed[1] - 1))
    shift = len(SourceText(text).lines) - len(source.lines)
    expected: ast.AST = source.tree
    inside = _definition_around(source.tree, first, last)
    try:
        if inside is None:
            tree: ast.AST = ast.parse(text)
        else:
            expected = inside
            tree = _parsed_alone(source, text, inside)
    except SyntaxError as error:
        return f"the edited text is not Python: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"the edited text cannot be parsed: {error!r}"
    agrees = _Comparison(swaps, (first, last, shift)).same(expected, tree)
    return "" if agrees else "the edited text would not be the tree with the substitution made"


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _definition_around(tree: ast.Module, first: int, last: int) -> _Definition | None:
    """The innermost definition that these lines stand in, below its first line: they change nothing outside it."""
    found: _Definition | None = None
    level: list[ast.AST] = [tree]
    while level:
        node = level.pop()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                continue
            if isinstance(child, ast.stmt) and not first_line(child) < first <= last <= (child.end_lineno or 0):
                continue
            if isinstance(child, _DEFINITIONS):
                found = child
            level.append(child)
    return found


def _parsed_alone(source: SourceText, text: str, definition: _Definition) -> ast.AST:
    """The definition's lines in the edited text, parsed for themselves: its own statement, at its own lines.

    It begins at the start of a line and ends before a line that is indented no deeper, so that neither what is before
    nor what follows can be read as a part of it, or it as a part of them, where it parses to one statement alone.
    """
    begin = first_line(definition)
    start, end = source.starts[begin - 1], source.starts[definition.end_lineno or 0]
    lines = text[start : end + len(text) - len(source.text)]
    above = "if 1:\n" if definition.col_offset else ""
    tree = ast.parse(above + lines)
    block, more = tree.body, tree.body[1:]
    if above and isinstance(tree.body[0], ast.If):
        block, more = tree.body[0].body, [*more, *tree.body[0].orelse]
    if more or len(block) != 1:
        raise SyntaxError("the definition would end early")
    ast.increment_lineno(tree, begin - 1 - bool(above))
    return block[0]
