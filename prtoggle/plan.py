"""A selection resolved against one package: which fixes and parts come out, in which modules, and why.

Everything is decided, matched, combined and compiled here before anything changes anywhere; a plan that exists can be
put in force. Pure apart from reading the package's files.

Example::

    plan = make(selection, catalog, locate("sglang", sys.path))
    plan.in_force                      # ("27360/slice",)
    plan.modules[0].reverted           # the bytes of the module as if reverted by hand
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prtoggle.catalog import Catalog, Request
from prtoggle.edits.combine import Conflict, combine
from prtoggle.edits.kinds import LinesEdit
from prtoggle.edits.outcome import Found, Replacement
from prtoggle.edits.sequential import difference
from prtoggle.errors import ConflictError, EditError, MalformedError, PrtoggleError, RefusedError
from prtoggle.packages import Package
from prtoggle.refusals import refusal_of
from prtoggle.selection import Selection
from prtoggle.sources import Module, Sighting, Sources
from prtoggle.spec import Fix, Variant
from prtoggle.verdict import Decision, Verdict, decide, holds_fix, part_name, within


@dataclass(frozen=True)
class PlannedEdit:
    """One edit in force: the parts it serves, where it is written, and the line of the original that it changes."""

    parts: tuple[str, ...]
    place: str
    line: int
    target: str


@dataclass(frozen=True)
class PlannedModule:
    """One module with its text before and after, as bytes of the file's own encoding."""

    name: str
    file: Path
    original: bytes
    reverted: bytes
    edits: tuple[PlannedEdit, ...]
    notes: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that change this module."""
        return tuple(dict.fromkeys(part for edit in self.edits for part in edit.parts))


@dataclass(frozen=True)
class Choice:
    """What was decided for one number in one package.

    ``taken`` come out; ``absent`` are parts that this release does not have and that nobody named; ``refused`` stand
    in the way. ``shadowed`` are fixes of the same number from later sources.
    """

    fix: Fix
    taken: tuple[Decision, ...]
    absent: tuple[Decision, ...]
    refused: tuple[Decision, ...]
    shadowed: tuple[Fix, ...] = ()

    @property
    def applies(self) -> bool:
        """At least one part comes out, and nothing stands in the way."""
        return bool(self.taken) and not self.refused


@dataclass(frozen=True)
class Plan:
    """A selection resolved against ``package``. Only made whole (rule 2)."""

    package: Package
    selection: Selection
    choices: tuple[Choice, ...]
    skipped: tuple[Choice, ...]
    modules: tuple[PlannedModule, ...]
    read: tuple[tuple[str, bytes | None], ...]
    notes: tuple[str, ...] = ()

    @property
    def in_force(self) -> tuple[str, ...]:
        """The parts that are out, as they are written in a selection."""
        return tuple(decision.name for choice in self.choices for decision in choice.taken)

    @property
    def baked_in(self) -> tuple[str, ...]:
        """Where old code would survive a live toggle, over all chosen variants."""
        found = (
            entry for choice in self.choices for d in choice.taken[:1] if d.variant for entry in d.variant.baked_in
        )
        return tuple(dict.fromkeys(found))


def make(selection: Selection, catalog: Catalog, package: Package, *, sources: Sources | None = None) -> Plan:
    """The plan for ``package``; ``sources`` are those of the package where somebody has read them already.

    Raises: SelectionError: the selection names what nobody knows. RefusedError: a selected part does not apply here,
        edits conflict, or the result does not compile; every reason at once.
    """
    sources = sources or Sources(package)
    chosen: list[Choice] = []
    skipped: list[Choice] = []
    if selection.everything:
        if package.name in catalog.problem_packages:
            raise MalformedError(tuple(catalog.problems_of(package.name)))
        for choice in survey(catalog, sources):
            if choice.applies:
                chosen.append(choice)
            else:
                skipped.append(choice)
    else:
        for request in catalog.resolve(selection):
            decided = choose(request, sources)
            if decided is not None:
                chosen.append(decided)
        refused = [choice for choice in chosen if not choice.applies]
        if refused:
            raise refusal(refused)
    modules = _combine(chosen, sources)
    read = tuple(_trace_of(name, found, package) for name, found in sources.read.items())
    return Plan(package, selection, tuple(chosen), tuple(skipped), modules, read, _notes(chosen, skipped))


def survey(catalog: Catalog, sources: Sources) -> Iterable[Choice]:
    """For every number that concerns the package, what a bare selection of it would do."""
    for request in catalog.everything():
        decided = choose(request, sources)
        if decided is not None:
            yield decided


def choose(request: Request, sources: Sources) -> Choice | None:
    """The first fix of ``request`` that applies to the package; the first that concerns it when none applies; None
    when none concerns it."""
    concerned = [fix for fix in request.fixes if sources.package.name in (*fix.packages, *fix.contains)]
    choices = [_judge(fix, request, sources) for fix in concerned]
    for choice in choices:
        if choice.applies:
            others = tuple(fix for fix in concerned if fix is not choice.fix)
            return replace(choice, shadowed=others)
    return choices[0] if choices else None


def decisions(fix: Fix, sources: Sources) -> dict[str, Decision]:
    """The verdict on every part of ``fix`` in the package, under the variant that is for it."""
    return _under_best_variant(fix, sources, tuple(fix.parts))


def _judge(fix: Fix, request: Request, sources: Sources) -> Choice:
    named = request.named_parts
    wanted = request.parts_of(fix)
    if not wanted:
        known = ", ".join(fix.parts)
        missing = next(iter(named or ()), "")
        raise RefusedError(f"{fix.id} ({fix.origin}) has no part {missing!r}", nearest=known, page=_NAMED)
    table = _under_best_variant(fix, sources, wanted)
    taken, absent, refused = [], [], []
    for part in wanted:
        decision = table[part]
        if decision.verdict is Verdict.APPLIES:
            taken.append(decision)
        elif decision.verdict.absent and named is None:
            absent.append(decision)
        else:
            refused.append(decision)
    if not taken and not refused:
        refused, absent = absent, []
    return Choice(fix, tuple(taken), tuple(absent), tuple(refused))


def _under_best_variant(fix: Fix, sources: Sources, wanted: Sequence[str]) -> dict[str, Decision]:
    package = sources.package
    variants = [variant for variant in fix.variants if variant.package == package.name]
    if package.believed:
        fitting = [variant for variant in variants if not variant.versions or within(package.version, variant.versions)]
        if len(fitting) == 1:
            return decide(fix, fitting[0], sources)
        if len(fitting) > 1:
            places = ", ".join(str(variant.place) for variant in fitting)
            return _no_variant(fix, package, Verdict.ROT, f"two variants are for {package.label}: {places}")
        if holds_fix(fix, package) is False:
            return _no_variant(fix, package, Verdict.BY_VERSION, f"contains is {fix.contains[package.name]}")
        return _no_variant(
            fix, package, Verdict.ROT, f"no variant is for {package.label}", _would_fit(fix, variants, sources, wanted)
        )
    return _by_exact_application(fix, variants, sources, wanted)


def _no_variant(fix: Fix, package: Package, verdict: Verdict, reason: str, hint: str = "") -> dict[str, Decision]:
    return {part: Decision(fix, part, package, None, verdict, reason, (), hint) for part in fix.parts}


def _would_fit(fix: Fix, variants: Sequence[Variant], sources: Sources, wanted: Sequence[str]) -> str:
    for variant in variants:
        table = decide(fix, variant, sources)
        if all(table[part].verdict in (Verdict.APPLIES, Verdict.DECLARED) for part in wanted):
            found = f"the variant for {variant.versions} at {variant.place} would apply"
            return f"{found}: widen its versions after a look at the diff"
    return ""


def _by_exact_application(
    fix: Fix, variants: Sequence[Variant], sources: Sources, wanted: Sequence[str]
) -> dict[str, Decision]:
    """The version is not believed: every variant is tried, and exactly one distinct resulting text must come out."""
    package = sources.package
    tables = [decide(fix, variant, sources) for variant in variants]
    results: dict[tuple[tuple[str, str], ...], list[dict[str, Decision]]] = {}
    for table in tables:
        taken = [table[part] for part in wanted if table[part].verdict is Verdict.APPLIES]
        others = [table[part] for part in wanted if table[part].verdict is not Verdict.APPLIES]
        if taken and all(decision.verdict.absent for decision in others):
            try:
                text = tuple((module.name, module.reverted.hex()) for module in _combine_decisions(taken, sources))
            except EditError:
                continue
            results.setdefault(text, []).append(table)
    if len(results) == 1:
        return next(iter(results.values()))[0]
    if len(results) > 1:
        names = "; ".join(
            f"{table[wanted[0]].variant.versions or 'any version'} at {table[wanted[0]].variant.place}"  # type: ignore[union-attr]
            for group in results.values()
            for table in group
        )
        reason = (
            f"the version is not believed ({package.why}) and these variants all apply, with different results: {names}"
        )
        return _no_variant(fix, package, Verdict.ROT, reason)
    if not tables:
        return _no_variant(fix, package, Verdict.ROT, f"no variant is for package {package.name}")
    best = min(tables, key=lambda table: min(_NEARNESS.index(table[part].verdict) for part in wanted))
    note = f"the version is not believed ({package.why})"
    return {part: replace(d, reason=f"{d.reason}; {note}") for part, d in best.items()}


_NAMED = "choosing#what-is-named-must-be-there"
_NEARNESS = (
    Verdict.HALF,
    Verdict.ALREADY,
    Verdict.NOT_SEEN,
    Verdict.APPLIES,
    Verdict.CONTAINS_WRONG,
    Verdict.DECLARED,
    Verdict.BY_VERSION,
    Verdict.ROT,
)


def refusal(choices: Sequence[Choice]) -> RefusedError:
    """One error for all that stands in the way, each with its nearest candidate."""
    problems: list[PrtoggleError] = []
    for choice in choices:
        for decision in choice.refused:
            problems.append(refusal_of(decision))
    if len(problems) == 1:
        return problems[0] if isinstance(problems[0], RefusedError) else RefusedError(problems[0].said)
    return MalformedError(tuple(problems))


def _combine(choices: Sequence[Choice], sources: Sources) -> tuple[PlannedModule, ...]:
    return _combine_decisions([decision for choice in choices for decision in choice.taken], sources)


def _combine_decisions(taken: Sequence[Decision], sources: Sources) -> tuple[PlannedModule, ...]:
    """All edits of all parts in the original text of each module, combined; raises what forbids it."""
    seen: dict[tuple[str, int], tuple[Sighting, list[str], Decision]] = {}
    for decision in taken:
        for sighting in decision.sightings:
            key = (sighting.target, id(sighting.edit))
            seen.setdefault(key, (sighting, [], decision))[1].append(decision.name)
    for _, (sighting, _names, decision) in seen.items():
        if decision.variant is not None and decision.variant.sequential:
            _refuse_other_reading(sighting, decision, sources)
    by_module: dict[str, list[tuple[Sighting, list[str]]]] = {}
    for sighting, names, _ in seen.values():
        by_module.setdefault(sighting.module, []).append((sighting, names))
    return tuple(_combine_module(name, edits, sources) for name, edits in by_module.items())


def _combine_module(name: str, edits: list[tuple[Sighting, list[str]]], sources: Sources) -> PlannedModule:
    module = sources.module(name)
    assert isinstance(module, Module)
    named: list[tuple[str, Replacement]] = []
    planned: list[PlannedEdit] = []
    notes: list[str] = []
    for sighting, names in edits:
        found = sighting.outcome
        assert isinstance(found, Found)
        owner = f"{'+'.join(names)} ({sighting.edit.place})"
        named.extend((owner, replacement) for replacement in found.replacements)
        planned.append(PlannedEdit(tuple(names), str(sighting.edit.place), found.line, sighting.target))
        notes.extend(f"{'+'.join(names)}: {note}" for note in found.notes)
    text = combine(module.source, named)
    if isinstance(text, Conflict):
        raise ConflictError(
            f"{text.first} and {text.second} conflict at {name}:{text.line}: {text.reason}",
            hint="select one of them",
        )
    problem = sources.verify(module, text)
    if problem is not None:
        owners = ", ".join(dict.fromkeys(owner for owner, _ in named))
        where = f" (line {problem.lineno})" if problem.lineno else ""
        raise EditError(f"{name} does not compile after {owners}: {problem.msg}{where}")
    reverted = module.source.encode(text)
    return PlannedModule(name, module.file, module.data, reverted, tuple(planned), tuple(notes))


def _refuse_other_reading(sighting: Sighting, decision: Decision, sources: Sources) -> None:
    """A document written for SGLang's patcher, whose edits apply one after another, must mean the same here."""
    assert decision.variant is not None
    module = sources.module(sighting.module)
    assert isinstance(module, Module) and sighting.scope is not None
    patches = [patch for patch in decision.variant.patches if patch.target == sighting.target]
    lines = [edit.kind for patch in patches for edit in patch.edits if isinstance(edit.kind, LinesEdit)]
    reason = difference(module.source, sighting.scope, lines)
    if reason:
        raise EditError(
            f"{decision.name}: edits of {sighting.target} mean something else when applied one after another: {reason}",
            place=sighting.edit.place,
            hint="write each edit against the original text",
        )


def _trace_of(name: str, found: object, package: Package) -> tuple[str, bytes | None]:
    if isinstance(found, Module):
        return str(found.file), found.data
    file = package.module_file(name)
    return (str(file) if file else f"?{name}"), None


def _notes(choices: Sequence[Choice], skipped: Sequence[Choice]) -> tuple[str, ...]:
    notes = [f"{decision.name}: {decision.verdict.value}" for choice in choices for decision in choice.absent]
    notes += [f"{choice.fix.id} skipped: {_first_reason(choice)}" for choice in skipped]
    return (*notes, *(note for choice in choices for note in choice.fix.notes))


def _first_reason(choice: Choice) -> str:
    for decision in choice.refused:
        part = decision.name.partition("/")[2]
        return f"{part}{': ' if part else ''}{decision.verdict.value}: {decision.reason}"
    return "nothing to take out"


__all__ = [
    "Choice",
    "Plan",
    "PlannedEdit",
    "PlannedModule",
    "choose",
    "decisions",
    "make",
    "part_name",
    "refusal",
    "survey",
]
