"""Which fixes there are, where each came from, and what a selection means among them.

Sources in order: folders named, ``PRTOGGLE_PATH``, the bundled folder, entry points of other distributions, the
registries that packages carry themselves. Several sources may have one number: the plan takes the first that applies
to what is installed. A file that does not load is a problem, and is raised where it could be what was asked for.

Example::

    catalog = load(registries=[(sglang.INTEGRATION, Path("/site-packages/sglang"))])
    (request,) = catalog.resolve(parse("27360"))
    [str(fix.origin) for fix in request.fixes]      # ["bundled /...", "registry sglang"]
    request.parts_of(request.fixes[0])              # ("slice",)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from prtoggle.entries import Problem, entries_of, registry_entries
from prtoggle.errors import MalformedError, PrtoggleError, RefusedError, SelectionError, did_you_mean
from prtoggle.integrations import Integration
from prtoggle.runtime.sources import BadSource, find
from prtoggle.selection import Choice, Selection
from prtoggle.spec import Fix

DiffFix = Callable[[str], Fix]
"""Makes a fix of the merged diff at a path."""


@dataclass(frozen=True)
class Request:
    """One thing that was selected, and the fixes that it could mean, in the order of their sources.

    Attributes:
        name: as it is written in a selection, without parts.
        fixes: those that have every part that was named.
        default: whether the default parts are meant.
        named: the parts named.
        every: whether every part is meant.
        explicit: False where nobody asked for this one: ``all`` did.
    """

    name: str
    fixes: tuple[Fix, ...]
    default: bool = True
    named: tuple[str, ...] = ()
    every: bool = False
    explicit: bool = True

    @property
    def named_parts(self) -> tuple[str, ...] | None:
        """The parts named, or None where none were: then a part that is not there is no error."""
        return self.named or None

    def parts_of(self, fix: Fix) -> tuple[str, ...]:
        """The parts of ``fix`` that are meant, in its order; none where it has not all of those named."""
        if not set(self.named) <= set(fix.parts):
            return ()
        wanted = set(self.named) | set(fix.parts if self.every else fix.default_parts if self.default else ())
        return tuple(part for part in fix.parts if part in wanted)


@dataclass(frozen=True)
class Catalog:
    """Everything that was found, in the order of the sources; ``bad_sources`` are those that could not be read."""

    entries: tuple[Fix | Problem, ...] = ()
    bad_sources: tuple[BadSource, ...] = ()
    diff_fix: DiffFix | None = None

    @cached_property
    def fixes(self) -> tuple[Fix, ...]:
        """The fixes that load."""
        return tuple(entry for entry in self.entries if isinstance(entry, Fix))

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """What does not load."""
        return tuple(entry for entry in self.entries if isinstance(entry, Problem))

    @cached_property
    def packages(self) -> tuple[str, ...]:
        """Every package that a fix, or a file that does not load, is for."""
        return tuple(dict.fromkeys(package for entry in self.entries for package in entry.packages))

    @cached_property
    def problem_packages(self) -> frozenset[str]:
        """The packages that something that does not load is, or may be, for."""
        named = {package for problem in self.problems for package in problem.packages or self.packages}
        return frozenset(named.union(self.packages) if self.bad_sources else named)

    def problems_of(self, package: str) -> tuple[PrtoggleError, ...]:
        """What is wrong with sources and files that are, or may be, for ``package``."""
        mine = (problem for problem in self.problems if package in (problem.packages or (package,)))
        files = (error for problem in mine for error in problem.error.problems)
        return (*map(_source_error, self.bad_sources), *files)

    def candidates(self, number: int | str, project: str = "") -> tuple[Fix, ...]:
        """The fixes of that number, of any project or of that one; a fix of no known project counts for every one."""
        return tuple(entry for entry in self._entries_of(str(number), project) if isinstance(entry, Fix))

    def everything(self) -> tuple[Request, ...]:
        """A request for each number of each project, with its default parts."""
        requests = {}
        for fix in self.fixes:
            projects = self._projects(fix.id)
            for project in [fix.project] if fix.project else projects or [""]:
                name = f"{project}#{fix.id}" if len(projects) > 1 else fix.id
                requests[name] = Request(name, self.candidates(fix.id, project), explicit=False)
        return tuple(requests.values())

    def resolve(self, selection: Selection) -> tuple[Request, ...]:
        """What ``selection`` means here.

        Raises:
            SelectionError: it names what nobody knows, or what two projects have.
            MalformedError: what it names does not load.
        """
        if selection.is_none:
            return ()
        errors: list[PrtoggleError] = []
        for source in self.bad_sources:
            if selection.everything or source.kind != "entry-point":  # what the user named must be there
                errors.append(_source_error(source))
        if selection.everything:
            errors.extend(problem.error for problem in self.problems)
            _raise(errors)
            return self.everything()
        requests: list[Request] = []
        for group in self._grouped(selection.choices, errors):
            try:
                requests.append(self._request(group))
            except PrtoggleError as error:
                errors.append(error)
        _raise(errors)
        return tuple(requests)

    def _entries_of(self, number: str, project: str = "") -> tuple[Fix | Problem, ...]:
        return tuple(
            entry
            for entry in self.entries
            if (
                entry.number == number
                if isinstance(entry, Problem)
                else entry.id == number and (not project or not entry.project or _same(entry.project, project))
            )
        )

    def _projects(self, number: str) -> list[str]:
        """The projects that have that number, in order."""
        projects = {fix.project.lower(): fix.project for fix in self.fixes if fix.id == number and fix.project}
        return list(projects.values())

    def _grouped(self, choices: Iterable[Choice], errors: list[PrtoggleError]) -> list[list[Choice]]:
        """Choices that mean the same fixes, together: ``27360``, ``27360/slice`` and ``owner/name#27360``."""
        groups: dict[tuple[str, str, str], list[Choice]] = {}
        for choice in choices:
            projects = self._projects(str(choice.number))
            if choice.kind == "fix" and not choice.project and len(projects) > 1:
                errors.append(_ambiguous(choice.number, projects))
                continue
            project = choice.project or (projects or [""])[0]
            groups.setdefault((choice.path, str(choice.number), project.lower()), []).append(choice)
        return list(groups.values())

    def _request(self, choices: Sequence[Choice]) -> Request:
        first = choices[0]
        if first.kind == "diff":
            if self.diff_fix is None:
                raise RefusedError(f"a diff says nothing without a package to apply it to: {first.path}")
            return Request(first.path, (self.diff_fix(first.path),))
        project = next((choice.project for choice in choices if choice.project), "")
        name = f"{project}#{first.number}" if project else str(first.number)
        entries = self._entries_of(str(first.number), project)
        if not entries:
            raise self._unknown(first.number, project)
        if isinstance(entries[0], Problem):  # the first source wins, and this one cannot say what it is
            raise entries[0].error
        named = tuple(sorted({part for choice in choices for part in choice.parts or ()}))
        request = Request(
            name,
            tuple(entry for entry in entries if isinstance(entry, Fix)),
            default=any(choice.parts is None and not choice.all_parts for choice in choices),
            named=named,
            every=any(choice.all_parts for choice in choices),
        )
        fitting = tuple(fix for fix in request.fixes if request.parts_of(fix))
        if not fitting:
            raise _unknown_part(request)
        return Request(name, fitting, request.default, named, request.every)

    def _unknown(self, number: int, project: str) -> SelectionError:
        elsewhere = self._projects(str(number))
        known = sorted({fix.id for fix in self.fixes if not project or not fix.project or _same(fix.project, project)})
        what = f"no fix of {project} has the number {number}" if project else f"no fix has the number {number}"
        broken = [problem.path for problem in self.problems if not problem.number]
        broken += [source.where for source in self.bad_sources]
        hint = "prtoggle list shows all"
        beside = sorted(map(str, Path(_FOLDER).glob(f"pr{number}_*/revert.yaml")))
        if beside and not self._entries_of(str(number)):
            hint += f"; {beside[0]} is not looked at: --fixes {_FOLDER}, or PRTOGGLE_PATH={_FOLDER}"
        if broken:
            hint += f"; what could not be read may have it: {', '.join(broken)}"
        nearest = f"{elsewhere[0]}#{number}" if elsewhere else did_you_mean(str(number), known)
        return SelectionError(what, nearest=nearest, hint=hint, page=_SOURCES)


