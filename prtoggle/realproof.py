"""Is each fix in each release what it claims to be: does its reverse patch give the expected syntax tree, and does the
release's own code, run fixed and reverted, do what ``real.py`` beside the ``revert.yaml`` claims?

One :class:`Cell` for a fix, what one case of its ``real.py`` reverts, and a release; and one for a part that no case
takes out, which cannot be proven. The fixed state is run once for a fix and release.

Example::

    for cell in prove(survey(subjects, selection), jobs=2):
        print(cell.name, cell.release, cell.verdict)        # "27360/slice+assert", "sglang 0.5.16", "proven"
"""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prtoggle import expected
from prtoggle import plan as planning
from prtoggle.caserun import COULD_NOT_RUN, FIXED, NOT_PROVEN, PROVEN, TIME_LIMIT, assigned, parts_of, run_case, why
from prtoggle.caserun import written as cases_in
from prtoggle.check import Subject
from prtoggle.errors import PrtoggleError
from prtoggle.plan import Plan
from prtoggle.result import Result
from prtoggle.runtime.cache import digest
from prtoggle.runtime.sources import BUNDLED
from prtoggle.selection import Selection, parse
from prtoggle.sources import Sources
from prtoggle.spec import Fix
from prtoggle.verdict import Decision, Verdict

FILE = "real.py"
ABSENT = "not in this release"
ENV = {"TORCHDYNAMO_DISABLE": "1", "OMP_NUM_THREADS": "1"}
"""The stand-ins take the compilers' place; several processes run at a time."""


@dataclass(frozen=True)
class Ran:
    """What became of one run of the real code: its verdict on the case's claim."""

    revert: str
    claim: str
    verdict: str = ""
    reason: str = ""
    hint: str = ""
    seen: dict[str, Any] | None = None
    seconds: float = 0.0

    def data(self) -> dict[str, Any]:
        """As plain values."""
        return {"claim": self.claim, "verdict": self.verdict, "reason": self.reason, "seen": self.seen} | {
            "seconds": round(self.seconds, 3)
        }


@dataclass(frozen=True)
class Cell:
    """One fix, one thing that is taken out of it, one release.

    Attributes:
        revert: the selection, as the case of ``real.py`` has it.
        parts: what is out in this release.
        tree: how the reverted definitions compare with the expectation; None where there is nothing to compare.
        fixed, reverted: what became of both runs; None where there is nothing to run.
    """

    fix: Fix
    revert: str
    release: str
    version: str
    package: str
    verdict: str = ""
    reason: str = ""
    hint: str = ""
    parts: tuple[str, ...] = ()
    tree: expected.Compared | None = None
    fixed: Ran | None = None
    reverted: Ran | None = None
    below: bool = False

    @property
    def name(self) -> str:
        """What names its row."""
        return self.revert

    @property
    def row(self) -> tuple[str, str, str, str]:
        """What makes one row of a matrix."""
        return (self.package, self.fix.id, self.fix.origin.kind, self.revert)

    def data(self) -> dict[str, Any]:
        """As plain values."""
        tree = self.tree
        return {
            "fix": self.fix.id,
            "revert": self.revert,
            "parts": list(self.parts),
            "package": self.package,
            "release": self.release,
            "version": self.version,
            "verdict": self.verdict,
            "reason": self.reason,
            "hint": self.hint,
            "tree": None if tree is None else {"state": tree.state, "from": tree.source, "reason": tree.reason},
            "fixed": self.fixed and self.fixed.data(),
            "reverted": self.reverted and self.reverted.data(),
        }


@dataclass(frozen=True)
class Wanted:
    """A cell to be decided: as far as it is without running anything, and what is to be run for it."""

    cell: Cell
    root: Path | None = None
    plan: Plan | None = None
    dirs: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[tuple[str, str, str], ...]:
        """What names the runs that it needs: fix, release, selection."""
        if self.plan is None or self.cell.reverted is None:
            return ()
        return tuple((self.cell.fix.id, self.cell.release, revert) for revert in (FIXED, self.cell.revert))

    @property
    def program(self) -> Path:
        """The real program."""
        return Path(self.cell.fix.place.file).with_name(FILE)


def survey(subjects: Sequence[Subject], selection: Selection, dirs: Sequence[str] = ()) -> list[Wanted]:
    """Everything to be proven, decided as far as it is without running anything.

    Raises:
        SelectionError: the selection names what nobody knows.
    """
    found: list[Wanted] = []
    for subject in subjects:
        if subject.package is None or subject.catalog is None or not subject.listed or subject.name == BUNDLED:
            continue
        sources = Sources(subject.package)
        requests = subject.catalog.everything() if selection.everything else subject.catalog.resolve(selection)
        for request in requests:
            own = [fix for fix in request.fixes if fix.origin.kind not in ("registry", "diff")]
            fix = next((fix for fix in own if subject.name in (*fix.packages, *fix.contains)), None)
            if fix is not None:
                limit = frozenset(request.parts_of(fix)) if request.named or request.every else None
                found += _of_fix(fix, limit, subject, sources, tuple(dirs))
    return found


