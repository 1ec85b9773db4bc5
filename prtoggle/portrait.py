"""One fix as it is seen from here: every source that has its number, what it would do to what is installed, and how
other sources differ from the one that is taken.

Example::

    portrait(parse("27360"), Library()).comparisons[0].same_as     # ("27360/slice",)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from prtoggle.compare import Comparison, compare
from prtoggle.errors import PrtoggleError, UsageError
from prtoggle.library import Library
from prtoggle.packages import Package
from prtoggle.plan import Plan, choose, decisions, make
from prtoggle.refusals import back_into_files
from prtoggle.selection import Selection
from prtoggle.sources import Sources
from prtoggle.spec import Fix, Variant
from prtoggle.verdict import Decision


@dataclass(frozen=True)
class Here:
    """What the fix would do in one installed package: ``fix`` is the source's that is taken there; ``plan`` is what its
    default makes of the package, or ``refused`` why it makes nothing."""

    package: Package
    fix: Fix
    decisions: tuple[Decision, ...]
    plan: Plan | None = None
    refused: str = ""


@dataclass(frozen=True)
class Portrait:
    """``fixes`` are those of the number, in the order of their sources."""

    fixes: tuple[Fix, ...]
    here: tuple[Here, ...]
    absent: tuple[str, ...]
    comparisons: tuple[Comparison, ...]


def portrait(selection: Selection, library: Library) -> Portrait:
    """All that is known here of the one fix that ``selection`` names.

    Raises:
        UsageError: it names none, or several; or nobody knows it.
    """
    if len(selection.choices) != 1 or selection.choices[0].kind != "fix":
        raise UsageError("show is for one fix", hint="prtoggle show 27360, or prtoggle list for all")
    (request,) = library.here.resolve(selection)
    names = dict.fromkeys(name for fix in request.fixes for name in (*fix.packages, *fix.contains))
    packages = {name: library.find(name) for name in names}
    here, comparisons = [], []
    for package in packages.values():
        if package is None:
            continue
        sources = Sources(package)
        choice = choose(request, sources)
        if choice is None:
            continue
        plan, refused = None, ""
        try:
            plan = make(selection, library.catalog(package), package)
        except PrtoggleError as error:
            refused = error.what
        here.append(Here(package, choice.fix, tuple(decisions(choice.fix, sources).values()), plan, refused))
        others = (fix for fix in request.fixes if fix is not choice.fix and package.name in fix.packages)
        comparisons += [compare(choice.fix, other, package) for other in others]
    absent = tuple(name for name, package in packages.items() if package is None)
    return Portrait(request.fixes, tuple(here), absent, tuple(comparisons))


def links(fix: Fix) -> tuple[str, ...]:
    """Where to read about a fix: its pull request, and what it names itself."""
    pull = (f"https://github.com/{fix.project}/pull/{fix.id}",) if fix.project else ()
    return tuple(dict.fromkeys((*pull, *fix.links)))


def data(seen: Portrait) -> dict[str, Any]:
    """As plain values."""
    return {
        "fixes": [_fix(fix) for fix in seen.fixes],
        "here": [
            {
                "package": each.package.name,
                "version": each.package.version,
                "where": each.package.where,
                "origin": {"kind": each.fix.origin.kind, "where": each.fix.origin.where},
                "parts": {
                    d.part: {"verdict": d.verdict.value, "reason": d.reason, "restore": back_into_files(d)}
                    for d in each.decisions
                },
                "reverted": list(each.plan.in_force) if each.plan else [],
                "refused": each.refused,
            }
            for each in seen.here
        ],
        "absent": list(seen.absent),
        "comparisons": [
            {
                "package": each.package.name,
                "version": each.package.version,
                "origin": {"kind": each.theirs.origin.kind, "where": each.theirs.origin.where},
                "same_as": list(each.same_as),
                "left": list(each.left),
                "difference": each.difference.decode("utf-8", "backslashreplace"),
                "refused": each.refused,
            }
            for each in seen.comparisons
        ],
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "id": fix.id,
        "title": fix.title,
        "project": fix.project,
        "merged": fix.merged,
        "symptom": fix.symptom,
        "origin": {"kind": fix.origin.kind, "where": fix.origin.where},
        "place": str(fix.place),
        "links": list(links(fix)),
        "contains": dict(fix.contains),
        "contains_reason": dict(fix.contains_reason),
        "parts": dict(fix.parts),
        "default": list(fix.default_parts),
        "variants": [
            {
                "package": variant.package,
                "versions": variant.versions,
                "lacks": list(variant.lacks),
                "baked_in": list(variant.baked_in),
                "place": str(variant.place),
                "edits": [
                    {"target": target, "parts": list(parts), "place": place} for target, parts, place in edits(variant)
                ],
            }
            for variant in fix.variants
        ],
    }


def edits(variant: Variant) -> Iterable[tuple[str, tuple[str, ...], str]]:
    """Target, parts and place of each edit."""
    return ((patch.target, edit.parts, str(edit.place)) for patch in variant.patches for edit in patch.edits)
