"""Many replacements of one original text, made together.

All offsets refer to the original. What overlaps is a :class:`Conflict` that names both owners, and so are two
insertions at one point; an insertion at the border of a replaced range is none, and the same replacement asked for
twice is made once. New text gets the file's line ends; whether the file ends with a line end stays as it was. A block
that loses all its statements gets ``pass``, unless its header goes too.

Example::

    combine(SourceText("if a:\\n    x = 1\\n"), [("27360/slice", Replacement(6, 16, ""))]) == "if a:\\n    pass\\n"
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from prtoggle.edits.outcome import Replacement
from prtoggle.edits.rows import BLANK, indent_of, split
from prtoggle.edits.scope import first_line
from prtoggle.edits.text import SourceText

_COLON = re.compile(
    r"#[^\r\n]*|'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^\\\n'])*'|\"(?:\\.|[^\\\n\"])*\"|(?P<colon>:)",
    re.DOTALL,
)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_HEADER_END = re.compile(r":[ \t\f]*(?:#[^\n]*)?$")


@dataclass(frozen=True)
class Conflict:
    """Two owners' replacements that cannot both be made; ``line`` is where they meet."""

    first: str
    second: str
    line: int
    reason: str


@dataclass(frozen=True)
class _Block:
    """A statement list: its header's colon and depth (a width of white space), and where its first statement starts."""

    colon: int
    depth: int
    start: int


def combine(source: SourceText, named: Sequence[tuple[str, Replacement]]) -> str | Conflict:
    """The text after all replacements; each comes with the name of its owner."""
    ordered = sorted(named, key=lambda item: (item[1].start, item[1].end))
    for (first, one), (second, other) in pairwise(ordered):
        insertions = (one.start == one.end) + (other.start == other.end)
        line = source.line_of(other.start)
        if insertions == 2 and one.start == other.start:
            return Conflict(first, second, line, "both insert lines at one point")
        if one.end > other.start and not (one == other and not insertions):
            reason = "both change the same lines" if not insertions else "one inserts where the other replaces"
            return Conflict(first, second, line, reason)
    unique = list(dict.fromkeys(replacement for _, replacement in ordered))
    return _apply(source, _filled(source, unique))


