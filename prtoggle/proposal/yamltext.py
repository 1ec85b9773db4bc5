"""A variant, and a whole reverse patch, as YAML text in the style of the files that come with prtoggle.

Contract: pure; what is written here, :mod:`prtoggle.yamlfile` reads as what was given
(:mod:`prtoggle.proposal.propose` looks).

Example::

    variant_lines("sglang", ">=0.5.18", (), ("cuda-graph",), patches, parts=("slice", "assert"), indent="  ")
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prtoggle.edits.kinds import DiffEdit, EditKind, LinesEdit, PatternEdit

_ACTIONS = {"replace": "replacement", "prepend": "prepend", "append": "append"}
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./ -]*[A-Za-z0-9]|[A-Za-z]")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


@dataclass(frozen=True)
class NewEdit:
    """One edit to be written, with its parts."""

    parts: tuple[str, ...]
    kind: EditKind


@dataclass(frozen=True)
class NewPatch:
    """A target with its edits."""

    target: str
    edits: tuple[NewEdit, ...]


@dataclass(frozen=True)
class NewVariant:
    """A variant to be written."""

    package: str
    versions: str
    lacks: tuple[str, ...]
    baked_in: tuple[str, ...]
    patches: tuple[NewPatch, ...]


def variant_lines(variant: NewVariant, parts: Sequence[str], *, indent: str = "  ") -> list[str]:
    """The lines of a variant as an item of a list whose dashes stand at ``indent``; ``parts`` are all that the fix
    has."""
    inner = indent + "  "
    lines = [f"{indent}- package: {variant.package}"]
    if variant.versions:
        lines.append(f"{inner}versions: {quoted(variant.versions)}")
    for name, values in (("lacks", variant.lacks), ("baked_in", variant.baked_in)):
        if values:
            lines.append(f"{inner}{name}: [{', '.join(map(plain, values))}]")
    lines.append(f"{inner}patches:")
    for patch in variant.patches:
        lines.append(f"{inner}  - target: {patch.target}")
        lines.append(f"{inner}    edits:")
        for edit in patch.edits:
            lines += _item(_fields(edit, parts), inner + "      ")
    return lines


def document(
    number: str,
    title: str,
    project: str,
    variant: NewVariant,
    parts: Sequence[tuple[str, str]],
    links: Sequence[str] = (),
) -> str:
    """A whole reverse patch of one variant; ``parts`` are names and what they do, none for the one part without a
    name."""
    lines = ["prtoggle: 1", f"fix: {number}", f"title: {plain(title)}"]
    if project:
        lines.append(f"project: {plain(project)}")
    if links:
        lines.append(f"links: [{', '.join(map(quoted, links))}]")
    if parts:
        lines.append("parts:")
        lines += [f"  {name}: {plain(what)}" for name, what in parts]
    lines.append("variants:")
    lines += variant_lines(variant, [name for name, _ in parts] or ("",))
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """In single quotes."""
    return "'" + text.replace("'", "''") + "'"


def plain(text: str) -> str:
    """Words as they are where YAML leaves them so, else in quotes."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else quoted(text)


def _fields(edit: NewEdit, parts: Sequence[str]) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    if len(parts) > 1:
        yield "part", edit.parts if len(edit.parts) > 1 else edit.parts[0]
    kind = edit.kind
    if isinstance(kind, PatternEdit):
        yield "find", kind.find
        yield "put", kind.put
        if kind.unfixed:
            yield "unfixed", kind.unfixed if len(kind.unfixed) > 1 else kind.unfixed[0]
        return
    if isinstance(kind, DiffEdit):
        yield "merged_diff", merged_diff(kind)
        return
    assert isinstance(kind, LinesEdit)
    yield "match", kind.match
    if kind.action != "replace" or kind.text.strip():
        yield _ACTIONS[kind.action], kind.text


def _item(fields: Iterator[tuple[str, str | tuple[str, ...]]], indent: str) -> list[str]:
    lines: list[str] = []
    for name, value in fields:
        inner = indent + "  "
        if name == "part":
            lines.append(f"{inner}part: " + (value if isinstance(value, str) else f"[{', '.join(value)}]"))
        elif isinstance(value, str):
            lines += [
                f"{inner}{name}: {first}" if not number else first for number, first in _code(value, inner + "  ")
            ]
        else:
            lines.append(f"{inner}{name}:")
            for text in value:
                lines += [
                    f"{inner}  - {first}" if not number else first for number, first in _code(text, inner + "    ")
                ]
    lines[0] = indent + "- " + lines[0][len(indent) + 2 :]
    return lines


def _code(text: str, indent: str) -> Iterator[tuple[int, str]]:
    """Code as a scalar: in quotes on one line, else as a block with its lines at ``indent``."""
    if "\n" not in text:
        yield 0, quoted(text)
        return
    # YAML guesses the indentation from the first line, which would be wrong where that is indented itself. A line
    # end behind the last line, or none, says nothing in code.
    body = text.rstrip("\n").split("\n")
    yield 0, "|2" if body[0].startswith((" ", "\t")) or not body[0].strip() else "|"
    for line in body:
        yield 1, indent + line if line else ""


def merged_diff(kind: DiffEdit) -> str:
    """The hunks as the fix's own diff, which is taken backwards."""
    out = []
    shift = 0
    for hunk in kind.hunks:
        before, after = list(hunk.new), list(hunk.old)
        start = hunk.line + shift
        out.append(f"@@ -{start},{len(before)} +{hunk.line},{len(after)} @@")
        shift += len(before) - len(after)
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if tag == "equal":
                out += [f" {line}" for line in before[i1:i2]]
                continue
            out += [f"-{line}" for line in before[i1:i2]]
            out += [f"+{line}" for line in after[j1:j2]]
    return "\n".join(out) + "\n"
