"""A page's Markdown as plain text that can be read in a terminal: paragraphs and lists wrapped, tables as columns where
they fit and else row by row, links followed by the page that they lead to.

Example::

    plain("See [limits](limits.md#traced-runs).", page="live")     # "See limits <limits#traced-runs>."
"""

from __future__ import annotations

import posixpath
import re
import textwrap
from collections.abc import Iterator

_FENCE = re.compile(r"( {0,3})(```|~~~)")
_ITEM = re.compile(r"( *)([-*+]|\d+\.) +")
_HEADING = re.compile(r"(#{1,6}) +(.+?)\s*#*$")
_INLINE = re.compile(r"(`+)(.+?)\1|\[([^\]]+)\]\(([^)\s]+)\)|\*\*(.+?)\*\*")
_CELL_ENDS = re.compile(r"(?<!\\)\|")
_UNDERLINES = {1: "=", 2: "-"}


def plain(markdown: str, page: str = "", width: int = 100) -> str:
    """``markdown``, which stands on ``page``, for a terminal of ``width`` columns."""
    text = re.sub(r"<!--.*?-->\n?", "", markdown, flags=re.DOTALL)
    blocks = ["\n".join(block) for block in _blocks(text.splitlines(), page, width)]
    return "\n\n".join(block for block in blocks if block.strip())


def _blocks(lines: list[str], page: str, width: int) -> Iterator[list[str]]:
    at = 0
    while at < len(lines):
        line = lines[at]
        end = at + 1
        if fence := _FENCE.match(line):
            while end < len(lines) and not lines[end].startswith(f"{fence[1]}{fence[2]}"):
                end += 1
            yield [f"    {each.removeprefix(fence[1])}".rstrip() for each in lines[at + 1 : end]]
            end += 1
        elif heading := _HEADING.match(line):
            title = inline(heading[2], page)
            yield [title, *([_UNDERLINES[len(heading[1])] * len(title)] if len(heading[1]) in _UNDERLINES else [])]
        elif line.startswith("|"):
            while end < len(lines) and lines[end].startswith("|"):
                end += 1
            yield _table([_cells(each, page) for each in lines[at:end]], width)
        elif line.startswith("    "):
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            yield [each.rstrip() for each in lines[at:end]]
        elif _ITEM.match(line):
            while end < len(lines) and (lines[end].startswith("  ") or _ITEM.match(lines[end])):
                end += 1
            yield list(_items(lines[at:end], page, width))
        elif line.strip():
            while end < len(lines) and lines[end].strip() and not _begins(lines[end]):
                end += 1
            yield _wrapped(" ".join(each.strip() for each in lines[at:end]), page, width)
        at = end


def _begins(line: str) -> bool:
    """Whether a paragraph ends before ``line``."""
    return bool(_FENCE.match(line) or _HEADING.match(line) or _ITEM.match(line)) or line.startswith("|")


def _items(lines: list[str], page: str, width: int) -> Iterator[str]:
    """A list, each item wrapped under its mark; blocks of code in it as they are."""
    gathered: list[str] = []
    hang, code = "", False

    def done() -> list[str]:
        text, first = " ".join(gathered), hang
        gathered.clear()
        if not text:
            return []
        mark = _ITEM.match(text)
        head = mark[0] if mark else ""
        return _wrapped(
            text[len(head) :], page, width, first=first + head.lstrip(), rest=first + " " * len(head.lstrip())
        )

    for line in lines:
        if line.lstrip().startswith(("```", "~~~")):
            yield from done()
            code = not code
        elif code:
            yield f"    {line}".rstrip()
        elif item := _ITEM.match(line):
            yield from done()
            hang = item[1]
            gathered.append(line.strip())
        else:
            gathered.append(line.strip())
    yield from done()


def _wrapped(text: str, page: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        inline(text, page),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _cells(line: str, page: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [inline(cell.strip().replace("\\|", "|"), page) for cell in _CELL_ENDS.split(inner)]


def _table(rows: list[list[str]], width: int) -> list[str]:
    """As columns where every row fits into a line, else row by row: what it is about, and below it what is said."""
    head, body = rows[0], rows[2:]
    shown = [head, *body] if any(head) else body
    columns = max(map(len, shown), default=0)
    filled = [[*row, *[""] * (columns - len(row))] for row in shown]
    widths = [max(len(row[column]) for row in filled) for column in range(columns)]
    if sum(widths) + 2 * (columns - 1) <= width:
        lines = ["  ".join(cell.ljust(wide) for cell, wide in zip(row, widths, strict=True)).rstrip() for row in filled]
        return [lines[0], "  ".join("-" * wide for wide in widths), *lines[1:]] if any(head) else lines
    lines = []
    for row in body:
        for name, cell, indent in zip(head, row, ["", *["    "] * len(row)], strict=False):
            said = f"{name}: {cell}" if name else cell
            if cell:
                lines += _wrapped(said, "", width, first=indent, rest=indent)
    return lines


def inline(text: str, page: str = "") -> str:
    """Text within a line: links as words, code in its backticks, emphasis left out."""

    def words(found: re.Match[str]) -> str:
        if found[1]:
            return found[0]
        if found[5]:
            return inline(found[5], page)
        target = _target(found[4], page)
        said = inline(found[3], page)
        return f"{said} <{target}>" if target and target != said.strip("`") else said

    return _INLINE.sub(words, text)


def _target(link: str, page: str) -> str:
    """What a link on ``page`` leads to: an address, another page as ``explain`` takes it, or nothing that is here."""
    if re.match(r"[a-z]+:", link):
        return link
    path, _, anchor = link.partition("#")
    if path and not path.endswith(".md"):
        return ""
    there = posixpath.normpath(posixpath.join(posixpath.dirname(page), path.removesuffix(".md"))) if path else page
    if there.startswith(".."):
        return ""
    return f"{there}#{anchor}" if anchor else there
