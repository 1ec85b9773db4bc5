"""Where a port starts and which way it goes: the nearest release in which a fix applies, and the releases from there
to the goal.

Contract: releases come from the user's pip, or are on disk already; whatever has to be fetched is said. What is
listed and cannot be had is an InconclusiveError, never left out.

Example::

    pool = Pool.of("sglang", "sglang", Index(), via=())
    start = base(fix, goal, pool)
    (start.sources.package.label, [tree.label for tree in way(start, goal, pool)])
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from prtoggle.against import PathTarget
from prtoggle.edits.text import SourceText
from prtoggle.errors import InconclusiveError, RefusedError, UsageError
from prtoggle.memo import Memo, MemoSources
from prtoggle.packages import Package, locate
from prtoggle.plan import decisions
from prtoggle.refusals import refusal_of
from prtoggle.releases import Index
from prtoggle.sources import Sources
from prtoggle.spec import Fix, Variant
from prtoggle.verdict import Decision, Verdict, within

_PAGE = "guides/port#what-it-does"

MOST = 12
"""How many releases on each side are looked at where nothing says which ones hold the fix."""


@dataclass(frozen=True)
class PackageTree:
    """A release's sources, as :mod:`prtoggle.port` reads them."""

    sources: Sources

    @property
    def label(self) -> str:
        """Name and version."""
        return self.sources.package.label

    def text(self, module: str) -> str | None:
        """The text of ``module``; None where there is none that can be read. It is not parsed: a search reads them
        all."""
        file = self.sources.package.module_file(module)
        try:
            return SourceText.decode(file.read_bytes()).text if file is not None else None
        except (OSError, SyntaxError, ValueError):
            return None

    def modules(self) -> Iterable[str]:
        """The names of all modules with source, sorted."""
        package = self.sources.package
        names = {package.name} if package.file is not None else set()
        for location in package.locations:
            for folder, folders, files in os.walk(location):
                folders[:] = sorted(each for each in folders if each.isidentifier())
                prefix = (package.name, *Path(folder).relative_to(location).parts)
                for file in files:
                    stem, ending = os.path.splitext(file)
                    if ending == ".py" and stem.isidentifier():
                        names.add(".".join(prefix if stem == "__init__" else (*prefix, stem)))
        return sorted(names)


@dataclass
class Pool:
    """The releases that may be looked at, oldest first, each read once."""

    distribution: str
    package: str
    index: Index
    versions: tuple[str, ...]
    memo: Memo = field(default_factory=Memo.load)
    _read: dict[str, Sources] = field(default_factory=dict)

    @classmethod
    def of(cls, distribution: str, package: str, index: Index, *, via: Sequence[Requirement | PathTarget] = ()) -> Pool:
        """The releases, wheels and folders that ``via`` names; without it all that pip lists and all that are on
        disk."""
        pool = cls(distribution, package, index, ())
        found: set[str] = set()
        for target in via:
            if isinstance(target, PathTarget):
                found.add(pool._take(target))
            else:
                found.update(index.releases(target))
        if not via:
            here = index.on_disk(distribution)
            try:
                found.update((*index.releases(Requirement(distribution)), *here))
            except InconclusiveError as problem:
                if not here:
                    hint = f"--via names wheels and folders to look at instead; what failed: {problem.hint}"
                    raise InconclusiveError(problem.what, hint=hint, page=_PAGE) from None
                index.note(f"{problem.what}: only the {len(here)} releases on disk are looked at")
                found.update(here)
        pool.versions = tuple(sorted(filter(_final, found), key=Version))
        return pool

    def _take(self, target: PathTarget) -> str:
        """The version of the package in a wheel or folder, whose sources are used for it."""
        (release,) = self.index.resolve(target, self.package)
        found = locate(self.package, [str(release.root)])
        if found is None or not found.believed:
            why = found.why if found is not None else f"it has no package {self.package}"
            raise UsageError(
                f"{target.path} is no release to port from: {why}",
                hint="name one with its metadata, or name==version",
                page=_PAGE,
            )
        self._read[found.version] = MemoSources(found, self.memo)
        return found.version

    def sources(self, version: str) -> Sources:
        """The sources of one release; fetched where it is not on disk."""
        if version not in self._read:
            if version not in self.index.on_disk(self.distribution):
                self.index.note(f"{self.distribution} {version} is fetched")
            root = self.index.fetch(self.distribution, version)
            found = locate(self.package, [str(root)])
            if found is None:
                raise InconclusiveError(f"{self.distribution} {version} has no package {self.package}", page=_PAGE)
            self._read[version] = MemoSources(found, self.memo)
        return self._read[version]

    def ready(self, version: str) -> bool:
        """Whether it takes no download to look at a release."""
        return version in self._read or version in self.index.on_disk(self.distribution)

    def above(self, version: str) -> tuple[str, ...]:
        """The releases above ``version`` that it takes no download to look at."""
        return tuple(each for each in self.versions if Version(each) > Version(version) and self.ready(each))


