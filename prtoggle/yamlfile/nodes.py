"""A YAML text as a tree of nodes that know where they stand, with all that our files do without refused.

Nothing is resolved: a scalar is its text, whatever YAML would make of it (``027360``, ``on``, ``2026-06-06``).
Anchors, aliases, tags, merge keys, several documents and duplicate keys are problems, each with its place, and all of
them are returned.

Example::

    tree = compose("fix: 027360\\n", "revert.yaml")
    key, value = tree.root.entries[0]
    (value.text, tree.place(value)) == ("027360", Place("revert.yaml", 1, 6))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.reader import Reader

from prtoggle.errors import MalformedError, Place, PrtoggleError, RefusedError

_LOADERS: tuple[Any, ...] = (*([yaml.CSafeLoader] if yaml.__with_libyaml__ else []), yaml.SafeLoader)
_DEEPEST = 20
_NO_ANCHORS = "anchors and aliases are not read here"
# YAML ends a line here, Python and editors do not: places and code would come out wrong.
_ODD_LINE_ENDS = "\x85\u2028\u2029"


@dataclass(frozen=True)
class Scalar:
    """A scalar as written. ``style`` is one of ``'``, ``"``, ``|``, ``>``, or empty for a plain one. Lines and columns
    count from 1; a block's place is that of its sign."""

    text: str
    style: str
    line: int
    column: int
    last_line: int


@dataclass(frozen=True)
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    line: int
    column: int


@dataclass(frozen=True)
class Mapping:
    """A mapping; its keys are scalars, each once."""

    entries: tuple[tuple[Scalar, Node], ...]
    line: int
    column: int


Node = Scalar | Sequence | Mapping


@dataclass(frozen=True)
class Tree:
    """A composed text: its root, what is wrong with it so far, and the way back from nodes to places.

    ``root`` is None for an empty text. ``first_line`` is the line of ``name`` that the text starts at, for a text
    inside another file.
    """

    name: str
    lines: tuple[str, ...]
    root: Node | None
    problems: tuple[PrtoggleError, ...]
    first_line: int = 1

    def place(self, node: Node) -> Place:
        """Where ``node`` starts."""
        return self._at(node.line, node.column)

    def place_in(self, scalar: Scalar, line: int, column: int) -> Place:
        """Where line ``line``, column ``column`` (both from 1) of the scalar's text stands in the file; the scalar's
        own place where its style does not allow to say."""
        raw = self.lines[scalar.line - 1] if scalar.line <= len(self.lines) else ""
        if scalar.style == "|":
            at = scalar.line + line
            wanted = scalar.text.split("\n")[line - 1 : line] or [""]
            if at > len(self.lines):
                return self.place(scalar)
            here = self.lines[at - 1]
            return self._at(at, (len(here) - len(wanted[0]) if here.endswith(wanted[0]) else 0) + column)
        if line == 1 and scalar.line == scalar.last_line:
            if scalar.style == "":
                return self._at(scalar.line, scalar.column + column - 1)
            if scalar.style == "'":
                at = scalar.column  # an index from 0: the character behind the quote
                for _ in range(column - 1):
                    at += 2 if raw[at : at + 2] == "''" else 1
                return self._at(scalar.line, at + 1)
        return self.place(scalar)

    def _at(self, line: int, column: int) -> Place:
        return Place(self.name, line + self.first_line - 1, column)


def decode(data: bytes, name: str) -> str:
    """``data`` as text, or MalformedError with the place of the first byte that is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        start = data.rfind(b"\n", 0, error.start) + 1
        line = data.count(b"\n", 0, error.start) + 1
        column = len(data[start : error.start].decode("utf-8", "replace").lstrip("\ufeff")) + 1
        place = Place(name, line, column)
        byte = data[error.start]
        raise MalformedError(
            (RefusedError(f"byte 0x{byte:02x} is not UTF-8, expected UTF-8 text", place=place),)
        ) from None


def compose(text: str, name: str, *, first_line: int = 1) -> Tree:
    """The tree of ``text``. What cannot be read as YAML at all raises MalformedError; the rest stands in
    ``problems``."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = tuple(text.split("\n"))
    _refuse_odd_characters(text, name, first_line)
    error: yaml.MarkedYAMLError | None = None
    for loader in _LOADERS:
        builder = _Builder(name, lines, first_line)
        try:
            root = builder.document(yaml.parse(text, Loader=loader))
            return Tree(name, lines, root, tuple(builder.problems), first_line)
        except yaml.MarkedYAMLError as found:  # the last loader's words are the clearer ones
            error, opened = found, list(builder.opened)
    assert error is not None
    raise MalformedError((_explained(error, opened, lines, name, first_line),))


def _refuse_odd_characters(text: str, name: str, first_line: int) -> None:
    found = Reader.NON_PRINTABLE.search(text)
    odd = [found.start()] if found else []
    odd += [text.index(sign) for sign in _ODD_LINE_ENDS if sign in text]
    if odd:
        at = min(odd)
        line = text.count("\n", 0, at)
        place = Place(name, line + first_line, at - (text.rfind("\n", 0, at) + 1) + 1)
        raise MalformedError(
            (RefusedError(f"character U+{ord(text[at]):04X}, which cannot stand in this file", place=place),)
        )