def _of_fix(
    fix: Fix, limit: frozenset[str] | None, subject: Subject, sources: Sources, dirs: tuple[str, ...]
) -> Iterator[Wanted]:
    known = expected.load(Path(fix.place.file).with_name(expected.FILE))
    table = planning.decisions(fix, sources)
    cases = _cases(fix, subject.name)
    claim = dict(cases).get(FIXED, "")
    covered: set[str] = set()
    for revert, reverted in cases:
        if revert == FIXED:
            continue
        if wrong := _wrong(fix, revert):
            cell = Cell(fix, revert, subject.label, subject.version, subject.name, NOT_PROVEN, wrong)
            yield Wanted(replace(cell, hint=f"correct the case in {Path(fix.place.file).with_name(FILE)}"))
            continue
        parts = parts_of(fix, revert)
        covered |= parts
        if limit is None or parts <= limit:
            cell = Cell(fix, revert, subject.label, subject.version, subject.name, fixed=Ran(FIXED, claim))
            cell = replace(cell, reverted=Ran(revert, reverted))
            yield _decided(cell, parts, table, known, subject, dirs)
    for part in fix.parts:
        if part not in covered and (limit is None or part in limit):
            name = table[part].name
            cell = Cell(fix, name, subject.label, subject.version, subject.name)
            yield _decided(cell, frozenset({part}), table, known, subject, dirs)


def _cases(fix: Fix, package: str) -> list[tuple[str, str]]:
    """Selection and claim of the cases of the fix's real program, where it has one that is for ``package``."""
    path = Path(fix.place.file).with_name(FILE)
    name = assigned(path, "PACKAGE")
    if not isinstance(name, ast.Constant) or name.value != package:
        return []
    return cases_in(path) or []


def _wrong(fix: Fix, revert: str) -> str:
    """What is wrong with the selection of a case of ``fix``; empty where nothing is."""
    try:
        own = [choice for choice in parse(revert).choices if str(choice.number) == fix.id]
    except PrtoggleError as error:
        return error.what
    if not own:
        return f"a case of {FILE} reverts nothing of {fix.id}: {revert!r}"
    unknown = [part for choice in own for part in choice.parts or () if part not in fix.parts]
    return (
        f"a case of {FILE}: {fix.id} has no part '{unknown[0]}'; its parts: {', '.join(fix.parts)}" if unknown else ""
    )


def _decided(
    cell: Cell,
    parts: frozenset[str],
    table: dict[str, Decision],
    known: Sequence[expected.Expectation],
    subject: Subject,
    dirs: tuple[str, ...],
) -> Wanted:
    """What is known of a cell without running anything: the verdicts of its parts, the plan, and the syntax trees."""
    assert subject.package is not None and subject.catalog is not None
    decisions = [table[part] for part in cell.fix.parts if part in parts]
    named = "/" in cell.revert
    wrong = next((each for each in decisions if not each.verdict.healthy), None)
    absent = [each for each in decisions if each.verdict.absent]
    if wrong is not None:
        reason = f"{wrong.name}: {wrong.verdict.value}: {wrong.reason}"
        return Wanted(replace(cell, verdict=NOT_PROVEN, reason=reason, fixed=None, reverted=None))
    if len(absent) == len(decisions) or (absent and named):
        reason = f"{absent[0].name}: {absent[0].verdict.value}"
        return Wanted(replace(cell, verdict=ABSENT, reason=reason, fixed=None, reverted=None))
    taken = tuple(each.part for each in decisions if each.verdict is Verdict.APPLIES)
    cell = replace(cell, parts=taken)
    try:
        plan = planning.make(parse(cell.revert), subject.catalog, subject.package)
    except PrtoggleError as error:
        return Wanted(replace(cell, verdict=NOT_PROVEN, reason=error.what, fixed=None, reverted=None))
    trees = expected.trees_of(plan)
    tree = expected.compare(known, key(cell.fix, taken), subject.version, trees)
    root = subject.package.locations[0].parent if subject.package.locations else None
    return Wanted(replace(cell, tree=tree), root, plan, dirs)


def key(fix: Fix, parts: Sequence[str]) -> str:
    """What an expectation calls these parts of a fix: ``27360/slice+assert``, in the order of the fix."""
    return f"{fix.id}/{'+'.join(part for part in fix.parts if part in parts)}"


