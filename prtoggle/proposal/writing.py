"""From a module's two texts to the edits of a reverse patch that make one of the other, each tried on the text itself.

Contract: pure. The edits are found by the ordinary locators, once each, in the fixed text, and combined give the
syntax tree of the reverted one; where that cannot be had, :class:`Unwritable` says of what. An edit that an existing
variant has is taken as it is where it still does that.

Example::

    write(fixed, reverted, [LinesEdit("check(x)", "replace", "")])
    # (Written("C.m", PatternEdit("cut(x)", "")), ...)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from prtoggle.edits import lines, pattern
from prtoggle.edits.combine import Conflict, combine, verify
from prtoggle.edits.kinds import EditKind, LinesEdit, PatternEdit
from prtoggle.edits.outcome import Found, Outcome, Replacement
from prtoggle.edits.scope import Scope, enclosing, resolve
from prtoggle.edits.text import SourceText
from prtoggle.proposal.atoms import DEFINITIONS, Atom, atoms, blocks, deletes
from prtoggle.proposal.candidates import Candidate, candidates, rewrites
from prtoggle.proposal.spelled import beginning, spell

_HOLES = re.compile(r"\$(?:\.\.\.)?\w+")
_SAYING = re.compile(r"\b(?!pass\b)[^\W\d]\w*")


class Unwritable(Exception):
    """A change that no edit could be written for; ``line`` is where it is in the fixed text."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


@dataclass(frozen=True)
class Written:
    """One edit of the definition ``qualname`` (empty: of the module); ``reused`` where an existing variant has it."""

    qualname: str
    kind: EditKind
    reused: bool = False


@dataclass(frozen=True)
class Known:
    """An edit of an existing variant: its kind, and its target's name in the module, where that is one of this
    module."""

    kind: EditKind
    qualname: str | None


def write(
    fixed: SourceText,
    reverted: SourceText,
    known: Sequence[Known] = (),
    *,
    all_reverted: SourceText | None = None,
    earlier: tuple[SourceText, SourceText] | None = None,
) -> tuple[Written, ...]:
    """The edits that make ``reverted`` of ``fixed``.

    Args:
        known: the edits of an existing variant, to be preferred.
        all_reverted: the text with the other parts out as well, in which the place should be recognised too.
        earlier: both texts in the release that the revert comes from, for what drifted since.

    Raises: Unwritable.
    """
    return _Writing(fixed, reverted, all_reverted or reverted, earlier).edits(known)


