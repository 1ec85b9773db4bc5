"""A new variant for a release that a fix does not apply to: from where it applies, carried, written, and tried.

Contract: nothing is written to disk. A proposal is only made where the new file, loaded as any other, gives exactly
the carried syntax trees in the goal, part by part and all together, and changes nothing where the fix applied before.

Example::

    found = propose(fix, goal, pool)        # Proposal, or None where it applies as it stands
    found.after                             # the bytes of the new revert.yaml
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from prtoggle.edits.kinds import EditKind, PatternEdit
from prtoggle.edits.outcome import Found
from prtoggle.edits.scope import split_target
from prtoggle.edits.text import SourceText
from prtoggle.errors import MalformedError, Place, RefusedError
from prtoggle.plan import Plan, decisions
from prtoggle.port import Revert, Step, Texts
from prtoggle.proposal.bases import Base, Pool, Twins, applying, base, way
from prtoggle.proposal.carrying import Carry, PortRefused, carry, plan_of, revert, same_trees
from prtoggle.proposal.ranges import Ranges, cut, split, widened
from prtoggle.proposal.writing import Known, Unwritable, Written, write
from prtoggle.proposal.yamlpatch import Unpatchable, dash, patched
from prtoggle.proposal.yamltext import NewEdit, NewPatch, NewVariant, document, variant_lines
from prtoggle.refusals import refusal_of
from prtoggle.runtime.sources import read
from prtoggle.sources import Sources
from prtoggle.spec import ONLY_PART, Fix, Variant
from prtoggle.verdict import Decision, Verdict, decide, is_condition, within
from prtoggle.yamlfile import loads

_PAGE = "guides/port#what-it-does"


@dataclass(frozen=True)
class Proposal:
    """What ``port`` proposes for one fix.

    Attributes:
        base: the label of the release that it was carried from.
        how: ``new variant``, ``wider versions`` or ``new file``.
        versions: of the new or widened variant; ``old_versions`` those left to the old one where they change.
        path: the reverse patch's file; empty for a new one.
        before, after: its bytes.
        plan: all parts taken out of the goal with it: what it would do.
        steps: why it is the same, place by place and release by release.
    """

    fix: Fix
    base: str
    how: str
    versions: str
    old_versions: str | None
    path: str
    before: bytes
    after: bytes
    plan: Plan
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()


def propose(fix: Fix, goal: Sources, pool: Pool, twins: Twins = lambda fix, package: ()) -> Proposal | None:
    """What makes ``fix`` apply to ``goal``; None where it does already. ``twins`` are the fixes of its number that
    releases carry themselves.

    Raises:
        RefusedError: there is nothing to port, or it cannot be told how, with the place and the nearest passage.
        InconclusiveError: a release that is needed could not be had.
    """
    package = goal.package
    if not package.believed:
        raise RefusedError(
            f"a variant is for versions, and that of {package.label} is not believed: {package.why}",
            hint="name a release: --to name==version",
            page=_PAGE,
        )
    if not fix.id.isdigit():
        raise RefusedError(f"{fix.id} is a diff: a reverse patch has the number of a fix", place=fix.place, page=_PAGE)
    table = decisions(fix, goal)
    if applying(table):
        return None
    _refuse_unless_rot(table)
    start = base(fix, package, pool, twins)
    trees = way(start, goal, pool)
    return _Making(fix, start, goal, pool, carry(start, trees)).proposal()


def _refuse_unless_rot(table: Mapping[str, Decision]) -> None:
    for decision in table.values():
        if decision.verdict not in (Verdict.APPLIES, Verdict.DECLARED, Verdict.ROT):
            raise refusal_of(decision)
    if all(decision.verdict is Verdict.DECLARED for decision in table.values()):
        raise refusal_of(next(iter(table.values())))


class _Making:
    """One proposal, from carried texts to a file that was tried."""

    def __init__(self, fix: Fix, start: Base, goal: Sources, pool: Pool, carried: Carry) -> None:
        self.fix, self.start, self.goal, self.pool, self.carried = fix, start, goal, pool, carried
        self.variant = start.variant
        self.version = goal.package.version
        self.own = not self.variant.sequential and fix.origin.kind not in ("registry", "diff")
        self.others = tuple(
            each.versions for each in fix.variants if each.package == goal.package.name and each is not self.variant
        )

    def proposal(self) -> Proposal:
        if self.own and (found := self._wider()):
            return found
        patches = self._patches()
        if not self.own:
            ranges = self._bounded(Ranges(f">={self.version}", None), lambda ranges: self._document(ranges, patches))
            return self._tried("new file", ranges, "", b"", self._document(ranges, patches))
        ranges = split(self.variant.versions, self.version, works=self._works(), others=self.others)
        before = self._before()
        ranges = self._bounded(ranges, lambda ranges: self._file(before, ranges, patches))
        after = self._file(before, ranges, patches)
        return self._tried("new variant", ranges, self.fix.place.file, before, after)

    def _new(self, versions: str, patches: tuple[NewPatch, ...]) -> NewVariant:
        variant = self.variant
        return NewVariant(variant.package, versions, variant.lacks, variant.baked_in, patches)

    def _file(self, before: bytes, ranges: Ranges, patches: tuple[NewPatch, ...]) -> bytes:
        """The fix's file with the new variant."""
        name = self.fix.place.file
        try:
            indent = dash(before, name, self.variant)
            lines = variant_lines(self._new(ranges.new, patches), tuple(self.fix.parts), indent=indent)
            return patched(before, name, self.variant, versions=ranges.old, new=lines)
        except Unpatchable as problem:
            raise RefusedError(
                f"{self.fix.id}: its file has no place for a variant: {problem}", place=self.variant.place, page=_PAGE
            ) from None

    def _document(self, ranges: Ranges, patches: tuple[NewPatch, ...]) -> bytes:
        """A whole file with the new variant alone."""
        fix = self.fix
        parts = [] if tuple(fix.parts) == (ONLY_PART,) else list(fix.parts.items())
        return document(fix.id, fix.title, fix.project, self._new(ranges.new, patches), parts, fix.links).encode()

    def _bounded(self, ranges: Ranges, file: Callable[[Ranges], bytes]) -> Ranges:
        """``ranges`` with the new variant's up to the first release above the goal, of those at hand, that it does
        not fit."""
        found = [each for each in self._loaded(file(ranges)).variants if each.versions == ranges.new]
        variant = next(each for each in found if each.package == self.goal.package.name)
        for version in self.pool.above(self.version):
            if within(version, ranges.new) and not self._applies(variant, self.pool.sources(version)):
                return Ranges(cut(ranges.new, version), ranges.old)
        return ranges

    def _wider(self) -> Proposal | None:
        """The variant as it is, for more versions: where it is not meant for the goal, and fits there all the same."""
        if within(self.version, self.variant.versions) or not self._applies(self.variant, self.goal):
            return None
        versions = widened(self.variant.versions, self.version, others=self.others)
        if versions is None:
            return None
        above = self.pool.above(self.version)
        for version in self.pool.versions:
            if within(version, self.variant.versions) or not within(version, versions) or not self.pool.ready(version):
                continue
            if not self._applies(self.variant, self.pool.sources(version)):
                if version not in above:
                    return None
                versions = cut(versions, version)
        before = self._before()
        try:
            after = patched(before, self.fix.place.file, self.variant, versions=versions)
        except Unpatchable:
            return None
        return self._tried("wider versions", Ranges(versions, None), self.fix.place.file, before, after)

    def _before(self) -> bytes:
        """The fix's file, which is what the fix was loaded from."""
        before = read(self.fix.place.file)
        with contextlib.suppress(MalformedError, UnicodeDecodeError):
            if (
                loads(before.decode("utf-8-sig"), self.fix.place.file, id=self.fix.id, origin=self.fix.origin)
                == self.fix
            ):
                return before
        raise RefusedError(f"{self.fix.place.file} has changed since it was read", hint="port it again", page=_PAGE)

    def _applies(self, variant: Variant, sources: Sources) -> bool:
        return bool(applying(decide(self.fix, variant, sources)))

    def _gives(self, fix: Fix) -> bool:
        """Whether ``fix`` makes of the goal what was carried, and nothing else: each part, and all together."""
        wanted: list[tuple[tuple[str, ...], Revert]] = [((part,), its) for part, its in self.carried.parts.items()]
        if len(wanted) > 1:
            wanted.append((self.start.parts, self.carried.whole))
        try:
            return all(same_trees(revert(plan_of(fix, parts, self.goal)), its) for parts, its in wanted)
        except RefusedError:
            return False

    def _works(self) -> tuple[str, ...]:
        """The releases at hand in which the old variant applies."""
        return tuple(
            version
            for version in self.pool.versions
            if within(version, self.variant.versions)
            and self.pool.ready(version)
            and applying(decisions(self.fix, self.pool.sources(version)))
        )

    def _patches(self) -> tuple[NewPatch, ...]:
        targets: dict[str, list[NewEdit]] = {}
        for target, edit in self._conditions():
            targets.setdefault(target, []).append(edit)
        for part, texts in self.carried.parts.items():
            for each in texts.modules:
                for written in self._written(part, each):
                    add(targets.setdefault(self._target(each.module, written.qualname), []), part, written.kind)
        return tuple(NewPatch(target, tuple(edits)) for target, edits in targets.items())

    def _written(self, part: str, texts: Texts) -> tuple[Written, ...]:
        whole = next((each.reverted for each in self.carried.whole.modules if each.module == texts.module), None)
        was = self.carried.before[part].modules
        earlier = next((each for each in was if each.module == texts.module), was[0] if len(was) == 1 else None)
        try:
            return write(
                SourceText(texts.fixed),
                SourceText(texts.reverted),
                self._known(part, texts.module),
                all_reverted=SourceText(whole) if whole is not None else None,
                earlier=(SourceText(earlier.fixed), SourceText(earlier.reverted)) if earlier is not None else None,
            )
        except Unwritable as problem:
            raise PortRefused(
                f"{self.fix.id}: carried to {self.goal.package.label}, and cannot be written as edits: {problem}",
                place=Place(texts.module, problem.line),
                hint="prtoggle port --json has the diff; write the variant by hand",
                steps=self.carried.steps,
            ) from None

    def _known(self, part: str, module: str) -> list[Known]:
        """The edits of the old variant for a part; those of this module, and of modules that the goal does not have."""
        found = []
        for patch in self.variant.patches:
            name, qualname = split_target(patch.target, self.start.sources.package.module_exists)
            for edit in patch.edits:
                if part in edit.parts:
                    found.append(Known(edit.kind, qualname if name == module else None))
        return found

    def _conditions(self) -> list[tuple[str, NewEdit]]:
        """The old variant's conditions, where the goal fulfils them. One that it does not is what somebody put there
        to say that the variant is wrong then: that is for a person to decide."""
        found = []
        changed = dict.fromkeys(each.module for texts in self.carried.parts.values() for each in texts.modules)
        for patch in self.variant.patches:
            for edit in patch.edits:
                if not is_condition(self.goal.sight(edit, patch.target)):
                    continue
                targets = (patch.target, *changed)
                holds = [each for each in targets if isinstance(self.goal.sight(edit, each).outcome, Found)]
                if not holds:
                    raise PortRefused(
                        f"{self.fix.id}: a condition of its variant is not fulfilled in {self.goal.package.label}: "
                        f"{getattr(edit.kind, 'find', '').strip()!r} is not in {patch.target}",
                        place=edit.place,
                        hint="what the condition guards has changed: look, and write the variant by hand",
                        steps=self.carried.steps,
                    )
                found.append((holds[0], NewEdit(edit.parts, edit.kind)))
        return found

    def _target(self, module: str, qualname: str) -> str:
        if not qualname:
            return module
        first = qualname.partition(".")[0]
        exists = self.goal.package.module_exists(f"{module}.{first}")
        return f"{module}{':' if exists or '<' in qualname else '.'}{qualname}"

    def _tried(self, how: str, ranges: Ranges, path: str, before: bytes, after: bytes) -> Proposal:
        """The proposal, where the file does what it should; a refusal where it does not."""
        fix = self._loaded(after)
        if not self._gives(fix):
            raise PortRefused(
                f"{self.fix.id}: the edits that were written do not give in {self.goal.package.label} what was carried",
                place=self.fix.place,
                hint="write the variant by hand",
                steps=self.carried.steps,
            )
        if path:
            self._refuse_harm(fix)
        plan = plan_of(fix, self.start.parts, self.goal)
        notes = tuple(f"{module.name}: {note}" for module in plan.modules for note in module.notes)
        return Proposal(
            self.fix,
            self.start.sources.package.label,
            how,
            ranges.new,
            ranges.old,
            path,
            before,
            after,
            plan,
            self.carried.steps,
            notes,
        )

    def _loaded(self, after: bytes) -> Fix:
        name = self.fix.place.file if self.own else f"pr{self.fix.id}/revert.yaml"
        try:
            return loads(after.decode("utf-8-sig"), name, id=self.fix.id, origin=self.fix.origin)
        except MalformedError as problem:
            raise PortRefused(
                f"{self.fix.id}: the variant that was written does not load: {problem.problems[0]}",
                place=self.fix.place,
                steps=self.carried.steps,
            ) from None

    def _refuse_harm(self, fix: Fix) -> None:
        """Where the fix applied before, among what is at hand, it must apply as before."""
        ranges = [each.versions for each in (*self.fix.variants, *fix.variants) if each.package == self.pool.package]
        for version in self.pool.versions:
            if not self.pool.ready(version) or not any(within(version, each) for each in ranges):
                continue
            sources = self.pool.sources(version)
            earlier, now = (
                {part: decision.verdict for part, decision in decisions(each, sources).items()}
                for each in (self.fix, fix)
            )
            worse = [part for part in earlier if earlier[part].healthy and not now[part].healthy]
            if worse:
                raise PortRefused(
                    f"{self.fix.id}: with the new variant {', '.join(worse)} would no longer be right in {version}",
                    place=self.variant.place,
                    hint="write the variant by hand",
                )


def add(edits: list[NewEdit], part: str, kind: EditKind) -> None:
    """One more edit of a target; one that two parts have alike is one edit of both."""
    for index, edit in enumerate(edits):
        if _asked(edit.kind) == _asked(kind):
            looks = [each.unfixed for each in (edit.kind, kind) if isinstance(each, PatternEdit)]
            both = edit.kind
            if isinstance(both, PatternEdit):
                both = replace(both, unfixed=tuple(dict.fromkeys(text for each in looks for text in each)))
            edits[index] = NewEdit((*edit.parts, *(() if part in edit.parts else (part,))), both)
            return
    edits.append(NewEdit((part,), kind))


def _asked(kind: EditKind) -> EditKind:
    return replace(kind, unfixed=()) if isinstance(kind, PatternEdit) else kind
