"""Does each fix behave as its scenario claims, fixed and reverted? Every case runs in a process of its own.

Example::

    for case in prove(cases(find(), "27360"), device="cpu", jobs=2):
        print(case.state, case.verdict)         # "reverted 27360/slice+assert", "proven"
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prtoggle import selection, yamlfile
from prtoggle.caserun import COULD_NOT_RUN, FIXED, NOT_PROVEN, PROVEN, TIME_LIMIT, parts_of, run_case, why
from prtoggle.caserun import written as as_written
from prtoggle.errors import InconclusiveError, SelectionError
from prtoggle.result import Result
from prtoggle.runtime import cache, sources
from prtoggle.spec import Fix

FILE = "scenario.py"


@dataclass(frozen=True)
class Scenario:
    """A fix with a scenario beside its reverse patch. ``dirs`` are the folders of fixes that it was found with."""

    fix: Fix
    path: Path
    dirs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """One case to be run: the scenario, what it reverts, and what it claims."""

    scenario: Scenario
    revert: str
    claim: str

    @property
    def key(self) -> tuple[str, str]:
        """What names it: the fix and what is reverted."""
        return self.scenario.fix.id, self.revert

    @property
    def state(self) -> str:
        """``fixed``, or ``reverted 27360/slice``."""
        return "fixed" if self.revert == FIXED else f"reverted {self.revert}"


@dataclass(frozen=True)
class Proof:
    """What became of a case.

    Attributes:
        seen: what the scenario returned.
        in_force: the parts that the journal shows reverted.
        untouched: whether the files of the reverted modules are still as they were before.
    """

    case: Case
    verdict: str
    reason: str = ""
    hint: str = ""
    seen: dict[str, Any] | None = None
    in_force: tuple[str, ...] = ()
    untouched: bool = True
    seconds: float = 0.0


def find(dirs: Sequence[str] = ()) -> tuple[Scenario, ...]:
    """Every fix that has a scenario, one for each number: the first source wins."""
    found: dict[str, Scenario] = {}
    for file in sources.fix_files(dirs=dirs):
        path = Path(file.path).with_name(FILE)
        if path.is_file():
            fix = yamlfile.load(file.path)
            found.setdefault(fix.id, Scenario(fix, path, tuple(dirs)))
    return tuple(found.values())


def chosen(scenarios: Sequence[Scenario], text: str | None) -> tuple[tuple[Scenario, frozenset[str] | None], ...]:
    """The scenarios that the selection ``text`` means, each with the parts that it is limited to; None: not limited."""
    wanted = selection.parse(text) if text is not None else selection.ALL
    if wanted.everything:
        return tuple((scenario, None) for scenario in scenarios)
    by_number = {scenario.fix.id: scenario for scenario in scenarios}
    limits: dict[str, frozenset[str] | None] = {}
    for choice in wanted.choices:
        scenario = by_number.get(str(choice.number)) if choice.kind == "fix" else None
        if scenario is None or (choice.project and choice.project != scenario.fix.project):
            raise SelectionError(
                f"{choice} has no scenario", nearest=", ".join(by_number), hint="a scenario.py beside its revert.yaml"
            )
        unknown = [part for part in choice.parts or () if part not in scenario.fix.parts]
        if unknown:
            raise SelectionError(f"{scenario.fix.id} has no part {unknown[0]}", nearest=", ".join(scenario.fix.parts))
        before = limits.get(scenario.fix.id, frozenset())
        limits[scenario.fix.id] = None if choice.parts is None or before is None else before | frozenset(choice.parts)
    return tuple((by_number[number], limit) for number, limit in limits.items())


def cases(scenario: Scenario, limit: frozenset[str] | None = None) -> tuple[Case, ...]:
    """The cases of a scenario, fixed first; with ``limit``, the fixed one and those that revert none but these parts.

    They are read from its text, and where that does not say them plainly, asked of it in a process of its own. Raises
    InconclusiveError where it cannot say.
    """
    said = as_written(scenario.path)
    if said is None:
        told, _ = _child(scenario, FIXED, "cpu", listing=True)
        if "cases" not in told:
            reason, hint = why(told)
            raise InconclusiveError(f"the scenario of {scenario.fix.id} cannot be loaded: {reason}", hint=hint)
        said = [(str(revert), str(claim)) for revert, claim in told["cases"]]
    found = [Case(scenario, revert, claim) for revert, claim in said]
    return tuple(case for case in found if limit is None or parts_of(case.scenario.fix, case.revert) <= limit)


def prove(
    wanted: Sequence[Case], *, device: str, jobs: int = 1, on_start: Callable[[Case], None] = lambda case: None
) -> Iterator[Proof]:
    """Run all cases, ``jobs`` at a time, and give each one's proof as it is had. Interrupted, it ends what runs."""
    stop = threading.Event()

    def one(case: Case) -> Proof:
        on_start(case)
        return prove_one(case, device, stop.is_set)

    with ThreadPoolExecutor(max(1, jobs)) as pool:
        waiting: set[Future[Proof]] = {pool.submit(one, case) for case in wanted}
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            stop.set()
            for future in waiting:
                future.cancel()


def prove_one(case: Case, device: str, stop: Callable[[], bool] = lambda: False) -> Proof:
    """Run one case in a process of its own and judge it."""
    told, result = _child(case.scenario, case.revert, device, stop=stop)
    in_force = tuple(dict.fromkeys(part for module in result.in_force for part in module.parts))
    untouched = all(cache.digest(Path(module.file).read_bytes()) == module.before for module in result.in_force)

    def proof(verdict: str, reason: str = "", hint: str = "") -> Proof:
        return Proof(case, verdict, reason, hint, told.get("seen"), in_force, untouched, result.seconds)

    if "missing" in told:
        return proof(COULD_NOT_RUN, *why(told))
    if result.timed_out:
        return proof(COULD_NOT_RUN, f"it did not end within {TIME_LIMIT:.0f} seconds")
    if case.revert != FIXED:
        if not result.processes:
            return proof(COULD_NOT_RUN, f"prtoggle did not start in {sys.executable}", "prtoggle doctor says why")
        missing = [*result.unused, *(module.module for module in result.never_imported)]
        if not result.ok or missing:
            return proof(NOT_PROVEN, _not_in_force(result, missing))
    if "seen" not in told:
        return proof(NOT_PROVEN, *why(told))
    if not untouched:
        return proof(NOT_PROVEN, "a file of the package changed meanwhile")
    if told["holds"]:
        return proof(PROVEN)
    return proof(NOT_PROVEN, "what was seen is not what was claimed")


def _not_in_force(result: Result, missing: Sequence[str]) -> str:
    if result.refused:
        return f"the revert was refused: {result.refused[0].reason}"
    if not result.in_force:
        return "the revert was not in force: the scenario imports nothing that it changes"
    return f"the revert was in force in part: not used: {', '.join(missing)}"


def _child(
    scenario: Scenario, revert: str, device: str, *, listing: bool = False, stop: Callable[[], bool] = lambda: False
) -> tuple[dict[str, Any], Result]:
    """What the child wrote, and the trial's result."""
    program = ("prtoggle.scenario_runner", str(scenario.path), device)
    return run_case(program, revert, more=() if listing else (revert,), dirs=scenario.dirs, stop=stop)
