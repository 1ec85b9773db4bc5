"""A new reverse patch as YAML text, with comments that say what was looked at and what a person must fill in.

Contract: pure; whoever writes it has loaded it first.

Example::

    text = document("101", change, parts, Ranges(contains=">=1.3"), at=Path("fixes/pr101_cut/revert.yaml"))
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prtoggle.authoring.change import REFUSED, STAYS, Change
from prtoggle.authoring.parts import Part, doubt
from prtoggle.edits.kinds import EditKind
from prtoggle.proposal.yamltext import NewEdit, NewPatch, NewVariant, plain, quoted, variant_lines
from prtoggle.schema import modeline
from prtoggle.spec import ONLY_PART

_WIDTH = 118


@dataclass(frozen=True)
class Ranges:
    """What is proposed of ``contains`` and of the variant's ``versions``, and what was looked at."""

    contains: str = ""
    versions: str = ""
    seen: str = ""


def document(number: str, title: str, change: Change, parts: Sequence[Part], ranges: Ranges, at: Path) -> str:
    """The whole file, which is to lie at ``at``."""
    told = change.told
    lines = [modeline(at), *_comment(f"Made by prtoggle new from {change.came}."), *_left(change)]
    lines += ["prtoggle: 1", f"fix: {number}", f"title: {plain(title)}"]
    if told.project:
        lines.append(f"project: {plain(told.project)}")
    if told.merged:
        lines.append(f"merged: {told.merged}")
    lines.append("# symptom: say what is seen where the fix is missing")
    if told.links:
        lines.append(f"links: [{', '.join(map(quoted, told.links))}]")
    if ranges.contains:
        lines += _comment(ranges.seen)
        lines += ["contains:", f"  {change.home.name}: {quoted(ranges.contains)}"]
    else:
        lines += _comment(f"contains: say which releases of {change.home.name} hold the fix. {ranges.seen}".rstrip())
    named = [part for part in parts if part.name != ONLY_PART]
    if named:
        lines += _comment("Say what each part does.")
        if doubted := doubt(change.pairs, parts):
            lines += _comment(f"Try each alone: {doubted}.")
        lines.append("parts:")
        lines += [f"  {part.name}: {plain(part.what)}" for part in named]
        lines.append("# default: say which of them a bare number takes out; without it, all")
    lines.append("variants:")
    names = [part.name for part in named] or [ONLY_PART]
    variant = NewVariant(change.home.name, ranges.versions, (), (), patches(change, parts))
    lines += variant_lines(variant, names)
    return "\n".join(lines) + "\n"


def patches(change: Change, parts: Sequence[Part]) -> tuple[NewPatch, ...]:
    """All edits by target, in the order of the modules' texts."""
    targets: dict[str, list[NewEdit]] = {}
    for module in dict.fromkeys(pair.module for pair in change.pairs):
        its = [(part, each) for part in parts for each in part.edits if each.module == module]
        its.sort(key=lambda found: min(span.start for span in found[1].made.replacements))
        for part, each in its:
            targets.setdefault(target(change, module, each.made.qualname), []).append(_edit(part.name, each.made.kind))
    return tuple(NewPatch(name, tuple(edits)) for name, edits in targets.items())


def target(change: Change, module: str, qualname: str) -> str:
    """A definition of a module, with a colon where a dot could be read as another module's."""
    if not qualname:
        return module
    other = change.home.module_exists(f"{module}.{qualname.partition('.')[0]}")
    return f"{module}{':' if other or not _plain_name(qualname) else '.'}{qualname}"


def _plain_name(qualname: str) -> bool:
    return all(piece.isidentifier() for piece in qualname.split("."))


def _edit(part: str, kind: EditKind) -> NewEdit:
    return NewEdit((part,), kind)


def _left(change: Change) -> list[str]:
    """What of the change the file does not take out."""
    shown = [left for left in change.left if left.kind in (REFUSED, STAYS)]
    return [line for left in shown for line in _comment(f"Not taken out: {left.path}: {left.why}.")]


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(" ".join(text.split()), _WIDTH, break_long_words=False)]