def verify(source: SourceText, new_text: str, filename: str = "<reverted>") -> SyntaxError | None:
    """Why ``new_text`` does not compile as this file's bytes; None where it does."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the target's own compilation will give them
            compile(source.encode(new_text), filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        return error
    except UnicodeEncodeError as error:
        lost = new_text[error.start : error.end]
        return SyntaxError(f"{lost!r} cannot be written in the file's encoding, {source.encoding}")
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error) or type(error).__name__)
    return None


def _apply(source: SourceText, replacements: Sequence[Replacement]) -> str:
    text, at = source.text, 0
    pieces: list[str] = []
    ended = text.endswith(("\n", "\r"))
    for item in replacements:
        pieces.append(text[at : item.start])
        if item.start == item.end == len(text) and text and not ended and item.new.endswith("\n"):
            before = next((piece for piece in reversed(pieces) if piece), "\n")
            if not before.endswith(("\n", "\r")):  # a line put behind a last line that has no line end
                pieces.append(source.newline)
        pieces.append(source.with_newlines(item.new))
        at = item.end
    result = "".join([*pieces, text[at:]])
    touched = bool(replacements) and (at == len(text) or not text[at:].strip())
    if not touched or not text:
        return result
    if not ended:
        return result.removesuffix("\n").removesuffix("\r")
    return result if result.endswith(("\n", "\r")) or not result else result + source.newline


def _filled(source: SourceText, replacements: list[Replacement]) -> list[Replacement]:
    """The replacements, with ``pass`` put into those that empty a block."""
    removing = [k for k, item in enumerate(replacements) if item.end > item.start]
    if not removing:
        return replacements
    try:
        blocks = list(_blocks(source, [replacements[k] for k in removing]))
    except (SyntaxError, ValueError):
        return replacements
    starts = [replacements[k].start for k in removing]
    result = list(replacements)
    for block in blocks:
        at = bisect_right(starts, block.start) - 1
        if at < 0 or replacements[removing[at]].end <= block.start:
            continue
        if _emptied(source, replacements, block):
            k = removing[at]
            result[k] = replace(result[k], new=_with_pass(source, result[k], block))
    return result


def _blocks(source: SourceText, removing: Sequence[Replacement]) -> Iterator[_Block]:
    """The blocks of all compound statements that ``removing`` reaches into."""
    lines = [(source.line_of(item.start), source.line_of(item.end)) for item in removing]
    pending: list[ast.AST] = [source.tree]
    while pending:
        node = pending.pop()
        before = None
        for name in ("body", "handlers", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if not isinstance(block, list) or not block:
                continue
            if name == "handlers":
                pending += block
                before = block[-1].body[-1]
                continue
            for child in block:
                if any(first <= child.end_lineno and child.lineno <= last for first, last in lines):
                    pending += [child, *getattr(child, "cases", ())]
            is_elif = name == "orelse" and isinstance(node, ast.If) and _is_elif(source, block[0])
            if not is_elif and not isinstance(node, ast.Module):
                yield _block(source, node, block, source.span(before)[1] if before else None)
            before = block[-1]


def _block(source: SourceText, node: ast.AST, block: list[ast.stmt], behind: int | None) -> _Block:
    start = _start(source, block[0])
    begins = behind
    if begins is None:  # a match case has no position of its own but its pattern's
        begins = source.span(node.pattern if isinstance(node, ast.match_case) else node)[0]
    colon = begins
    for found in _COLON.finditer(source.text, begins, start):
        if found["colon"]:
            colon = found.start()
    header = source.line_of(colon if behind is not None else begins)
    line = source.line_of(start)
    depth = _width(indent_of(source.line(header)))
    if line > source.line_of(colon):
        depth = min(depth, _width(indent_of(source.line(line))) - 1)
    return _Block(colon, depth, start)


def _start(source: SourceText, statement: ast.stmt) -> int:
    line = first_line(source, statement)
    if line == statement.lineno:
        return source.span(statement)[0]
    text = source.line(line)
    return source.starts[line - 1] + len(text) - len(text.lstrip(BLANK))


def _is_elif(source: SourceText, statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and source.text.startswith("elif", source.span(statement)[0])


def _emptied(source: SourceText, replacements: Sequence[Replacement], block: _Block) -> bool:
    """Whether the header of ``block`` stays, and what then follows it is not in the block.

    What follows is looked for in the result: code that was in another block, or is new, may have come to stand there.
    """
    pieces: list[str] = []
    at, depth = block.colon + 1, block.depth
    for item in replacements:
        if item.end <= block.colon or item.end < at:
            continue
        if item.start <= block.colon:
            header = [line for line in split(item.new) if line.strip(BLANK)]
            if item.end > block.start or not header or not _HEADER_END.search(header[-1]):
                return False
            depth = _width(indent_of(header[-1])) if _begins_line(source, item.start) else depth
            pieces.append("\n")
        else:
            pieces += [source.text[at : item.start], item.new]
            if _begins_line(source, item.end) and not _begins_line(source, item.start) and item.new[-1:] != "\n":
                pieces.append("\n")
        at = item.end
    rest = "".join([*pieces, source.text[at:]])
    for number, line in enumerate(_LINE.finditer(rest)):
        code = line[0].strip(BLANK + "\r\n")
        if code and not code.startswith("#"):
            return number > 0 and _width(indent_of(line[0])) <= depth
    return True


def _with_pass(source: SourceText, item: Replacement, block: _Block) -> str:
    """The text of ``item``, which removes the start of ``block``, with ``pass`` in it."""
    line = source.line_of(block.start)
    indent = source.text[source.starts[line - 1] : block.start]
    before = source.text[source.starts[source.line_of(item.start) - 1] : item.start]
    whole = _begins_line(source, item.end)
    if indent.strip(BLANK):  # on the header's own line
        gap = "" if source.text[item.start - 1 : item.start].isspace() else " "
        return gap + "pass" + ("\n" if whole else "") + item.new
    if not before:
        return f"{indent}pass\n{item.new}" if whole or item.new else f"{indent}pass"
    if not before.strip(BLANK):
        return "pass" + ("\n" if whole else "") + item.new
    return f"\n{indent}pass" + ("\n" if whole else "") + item.new


def _begins_line(source: SourceText, offset: int) -> bool:
    return offset == 0 or source.text[offset - 1] in "\r\n"


def _width(indent: str) -> int:
    return len(indent.expandtabs(8))
