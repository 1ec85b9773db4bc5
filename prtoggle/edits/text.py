"""A module's source text, with what is needed to edit it and to write it back byte for byte.

Offsets are character offsets into :attr:`SourceText.text`, lines count from 1 as in :mod:`ast`. Line ends stay as they
are in the file; only ``\\n``, ``\\r\\n`` and ``\\r`` end a line (not form feeds, not U+2028), which is what the
tokenizer does.

Example::

    source = SourceText.decode(b"x = 1\\r\\ny = 2\\r\\n")
    source.lines == ("x = 1\\r\\n", "y = 2\\r\\n")
    source.encode(source.text) == b"x = 1\\r\\ny = 2\\r\\n"
"""

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize
import warnings
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")


@dataclass(frozen=True)
class SourceText:
    """Decoded source. Raises SyntaxError or UnicodeDecodeError from :meth:`decode` where Python itself would."""

    text: str
    encoding: str = "utf-8"
    bom: bool = False

    @classmethod
    def decode(cls, data: bytes) -> SourceText:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        bom = data.startswith(codecs.BOM_UTF8)
        if bom:
            data, encoding = data[len(codecs.BOM_UTF8) :], "utf-8"
        return cls(data.decode(encoding), encoding, bom)

    def encode(self, text: str) -> bytes:
        """``text`` as bytes of this file: same encoding, same byte order mark."""
        return (codecs.BOM_UTF8 if self.bom else b"") + text.encode(self.encoding)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """All lines with their line ends."""
        return tuple(_LINE.findall(self.text))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Offset of the first character of each line, and of the end of the text."""
        total, starts = 0, []
        for line in self.lines:
            starts.append(total)
            total += len(line)
        return (*starts, total)

    @cached_property
    def newline(self) -> str:
        """The line end used most in this file; ``\\n`` when there is none."""
        counts = {end: sum(line.endswith(end) for line in self.lines) for end in ("\r\n", "\n", "\r")}
        counts["\n"] -= counts["\r\n"]
        best = max(counts, key=lambda end: counts[end])
        return best if counts[best] else "\n"

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree. Raises SyntaxError (ValueError for a null byte) as ``compile`` does."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a target's text warns of is between it and its own compilation
            return ast.parse(self.text)

    def line(self, number: int) -> str:
        """Line ``number`` (from 1) without its line end."""
        return self.lines[number - 1].rstrip("\r\n") if 0 < number <= len(self.lines) else ""

    def offset(self, line: int, column: int) -> int:
        """Offset of an :mod:`ast` position: ``line`` from 1, ``column`` in UTF-8 bytes."""
        start = self.starts[line - 1]
        if column == 0:
            return start
        text = self.lines[line - 1]
        if text.isascii():
            return start + column
        return start + len(text.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "surrogatepass"))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Start and end offset of a node (decorators not included)."""
        return (
            self.offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self.offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def line_of(self, offset: int) -> int:
        """The line (from 1) that holds ``offset``."""
        return min(bisect_right(self.starts, offset), max(len(self.lines), 1))

    def with_newlines(self, text: str) -> str:
        """``text``, written with ``\\n``, with this file's line ends."""
        return text if self.newline == "\n" else text.replace("\n", self.newline)
