"""What ``--against`` names, or what is installed, as things to check and to make plans for.

Example::

    named(["sglang>=0.5.13"], library, Index())        # a Subject for each release, and for those just below `contains`
    plans(parse("27360"), library, Index())            # a plan for each installed package that 27360 is for
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from prtoggle import plan as planning
from prtoggle.against import PathTarget, parse_against
from prtoggle.check import Subject
from prtoggle.difffix import changed, text_of
from prtoggle.errors import InconclusiveError, RefusedError, UsageError, did_you_mean
from prtoggle.integrations import all_integrations
from prtoggle.library import Library
from prtoggle.packages import Package, locate, normalise
from prtoggle.plan import Plan
from prtoggle.releases import Index, Release
from prtoggle.runtime.diffroots import roots
from prtoggle.runtime.sources import BUNDLED
from prtoggle.selection import NONE, Choice, Selection
from prtoggle.sources import Sources
from prtoggle.spec import Fix
from prtoggle.verdict import within

Wanted = Callable[[Fix], bool]


def wanted_by(selection: Selection | None) -> Wanted:
    """Whether a fix is among those selected."""
    if selection is None or selection.everything:
        return lambda fix: True
    numbers = {str(choice.number) for choice in selection.choices}
    return lambda fix: fix.id in numbers


def installed(library: Library, selection: Selection | None = None) -> list[Subject]:
    """What is installed, of all packages that fixes are for."""
    found = (library.find(name) for name in _names(library, selection))
    return [
        Subject(package.name, package.label, package.version, package, library.catalog(package))
        for package in found
        if package is not None
    ]


def absent(library: Library, selection: Selection | None = None) -> tuple[str, ...]:
    """The packages that the selected fixes are for and that are not installed."""
    return tuple(
        name for name in _names(library, selection) if name in library.here.packages and not library.find(name)
    )


def named(against: Sequence[str], library: Library, index: Index, selection: Selection | None = None) -> list[Subject]:
    """Every release that ``against`` names, and those just below the range that ``contains`` names.

    Raises:
        UsageError: it names nothing that a fix is for.
        InconclusiveError: the releases cannot be listed.
    """
    subjects: list[Subject] = []
    for text in against:
        target = parse_against(text)
        if isinstance(target, PathTarget):
            subjects.extend(_in_path(target, library, index, selection))
        else:
            subjects.extend(_releases(target, library, index, wanted_by(selection)))
    unique = {
        (subject.name, subject.label, subject.version, str(subject.package and subject.package.where)): subject
        for subject in subjects
    }
    return list(unique.values())


def _names(library: Library, selection: Selection | None) -> tuple[str, ...]:
    """The packages that the selected fixes are for; of a diff, all that its paths could be of."""
    names: dict[str, None] = {}
    if selection is None or selection.everything:
        return library.package_names
    for choice in selection.choices:
        if choice.kind == "diff":
            text_of(choice.path)
            names.update(dict.fromkeys(sorted(roots(str(choice), os.getcwd()))))
        else:
            fixes = library.here.candidates(choice.number, choice.project)
            if not fixes:  # a registry that is looked at only later may know the number
                names.update(dict.fromkeys(each.package for each in all_integrations()))
            names.update(dict.fromkeys(name for fix in fixes for name in (*fix.packages, *fix.contains)))
    return tuple(names)


def nowhere(choice: Choice, library: Library) -> None:
    """Raises where none of the packages that ``choice`` is for is installed, the one that comes with prtoggle not
    counted where there are others."""
    one = Selection((choice,))
    names = [name for name in _names(library, one) if name != BUNDLED]
    if names and not any(library.find(name) for name in names):
        raise RefusedError(not_here(one, names), hint=_ASK_THE_OTHER)


def not_here(selection: Selection, names: Sequence[str]) -> str:
    """That none of ``names`` is installed; of a diff, its files say more than the folders above them."""
    files = [path for choice in selection.choices if choice.kind == "diff" for path in changed(choice.path)]
    if files:
        shown = ", ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
        return f"{selection} changes {shown}, and no package of that is installed for {_python()}"
    return f"{selection} is for {', '.join(names)}, not installed for {_python()}"


_ASK_THE_OTHER = "use the Python that has the package: /path/to/its/bin/python -m prtoggle ..."


def _python() -> str:
    return sys.executable or "this Python"


def import_name(distribution: str, library: Library) -> str:
    """The package that the distribution is taken to hold: one that a fix is for, or else its own name."""
    for name in library.package_names:
        if normalise(name) == normalise(distribution):
            return name
    return distribution.replace("-", "_").replace(".", "_")


def _releases(requirement: Requirement, library: Library, index: Index, wanted: Wanted) -> Iterator[Subject]:
    name = import_name(requirement.name, library)
    with _nearest_name(requirement, library):
        below = _below(requirement, name, library, index, wanted)
        found = index.resolve(_bounded(requirement, name, library, index, wanted), name)
    for release in found:
        yield _subject(name, release, library, below.pop(release.version, frozenset()))
    for version, ids in below.items():
        (release,) = index.resolve(Requirement(f"{requirement.name}=={version}"), name)
        yield replace(_subject(name, release, library, ids), listed=False)


def _subject(name: str, release: Release, library: Library, below: frozenset[str] = frozenset()) -> Subject:
    package = locate(name, [str(release.root)]) if release.root is not None else None
    problem = release.problem
    if package is None and problem is None:
        problem = InconclusiveError(
            f"{release.label} has no package {name}", hint="a distribution of another name may hold it"
        )
    version = release.version or (package.version if package else "")
    catalog = library.catalog(package) if package else None
    return Subject(name, release.label, version, package, catalog, problem, below)


@contextmanager
def _nearest_name(requirement: Requirement, library: Library) -> Iterator[None]:
    """What an index says of a name that is none of the packages gets the nearest of them."""
    try:
        yield
    except InconclusiveError as error:
        names = [name.replace("_", "-") for name in library.package_names]
        near = did_you_mean(requirement.name, names)
        if error.nearest or not near or near == normalise(requirement.name):
            raise
        nearest = f"{near}{requirement.specifier}"
        raise InconclusiveError(error.what, nearest=nearest, hint=error.hint) from None


MOST = 30
"""How many releases a requirement without a range names where no fix says which ones matter."""


def _bounded(requirement: Requirement, name: str, library: Library, index: Index, wanted: Wanted) -> Requirement:
    """``requirement``; without a range, that from the oldest release on that holds one of the fixes: what lies before
    has none of them, and would be downloaded for nothing."""
    if requirement.specifier:
        return requirement
    holding = [versions[0] for versions in _holding(requirement, name, library, index, wanted).values() if versions]
    versions = index.releases(requirement)
    if holding:
        first, why = str(min(holding)), "no earlier release has these fixes"
    elif len(versions) > MOST:
        first, why = versions[-MOST], f"the newest {MOST} of {len(versions)} releases"
    else:
        return requirement
    bounded = Requirement(f"{requirement.name}>={first}")
    index.note(f"{requirement} is taken for '{bounded}': {why} ('{requirement.name}>=0' looks at all)")
    return bounded


def _holding(
    requirement: Requirement, name: str, library: Library, index: Index, wanted: Wanted
) -> dict[str, list[Version]]:
    """Number of a fix -> the versions in its ``contains``, oldest first."""
    ranges = {fix.id: fix.contains[name] for fix in library.base.fixes if name in fix.contains and wanted(fix)}
    if not ranges:
        return {}
    versions = [Version(text) for text in index.releases(Requirement(requirement.name))]
    return {
        number: sorted(version for version in versions if within(str(version), specifier))
        for number, specifier in ranges.items()
    }


def _below(
    requirement: Requirement, name: str, library: Library, index: Index, wanted: Wanted
) -> dict[str, frozenset[str]]:
    """Version -> ids of the fixes whose ``contains`` begins just above it."""
    holding = _holding(requirement, name, library, index, wanted)
    versions = [Version(text) for text in index.releases(Requirement(requirement.name))] if holding else []
    found: dict[str, set[str]] = {}
    for number, its in holding.items():
        earlier = [version for version in versions if its and version < its[0]]
        if earlier:
            found.setdefault(str(max(earlier)), set()).add(number)
    return {version: frozenset(ids) for version, ids in found.items()}


def _in_path(target: PathTarget, library: Library, index: Index, selection: Selection | None) -> list[Subject]:
    """Every package that a fix is for and that the wheel or folder holds."""
    subjects = []
    names = _names(library, selection)
    problems: list[UsageError] = []
    for name in names:
        try:
            (release,) = index.resolve(target, name)
        except UsageError as problem:
            problems.append(problem)
            continue
        subject = _subject(name, release, library)
        if subject.package is not None:
            subjects.append(replace(subject, label=f"{subject.package.label} in {_shown(target.path)}"))
    if not subjects:
        library.known(selection or NONE)
        raise UsageError(
            f"{target.path} holds none of the packages that the fixes are for: {', '.join(names)}",
            nearest=next((problem.nearest for problem in problems if problem.nearest), ""),
            hint="name the package's folder, its parent, a checkout (also with src/ or python/), or an environment",
            page="commands#check",
        )
    return subjects


def _shown(path: Path) -> str:
    """``path`` as seen from here where it lies below."""
    try:
        below = path.relative_to(Path.cwd())
        return os.path.join(os.curdir, below) if below.parts else os.curdir
    except (ValueError, OSError):
        return str(path)


def plans(
    selection: Selection,
    library: Library,
    index: Index,
    *,
    against: str | None = None,
    only: str | None = None,
    sources: Callable[[Package], Sources] = Sources,
) -> tuple[Plan, ...]:
    """A plan for each package that the selection is for, among what is installed or what ``against`` names.

    The package that comes with prtoggle counts only where it is named or none other is there. ``sources`` reads the
    files of a package.

    Raises:
        UsageError: nothing that the selection is for is there, or ``against`` names several releases.
        RefusedError: it does not apply.
    """
    if selection.is_none:
        return ()
    packages = _packages(selection, library, index, against, only)
    made = tuple(
        planning.make(selection, library.catalog(package), package, sources=sources(package)) for package in packages
    )
    if not any(plan.choices or plan.skipped for plan in made):
        names = ", ".join(package.name for package in packages)
        raise RefusedError(
            f"{selection} changes nothing of {names}", hint="prtoggle show says which packages a fix is for"
        )
    # A folder on the paths of a diff may be called as some package that the diff has nothing to do with.
    return tuple(plan for plan in made if plan.choices or plan.skipped)


def _packages(
    selection: Selection, library: Library, index: Index, against: str | None, only: str | None
) -> list[Package]:
    target = parse_against(against) if against else None
    if isinstance(target, Requirement):
        with _nearest_name(target, library):
            return [one_release(target, only or import_name(target.name, library), index)]
    names = (only,) if only else _names(library, selection)
    if not names:
        library.here.resolve(selection)  # says what is unknown
        raise RefusedError(f"{selection} is for no package")
    if isinstance(target, PathTarget):
        found = [_package_in(target, name, index) for name in names]
        where = f"in {target.path}"
    else:
        found = [library.find(name) for name in names]
        where = "installed here"
    there = [package for package in found if package is not None]
    if not there:
        if not only:
            library.known(selection)
            if target is None:
                raise RefusedError(not_here(selection, names), hint="--against takes a release, a wheel or a folder")
        raise RefusedError(
            f"none of the packages that {selection} is for is {where}: {', '.join(names)}",
            nearest=did_you_mean(only, library.package_names) if only else "",
            hint="--against takes a release, a wheel or a folder",
        )
    others = [package for package in there if package.name != BUNDLED]
    return others or there


def one_release(requirement: Requirement, name: str, index: Index) -> Package:
    """The package in the one release that ``requirement`` names. Raises UsageError where it names several."""
    versions = index.releases(requirement)
    if len(versions) > 1:
        raise UsageError(
            f"{str(requirement)!r} names {len(versions)} releases, expected one",
            nearest=f"{requirement.name}=={versions[-1]}",
            page="commands#check",
        )
    root = index.fetch(requirement.name, versions[0])
    package = locate(name, [str(root)])
    if package is None:
        raise RefusedError(f"{requirement.name} {versions[0]} has no package {name}", hint="--package names it")
    return package


def _package_in(target: PathTarget, name: str, index: Index) -> Package | None:
    try:
        (release,) = index.resolve(target, name)
    except UsageError:
        return None
    return locate(name, [str(release.root)])
