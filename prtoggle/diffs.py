"""Unified diffs as files to edit: parsed by unidiff, with every problem at its place.

Takes what ``diff -u``, ``git diff``, ``git show`` and ``git format-patch`` write. ``reverse`` swaps old and new, so
that the edits take a merged change back out. Paths are given as the diff has them, without the ``a/`` and ``b/`` of
git. A diff whose hunks do not have the lengths that they state, or that merges two parents (``@@@``), is refused.
Line ends are no part of lines, and whether a file ends with one is no change.

Example::

    (file,) = parse(text, name="fix.diff", reverse=True)
    (file.path_new, file.kind, len(file.edit.hunks)) == ("pkg/mod.py", "modified", 2)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk as ParsedHunk
from unidiff.patch import PatchedFile, PatchSet

from prtoggle.edits.kinds import DiffEdit, Hunk
from prtoggle.errors import MalformedError, Place, RefusedError

_PAGE = "reverse-patches#diffs-diff-merged_diff"

Kind = Literal["modified", "added", "deleted", "renamed", "binary"]

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_PREFIXES = {"a/b/", "b/a/", "c/i/", "i/c/", "c/w/", "w/c/", "i/w/", "w/i/", "o/w/", "w/o/", "1/2/", "2/1/"}
_OCTAL = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
NOWHERE = "/dev/null"


@dataclass(frozen=True)
class FileDiff:
    """One file of a diff, in the direction in which it is applied: ``path_old`` is there before, ``path_new`` after.

    The path is empty where the file is not there (``added``, ``deleted``). A file that is renamed and changed is
    ``renamed``, and has hunks. ``line`` is where the file begins in the diff.
    """

    path_old: str
    path_new: str
    kind: Kind
    edit: DiffEdit
    line: int = 0


def parse(text: str, *, name: str, reverse: bool, first: int = 1) -> tuple[FileDiff, ...]:
    """The files of the diff ``text``, which stands in the file ``name`` from line ``first`` on.

    MalformedError lists all problems.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    problems = _problems(lines, name, first)
    if problems:
        raise MalformedError(tuple(problems), page=_PAGE)
    try:
        patches = PatchSet([line + "\n" for line in lines])
        files = tuple(_file(patched, reverse, first) for patched in patches if patched or _says_something(patched))
    except (UnidiffParseError, ValueError) as error:
        raise MalformedError(
            (RefusedError(f"no unified diff: {error}", place=Place(name, first)),), page=_PAGE
        ) from None
    if not files:
        what = "no unified diff: it changes no file"
        if any(line.startswith("new mode ") for line in lines):
            what = "it changes modes of files alone, and no line of them"
        raise MalformedError((RefusedError(what, place=Place(name, first)),), page=_PAGE)
    return files


def _problems(lines: list[str], name: str, first: int) -> list[RefusedError]:
    """What unidiff would not say, would not place, or would pass over."""
    problems: list[RefusedError] = []

    def problem(number: int, what: str, hint: str = "") -> None:
        problems.append(RefusedError(what, place=Place(name, first + number), hint=hint))

    coloured = next((number for number, line in enumerate(lines) if line.startswith("\x1b[")), None)
    if coloured is not None:
        problem(
            coloured, "no unified diff: its lines begin with the codes of colours", "git show --no-color writes none"
        )
        return problems
    number = 0
    in_file = False
    while number < len(lines):
        line = lines[number]
        number += 1
        if line.startswith("@@@") and in_file:
            problem(number - 1, "a combined diff (of a merge) has no one direction", "take git diff FIRST_PARENT MERGE")
            while number < len(lines) and not lines[number].startswith("diff "):
                number += 1
        elif line.startswith("diff --"):
            in_file = True
        elif line.startswith("+++ "):
            in_file = in_file or (number > 1 and lines[number - 2].startswith("--- "))
        elif line.startswith("@@ ") and in_file:
            header = _HUNK.match(line)
            if not header:
                problem(number - 1, "this hunk's header is not @@ -line,count +line,count @@")
                continue
            number = _hunk_end(lines, number, header, problem)
    return problems


