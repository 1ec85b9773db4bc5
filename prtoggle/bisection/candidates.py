"""What may be to blame: the fixes that a selection means, as they apply to what the command would import.

Example::

    found = find("all", cwd=os.getcwd())
    found.candidates[0]         # Candidate("27360", ("27360/slice",), "fa3 EAGLE draft decode ...", "sglang")
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prtoggle import installed, plan, selection, subjects
from prtoggle.bisection.values import Candidate
from prtoggle.catalog import Catalog
from prtoggle.difffix import text_of
from prtoggle.errors import ConflictError, RefusedError, UsageError
from prtoggle.library import Library
from prtoggle.packages import Package
from prtoggle.runtime.sources import BUNDLED
from prtoggle.selection import Choice, Selection
from prtoggle.sources import Sources
from prtoggle.verdict import part_name


@dataclass(frozen=True)
class Field:
    """The candidates, and of what.

    Attributes:
        packages: label and place of each package that a candidate changes here.
        digest: of the modules that they change, as they are and with all reverted.
        notes: what was left out, and why.
    """

    candidates: tuple[Candidate, ...]
    packages: tuple[tuple[str, str], ...] = ()
    digest: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Place:
    package: Package
    catalog: Catalog
    sources: Sources


def find(
    among: str, *, cwd: str, fixes: Sequence[str] = (), environ: Mapping[str, str] | None = None, script: str = ""
) -> Field:
    """The candidates that ``among`` means in ``cwd``.

    Raises what stands in the way of reverting them all at once: an unknown fix, one that does not apply, a conflict.
    """
    environ = os.environ if environ is None else environ
    wanted = selection.absolute(selection.parse(among, where="--among"), cwd)
    if wanted.is_none:
        raise UsageError("nothing to look for: --among is none", page="guides/bisect#one-command")
    own = [entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    first = [os.path.dirname(os.path.join(cwd, script))] if script else []
    path = list(dict.fromkeys([*first, cwd, *(os.path.join(cwd, entry) for entry in own), *installed.search_path()]))
    library = Library([Path(each) for each in fixes], path, environ)
    library.known(wanted)
    places = _places(library, wanted)
    notes: list[str] = []
    if wanted.everything:
        wanted = _everything(places, notes)
        if all(place.package.name == BUNDLED for place in places):
            notes.append(
                f"only the example code that comes with prtoggle ({BUNDLED}) is seen here: is the package that the "
                "command imports installed for this Python? --fixes DIR names a folder of fixes"
            )
    found: dict[str, Candidate] = {}
    # Named parts first, so that what a bare number means beside them is only the rest.
    for choice in sorted(wanted.choices, key=lambda each: each.parts is None):
        candidate = _candidate(choice, places)
        if candidate is None:  # of a package that is not seen from here: its processes know better
            candidate = _unseen(choice, library)
            notes.append(f"not seen here, so the command's processes have to know it: {choice}")
        claimed = {part for each in found.values() for part in each.parts}
        parts = tuple(part for part in candidate.parts if part not in claimed)
        if parts:
            found[candidate.name] = replace(candidate, parts=parts)
    packages, digest = _whole(wanted, places)
    return Field(tuple(found[name] for name in sorted(found)), packages, digest, tuple(notes))


def _places(library: Library, wanted: Selection) -> list[_Place]:
    """The packages that ``wanted`` may change here; the one that comes with prtoggle only where there is no other."""
    there = [
        _Place(subject.package, subject.catalog, Sources(subject.package))
        for subject in subjects.installed(library, wanted)
        if subject.package is not None and subject.catalog is not None
    ]
    return [place for place in there if place.package.name != BUNDLED] or there


def _everything(places: Sequence[_Place], notes: list[str]) -> Selection:
    """What applies here, by name: a fix that some package would refuse is left out."""
    applies: dict[str, bool] = {}
    for place in places:
        for request in place.catalog.everything():
            choice = plan.choose(request, place.sources)
            if choice is not None:
                applies[request.name] = applies.get(request.name, True) and choice.applies
    names = [name for name, does in applies.items() if does]
    if not names:
        raise RefusedError(
            "no fix applies to what is installed here", hint="prtoggle list says why", page="guides/bisect#one-command"
        )
    left_out = sorted(set(applies) - set(names))
    if left_out:
        notes.append(f"left out, since they do not apply here: {', '.join(left_out)}")
    return selection.parse(",".join(names))


def _candidate(choice: Choice, places: Sequence[_Place]) -> Candidate | None:
    parts: dict[str, None] = {}
    title, package = "", ""
    for place in places:
        for made in plan.make(Selection((choice,)), place.catalog, place.package, sources=place.sources).choices:
            title, package = title or made.fix.title, package or place.package.name
            for taken in made.taken:
                name = part_name(taken.fix, taken.part)
                parts[str(choice) if choice.kind == "diff" else _with(choice.project, name)] = None
    return Candidate(str(choice), tuple(parts), title, package) if parts else None


def _whole(wanted: Selection, places: Sequence[_Place]) -> tuple[tuple[tuple[str, str], ...], str]:
    """All of ``wanted`` at once: the packages that it changes, and a digest of what it makes of them."""
    packages, digest = [], hashlib.sha256()
    for place in places:
        try:
            made = plan.make(wanted, place.catalog, place.package, sources=place.sources)
        except ConflictError as error:
            ours = "at one end all are reverted: --among leaves one of them out"
            hint = f"{error.hint}; {ours}" if error.hint else ours
            raise ConflictError(error.what, place=error.place, nearest=error.nearest, hint=hint) from None
        if made.modules:
            packages.append((place.package.label, place.package.where))
        for module in made.modules:
            digest.update(module.name.encode() + b"\0" + module.original + b"\0" + module.reverted)
    return tuple(packages), digest.hexdigest() if packages else ""


def _unseen(choice: Choice, library: Library) -> Candidate:
    if choice.kind == "diff":
        text_of(choice.path)
        return Candidate(str(choice), (str(choice),), f"the change in {choice.path}")
    request = library.here.resolve(Selection((choice,)))[0]
    fix = request.fixes[0]
    parts = tuple(_with(choice.project, part_name(fix, part)) for part in request.parts_of(fix))
    return Candidate(str(choice), parts, fix.title, fix.packages[0] if fix.packages else "")


def _with(project: str, part: str) -> str:
    return f"{project}#{part}" if project else part
