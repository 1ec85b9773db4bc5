"""Does each fix behave as its scenario claims, fixed and reverted? Every case runs in a process of its own.

Example::

    ((scenario, limit),) = chosen("27360")
    for case in prove(cases(scenario, limit), device="cpu", jobs=2):
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

from prtoggle import selection
from prtoggle.caserun import COULD_NOT_RUN, FIXED, NOT_PROVEN, PROVEN, TIME_LIMIT, parts_of, run_case, why
from prtoggle.caserun import written as as_written
from prtoggle.errors import InconclusiveError, SelectionError
from prtoggle.library import Library
from prtoggle.result import Result
from prtoggle.runtime import cache
from prtoggle.spec import Fix

_PAGE = "commands#prove"

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
        return f"{self.scenario.fix.project}#{self.scenario.fix.id}", self.revert

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


def chosen(text: str | None, dirs: Sequence[str] = ()) -> tuple[tuple[Scenario, frozenset[str] | None], ...]:
    """The scenarios of what the selection ``text`` means, all where it is None, each with the parts that it is limited
    to; None: not limited. Of one fix in several sources the first that has a scenario counts.

    Raises: SelectionError: it names what nobody knows, or what has no scenario. MalformedError: what it names does not
        load.
    """
    wanted = selection.parse(text) if text is not None else selection.ALL
    found = []
    for choice in wanted.choices:
        if choice.kind != "fix":
            raise _without_scenario(str(choice))
    for request in Library(tuple(map(Path, dirs))).base.resolve(wanted):
        fix = next((fix for fix in request.fixes if _beside(fix).is_file()), None)
        if fix is not None:
            limit = None if request.default or request.every else frozenset(request.named)
            found.append((Scenario(fix, _beside(fix), tuple(dirs)), limit))
        elif request.explicit:
            raise _without_scenario(request.name)
    return tuple(found)


def _beside(fix: Fix) -> Path:
    return Path(fix.place.file).with_name(FILE)


def _without_scenario(name: str) -> SelectionError:
    return SelectionError(f"{name} has no scenario", hint=f"a {FILE} beside its revert.yaml", page=_PAGE)


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
            raise InconclusiveError(
                f"the scenario of {scenario.fix.id} cannot be loaded: {reason}", hint=hint, page=_PAGE
            )
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
    mine = str(selection.parse(revert, project=scenario.fix.project))  # another project may have the number too
    return run_case(program, mine, more=() if listing else (revert,), dirs=scenario.dirs, stop=stop)