def prove(
    wanted: Sequence[Wanted], *, jobs: int = 1, on_done: Callable[[int, int], None] = lambda done, of: None
) -> list[Cell]:
    """Run what is to be run, ``jobs`` at a time, and judge. ``on_done`` is told how many runs are over, of how many."""
    stop = threading.Event()
    by_run = {run: each for each in reversed(wanted) for run in each.runs}
    ran: dict[tuple[str, str, str], Ran] = {}
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        futures = {pool.submit(_run, by_run[run], run[2], stop.is_set): run for run in reversed(by_run)}
        try:
            on_done(0, len(futures))
            for future in as_completed(futures):
                ran[futures[future]] = future.result()
                on_done(len(ran), len(futures))
        finally:
            stop.set()
            for future in futures:
                future.cancel()
    return [_judged(each, ran) for each in wanted]


def _run(each: Wanted, revert: str, stop: Callable[[], bool]) -> Ran:
    """Run one state of the release's code in a process of its own."""
    assert each.plan is not None and each.cell.fixed is not None and each.cell.reverted is not None
    case = each.cell.fixed if revert == FIXED else each.cell.reverted
    program = ("prtoggle.real_runner", str(each.program.absolute()), str(each.root))
    told, result = run_case(program, revert, more=(revert,), dirs=each.dirs, env=ENV, stop=stop)
    case = replace(case, seen=told.get("seen"), seconds=result.seconds)
    if "missing" in told or "cannot" in told:
        reason, hint = why(told)
        return replace(case, verdict=COULD_NOT_RUN, reason=reason, hint=hint)
    if result.timed_out:
        return replace(case, verdict=COULD_NOT_RUN, reason=f"it did not end within {TIME_LIMIT:.0f} seconds")
    if revert != FIXED and not result.processes:
        reason, hint = f"prtoggle did not start in {sys.executable}", "prtoggle doctor says why"
        return replace(case, verdict=COULD_NOT_RUN, reason=reason, hint=hint)
    reason = "" if revert == FIXED else _not_in_force(each.plan, result)
    if any(module.file.read_bytes() != module.original for module in each.plan.modules):
        reason = reason or "a file of the package changed meanwhile"
    if not reason and "seen" not in told:
        reason = why(told)[0]
    if not reason and not told["holds"]:
        reason = "what was seen is not what was claimed"
    return replace(case, verdict=NOT_PROVEN if reason else PROVEN, reason=reason)


def _not_in_force(plan: Plan, result: Result) -> str:
    """What of the plan the journal does not show in force, byte for byte; empty where all of it was."""
    for refused in result.refused:
        return f"the revert was refused: {refused.reason}"
    ran = {(module.module, Path(module.file)): module for module in result.in_force}
    for module in plan.modules:
        found = ran.get((module.name, module.file))
        if found is None:
            return f"the revert was not in force: nothing imported {module.name}"
        if found.after != digest(module.reverted) or set(found.parts) != set(module.parts):
            return f"another revert of {module.name} was in force than the one planned here"
    return ""


def _judged(each: Wanted, ran: dict[tuple[str, str, str], Ran]) -> Cell:
    """The verdict: not proven outweighs what could not be run."""
    cell = each.cell
    if cell.verdict:
        return cell
    tree = cell.tree
    assert tree is not None
    if not each.runs:
        if tree.state == expected.UNEXPECTED:
            return replace(cell, verdict=NOT_PROVEN, reason=tree.reason, hint=tree.hint)
        why_not, what_to_do = _no_case(each.program, cell.package)
        return replace(cell, verdict=COULD_NOT_RUN, reason=why_not, hint=what_to_do)
    fixed, reverted = (ran[run] for run in each.runs)
    cell = replace(cell, fixed=fixed, reverted=reverted)
    if tree.state == expected.UNEXPECTED:
        return replace(cell, verdict=NOT_PROVEN, reason=tree.reason, hint=tree.hint)
    for verdict in (NOT_PROVEN, COULD_NOT_RUN):
        for state, one in (("fixed", fixed), ("reverted", reverted)):
            if one.verdict == verdict:
                return replace(cell, verdict=verdict, reason=f"{state}: {one.reason}", hint=one.hint)
    if tree.state == expected.UNKNOWN:
        return replace(cell, verdict=NOT_PROVEN, reason=tree.reason, hint=tree.hint)
    return replace(cell, verdict=PROVEN)


def _no_case(program: Path, package: str) -> tuple[str, str]:
    """Why no case of the real program takes a part out of ``package``, and what to do."""
    hint = "docs/proof.md says what it holds"
    try:
        ast.parse(program.read_bytes())
    except FileNotFoundError:
        return f"there is no {FILE} for {package}", hint
    except (OSError, SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        what = error.msg if isinstance(error, SyntaxError) else error
        return f"{program}{line}: cannot be read: {what}", ""
    name = assigned(program, "PACKAGE")
    if not isinstance(name, ast.Constant) or name.value != package:
        found = ast.unparse(name) if name is not None else "not there"
        return f"{program}: its PACKAGE is {found}, not {package!r}", hint
    if cases_in(program) is None:
        return f"{program}: its CASES are not written out", 'CASES = (Case("none", "what it claims", ...), ...)'
    return f"no case of {FILE} takes it out", hint