def _explained(
    error: yaml.MarkedYAMLError, opened: list[tuple[str, int, int]], lines: tuple[str, ...], name: str, first_line: int
) -> PrtoggleError:
    """A syntax error in words of ours where PyYAML's do not help."""
    mark, context = error.problem_mark, error.context_mark
    mark = mark or context
    line, column = (mark.line, mark.column) if mark else (0, 0)
    what, hint = f"not YAML: {error.problem}", ""
    here = lines[line] if line < len(lines) else ""
    value = here.partition(":")[2].strip()
    if "\t" in here[: len(here) - len(here.lstrip())] or here[column : column + 1] == "\t":
        column = here.index("\t")
        what = "a tab, expected spaces (YAML indents with spaces)"
    elif value.startswith(">") and value[1:2] in ("=", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"):
        column = here.index(value, here.index(":"))
        what, hint = f"not YAML: a text that starts with '>' stands in quotes, expected '{value}'", ""
    elif context is not None and "end of stream" in (error.problem or "") and "quoted" in (error.context or ""):
        line, column = context.line, context.column
        what = f"not YAML: the {lines[line][column]} is not closed"
    elif opened and (opened[-1][1] < line or "<stream end>" in (error.problem or "")):
        sign, opened_line, column = opened[-1]
        end = not "".join((here[mark.column if mark else 0 :], *lines[line + 1 :])).strip()
        what = f"not YAML: the {sign} is not closed" + ("" if end else f" where line {line + first_line} starts")
        line = opened_line
    elif "not allowed here" in (error.problem or ""):
        what, hint = (
            "not YAML: a second ':' in one line, or a line that is indented too far",
            "put text that holds ': ' in quotes",
        )
    return RefusedError(what, place=Place(name, line + first_line, column + 1), hint=hint)


class _Builder:
    """Builds nodes from events. One builder reads one text."""

    def __init__(self, name: str, lines: tuple[str, ...], first_line: int) -> None:
        self.name = name
        self.lines = lines
        self.first_line = first_line
        self.problems: list[PrtoggleError] = []
        self.opened: list[tuple[str, int, int]] = []

    def document(self, events: Iterator[Any]) -> Node | None:
        root: Node | None = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents == 2:
                    self._bad(event, "a second document starts here, expected one")
            elif isinstance(event, yaml.NodeEvent):
                node = self._node(event, events, 1)
                root = node if documents == 1 else root
        return None if isinstance(root, Scalar) and root.style == "" and root.text == "" else root

    def _bad(self, event: Any, what: str, hint: str = "") -> None:
        mark = event.start_mark
        place = Place(self.name, mark.line + self.first_line, mark.column + 1)
        self.problems.append(RefusedError(what, place=place, hint=hint))

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        line, column, last_line = event.start_mark.line + 1, event.start_mark.column + 1, event.end_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            self._bad(event, f"an alias '*{event.anchor}', expected the thing itself", _NO_ANCHORS)
            return Scalar("", "'", line, column, line)
        if event.anchor is not None:
            self._bad(event, f"an anchor '&{event.anchor}', expected none", _NO_ANCHORS)
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._bad(event, f"a tag '{tag}', expected none", "every scalar is text here; the field says what it means")
        if isinstance(event, yaml.ScalarEvent):
            return Scalar(event.value, event.style or "", line, column, last_line)
        if depth > _DEEPEST:
            place = Place(self.name, line - 1 + self.first_line, column)
            raise MalformedError((RefusedError(f"nested more than {_DEEPEST} deep", place=place),))
        sign = self.lines[line - 1][column - 1 : column] if event.flow_style and line <= len(self.lines) else ""
        if sign in ("[", "{"):  # not the mapping without braces that a ':' makes inside a list
            self.opened.append((sign, line - 1, column - 1))
        node = (
            self._sequence(events, depth, line, column)
            if isinstance(event, yaml.SequenceStartEvent)
            else self._mapping(events, depth, line, column)
        )
        if sign in ("[", "{"):
            self.opened.pop()
        return node

    def _sequence(self, events: Iterator[Any], depth: int, line: int, column: int) -> Sequence:
        items = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._node(event, events, depth + 1))
        return Sequence(tuple(items), line, column)

    def _mapping(self, events: Iterator[Any], depth: int, line: int, column: int) -> Mapping:
        entries: dict[str, tuple[Scalar, Node]] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            key = self._node(event, events, depth + 1)
            value = self._node(next(events), events, depth + 1)
            if not isinstance(key, Scalar):
                self._bad(event, "a list or mapping as a key, expected a name")
            elif isinstance(event, yaml.AliasEvent):
                pass
            elif key.text == "<<" and key.style == "":
                self._bad(event, "a merge key '<<', expected the fields themselves", _NO_ANCHORS)
            elif key.text in entries:
                first = entries[key.text][0].line - 1 + self.first_line
                self._bad(event, f"duplicate key '{key.text}', expected each once (first in line {first})")
            else:
                entries[key.text] = (key, value)
        return Mapping(tuple(entries.values()), line, column)
