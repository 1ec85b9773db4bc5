"""What a reverse patch meets in a release: one verdict for every part, with its reason (the table of DESIGN section 5).

Example::

    decisions = decide(fix, variant, Sources(package))
    decisions["slice"].verdict is Verdict.APPLIES
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from prtoggle.edits.kinds import PatternEdit
from prtoggle.edits.outcome import Already, Found, Missing, Several
from prtoggle.packages import Package
from prtoggle.sources import Sighting, Sources
from prtoggle.spec import Fix, Variant


class Verdict(enum.Enum):
    """What is true of one part in one release."""

    APPLIES = "applies"
    CONTAINS_WRONG = "contains is wrong"
    NOT_SEEN = "not in this release (seen)"
    ALREADY = "already reverted"
    HALF = "half reverted"
    DECLARED = "not in this release (declared)"
    BY_VERSION = "not in this release (by version)"
    ROT = "rot"

    @property
    def absent(self) -> bool:
        """The release does not have the part: nothing to take out, and nothing wrong with the reverse patch."""
        return self in (Verdict.NOT_SEEN, Verdict.DECLARED, Verdict.BY_VERSION)

    @property
    def healthy(self) -> bool:
        """True where ``check`` has nothing to complain of."""
        return self is Verdict.APPLIES or self.absent


@dataclass(frozen=True)
class Decision:
    """The verdict on one part of one fix in one package.

    ``variant`` is None when no variant is for this version. ``sightings`` are the evidence, one for each edit of the
    part.
    """

    fix: Fix
    part: str
    package: Package
    variant: Variant | None
    verdict: Verdict
    reason: str
    sightings: tuple[Sighting, ...] = ()
    hint: str = ""

    @property
    def name(self) -> str:
        """``27360/slice``, or ``27360`` for a fix of one unnamed part."""
        return part_name(self.fix, self.part)

    @property
    def nearest(self) -> Sighting | None:
        """The first sighting that stands in the way of applying, if any."""
        return next((seen for seen in self.sightings if not isinstance(seen.outcome, Found)), None)


def part_name(fix: Fix, part: str) -> str:
    """How a part is written in a selection."""
    from prtoggle.spec import ONLY_PART

    return fix.id if part == ONLY_PART and tuple(fix.parts) == (ONLY_PART,) else f"{fix.id}/{part}"


def holds_fix(fix: Fix, package: Package) -> bool | None:
    """Whether ``contains`` says that this release holds the fix; None where it does not say (or the version is not
    believed)."""
    specifier = fix.contains.get(package.name)
    if specifier is None or not package.believed:
        return None
    return within(package.version, specifier)


def within(version: str, specifier: str) -> bool:
    """Whether ``version`` is in ``specifier``; local version labels and post releases count as PEP 440 says."""
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(specifier).contains(version, prereleases=True)


def decide(fix: Fix, variant: Variant, sources: Sources) -> dict[str, Decision]:
    """The verdict on every part of ``fix`` under ``variant``, in the order of the fix's parts."""
    return {part: _decide_part(fix, part, variant, sources) for part in fix.parts}


def _decide_part(fix: Fix, part: str, variant: Variant, sources: Sources) -> Decision:
    package = sources.package
    inside = holds_fix(fix, package)
    seen = tuple(
        sources.sight(edit, patch.target) for patch in variant.patches for edit in patch.edits if part in edit.parts
    )

    def verdict(what: Verdict, reason: str, hint: str = "") -> Decision:
        return Decision(fix, part, package, variant, what, reason, seen, hint)

    changes = [sighting for sighting in seen if not is_condition(sighting)]
    found = [sighting for sighting in changes if isinstance(sighting.outcome, Found)]
    gone = [sighting for sighting in changes if looks_reverted(sighting)]
    if found and all(isinstance(sighting.outcome, Found) for sighting in seen):
        if inside is False:
            return verdict(
                Verdict.CONTAINS_WRONG,
                f"every edit matches, yet contains ({fix.contains[package.name]}) says that {package.label} lacks it",
                f"correct contains in {fix.place}",
            )
        return verdict(Verdict.APPLIES, f"found at {_places(found)}")
    if found and gone:
        return verdict(Verdict.HALF, f"{_places(found)} stands as fixed, but {_places(gone)} as reverted")
    if gone and all(sighting in gone or _plain_missing(sighting) for sighting in changes):
        if inside is True:
            return verdict(Verdict.ALREADY, f"{_places(gone)} stands as reverted, in a release that holds the fix")
        whose = "outside contains" if inside is False else "of unknown version"
        if inside is None and package.believed:
            whose = "of which contains says nothing"
        return verdict(Verdict.NOT_SEEN, f"{_places(gone)} stands as without the fix, in a release {whose}")
    if not seen and part in variant.lacks:
        return verdict(
            Verdict.DECLARED, f"the variant for {package.name} {variant.versions or '(any version)'} lists it in lacks"
        )
    if inside is False and all(isinstance(sighting.outcome, Missing) for sighting in seen):
        return verdict(Verdict.BY_VERSION, f"contains is {fix.contains[package.name]}")
    return verdict(Verdict.ROT, _why_rot(seen))


def is_condition(sighting: Sighting) -> bool:
    """Whether the edit changes nothing: a place that must be there for the variant to be the right one, and says no
    more."""
    kind = sighting.edit.kind
    return isinstance(kind, PatternEdit) and kind.find.strip() == kind.put.strip()


def looks_reverted(sighting: Sighting) -> bool:
    """Whether the place was recognised in its unfixed state; what stands there more than once is neither."""
    if isinstance(sighting.outcome, Found | Several):
        return False
    return bool(sighting.unfixed) or isinstance(sighting.outcome, Already)


def _plain_missing(sighting: Sighting) -> bool:
    """Not there, and the edit has no picture of the unfixed state that could have been looked for."""
    kind = sighting.edit.kind
    return isinstance(sighting.outcome, Missing) and sighting.scope is not None and not getattr(kind, "unfixed", ())


def _places(sightings: list[Sighting]) -> str:
    places = []
    for sighting in sightings:
        lines = sighting.unfixed or (getattr(sighting.outcome, "line", 0),)
        places.append(f"{sighting.module}:{','.join(map(str, lines))}")
    return ", ".join(dict.fromkeys(places))


def _why_rot(seen: tuple[Sighting, ...]) -> str:
    reasons = []
    for sighting in seen:
        outcome = sighting.outcome
        if isinstance(outcome, Missing):
            reasons.append(f"{sighting.target}: {outcome.reason}")
        elif isinstance(outcome, Several):
            lines = ", ".join(map(str, outcome.lines))
            reasons.append(f"{sighting.target}: {outcome.reason or 'found more than once'} (lines {lines})")
    return "; ".join(dict.fromkeys(reasons)) or "the variant has no edit for this part"
