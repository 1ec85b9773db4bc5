"""Changes to one module's text, collected and then made together; everything outside them stays byte for byte.

Example::

    sheet = Sheet(parsed)
    sheet.take_out(statement)
    sheet.written()                  # the text without it; ``pass`` where its block is left empty
"""

from __future__ import annotations

from collections.abc import Sequence

from prtoggle.port.fragments import Untellable, blanks, own_lines
from prtoggle.port.syntax import Parsed, Statement


class Sheet:
    """Not for use by several threads, as nothing here."""

    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed
        self._out: dict[Statement, None] = {}
        self._beside: list[tuple[Statement, int, str]] = []
        self._spans: list[tuple[int, int, str]] = []

    def mark(self) -> tuple[int, int, int]:
        """How much is on the sheet."""
        return len(self._out), len(self._beside), len(self._spans)

    def back_to(self, mark: tuple[int, int, int]) -> None:
        """Drop what was put on the sheet since :meth:`mark`."""
        for statement in list(self._out)[mark[0] :]:
            del self._out[statement]
        del self._beside[mark[1] :]
        del self._spans[mark[2] :]

    def take_out(self, statement: Statement) -> None:
        """Take a statement out."""
        self._out.setdefault(statement)

    def put(self, beside: Statement, side: int, text: str) -> None:
        """Put whole lines before (-1) or behind (+1) a statement."""
        self._beside.append((beside, side, text))

    def write(self, start: int, end: int, text: str) -> None:
        """Write ``text`` in place of a span."""
        self._spans.append((start, end, text))

    def indent_at(self, statement: Statement) -> str:
        """The indentation of the block that holds the statement."""
        return blanks(self.parsed.source.line(statement.line))

    def written(self) -> str:
        """The text with all changes made. Raises :class:`Untellable` where two of them meet."""
        source = self.parsed.source
        edits: list[tuple[int, int, int, str]] = [(start, end, 0, text) for start, end, text in self._spans]
        for statement in self._out:
            if any(parent in self._out for parent in _parents(statement)):
                continue
            top, bottom = own_lines(source, statement.node, statement.node)
            start, end = source.starts[top - 1], source.starts[bottom]
            text = ""
            if self._empties(statement):
                text = source.with_newlines(self.indent_at(statement) + "pass\n")
            edits.append((start, end, 1, text))
        for number, (beside, side, text) in enumerate(self._beside):
            top, bottom = own_lines(source, beside.node, beside.node)
            at = source.starts[bottom] if side > 0 else source.starts[top - 1]
            text = source.with_newlines(text)
            if side > 0 and at and source.text[at - 1] not in "\r\n":
                text = source.newline + text.rstrip("\r\n")
            edits.append((at, at, -1000 + number, text))
        return _made(source.text, edits)

    def _empties(self, statement: Statement) -> bool:
        """Whether ``pass`` has to stand for the statement: the last of a block of which nothing is left."""
        block = statement.siblings
        if any(other not in self._out for other in block) or statement is not block[-1]:
            return False
        if statement.parent is None and statement.unit.root is None and not statement.unit.qualname:
            return False
        return not any(beside in block for beside, _, _ in self._beside)


def _parents(statement: Statement) -> list[Statement]:
    found = []
    while statement.parent is not None:
        statement = statement.parent
        found.append(statement)
    return found


def _made(text: str, edits: Sequence[tuple[int, int, int, str]]) -> str:
    pieces, at = [], 0
    for start, end, _, new in sorted(edits, key=lambda edit: (edit[0], edit[2] >= 0, edit[1], edit[2])):
        if start < at:
            raise Untellable("two of the changes meet at one place", text.count("\n", 0, start) + 1)
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])
