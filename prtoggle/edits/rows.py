"""Lines of code that know whether they begin inside a string literal: what indentation may touch, and what it may not.

A :class:`Row` that begins inside a multi-line string belongs to that string, byte for byte; all others have an
indentation that may be compared relatively and changed. :func:`source_rows` takes rows from a module that parses,
:func:`fragment_rows` from any piece of code, however torn.

Example::

    rows = fragment_rows('x = \"\"\"\\n  a\\n\"\"\"')
    [row.inside for row in rows] == [False, True, True]
"""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from prtoggle.edits.text import SourceText

BLANK = " \t\f"
"""What Python takes for white space within a line. Not U+00A0, not U+2028."""

_MAY_SPAN = re.compile(r"'''|\"\"\"|\\(?:\r\n|\r|\n)|[fFtT][rR]?['\"]")
_F_STARTS = {getattr(tokenize, name) for name in ("FSTRING_START", "TSTRING_START") if hasattr(tokenize, name)}
_F_ENDS = {getattr(tokenize, name) for name in ("FSTRING_END", "TSTRING_END") if hasattr(tokenize, name)}
_LITERAL = re.compile(
    r"#[^\n]*"
    r"|'''(?:\\.|[^\\])*?(?:'''|\Z)"
    r'|"""(?:\\.|[^\\])*?(?:"""|\Z)'
    r"|'(?:\\.|[^\\\n'])*'?"
    r'|"(?:\\.|[^\\\n"])*"?',
    re.DOTALL,
)


@dataclass(frozen=True)
class Row:
    """One line without its line end; ``inside``: it begins inside a string literal."""

    text: str
    inside: bool = False

    @property
    def blank(self) -> bool:
        """A blank line of code (a blank line within a string is none)."""
        return not self.inside and not self.text.strip(BLANK)


def source_rows(source: SourceText, first: int, last: int) -> list[Row]:
    """Lines ``first`` to ``last`` of a module that parses; ``first`` must not begin inside a string."""
    lines = [line.rstrip("\r\n") for line in source.lines[first - 1 : last]]
    return [Row(text, inside) for text, inside in zip(lines, _flags(tuple(lines)), strict=True)]


def fragment_rows(text: str) -> list[Row]:
    """The lines of a piece of code, blank ones at its start and end left out."""
    lines = split(text)
    while lines and not lines[0].strip(BLANK):
        del lines[0]
    while lines and not lines[-1].strip(BLANK):
        del lines[-1]
    return [Row(line, inside) for line, inside in zip(lines, _flags(tuple(lines)), strict=True)]


def split(text: str) -> list[str]:
    """Lines as the tokenizer sees them: form feeds and U+2028 end none."""
    lines = re.split(r"\r\n|\r|\n", text)
    return lines[:-1] if lines[-1] == "" else lines


def indent_of(text: str) -> str:
    """The white space that a line begins with. A form feed starts the count anew, as it does for the tokenizer."""
    return text[: len(text) - len(text.lstrip(BLANK))].rpartition("\f")[2]


def margin_of(rows: Iterable[Row]) -> str:
    """The indentation that all lines of code share."""
    indents = {indent_of(row.text) for row in rows if not row.inside and not row.blank}
    low, high = min(indents, default=""), max(indents, default="")
    shared = 0
    while shared < len(low) and low[shared] == high[shared]:
        shared += 1
    return low[:shared]


def tabbed(rows: Sequence[Row]) -> bool:
    """Whether most indented lines are indented by tabs."""
    indents = [indent for row in rows if not row.inside and not row.blank and (indent := indent_of(row.text))]
    return sum(indent[0] == "\t" for indent in indents) * 2 > len(indents)


def unit_of(*fragments: Sequence[Row]) -> int:
    """How many spaces make one level in fragments that are indented by spaces; 0 where tabs occur, or no level."""
    levels = []
    for rows in fragments:
        margin = margin_of(rows)
        for row in rows:
            if row.inside or row.blank:
                continue
            relative = indent_of(row.text)[len(margin) :]
            if "\t" in relative:
                return 0
            if relative:
                levels.append(len(relative))
    return min(levels, default=0)


def to_tabs(relative: str, unit: int) -> str:
    """A relative indentation of spaces, written with one tab for each level."""
    if not unit or "\t" in relative:
        return relative
    return "\t" * (len(relative) // unit) + " " * (len(relative) % unit)


def placed(rows: Sequence[Row], base: str, unit: int = 0) -> list[Row]:
    """Rows dedented and put at ``base``; lines within strings stay as they are. ``unit``: write levels as tabs."""
    margin = len(margin_of(rows))
    result = []
    for row in rows:
        if row.inside:
            result.append(row)
        elif row.blank:
            result.append(Row(""))
        else:
            relative = indent_of(row.text)[margin:]
            result.append(Row(base + (to_tabs(relative, unit) if unit else relative) + row.text.lstrip(BLANK)))
    return result


@lru_cache(maxsize=64)
def _flags(lines: tuple[str, ...]) -> tuple[bool, ...]:
    """For each line whether it begins inside a string literal."""
    flags = [False] * len(lines)
    text = "\n".join(lines)
    if not _MAY_SPAN.search(text):
        return tuple(flags)
    for first, last in _spans(lines, text):
        for line in range(first, min(last, len(lines))):
            flags[line] = True
    return tuple(flags)


def _spans(lines: Sequence[str], text: str) -> list[tuple[int, int]]:
    """First and last line (from 1) of every string literal."""
    spans: list[tuple[int, int]] = []
    starts: list[int] = []
    feed = (line + "\n" for line in lines)
    try:
        for token in tokenize.generate_tokens(lambda: next(feed, "")):
            if token.type == tokenize.STRING:
                spans.append((token.start[0], token.end[0]))
            elif token.type in _F_STARTS:
                starts.append(token.start[0])
            elif token.type in _F_ENDS:
                spans.append((starts.pop(), token.end[0]))
        return spans
    except (tokenize.TokenError, SyntaxError, IndexError):
        # A torn fragment (an unmatched bracket, a dedent to nowhere). Scan it for literals only.
        counts = [0]
        for line in lines:
            counts.append(counts[-1] + len(line) + 1)
        return [
            (text.count("\n", 0, found.start()) + 1, text.count("\n", 0, found.end()) + 1)
            for found in _LITERAL.finditer(text)
        ]