_FOLDER = "fixes"
"""Where ``prtoggle new`` writes; nothing is looked for there unless it is named."""

_SOURCES = "choosing#where-fixes-come-from"
_NAMED = "choosing#what-is-named-must-be-there"


def load(
    *,
    dirs: Sequence[str | os.PathLike[str]] = (),
    environ: Mapping[str, str] | None = None,
    sys_path: Sequence[str] | None = None,
    registries: Sequence[tuple[Integration, Path]] = (),
    diff_fix: DiffFix | None = None,
) -> Catalog:
    """The catalog of all sources.

    Args:
        dirs: folders of fixes, before all others.
        registries: packages with a registry of their own, and the folder of each package.
        diff_fix: makes a fix of a diff that a selection names.
    """
    found = find(dirs=dirs, environ=environ, sys_path=sys_path)
    entries = entries_of(found.files)
    for integration, root in registries:
        entries.extend(registry_entries(integration, root))
    return Catalog(tuple(entries), found.bad, diff_fix)


def _source_error(source: BadSource) -> SelectionError:
    named = {"dir": "--fixes", "path": "PRTOGGLE_PATH", "entry-point": "the distribution"}.get(source.kind, source.kind)
    return SelectionError(f"{named} {source.where}: {source.what}", page=_SOURCES)


def _same(one: str, other: str) -> bool:
    return one.lower() == other.lower()


def _ambiguous(number: int, projects: Sequence[str]) -> SelectionError:
    return SelectionError(
        f"{number} is a number of {len(projects)} projects: {' and '.join(projects)}",
        hint=f"write {' or '.join(f'{project}#{number}' for project in projects)}",
    )


def _unknown_part(request: Request) -> SelectionError:
    known = tuple(dict.fromkeys(part for fix in request.fixes for part in fix.parts))
    unknown = [part for part in request.named if part not in known]
    hint = f"its parts are {', '.join(known)}"
    if not unknown:
        return SelectionError(
            f"no source of {request.name} has all of the parts {', '.join(request.named)}", hint=hint, page=_NAMED
        )
    near = did_you_mean(unknown[0], known)
    what = f"{request.name} has no part {' and no part '.join(repr(part) for part in unknown)}"
    return SelectionError(what, nearest=f"{request.name}/{near}" if near else "", hint=hint, page=_NAMED)


def _raise(errors: Sequence[PrtoggleError]) -> None:
    """All ``errors`` as one, if there are any."""
    if not errors:
        return
    if len(errors) == 1:
        raise errors[0]
    if all(isinstance(error, SelectionError) for error in errors):
        pages = {error.page for error in errors}
        raise SelectionError("\n".join(error.said for error in errors), page=pages.pop() if len(pages) == 1 else "")
    flat = [each for error in errors for each in (error.problems if isinstance(error, MalformedError) else (error,))]
    raise MalformedError(tuple(dict.fromkeys(flat)))