def _hunk_end(lines: list[str], number: int, header: re.Match[str], problem: Callable[[int, str], None]) -> int:
    """Index behind the hunk whose body begins at ``number``; says so where its length is not as stated."""
    start = number - 1
    old, new = (int(count) if count else 1 for count in header.groups())
    while old > 0 or new > 0:
        if number >= len(lines):
            problem(start, f"corrupt hunk: it ends {max(old, new)} lines short of what its header states")
            return number
        line = lines[number]
        sign = line[:1] or " "
        if sign not in " +-\\":
            problem(number, f"corrupt hunk: this line begins with none of ' ', '+', '-' (the hunk of line {start + 1})")
            return number
        old -= sign in " -"
        new -= sign in " +"
        if old < 0 or new < 0:
            problem(number, f"corrupt hunk: longer than the header in line {start + 1} of the diff states")
            return number
        number += 1
    if number < len(lines):
        line = lines[number]
        more = line.startswith(("+", " ")) or (line.startswith("-") and not line.startswith(("-- ", "--- ")))
        if more and line != "--" and not line.startswith("+++ "):
            problem(number, f"corrupt hunk: longer than the header in line {start + 1} of the diff states")
    return number


def _says_something(patched: PatchedFile) -> bool:
    return bool(
        patched.is_binary_file or patched.is_rename or patched.is_added_file or patched.is_removed_file or patched
    )


def _file(patched: PatchedFile, reverse: bool, first: int) -> FileDiff:
    old, new = _paths(patched)
    info = patched.patch_info or ()
    # git says that a file is new or gone; of others it is told by a side without lines, which an empty file has too.
    plain = not any(line.startswith("diff --git ") for line in info)
    kind: Kind = "modified"
    if patched.is_binary_file:
        kind = "binary"
    elif not old or (plain and patched.is_added_file):
        kind, old = "added", ""
    elif not new or (plain and patched.is_removed_file):
        kind, new = "deleted", ""
    elif any(line.startswith("rename ") for line in info):
        kind = "renamed"
    hunks = tuple(_hunk(hunk, reverse) for hunk in patched)
    if reverse:
        old, new = new, old
        swapped: dict[Kind, Kind] = {"added": "deleted", "deleted": "added"}
        kind = swapped.get(kind, kind)
    line = patched.diff_line_no or 0
    return FileDiff(old, new, kind, DiffEdit(hunks), first + line - 1 if line else 0)


def _hunk(hunk: ParsedHunk, reverse: bool) -> Hunk:
    old = tuple(line.value.removesuffix("\n") for line in hunk if line.is_context or line.is_removed)
    new = tuple(line.value.removesuffix("\n") for line in hunk if line.is_context or line.is_added)
    if reverse:
        return Hunk(new, old, hunk.target_start, hunk.section_header)
    return Hunk(old, new, hunk.source_start, hunk.section_header)


def _paths(patched: PatchedFile) -> tuple[str, str]:
    """Old and new path without git's prefixes. Two equal letters are no prefixes but a folder's name."""
    old, new = _path(patched.source_file), _path(patched.target_file)
    both = (old or new.replace("b/", "a/", 1))[:2] + (new or old.replace("a/", "b/", 1))[:2]
    return (old[2:], new[2:]) if both in _PREFIXES else (old, new)


def _path(name: str | None) -> str:
    """A path of the diff without git's quotes; empty for ``/dev/null``."""
    if not name or name == NOWHERE:
        return ""
    if name.startswith('"') and name.endswith('"') and len(name) > 1:
        name = _OCTAL.sub(_unescape, name[1:-1].encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    return name


def _unescape(found: re.Match[bytes]) -> bytes:
    code: bytes = found[1]
    return bytes([int(code, 8)]) if len(code) == 3 else _ESCAPES.get(code, code)
