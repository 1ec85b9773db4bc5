"""Two versions of files as a unified diff that ``git apply`` takes, bytes in and bytes out.

Lines end at ``\\n`` alone, as they do for git, so that carriage returns and missing last line ends come back as they
were.

Example::

    unified("sglang/srt/x.py", b"a = 1\\n", b"a = 2\\n").startswith(b"diff --git a/sglang/srt/x.py
    b/sglang/srt/x.py\\n")
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from typing import Literal

CONTEXT = 3
Tag = Literal["replace", "delete", "insert", "equal"]
_NO_END = b"\n\\ No newline at end of file\n"
_ESCAPES = {
    0x07: "\\a",
    0x08: "\\b",
    0x09: "\\t",
    0x0A: "\\n",
    0x0B: "\\v",
    0x0C: "\\f",
    0x0D: "\\r",
    0x22: '\\"',
    0x5C: "\\\\",
}


def unified(path: str, before: bytes, after: bytes) -> bytes:
    """The diff from ``before`` to ``after`` of the file at ``path`` (with slashes); empty where they are equal."""
    if before == after:
        return b""
    old, new = _lines(before), _lines(after)
    names = [_name(side, path) for side in ("a/", "b/")]
    out = [b"diff --git %s %s\n" % (names[0], names[1])]
    # A name with spaces ends at a tab, so that it is not taken for a name and a date.
    ends = [b"\t\n" if b" " in name and not name.startswith(b'"') else b"\n" for name in names]
    out += [b"--- " + names[0] + ends[0], b"+++ " + names[1] + ends[1]]
    for group in _groups(old, new):
        first, last = group[0], group[-1]
        out.append(b"@@ -%s +%s @@\n" % (_range(first[1], last[2]), _range(first[3], last[4])))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                out += [_line(b" ", line) for line in old[i1:i2]]
                continue
            out += [_line(b"-", line) for line in old[i1:i2]]
            out += [_line(b"+", line) for line in new[j1:j2]]
    return b"".join(out)


def _lines(data: bytes) -> list[bytes]:
    pieces = data.split(b"\n")
    lines = [piece + b"\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + _NO_END


def _range(start: int, stop: int) -> bytes:
    length = stop - start
    begin = start + 1 if length else start  # an empty range stands behind the line before it
    return b"%d" % begin if length == 1 else b"%d,%d" % (begin, length)


def _groups(old: list[bytes], new: list[bytes]) -> Iterable[Sequence[tuple[str, int, int, int, int]]]:
    """Grouped opcodes; the equal head and tail are not matched, since the matcher is slow on long texts."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    matcher = _Between(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    matcher.around = (head, len(old) - tail, len(new) - tail, tail)
    return matcher.get_grouped_opcodes(CONTEXT)


class _Between(difflib.SequenceMatcher[bytes]):
    """What lies between a common head and tail, matched; its opcodes are those of the whole. Every group has all the
    context that there is: git takes a hunk without any behind it for the end of the file."""

    around = (0, 0, 0, 0)

    def get_opcodes(self) -> list[tuple[Tag, int, int, int, int]]:
        head, old, new, tail = self.around
        first: list[tuple[Tag, int, int, int, int]] = [("equal", 0, head, 0, head)] if head else []
        last: list[tuple[Tag, int, int, int, int]] = [("equal", old, old + tail, new, new + tail)] if tail else []
        codes = super().get_opcodes()
        return [*first, *((tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in codes), *last]


def _name(side: str, path: str) -> bytes:
    """A file name as git writes it: in quotes where a byte of it needs an escape."""
    raw = os.fsencode(path)
    if all(byte >= 0x20 and byte < 0x7F and byte not in (0x22, 0x5C) for byte in raw):
        return side.encode() + raw
    quoted = "".join(_ESCAPES.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}") for byte in raw)
    return f'"{side}{quoted}"'.encode("ascii")
