"""What the tokenizer knows and the syntax tree does not: comments, lines inside strings, how deep a line is indented.

Each function takes a piece of text that can be tokenized on its own, and answers with nothing where that is not so; no
caller relies on an answer for the meaning of the result, which is checked on its own.

Example::

    comments_in(source, *source.span(node), statements=False)   # [(offset, "# why")]
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from prtoggle.edits.text import SourceText

_STARTS = tuple(getattr(tokenize, name) for name in ("FSTRING_START", "TSTRING_START") if hasattr(tokenize, name))
_ENDS = tuple(getattr(tokenize, name) for name in ("FSTRING_END", "TSTRING_END") if hasattr(tokenize, name))


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """Tokens of ``text`` (lines ended by ``\\n``) up to the first error."""
    try:
        yield from tokenize.generate_tokens(io.StringIO(text, newline="\n").readline)
    except (tokenize.TokenError, SyntaxError):
        return


def unix(text: str) -> str:
    """``text`` with ``\\n`` at the end of each line."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def comments_in(source: SourceText, start: int, end: int, *, statements: bool) -> list[tuple[int, str]]:
    """Offset and text of each comment in ``source.text[start:end]``, whole statements or one whole expression."""
    if "#" not in source.text[start:end]:
        return []
    line = source.line_of(start)
    left = source.starts[line - 1]
    if statements:
        text = source.text[left:start] + unix(source.text[start:end]) + "\n"
    else:
        text, left = "(" + unix(source.text[start:end]) + "\n)", start - 1
    return [(at, comment) for at, comment in _comments(source, text, line, left) if start <= at < end]


def _comments(source: SourceText, text: str, line: int, left: int) -> list[tuple[int, str]]:
    found = []
    for token in _tokens(text):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            found.append(((left if row == 1 else source.starts[line + row - 2]) + column, token.string))
    return found


@dataclass(frozen=True)
class Line:
    """One line: its leading blanks, whether a statement starts in it and how deep, whether it starts in a string."""

    indent: str
    depth: int
    starts: bool
    in_string: bool
    blank: bool


def lines_of(text: str) -> list[Line]:
    """The lines of ``text`` (statements, lines ended by ``\\n``)."""
    rows = text.split("\n")
    depths: dict[int, int] = {}
    comments: set[int] = set()
    strings: set[int] = set()
    depth, fresh = 0, True
    opened: list[int] = []
    for token in _tokens(text + "\n"):
        if token.type in _STARTS:
            opened.append(token.start[0])
        elif token.type in _ENDS and opened:
            strings.update(range(opened.pop() + 1, token.end[0] + 1))
        elif token.type == tokenize.STRING:
            strings.update(range(token.start[0] + 1, token.end[0] + 1))
        if token.type == tokenize.INDENT:
            depth += 1
        elif token.type == tokenize.DEDENT:
            depth -= 1
        elif token.type == tokenize.NEWLINE:
            fresh = True
        elif token.type == tokenize.COMMENT:
            if not text.split("\n")[token.start[0] - 1][: token.start[1]].strip():
                comments.add(token.start[0])
        elif token.type not in (tokenize.NL, tokenize.ENDMARKER) and fresh:
            depths.setdefault(token.start[0], depth)
            fresh = False
    made, current = [], 0
    for number, row in enumerate(rows, 1):
        indent = row[: len(row) - len(row.lstrip(" \t\f"))]
        current = depths.get(number, current)
        deep = current
        if number in comments:
            following = min((other for other in depths if other > number), default=0)
            for other in (following, *(other for other in depths if other < number)):
                other_row = rows[other - 1] if other else ""
                if other and other_row[: len(other_row) - len(other_row.lstrip(" \t\f"))] == indent:
                    deep = depths[other]
                    break
        made.append(Line(indent, deep, number in depths or number in comments, number in strings, not row.strip()))
    return made
