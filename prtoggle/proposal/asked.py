"""What was asked of ``port``: the goal, the fixes of a selection, and an answer for each of them, on its own.

Contract: nothing is written but by :func:`keep`, which replaces a file whole, or not at all.

Example::

    for answer in answers(parse("27360"), goal, library, pool): answer.verdict
    # "applies", "ported", "absent" or "refused"
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from prtoggle import wholefile
from prtoggle.against import PathTarget, parse_against
from prtoggle.catalog import Catalog, Request
from prtoggle.errors import MalformedError, PrtoggleError, RefusedError, UsageError
from prtoggle.folderlock import alone
from prtoggle.library import Library
from prtoggle.packages import Package, locate
from prtoggle.plan import decisions
from prtoggle.proposal.bases import Pool, Twins
from prtoggle.proposal.propose import Proposal, propose
from prtoggle.releases import Index
from prtoggle.runtime.sources import BUNDLED
from prtoggle.selection import ALL, Selection
from prtoggle.sources import Sources
from prtoggle.spec import Fix
from prtoggle.subjects import import_name, one_release
from prtoggle.unified import unified

_PAGE = "guides/port#what-it-does"

SOURCES = ("dir", "path", "bundled", "entry-point", "registry")


@dataclass(frozen=True)
class Goal:
    """The release to port to, and the distribution that it is of."""

    sources: Sources
    distribution: str

    @property
    def package(self) -> Package:
        return self.sources.package


@dataclass(frozen=True)
class Answer:
    """What came out for one fix: ``verdict`` is ``applies``, ``ported``, ``absent`` (not in this release, and nobody
    named it) or ``refused``."""

    fix: Fix
    verdict: str
    reason: str = ""
    proposal: Proposal | None = None
    error: PrtoggleError | None = None


def goal_of(text: str, library: Library, index: Index, *, only: str | None = None, selection: Selection = ALL) -> Goal:
    """The one release, wheel or folder that ``text`` names.

    Args:
        only: the import name of the package, where a folder has several.
        selection: what is to be ported to it: in a folder, the package is one that this is for.

    Raises:
        UsageError: it names several, or nothing that a fix is for.
        MalformedError: it has nothing that a fix is for, and there are files that do not load.
    """
    target = parse_against(text)
    if isinstance(target, Requirement):
        name = only or import_name(target.name, library)
        return Goal(Sources(one_release(target, name, index)), target.name)
    package = _in(target, library, index, (only,) if only else _names(selection, library))
    return Goal(Sources(package), package.name.replace("_", "-"))


def _names(selection: Selection, library: Library) -> tuple[str, ...]:
    """The packages that what is selected is for; where that is not known, every package that a fix is for."""
    choices = selection.choices if not selection.everything else ()
    fixes = [fix for each in choices for fix in library.here.candidates(each.number, each.project)]
    return tuple(dict.fromkeys(name for fix in fixes for name in fix.packages)) or library.package_names


def _in(target: PathTarget, library: Library, index: Index, names: Sequence[str]) -> Package:
    there: dict[str, Package] = {}
    for name in names:
        try:
            (release,) = index.resolve(target, name)
        except UsageError:
            continue
        found = locate(name, [str(release.root)])
        if found is not None:
            there[name] = found
    if len(there) > 1:
        there.pop(BUNDLED, None)
    if len(there) > 1:
        raise UsageError(
            f"{target.path} holds {' and '.join(there)}", hint="--package names the one to port to", page=_PAGE
        )
    for package in there.values():
        return package
    if library.problems:
        raise MalformedError(library.problems)
    raise UsageError(
        f"{target.path} holds no package that a fix is for",
        nearest=", ".join(name for name in names if name != BUNDLED),
        hint="name the folder that one of them is in, or --package",
        page=_PAGE,
    )


def answers(
    selection: Selection, goal: Goal, library: Library, pool: Pool, *, source: str | None = None
) -> Iterator[Answer]:
    """One answer for each fix that is selected."""
    catalog: Catalog = library.catalog(goal.package)
    for request in catalog.resolve(selection):
        fix = _chosen(request, goal.package, source)
        if fix is None:
            if request.explicit:
                raise _none_of(request, goal.package, source, catalog)
            continue
        yield _answer(fix, request, goal, pool, lambda fix, package: _own(fix, package, library))


def _chosen(request: Request, package: Package, source: str | None) -> Fix | None:
    """The first fix that is for the package; later ones of its number are not looked at."""
    found = (fix for fix in request.fixes if package.name in fix.packages and source in (None, fix.origin.kind))
    return next(found, None)


def _none_of(request: Request, package: Package, source: str | None, catalog: Catalog) -> RefusedError:
    """Why there is nothing of what was asked for, for the package: what does not load may have it."""
    broken = [
        problem.error
        for problem in catalog.problems
        if package.name in (problem.packages or (package.name,))
        and source in (None, problem.origin.kind)
        and (not problem.number or any(problem.number == fix.id for fix in request.fixes))
    ]
    if broken:
        return MalformedError(tuple(each for error in broken for each in error.problems))
    return RefusedError(
        f"{request.name} is for no package {package.name}"
        if source is None
        else f"{request.name} has no source of the kind '{source}' for {package.name}",
        nearest=", ".join(f"{fix.origin} for {' and '.join(fix.packages)}" for fix in request.fixes),
        hint="--source and --package choose another",
        page=_PAGE,
    )


def _answer(fix: Fix, request: Request, goal: Goal, pool: Pool, twins: Twins) -> Answer:
    if not request.explicit:
        table = decisions(fix, goal.sources)
        if all(decision.verdict.absent for decision in table.values()):
            return Answer(fix, "absent", next(iter(table.values())).reason)
    try:
        proposal = propose(fix, goal.sources, pool, twins)
    except PrtoggleError as error:
        return Answer(fix, "refused", error.what, error=error)
    if proposal is None:
        places = dict.fromkeys(decision.reason for decision in decisions(fix, goal.sources).values())
        return Answer(fix, "applies", "; ".join(places))
    return Answer(fix, "ported", proposal.how, proposal)


def _own(fix: Fix, package: Package, library: Library) -> tuple[Fix, ...]:
    """What the registry of a release itself has for the number of a fix that comes from a registry."""
    if fix.origin.kind != "registry":
        return ()
    found = library.catalog(package).candidates(fix.id, fix.project)
    return tuple(each for each in found if each.origin.kind == "registry")


def keep(proposal: Proposal, folders: Sequence[Path]) -> Path:
    """Write what is proposed, whole, and say where. A new file goes to the one folder of fixes that is named.

    Raises:
        UsageError: there is not one folder for a new file.
        RefusedError: the file is not as it was read, or cannot be written.
    """
    if proposal.path:
        path = Path(os.path.realpath(proposal.path))
    else:
        if len(folders) != 1:
            raise UsageError(
                f"{proposal.fix.id} has no file of its own to write to",
                hint="name one folder for it: --fixes DIR",
                page=_PAGE,
            )
        there = sorted(folders[0].glob(f"pr{proposal.fix.id}_*"))
        if there:
            raise RefusedError(
                f"{there[0]} is there already", hint="merge what is proposed into it by hand", page=_PAGE
            )
        path = folders[0] / f"pr{proposal.fix.id}_{proposal.plan.package.name}" / "revert.yaml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with alone(path.parent):  # another `port` waits; what it read is then not what is there
            if proposal.path and path.read_bytes() != proposal.before:
                raise RefusedError(f"{path} has changed since it was read", hint="port it again", page=_PAGE)
            if path.exists() and not path.stat().st_mode & 0o222:  # to put a file in its place would go all the same
                raise RefusedError(
                    f"{path} is read-only", hint="make it writable, or take the patch from stdout", page=_PAGE
                )
            wholefile.replace(path, proposal.after, durable=True)
    except OSError as error:
        raise RefusedError(f"{path} cannot be written: {error.strerror or error}", page=_PAGE) from None
    return path


def as_patch(proposal: Proposal, *, several: bool) -> tuple[Path, bytes]:
    """What is shown on stdout, and the folder that its paths start from: a diff of the file, or all of a new one.

    Raises:
        UsageError: a whole new file among several things.
    """
    if not proposal.path:
        if several:
            raise UsageError(
                f"{proposal.fix.id} has no file of its own, and a whole new one cannot stand among patches",
                hint="port it alone, or take --json",
                page=_PAGE,
            )
        return Path.cwd(), proposal.after
    path = Path(os.path.realpath(proposal.path))  # git does not patch what a symbolic link leads to
    here = Path.cwd()
    if not path.is_relative_to(here):
        here = path.parent.parent
    return here, unified(path.relative_to(here).as_posix(), proposal.before, proposal.after)
