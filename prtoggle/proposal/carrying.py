"""What a fix changes where it applies, carried to another release: part by part, and all parts together.

Contract: pure apart from reading the packages' files; :mod:`prtoggle.port` decides what can be told. What it cannot
tell is a :class:`PortRefused` that names the place, the nearest passage, and what to do.

Example::

    carried = carry(start, trees)
    carried.parts["slice"].modules      # in the last of the trees
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from prtoggle import plan as planning
from prtoggle.catalog import Catalog
from prtoggle.edits.text import SourceText
from prtoggle.errors import Place, RefusedError
from prtoggle.plan import Plan
from prtoggle.port import CannotTell, Revert, Step, Texts, port
from prtoggle.proposal.bases import Base, PackageTree
from prtoggle.selection import Choice, Selection
from prtoggle.sources import Sources
from prtoggle.spec import ONLY_PART, Fix
from prtoggle.verdict import part_name


class PortRefused(RefusedError):
    """It cannot be told how the fix looks in the release; ``steps`` is what could be told before that."""

    page = "guides/port#what-it-does"

    def __init__(
        self, what: str, *, place: Place | None = None, nearest: str = "", hint: str = "", steps: tuple[Step, ...] = ()
    ) -> None:
        self.steps = steps
        super().__init__(what, place=place, nearest=nearest, hint=hint)


@dataclass(frozen=True)
class Carry:
    """The texts of the goal. ``parts`` are those of each part alone, ``whole`` of all; ``before`` the same where it
    applies."""

    whole: Revert
    parts: dict[str, Revert]
    before: dict[str, Revert]
    steps: tuple[Step, ...]


def carry(start: Base, trees: Sequence[PackageTree]) -> Carry:
    """Every part of ``start`` carried over ``trees``, alone and all together.

    Raises:
        PortRefused: one of them cannot be told.
    """
    fix, sources = start.fix, Sources(start.sources.package)  # read once for all plans; those of a pool remember less
    before = {part: revert(plan_of(fix, (part,), sources)) for part in start.parts}
    parts: dict[str, Revert] = {}
    steps: dict[Step, None] = {}
    for part in start.parts:
        parts[part], found = _carried(fix, (part,), before[part], trees)
        steps.update(dict.fromkeys(found))
    if len(start.parts) == 1:
        return Carry(parts[start.parts[0]], parts, before, tuple(steps))
    both = revert(plan_of(fix, start.parts, sources))
    whole, _ = _carried(fix, start.parts, both, trees)
    return Carry(whole, parts, before, tuple(steps))


def plan_of(fix: Fix, parts: Sequence[str], sources: Sources) -> Plan:
    """The plan that takes ``parts`` of ``fix`` out, as any other."""
    named = None if tuple(fix.parts) == (ONLY_PART,) else tuple(parts)
    selection = Selection((Choice("fix", number=int(fix.id), parts=named),))
    return planning.make(selection, Catalog((fix,)), sources.package, sources=sources)


def revert(plan: Plan) -> Revert:
    """What a plan changes, as texts."""
    texts = (
        Texts(each.name, SourceText.decode(each.original).text, SourceText.decode(each.reverted).text)
        for each in plan.modules
    )
    return Revert(plan.package.label, tuple(each for each in texts if each.fixed != each.reverted))


def _carried(
    fix: Fix, parts: Sequence[str], start: Revert, trees: Sequence[PackageTree]
) -> tuple[Revert, tuple[Step, ...]]:
    answer = port(start, trees)
    if not isinstance(answer, CannotTell):
        return answer.revert, answer.steps
    names = ", ".join(part_name(fix, part) for part in parts)
    where = f" ({answer.where})" if answer.where else ""
    nearest = f"{answer.release}: {answer.nearest}" if answer.nearest else ""
    raise PortRefused(
        f"{names}: it cannot be told how it looks in {trees[-1].label}: {answer.reason}{where}",
        place=fix.place,
        nearest=nearest,
        hint=_hint(answer, trees),
        steps=answer.steps,
    )


def _hint(answer: CannotTell, trees: Sequence[PackageTree]) -> str:
    if "not in this release" in answer.reason or "already reverted" in answer.reason:
        return f"if {trees[-1].label} does not have it, list the part in lacks, or bound contains and say why"
    if answer.release != trees[-1].label:
        return f"look at {answer.release} and write its variant by hand, then port from there"
    return "look at both places and write the variant by hand"


def same_trees(one: Revert, other: Revert) -> bool:
    """Whether both change the same modules to the same syntax."""
    texts = [{each.module: each.reverted for each in its.modules} for its in (one, other)]
    return texts[0].keys() == texts[1].keys() and all(
        text == texts[1][module] or _tree(text) == _tree(texts[1][module]) for module, text in texts[0].items()
    )


@lru_cache(maxsize=16)
def _tree(text: str) -> str:
    return ast.dump(ast.parse(text))
