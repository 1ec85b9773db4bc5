"""What each reverse patch meets in each release: one cell a part, fix and release, and what that makes of the whole.

Nothing is refused because something is not in a release; that is reported. The release just below the range that
``contains`` names is looked at too, so that the range stays honest: there no variant of the fix may match, whatever
versions it is for.

Example::

    report = check([Subject(package, "sglang 0.5.16", catalog)], selection)
    [cell.verdict for cell in report.cells if not cell.healthy]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from prtoggle.catalog import Catalog, Request
from prtoggle.errors import InconclusiveError, MalformedError, PrtoggleError, SelectionError
from prtoggle.library import problems_of
from prtoggle.memo import Memo, MemoSources
from prtoggle.packages import Package
from prtoggle.plan import decisions
from prtoggle.refusals import refusal_of
from prtoggle.selection import ALL, Selection
from prtoggle.sources import Sources
from prtoggle.spec import Fix
from prtoggle.verdict import Decision, Verdict, decide, part_name

UNAVAILABLE = "could not be had"
"""Where a verdict would stand for a release that could not be had."""


@dataclass(frozen=True)
class Subject:
    """One release to look at.

    Attributes:
        name: the package's import name.
        label: the release, for messages: ``sglang 0.5.16``.
        version: its version, as far as it is known.
        package: the package on disk; None where it could not be had, and ``problem`` says why.
        catalog: the fixes, the release's own registry among them.
        below: ids of fixes that must not be in this release, since it stands just below their ``contains``.
        listed: whether it was asked for; else it is looked at only for ``below``.
    """

    name: str
    label: str
    version: str
    package: Package | None
    catalog: Catalog | None
    problem: InconclusiveError | None = None
    below: frozenset[str] = frozenset()
    listed: bool = True


@dataclass(frozen=True)
class Cell:
    """The verdict on one part in one release; ``below`` where the release stands just below ``contains``; ``instead``
    is the source whose fix of the same number applies there and is used, where this one is dead."""

    fix: Fix
    part: str
    release: str
    version: str
    package: str
    verdict: str
    healthy: bool
    below: bool = False
    reason: str = ""
    where: str = ""
    line: int = 0
    column: int = 0
    nearest: str = ""
    hint: str = ""
    page: str = ""
    instead: str = ""

    @property
    def row(self) -> tuple[str, str, str, str]:
        """What makes one row of a matrix: package, fix, source and part."""
        return (self.package, self.fix.id, str(self.fix.origin), self.part)

    @property
    def name(self) -> str:
        """The part as written in a selection; a registry's own is told apart."""
        name = part_name(self.fix, self.part)
        return f"{name} ({self.fix.origin.kind})" if self.fix.origin.kind == "registry" else name

    def data(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "fix": self.fix.id,
            "part": self.part,
            "origin": {"kind": self.fix.origin.kind, "where": self.fix.origin.where},
            "package": self.package,
            "release": self.release,
            "version": self.version,
            "verdict": self.verdict,
            "healthy": self.healthy,
            "below_contains": self.below,
            "reason": self.reason,
            "place": {"file": self.where, "line": self.line, "column": self.column},
            "nearest": self.nearest,
            "hint": self.hint,
            "page": self.page,
            "instead": self.instead,
        }


@dataclass(frozen=True)
class Report:
    """All cells, the subjects that could not be had, and what does not load where everything was asked for."""

    cells: tuple[Cell, ...]
    unavailable: tuple[Subject, ...] = ()
    problems: tuple[PrtoggleError, ...] = ()

    @property
    def unhealthy(self) -> tuple[Cell, ...]:
        """The cells that something is wrong with. Not among them: releases that could not be had, and what is dead
        and not used, since another source's fix of that number applies."""
        return tuple(
            cell for cell in self.cells if not cell.healthy and cell.verdict != UNAVAILABLE and not cell.instead
        )

    @property
    def exit_code(self) -> int:
        """3 where a file does not load, 1 where a patch is wrong, 4 where a release could not be had, else 0."""
        if self.problems:
            return MalformedError.exit_code
        return 1 if self.unhealthy else 4 if self.unavailable else 0


