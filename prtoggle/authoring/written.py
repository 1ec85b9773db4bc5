"""The edits that take a change out of one module: code patterns and lines where they can be had, else the diff.

Contract: pure. All edits together make the older text's syntax tree of the newer one, and each is found once in it.

Example::

    edits(pair)        # (Made(Written("Runner.step", PatternEdit(...)), spans=((120, 160, ""),)), ...)
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from prtoggle.authoring.change import Pair
from prtoggle.authoring.splice import Unspliced, spliced
from prtoggle.edits import lines, pattern, udiff
from prtoggle.edits.combine import Conflict, combine
from prtoggle.edits.kinds import DiffEdit, EditKind, Hunk, LinesEdit, PatternEdit
from prtoggle.edits.outcome import Found, Replacement
from prtoggle.edits.scope import Scope, definitions, resolve
from prtoggle.edits.text import SourceText
from prtoggle.proposal.writing import Unwritable, Written, write

_CONTEXTS = (3, 6, 12, 40)


@dataclass(frozen=True)
class Made:
    """One edit of the definition ``qualname``, and what it replaces in the newer text."""

    qualname: str
    kind: EditKind
    replacements: tuple[Replacement, ...]


def edits(pair: Pair) -> tuple[Made, ...]:
    """The edits of one module."""
    for attempt in (_by_small_texts, _whole, _by_definitions):
        made = attempt(pair)
        if made is not None and _gives(pair, made):
            return tuple(sorted(made, key=lambda each: each.replacements[0].start))
    return (_diff(pair.fixed, pair.reverted),)


def text_after(source: SourceText, made: Sequence[Made]) -> str | None:
    """The text with some of the edits made; None where they conflict."""
    text = combine(source, [("", each) for edit in made for each in edit.replacements])
    return None if isinstance(text, Conflict) else text


def _gives(pair: Pair, made: Sequence[Made]) -> bool:
    text = text_after(pair.fixed, made)
    try:
        return text is not None and ast.dump(ast.parse(text)) == ast.dump(pair.reverted.tree)
    except (SyntaxError, ValueError):
        return False


def _by_small_texts(pair: Pair) -> tuple[Made, ...] | None:
    """Each changed definition in a text of its own, since trying edits takes as long as the text is, and then the rest.

    An edit of a definition is found in it whatever stands around it; it is looked for in all of the text all the same.
    """
    names = changed_definitions(pair)
    if not names:
        return None
    made: list[Made] = []
    try:
        for name in names:
            small = small_text(pair.fixed, name), small_text(pair.reverted, name)
            if small[0] is None or small[1] is None:
                return None
            written = write(small[0], small[1])
            if any(not f"{each.qualname}.".startswith(f"{name}.") for each in written):
                return None
            made += _located(pair.fixed, written)
        rest = spliced(pair.reverted, pair.fixed, names, alone=True).text
        if ast.dump(rest.tree) != ast.dump(pair.fixed.tree):
            made += _located(pair.fixed, write(pair.fixed, rest, all_reverted=pair.reverted))
    except (Unwritable, Unspliced):
        return None
    return tuple(made)


def small_text(source: SourceText, name: str) -> SourceText | None:
    """The definition alone, in classes of the names that it is in; None where it does not stand directly in them."""
    lines: list[str] = []
    outer = name.split(".")[:-1]
    for count in range(1, len(outer) + 1):
        scope = resolve(source, ".".join(outer[:count]))
        if not isinstance(scope, Scope) or not isinstance(scope.node, ast.ClassDef):
            return None
        lines.append(" " * scope.node.col_offset + f"class {scope.node.name}:")
    scope = resolve(source, name)
    if not isinstance(scope, Scope):
        return None
    lines += [source.line(number) for number in range(scope.first, scope.last + 1)]
    text = SourceText("\n".join(lines) + "\n", source.encoding, source.bom)
    try:
        there = resolve(text, name)
    except (SyntaxError, ValueError):
        return None
    return text if isinstance(there, Scope) and ast.dump(there.node) == ast.dump(scope.node) else None


def _whole(pair: Pair) -> tuple[Made, ...] | None:
    try:
        return _located(pair.fixed, write(pair.fixed, pair.reverted))
    except Unwritable:
        return None


def _by_definitions(pair: Pair) -> tuple[Made, ...] | None:
    """Each changed definition for itself, as edits or as a diff; then what is left of the module."""
    names = changed_definitions(pair)
    made: list[Made] = []
    try:
        for name in names:
            made += _either(pair.fixed, spliced(pair.fixed, pair.reverted, [name], alone=True).text, pair.reverted)
        # The older module with the newer definitions in it: what else differs is all that is left.
        rest = spliced(pair.reverted, pair.fixed, names, alone=True).text
        if ast.dump(rest.tree) != ast.dump(pair.fixed.tree):
            made += _either(pair.fixed, rest, pair.reverted)
    except Unspliced:
        return None
    return tuple(made)


def _either(fixed: SourceText, reverted: SourceText, every: SourceText) -> tuple[Made, ...]:
    try:
        return _located(fixed, write(fixed, reverted, all_reverted=every))
    except Unwritable:
        return (_diff(fixed, reverted),)


def changed_definitions(pair: Pair) -> tuple[str, ...]:
    """Functions and methods that both texts have and that differ, those inside functions not counted."""
    there = dict(definitions(pair.reverted))
    found: list[str] = []
    for name, _ in definitions(pair.fixed):
        if name not in there or any(name.startswith(each + ".") for each in found):
            continue
        new, old = resolve(pair.fixed, name), resolve(pair.reverted, name)
        if not (isinstance(new, Scope) and isinstance(old, Scope)) or isinstance(new.node, ast.ClassDef):
            continue
        if not isinstance(old.node, ast.ClassDef) and ast.dump(new.node) != ast.dump(old.node):
            found.append(name)
    return tuple(found)


def _located(source: SourceText, written: Sequence[Written]) -> tuple[Made, ...]:
    made = []
    for each in written:
        found = locate(source, each.qualname, each.kind)
        if found is None:
            raise Unwritable(1, "an edit is not found where it was made")
        made.append(Made(each.qualname, each.kind, found.replacements))
    return tuple(made)


def locate(source: SourceText, qualname: str, kind: EditKind) -> Found | None:
    """Where the edit stands; None where it does not."""
    scope = resolve(source, qualname)
    if not isinstance(scope, Scope):
        return None
    if isinstance(kind, LinesEdit):
        found = lines.locate(source, scope, kind)
    elif isinstance(kind, PatternEdit):
        found = pattern.locate(source, scope, kind)
    elif isinstance(kind, DiffEdit):
        found = udiff.locate(source, scope, kind)
    else:
        return None
    return found if isinstance(found, Found) else None


def _diff(fixed: SourceText, reverted: SourceText) -> Made:
    """All of the difference as hunks, with as much context as it takes to be found."""
    old, new = ([line.rstrip("\r\n") for line in source.lines] for source in (fixed, reverted))
    kind = DiffEdit(())
    for context in _CONTEXTS:
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        hunks = []
        for group in matcher.get_grouped_opcodes(context):
            (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
            hunks.append(Hunk(tuple(old[i1:i2]), tuple(new[j1:j2]), i1 + 1))
        kind = DiffEdit(tuple(hunks))
        found = locate(fixed, "", kind)
        if found is not None:
            return Made("", kind, found.replacements)
    raise Unwritable(1, "the change stands in several places, and no context tells which")