def _final(version: str) -> bool:
    try:
        return not Version(version).is_prerelease
    except InvalidVersion:
        return False


@dataclass(frozen=True)
class Base:
    """Where a fix applies: the release, and the variant that is for it. ``fix`` is the one asked for, or its twin
    there."""

    fix: Fix
    sources: Sources
    variant: Variant
    parts: tuple[str, ...]


Twins = Callable[[Fix, Package], tuple[Fix, ...]]
"""The fix of the same number that a release carries itself, where it does: what to try there if the fix does not
apply."""


def base(fix: Fix, goal: Package, pool: Pool, twins: Twins = lambda fix, package: ()) -> Base:
    """The nearest release in which every part of ``fix`` applies that its variant there does not say is lacking.

    Raises:
        RefusedError: there is none among those looked at.
    """
    looked: list[str] = []
    nearest: Decision | None = None
    for version in _near(fix, goal, pool):
        sources = pool.sources(version)
        looked.append(version)
        table = decisions(fix, sources)
        for each in (fix, *twins(fix, sources.package)):
            its = table if each is fix else decisions(each, sources)
            if found := applying(its):
                variant = its[found[0]].variant
                assert variant is not None
                return Base(each, sources, variant, found)
        wrong = (decision for decision in table.values() if decision.verdict is not Verdict.APPLIES)
        nearest = nearest or next(wrong, None)
    what = f"{fix.id}: no release is known in which it applies, so there is nothing to carry to {goal.label}"
    if nearest is None:
        contains = fix.contains.get(goal.name, "")
        ranges = [each.versions or "any" for each in fix.variants if each.package == goal.name]
        held = f" and in contains ({contains})" if contains else ""
        others = [each for each in pool.versions if Version(each) != Version(goal.version)]
        raise RefusedError(
            f"{what}: no {pool.distribution} is in a variant's versions ({' or '.join(ranges)}){held}",
            place=fix.place,
            nearest=f"looked among {_listed(others)}" if others else "",
            hint="correct the versions, or let --via name a release that is in them",
            page=_PAGE,
        )
    reason = refusal_of(nearest)
    raise RefusedError(
        f"{what}; looked at {_listed(looked)}; {reason.what}",
        place=reason.place or fix.place,
        nearest=reason.nearest,
        hint="--via names the releases to look at",
        page=_PAGE,
    )


def applying(table: dict[str, Decision]) -> tuple[str, ...]:
    """The parts that apply; none unless all others are declared to be lacking."""
    found = tuple(part for part, decision in table.items() if decision.verdict is Verdict.APPLIES)
    others = [decision.verdict for part, decision in table.items() if part not in found]
    return found if all(verdict is Verdict.DECLARED for verdict in others) else ()


def _near(fix: Fix, goal: Package, pool: Pool) -> Iterator[str]:
    """The versions that could hold the fix and have a variant, the nearest to the goal first, the earlier one of
    two."""
    ranges = [variant.versions for variant in fix.variants if variant.package == goal.name]
    contains = fix.contains.get(goal.name, "")
    all_versions = [version for version in pool.versions if Version(version) != Version(goal.version)]
    below = [version for version in all_versions if Version(version) < Version(goal.version)]
    distance = {version: (len(below) - k - 0.5) for k, version in enumerate(all_versions)}
    bounded = bool(contains) or all(ranges)
    for version in sorted(all_versions, key=lambda version: (abs(distance[version]), -distance[version])):
        if abs(distance[version]) > MOST and not bounded:
            return
        if any(within(version, each) for each in ranges) and within(version, contains):
            yield version


def way(start: Base, goal: Sources, pool: Pool) -> tuple[PackageTree, ...]:
    """The trees from the start to the goal, both included, and all releases of the pool between them."""
    first, last = Version(start.sources.package.version), Version(goal.package.version)
    low, high = min(first, last), max(first, last)
    between = [version for version in pool.versions if low < Version(version) < high]
    steps = between if first < last else between[::-1]
    return (PackageTree(start.sources), *(PackageTree(pool.sources(version)) for version in steps), PackageTree(goal))


def _listed(versions: Sequence[str]) -> str:
    return (
        ", ".join(versions) if len(versions) <= 6 else f"{', '.join(versions[:3])} ... {versions[-1]} ({len(versions)})"
    )
