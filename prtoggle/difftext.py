"""The text of a merged diff as commits: what git, mails and forges write, in the order in which it is taken back.

Several commits in one text are taken back the last one first. ``git log`` has the newest first and mails the oldest;
where the states of files that git writes into its diffs (``index 1111111..2222222``) say otherwise, as they do of
``git log --reverse``, they are believed. Of a merge that is shown against each of its parents, what it brought to the
first one is taken; a merge without a diff is refused.

Example::

    first, = commits(text, "fix.diff")
    first.head, first.files      # "commit 1f2e3d4\\nAuthor: ...", (FileDiff("engine/core.py", ...),)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from prtoggle import diffs
from prtoggle.diffs import FileDiff
from prtoggle.edits.kinds import DiffEdit
from prtoggle.errors import MalformedError, Place, RefusedError

_PAGE = "guides/write-a-reverse-patch#what-cannot-be-taken-out"

_MAIL = re.compile(r"^From [0-9a-f]{40,64} .*$", re.MULTILINE)
_SHOWN = re.compile(r"^commit [0-9a-f]{7,64}\b.*$", re.MULTILINE)
_MERGE = re.compile(r"^Merge: [0-9a-f]{4,}", re.MULTILINE)
_FROM = re.compile(r"^commit [0-9a-f]{7,64} \(from ([0-9a-f]+)\).*\nMerge: ([0-9a-f]+)", re.MULTILINE)
_DIFF = re.compile(r"^(?:diff --git |Index: |--- \S)", re.MULTILINE)
_STATE = re.compile(
    r"^diff --git (?P<paths>.+)\n(?:(?!diff |--- |@@ ).*\n)*?index (?P<old>[0-9a-f]{4,})\.\.(?P<new>[0-9a-f]{4,})",
    re.MULTILINE,
)
_NO_UTF8 = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True)
class Commit:
    """One commit of a diff's text: its files, taken backwards, and the lines above them."""

    files: tuple[FileDiff, ...]
    head: str


def commits(text: str, name: str) -> tuple[Commit, ...]:
    """The commits of ``text``, which is called ``name``, in the order in which they are taken back.

    MalformedError where it is no diff; the places of its problems are lines of the whole text.
    """
    text = text.replace("\r\n", "\n")
    if _MERGE.search(text) and not _DIFF.search(text):
        hint = "git show --first-parent -m shows what it brought; with new, --commit takes it too"
        raise MalformedError((RefusedError("a merge without a diff", place=Place(name, 1), hint=hint, page=_PAGE),))
    mails, shown = _starts(_MAIL, text), _starts(_SHOWN, text)
    starts = mails if len(mails) > 1 else shown if len(shown) > 1 or _FROM.search(text) else []
    if not starts:
        return (Commit(diffs.parse(text, name=name, reverse=True), _head(text)),)
    found: list[tuple[str, int]] = []
    line, before = 1, 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        line, before = line + text.count("\n", before, start), start
        piece = text[start:end]
        if _DIFF.search(piece) and not _of_another_parent(piece):
            found.append((piece, line))
    if not found:
        raise MalformedError((RefusedError("no unified diff: it changes no file", place=Place(name, 1), page=_PAGE),))
    if _oldest_first([piece for piece, _ in found], told=starts is mails):
        found.reverse()
    return tuple(Commit(diffs.parse(piece, name=name, reverse=True, first=line), _head(piece)) for piece, line in found)


def in_encoding(edit: DiffEdit, encoding: str) -> DiffEdit:
    """The hunks as the text of a file in ``encoding`` has them: git writes the file's own bytes, also those of its byte
    order mark."""

    def line(text: str) -> str:
        text = text.removeprefix("\ufeff")
        if not _NO_UTF8.search(text):
            return text
        try:
            return text.encode("utf-8", "surrogateescape").decode(encoding)
        except UnicodeError:
            return text

    return DiffEdit(
        tuple(replace(each, old=tuple(map(line, each.old)), new=tuple(map(line, each.new))) for each in edit.hunks)
    )


def _starts(mark: re.Pattern[str], text: str) -> list[int]:
    return [found.start() for found in mark.finditer(text)]


def _of_another_parent(piece: str) -> bool:
    """Whether it is a merge against another than its first parent: ``git show -m`` has one for each of them."""
    found = _FROM.match(piece)
    return found is not None and not found[1].startswith(found[2])


def _head(text: str) -> str:
    found = _DIFF.search(text)
    return text[: found.start()] if found else text


def _oldest_first(pieces: Sequence[str], *, told: bool) -> bool:
    """Whether the commits stand in the order of time: by what files were and became, else as ``told``."""
    last: dict[str, tuple[str, str]] = {}
    forth = back = 0
    for piece in pieces:
        for state in _STATE.finditer(piece):
            paths, old, new = state.group("paths", "old", "new")
            if paths in last:
                forth += _same(last[paths][1], old)
                back += _same(last[paths][0], new)
            last[paths] = (old, new)
    return told if forth == back else forth > back


def _same(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