class _Writing:
    """One module."""

    def __init__(
        self,
        fixed: SourceText,
        reverted: SourceText,
        all_reverted: SourceText,
        earlier: tuple[SourceText, SourceText] | None,
    ) -> None:
        self.fixed, self.reverted, self.all_reverted = fixed, reverted, all_reverted
        self.wanted = atoms(fixed, reverted)
        self.all_atoms: tuple[Atom, ...] | None = None
        before = atoms(*earlier) if earlier is not None else ()
        self.earlier = before if len(before) == len(self.wanted) else (None,) * len(self.wanted)
        self.chosen: list[tuple[Written, Found]] = []
        self.left = {atom.key for atom in self.wanted}

    def edits(self, known: Sequence[Known]) -> tuple[Written, ...]:
        for atom, was in zip(self.wanted, self.earlier, strict=True):
            if atom.key not in self.left or any(self._take(*each) for each in self._ways(atom, was, known)):
                continue
            if not self._rewritten(atom):
                raise Unwritable(_line(atom), "no edit was found that makes this change alone")
        if self.left:
            raise Unwritable(_line(self.wanted[0]), "the edits together do not make the change")
        return tuple(written for written, _ in self.chosen)

    def _rewritten(self, atom: Atom) -> bool:
        """Whether one edit makes all of a definition around the atom, in place of those that were chosen in it."""
        for parent, into in reversed(atom.parents):
            if not isinstance(parent, DEFINITIONS):
                continue
            name = enclosing(self.fixed, parent.lineno)
            chosen, left = self.chosen, self.left
            self.chosen = [each for each in chosen if f"{each[0].qualname}.".find(f"{name}.") != 0]
            made = self._made(self.chosen)
            if made is not None:
                self.left = {each.key for each in atoms(SourceText(made), self.reverted)}
                ways = rewrites(parent, into, self.fixed, self.reverted)
                if atom.key in self.left and any(self._take(atom, name, way, False) for way in ways):
                    return True
            self.chosen, self.left = chosen, left
        return False

    def _ways(
        self, atom: Atom, was: Atom | None, known: Sequence[Known]
    ) -> Iterator[tuple[Atom, str, Candidate, bool]]:
        around = _owner(self.fixed, atom)
        for each in known:
            names = dict.fromkeys(([each.qualname] if each.qualname is not None else []) + [around])
            for name in names:
                yield atom, name, Candidate(each.kind), True
        for candidate in candidates(atom, self.fixed, self.reverted, was):
            inside = enclosing(self.fixed, atom.old[0].lineno) if candidate.inside else around
            yield atom, inside, candidate, False

    def _take(self, atom: Atom, qualname: str, candidate: Candidate, reused: bool) -> bool:
        """Whether the candidate makes this atom, perhaps others too, and nothing else; it is kept then."""
        found = _found(self.fixed, qualname, candidate.kind)
        if not isinstance(found, Found) or (not reused and self._stands_reverted(qualname, candidate.kind)):
            return False
        text = self._made([*self.chosen, (Written(qualname, candidate.kind), found)])
        if text is None:
            return False
        left = {each.key for each in atoms(SourceText(text), self.reverted)}
        if not (left < self.left and atom.key not in left):
            return False
        kind = candidate.kind
        if isinstance(kind, PatternEdit) and not (reused and self._recognised(qualname, kind)):
            kind = replace(kind, unfixed=self._looks(atom, qualname, kind, candidate.looks))
        self.chosen.append((Written(qualname, kind, reused and kind == candidate.kind), found))
        self.left = left
        return True

    def _stands_reverted(self, qualname: str, kind: EditKind) -> bool:
        """Whether the edit would be found once more in what it made."""
        return isinstance(_found(self.reverted, qualname, kind), Found)

    def _made(self, chosen: Sequence[tuple[Written, Found]]) -> str | None:
        named: list[tuple[str, Replacement]] = [("", each) for _, found in chosen for each in found.replacements]
        text = combine(self.fixed, named)
        return None if isinstance(text, Conflict) or verify(self.fixed, text) is not None else text

    def _recognised(self, qualname: str, kind: PatternEdit) -> bool:
        return any(self._seen(self.reverted, qualname, text) for text in kind.unfixed)

    def _looks(self, atom: Atom, qualname: str, kind: PatternEdit, first: Sequence[str]) -> tuple[str, ...]:
        """Patterns that tell the reverted form from the fixed one: of this part alone out, and of all."""
        found: list[str] = []
        for source, its in (
            (self.reverted, [atom]),
            (self.all_reverted, self._same_place(atom)),
        ):
            if any(self._seen(source, qualname, text) for text in found):
                continue
            for text in (*first, *(text for each in its for text in _neighbours(each, self.fixed))):
                if self._tells(source, qualname, kind, text):
                    found.append(text)
                    break
        return tuple(found)

    def _same_place(self, atom: Atom) -> list[Atom]:
        """The changes of the same statements where all is reverted."""
        if self.all_atoms is None:
            alone = self.all_reverted is self.reverted
            self.all_atoms = self.wanted if alone else atoms(self.fixed, self.all_reverted)
        return [each for each in self.all_atoms if set(map(id, each.old)) & set(map(id, atom.old))]

    def _tells(self, source: SourceText, qualname: str, kind: PatternEdit, text: str) -> bool:
        if len(set(_SAYING.findall(_HOLES.sub("", text)))) < 2 or pattern.check(replace(kind, unfixed=(text,))):
            return False
        return self._seen(source, qualname, text) and not self._seen(self.fixed, qualname, text)

    def _seen(self, source: SourceText, qualname: str, text: str) -> bool:
        scope = resolve(source, qualname)
        return isinstance(scope, Scope) and bool(pattern.sightings(source, scope, text))


def _found(source: SourceText, qualname: str, kind: EditKind) -> Outcome | None:
    """What the ordinary locator says; None where there is no such definition."""
    scope = resolve(source, qualname)
    if not isinstance(scope, Scope):
        return None
    if isinstance(kind, LinesEdit):
        return lines.locate(source, scope, kind)
    if isinstance(kind, PatternEdit):
        return None if pattern.check(kind) else pattern.locate(source, scope, kind)
    return None  # diffs and preambles are written anew


def _owner(source: SourceText, atom: Atom) -> str:
    """The innermost definition that the atom is in."""
    for parent, _ in reversed(atom.parents):
        if isinstance(parent, DEFINITIONS):
            return enclosing(source, parent.lineno)
    return ""


def _line(atom: Atom) -> int:
    nearby = (*atom.old, *(each for each in (atom.behind, atom.before) if each is not None))
    return nearby[0].lineno if nearby else atom.parents[-1][0].lineno if atom.parents else 1


def _neighbours(atom: Atom, fixed: SourceText) -> Iterator[str]:
    """How a block looks from which statements are gone: what stood on both sides is side by side."""
    if not deletes(atom):
        return
    if atom.before is not None and atom.behind is not None:
        if not any(blocks(atom.before)) and not any(blocks(atom.behind)):
            yield spell(fixed, atom.before, atom.behind)
        return
    owner = atom.parents[-1][0] if atom.parents else None
    if atom.before is None and isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef):
        if atom.behind is not None and not any(blocks(atom.behind)):
            yield beginning(owner, atom.behind)
        return
    if atom.before is None and isinstance(owner, ast.If | ast.While | ast.For | ast.With):
        head = _headline(fixed, owner)
        if head and (atom.behind is None or not any(blocks(atom.behind))) and atom.old[0] is owner.body[0]:
            rest = "pass" if atom.behind is None else f"{spell(fixed, atom.behind)}\n    $...REST"
            text = f"{head}\n    {rest}"
            yield text + ("\nelse:\n    $...OTHERWISE" if getattr(owner, "orelse", None) else "")


def _headline(source: SourceText, owner: ast.stmt) -> str:
    """``if a:`` on one line."""
    inner = next(block for _, block in blocks(owner))
    first, last = owner.lineno, inner[0].lineno
    if last != first + 1:
        return ""
    return source.line(first).strip().partition("  #")[0]
