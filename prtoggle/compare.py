"""Two reverse patches for one number, compared by the text that they make of a package.

Example::

    compare(ours, theirs, package).same_as      # ("27360/slice",): theirs gives what our 27360/slice gives
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from prtoggle.catalog import Catalog
from prtoggle.errors import PrtoggleError
from prtoggle.packages import Package
from prtoggle.plan import Plan, decisions, make
from prtoggle.revertdiff import relative
from prtoggle.selection import Choice, Selection
from prtoggle.sources import Sources
from prtoggle.spec import ONLY_PART, Fix
from prtoggle.unified import unified
from prtoggle.verdict import Verdict

_FEW = 5
Texts = dict[str, tuple[str, bytes]]


@dataclass(frozen=True)
class Comparison:
    """What another source's patch does to a package, in terms of ours.

    Attributes:
        same_as: the selections of ours that give the same text, in all files.
        left: parts of ours that apply here and that the other leaves in place (known where ``same_as`` is).
        difference: from the text under our default to the text under theirs, as a diff; empty where they are equal.
        refused: why the other cannot be applied here, or ours.
    """

    package: Package
    ours: Fix
    theirs: Fix
    same_as: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    difference: bytes = b""
    refused: str = ""


def compare(ours: Fix, theirs: Fix, package: Package) -> Comparison:
    """How ``theirs`` differs from ``ours`` in ``package``, by the text that comes out."""
    try:
        other = _texts(_plan(theirs, (), package))
    except PrtoggleError as error:
        return Comparison(package, ours, theirs, refused=error.what)
    table = decisions(ours, Sources(package))
    applying = tuple(part for part, decision in table.items() if decision.verdict is Verdict.APPLIES)
    same: list[tuple[str, ...]] = []
    for parts in _subsets(applying, ours.default_parts):
        try:
            made = _texts(_plan(ours, parts, package))
        except PrtoggleError:
            continue
        if {file: text for file, (_, text) in made.items()} == {file: text for file, (_, text) in other.items()}:
            same.append(parts)
    if same:
        left = tuple(part for part in applying if part not in same[0])
        return Comparison(package, ours, theirs, tuple(_name(ours, parts) for parts in same), left)
    try:
        mine = _texts(_plan(ours, (), package))
    except PrtoggleError as error:
        return Comparison(package, ours, theirs, refused=error.what)
    return Comparison(package, ours, theirs, difference=_difference(mine, other, package))


def _plan(fix: Fix, parts: Sequence[str], package: Package) -> Plan:
    named = tuple(part for part in parts if part != ONLY_PART) or None
    choice = Choice("fix", number=int(fix.id), parts=named)
    return make(Selection((choice,)), Catalog((fix,)), package)


def _texts(plan: Plan) -> Texts:
    return {str(module.file): (module.name, module.reverted) for module in plan.modules}


def _subsets(parts: Sequence[str], default: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The default first; all subsets of few parts, of many each alone and all."""
    first = tuple(part for part in parts if part in default)
    sizes = range(1, len(parts) + 1) if len(parts) <= _FEW else (1, len(parts))
    others = (subset for size in sizes for subset in combinations(parts, size))
    yield from dict.fromkeys(subset for subset in (first, *others) if subset)


def _name(fix: Fix, parts: Sequence[str]) -> str:
    if tuple(fix.parts) == (ONLY_PART,):
        return fix.id
    return f"{fix.id}/{'+'.join(parts)}"


def _difference(mine: Texts, other: Texts, package: Package) -> bytes:
    from pathlib import Path

    pieces = []
    for file in sorted({*mine, *other}):
        plain = Path(file).read_bytes()
        before = mine[file][1] if file in mine else plain
        after = other[file][1] if file in other else plain
        pieces.append(unified(str(relative(Path(file), package)), before, after))
    return b"".join(pieces)