def check(
    subjects: Sequence[Subject], selection: Selection = ALL, *, say: Callable[[str], None] = lambda _: None
) -> Report:
    """The verdict for every part of every selected fix in every subject. ``say`` is told what takes long.

    Raises:
        SelectionError: the selection names what no subject knows.
    """
    memo = Memo.load()
    there = [subject for subject in subjects if subject.package is not None]
    with memo.shared([lambda memo, each=each: _look(each, selection, memo) for each in there]):  # type: ignore[misc]
        say(f"comparing {len(there)} releases" if len(there) > 1 else "comparing")
    cells: list[Cell] = []
    unknown: dict[str, list[PrtoggleError]] = {}
    known: set[str] = set()
    for subject in there:
        looked = _look(subject, selection, memo)
        cells.extend(looked.cells)
        known.update(looked.known)
        for text, problem in looked.unknown.items():
            unknown.setdefault(text, []).append(problem)
    memo.save()
    for text, errors in unknown.items():
        if text not in known:
            raise errors[0]
    gone = tuple(subject for subject in subjects if subject.package is None)
    problems: dict[str, PrtoggleError] = {}
    if selection.everything:
        for subject in subjects:
            if subject.catalog is not None:
                problems.update((str(problem), problem) for problem in problems_of(subject.catalog))
    return Report((*cells, *_unavailable(cells, gone)), gone, tuple(problems.values()))


@dataclass
class _Looked:
    """What was seen in one subject, and which items of the selection it knows."""

    cells: list[Cell] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    unknown: dict[str, PrtoggleError] = field(default_factory=dict)


def _look(subject: Subject, selection: Selection, memo: Memo) -> _Looked:
    looked = _Looked()
    assert subject.package is not None and subject.catalog is not None
    sources = MemoSources(subject.package, memo)
    for text, request in _requests(subject.catalog, selection, looked.unknown):
        looked.known.add(text)
        looked.cells.extend(_cells(request, subject, sources))
    return looked


def _requests(
    catalog: Catalog, selection: Selection, unknown: dict[str, PrtoggleError]
) -> Iterator[tuple[str, Request]]:
    if selection.everything:
        for request in catalog.everything():
            yield "all", request
        return
    for choice in selection.choices:
        try:
            found = list(catalog.resolve(Selection((choice,))))
        except SelectionError as problem:
            # A release's own registry may lack what another's has.
            unknown[str(choice)] = problem
            continue
        for request in found:
            yield str(choice), request


def _cells(request: Request, subject: Subject, sources: Sources) -> Iterator[Cell]:
    named = request.named_parts
    instead = ""
    for fix in request.fixes:
        if sources.package.name not in (*fix.packages, *fix.contains):
            continue
        below = fix.id in subject.below and sources.package.name in fix.contains
        if not (subject.listed or below):
            continue
        table = below_contains(fix, sources) if below else decisions(fix, sources)
        for part, decision in table.items():
            if named is None or part in named:
                yield _cell(decision, subject, below, instead)
        if not below and not instead and _applies(fix, table):
            instead = str(fix.origin)


def _applies(fix: Fix, table: Mapping[str, Decision]) -> bool:
    """Whether a bare number takes this one."""
    verdicts = [table[part].verdict for part in fix.default_parts]
    return Verdict.APPLIES in verdicts and all(v is Verdict.APPLIES or v.absent for v in verdicts)


def below_contains(fix: Fix, sources: Sources) -> dict[str, Decision]:
    """The verdicts in a release just below ``contains``: every variant is looked for, whatever versions it is for."""
    table = decisions(fix, sources)
    if any(decision.variant is not None for decision in table.values()):
        return table
    for variant in fix.variants:
        if variant.package != sources.package.name:
            continue
        for part, decision in decide(fix, variant, sources).items():
            if decision.verdict in (Verdict.CONTAINS_WRONG, Verdict.HALF) or (
                decision.verdict is Verdict.NOT_SEEN and table[part].verdict is Verdict.BY_VERSION
            ):
                table[part] = decision
    return table


def _cell(decision: Decision, subject: Subject, below: bool, instead: str) -> Cell:
    cell = Cell(
        decision.fix,
        decision.part,
        subject.label,
        subject.version,
        subject.name,
        decision.verdict.value,
        decision.verdict.healthy and not (below and not decision.verdict.absent),
        below,
        decision.reason,
    )
    if cell.healthy:
        return cell
    refusal = refusal_of(decision)
    place = refusal.place or decision.fix.place
    return replace(
        cell,
        where=place.file,
        line=place.line,
        column=place.column,
        nearest=refusal.nearest,
        hint=refusal.hint,
        page=refusal.page,
        instead=instead,
    )


def _unavailable(cells: Sequence[Cell], gone: Iterable[Subject]) -> Iterator[Cell]:
    """For each release that could not be had, a cell for every part that another release of the package has."""
    rows = {cell.row: cell for cell in cells}
    for subject in gone:
        for cell in rows.values():
            if cell.package == subject.name and (subject.listed or cell.fix.id in subject.below):
                yield replace(
                    cell,
                    release=subject.label,
                    version=subject.version,
                    verdict=UNAVAILABLE,
                    healthy=False,
                    below=cell.fix.id in subject.below,
                    reason=subject.problem.said if subject.problem else "",
                    where="",
                    line=0,
                    column=0,
                    nearest="",
                    hint="",
                    page=subject.problem.page if subject.problem else "",
                )
