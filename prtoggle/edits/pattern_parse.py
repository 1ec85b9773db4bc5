"""From a pattern's text to its syntax tree with named places.

Python's tokenizer does not take ``$``, so a small scanner finds the names (never inside a string or a comment) and puts
an identifier in the place of each; where an identifier cannot stand (behind ``k=1`` in a call, in a dict), a run is
written as ``NAME=0`` or ``**NAME``. Every name must then turn up in the tree at a place that it can stand for.

Example::

    pattern = parse("f($X, $...REST)")
    pattern.is_expression and sorted(pattern.names) == ["REST", "X"]
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal

from prtoggle.edits.pattern_tree import Entry, Parameter, items_of
from prtoggle.edits.text import SourceText

Kind = Literal["expression", "name", "arguments", "elements", "entries", "parameters", "statements"]

_FORMS = ("{}", "{}=0", "**{}")
_STRING = (
    r"""'''(?:\\.|[^\\])*?(?:'''|\Z)|\"\"\"(?:\\.|[^\\])*?(?:\"\"\"|\Z)|'(?:\\.|[^\\\n'])*'?|"(?:\\.|[^\\\n"])*"?"""
)
_TOKEN = re.compile(
    rf"(?P<skipped>\#[^\n]*|(?P<prefix>[A-Za-z]*)(?:{_STRING}))|\$(?P<run>\.\.\.)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)?",
    re.S,
)
_IN_F_STRING = re.compile(r"(?<!\{)(?:\{\{)*\{[^{}]*\$")


class PatternSyntaxError(ValueError):
    """What is wrong with a pattern. ``line`` and ``column`` count from 1 in the pattern's text.

    ``field`` is ``find``, ``put`` or ``unfixed`` where that is known.
    """

    def __init__(self, what: str, line: int = 1, column: int = 1, hint: str = "", field: str = "") -> None:
        super().__init__(f"{line}:{column}: {what}" + (f" (hint: {hint})" if hint else ""))
        self.what, self.line, self.column, self.hint, self.field = what, line, column, hint, field


@dataclass(frozen=True)
class Hole:
    """One ``$X`` or ``$...X``; ``mark`` is the identifier that stands for it, ``code`` how it is in the code."""

    name: str
    run: bool
    mark: str
    start: int
    length: int
    code: str = ""
    kind: Kind = "expression"

    def __str__(self) -> str:
        return ("$..." if self.run else "$") + self.name


@dataclass(frozen=True)
class Pattern:
    """A pattern: its tree, either one expression or statements, and the names in it.

    ``code`` is Python (with marks in place of names) and ``source`` the same with offsets; ``body`` is of that tree.
    """

    text: str
    code: str
    body: tuple[ast.stmt, ...] = field(compare=False)
    holes: Mapping[str, Hole] = field(compare=False)

    @cached_property
    def source(self) -> SourceText:
        return SourceText(self.code)

    @cached_property
    def expression(self) -> ast.expr | None:
        """The expression that the whole pattern is, or None if it is statements."""
        only = self.body[0] if len(self.body) == 1 else None
        if not isinstance(only, ast.Expr) or run_in(only, self.holes):
            return None
        return only.value

    @property
    def is_expression(self) -> bool:
        return self.expression is not None

    @cached_property
    def names(self) -> dict[str, Kind]:
        """Each name, and the kind of thing it binds where it stands first."""
        kinds: dict[str, Kind] = {}
        for hole in self.holes.values():
            kinds.setdefault(hole.name, hole.kind)
        return kinds

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        """Identifiers that the text of every match contains (as Python normalises them)."""
        found: dict[str, None] = {}
        for statement in self.body:
            for node in ast.walk(statement):
                for name, value in ast.iter_fields(node):
                    if name in ("type_comment", "kind") or isinstance(node, ast.Constant):
                        continue
                    for text in value if isinstance(value, list) else [value]:
                        if isinstance(text, str):
                            parts = [part for part in text.split(".") if part.isidentifier()]
                            found.update(dict.fromkeys(part for part in parts if not self._marked(part)))
        return tuple(found)

    def _marked(self, text: str) -> bool:
        return any(mark in text for mark in self.holes)


def run_in(node: object, holes: Mapping[str, Hole]) -> Hole | None:
    """The ``$...X`` that an item of a list is, else None."""
    value: object = None
    if isinstance(node, ast.Expr):
        value = node.value
    elif isinstance(node, ast.keyword):
        value = node.arg
    elif isinstance(node, Parameter):
        value = node.arg.arg if node.arg and not node.stars else None
    elif isinstance(node, Entry):
        value = node.value if node.key is None else None
    else:
        value = node
    hole = holes.get(value.id if isinstance(value, ast.Name) else value) if isinstance(value, (ast.Name, str)) else None
    return hole if hole and hole.run else None


def hole_at(node: object, holes: Mapping[str, Hole]) -> Hole | None:
    """The ``$X`` that an expression or an identifier is, else None."""
    key = node.id if isinstance(node, ast.Name) else node
    hole = holes.get(key) if isinstance(key, str) else None
    return hole if hole and not hole.run else None


@lru_cache(maxsize=4096)
def parse(text: str) -> Pattern:
    """The pattern that ``text`` is. Raises :class:`PatternSyntaxError`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\n" not in text.strip("\n"):
        text = text.strip()
    if not text.strip():
        raise PatternSyntaxError("the pattern is empty")
    holes = tuple(_scan(text))
    first_error: PatternSyntaxError | None = None
    runs = sum(hole.run for hole in holes)
    # Their number is a power of that of the runs: of many runs only the plain form is tried.
    every = itertools.product(range(len(_FORMS)), repeat=runs) if runs <= 5 else ()
    forms = sorted(every, key=lambda choice: sum(map(bool, choice)))
    for choice in itertools.chain([tuple([0] * runs)], forms[1:]):
        try:
            return _parse(text, holes, choice)
        except PatternSyntaxError as error:
            first_error = first_error or error
    assert first_error
    raise first_error


def _scan(text: str) -> Iterator[Hole]:
    """The names in ``text``. Strings and comments are stepped over."""
    tag = "prtoggle_hole"
    while tag in text:
        tag += "_"
    for number, token in enumerate(_TOKEN.finditer(text)):
        if token["skipped"] is not None:
            if (token["prefix"] or "").lower() in ("f", "fr", "rf") and _IN_F_STRING.search(token[0]):
                raise PatternSyntaxError(
                    "nothing matches inside an f-string", *place(text, token.start()), hint="match the whole f-string"
                )
            continue
        at = token.start()
        if not token["name"]:
            raise PatternSyntaxError(
                "a $ without a name",
                *place(text, at),
                hint="$X is one expression, $...X a run of arguments or statements",
            )
        if (at and (text[at - 1].isalnum() or text[at - 1] in "_$")) or text[token.end() : token.end() + 1] == "$":
            raise PatternSyntaxError(f"{token[0]} touches what stands beside it", *place(text, at))
        yield Hole(token["name"], bool(token["run"]), f"{tag}_{number}_", at, len(token[0]))


def _parse(text: str, holes: tuple[Hole, ...], choice: tuple[int, ...]) -> Pattern:
    pieces, at, forms = [], 0, iter(choice)
    made = []
    for hole in holes:
        form = _FORMS[next(forms)] if hole.run else _FORMS[0]
        hole = replace(hole, code=form.format(hole.mark))
        pieces += [text[at : hole.start], hole.code]
        at = hole.start + hole.length
        made.append(hole)
    code = "".join([*pieces, text[at:]])
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        # `x := 1`, and an expression over several lines without parentheses, are expressions too.
        try:
            inner = f"({code}\n)"
            body = ast.parse(inner).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            body = []
        if (
            len(body) != 1
            or not isinstance(body[0], ast.Expr)
            or isinstance(body[0].value, (ast.Tuple, ast.GeneratorExp))
        ):
            raise _translated(error, text, code, made) from None
        code = inner
    if not body:
        raise PatternSyntaxError("the pattern has no code, only comments")
    marks = {hole.mark: hole for hole in made}
    kinds = dict(_kinds(body, marks))
    for hole in made:
        if hole.mark not in kinds:
            wanted = "one expression or name stands" if hole.run else "no name can stand"
            hint = "a run stands for arguments, elements, parameters or statements" if hole.run else ""
            raise PatternSyntaxError(f"{hole} cannot stand here: {wanted}", *place(text, hole.start), hint=hint)
    return Pattern(text, code, tuple(body), {mark: replace(hole, kind=kinds[mark]) for mark, hole in marks.items()})


def _kinds(body: list[ast.stmt], holes: Mapping[str, Hole]) -> Iterator[tuple[str, Kind]]:
    """Each mark found at a place where it can stand, with its kind."""
    for node in ast.walk(ast.Module(body=body, type_ignores=[])):
        for statement in _statements(node):
            if hole := run_in(statement, holes) if isinstance(statement, ast.Expr) else None:
                yield hole.mark, "statements"
        for item in items_of(node):
            if hole := run_in(item, holes):
                if isinstance(node, (ast.Call, ast.ClassDef)):
                    yield hole.mark, "arguments"
                elif isinstance(node, ast.Dict):
                    if hole.code.startswith("**"):
                        yield hole.mark, "entries"
                else:
                    yield hole.mark, "elements" if isinstance(item, ast.expr) else "parameters"
        if isinstance(node, ast.Name):
            if hole := hole_at(node, holes):
                yield hole.mark, "expression"
        elif not isinstance(node, ast.Constant):
            for _, value in ast.iter_fields(node):
                for text in value if isinstance(value, list) else [value]:
                    if hole := hole_at(text, holes) if isinstance(text, str) else None:
                        yield hole.mark, "name"


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    for _, value in ast.iter_fields(node):
        if isinstance(value, list):
            yield from (item for item in value if isinstance(item, ast.stmt))


def place(text: str, at: int) -> tuple[int, int]:
    """Line and column, from 1, of an offset."""
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1


def _translated(error: Exception, text: str, code: str, holes: list[Hole]) -> PatternSyntaxError:
    """Python's error in ``code``, at its place in ``text``."""
    if not isinstance(error, SyntaxError):
        return PatternSyntaxError(f"cannot be parsed: {error}")
    lines = code.split("\n")
    row = min(max(error.lineno or 1, 1), len(lines))
    at = sum(len(line) + 1 for line in lines[: row - 1]) + max((error.offset or 1) - 1, 0)
    shift = 0
    for hole in holes:
        start = hole.start + shift
        if at < start:
            break
        if at < start + len(hole.code):
            at = start
            break
        shift += len(hole.code) - hole.length
    at = min(max(at - shift, 0), len(text))
    what = error.msg
    for hole in holes:
        what = what.replace(hole.mark, str(hole))
    hint = ""
    if isinstance(error, IndentationError) and text[:1] in " \t":
        at, hint = len(text) - len(text.lstrip()), "the pattern's first line must not be indented"
    return PatternSyntaxError(f"not Python: {what}", *place(text, at), hint=hint)
