"""Two changes of a ``revert.yaml`` that keep every other byte of it: the versions of one variant, and a new variant
behind one.

Contract: pure, bytes in and bytes out; raises :class:`Unpatchable` where the file is written in a way that has no
place for it. What comes out is not looked at here: the caller loads it.

Example::

    patched(data, variant, versions=">=0.5.13,<0.5.18", lines=variant_lines(...))
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence as Lines

from prtoggle.proposal.yamltext import quoted
from prtoggle.spec import Variant
from prtoggle.yamlfile.nodes import Mapping, Node, Scalar, Sequence, compose, decode

_END = re.compile(r"\r\n|\n|\r")


class Unpatchable(Exception):
    """The file's layout has no place for the change."""


def patched(data: bytes, name: str, variant: Variant, *, versions: str | None = None, new: Lines[str] = ()) -> bytes:
    """``data`` with ``versions`` in ``variant`` and the lines of a new variant, whose dash stands where
    ``variant``'s does, behind it."""
    text = decode(data, name)
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    lines = (
        text.splitlines(keepends=True) if not re.search("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", text) else _split(text)
    )
    end = next((found[0] for found in _END.finditer(text)), "\n")
    node = _node(text, name, variant)
    last = _last_line(node)
    if new:
        if lines[last - 1 :] and not lines[last - 1].endswith(("\n", "\r")):
            lines[last - 1] += end
        lines[last:last] = [end, *(line + end for line in new)]
    if versions is not None:
        _set_versions(lines, node, versions, end)
    return bom + "".join(lines).encode()


def dash(data: bytes, name: str, variant: Variant) -> str:
    """The white space before the dash of ``variant``."""
    text = decode(data, name)
    node = _node(text, name, variant)
    line = text.split("\n")[node.line - 1]
    found = re.match(r"( *)- +(?=\S)", line)
    if found is None or found.end() != node.column - 1:
        raise Unpatchable("the variant does not begin on the line of its dash")
    return found[1]


def _split(text: str) -> list[str]:
    return [found[0] for found in re.finditer(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)]


def _node(text: str, name: str, variant: Variant) -> Mapping:
    root = compose(text, name).root
    fields = {key.text: value for key, value in root.entries} if isinstance(root, Mapping) else {}
    listed = fields.get("variants")
    for item in listed.items if isinstance(listed, Sequence) else ():
        if isinstance(item, Mapping) and (item.line, item.column) == (variant.place.line, variant.place.column):
            return item
    raise Unpatchable("the variant is not found in its file")


def _last_line(node: Node) -> int:
    if isinstance(node, Scalar):
        if node.style in ("|", ">"):
            return node.line + node.text.rstrip("\n").count("\n") + 1
        return node.last_line
    if isinstance(node, Sequence):
        return max([node.line, *map(_last_line, node.items)])
    return max([node.line, *(line for pair in node.entries for line in map(_last_line, pair))])


def _set_versions(lines: list[str], node: Mapping, versions: str, end: str) -> None:
    fields = {key.text: (key, value) for key, value in node.entries}
    if "versions" not in fields:
        _, value = fields["package"]
        indent = " " * (node.column - 1)
        at = _last_line(value)
        lines[at:at] = [f"{indent}versions: {quoted(versions)}{end}"]
        return
    _, value = fields["versions"]
    if not isinstance(value, Scalar) or value.line != value.last_line or value.style in ("|", ">"):
        raise Unpatchable("its versions are not on one line")
    line = lines[value.line - 1]
    start = value.column - 1
    if value.style:
        written = re.match(r"'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\"", line[start:])
        if written is None:
            raise Unpatchable("its versions are not where they were read")
        stop = start + written.end()
    else:
        stop = start + len(value.text)
    lines[value.line - 1] = line[:start] + quoted(versions) + line[stop:]
