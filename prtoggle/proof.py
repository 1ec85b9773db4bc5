"""Does each fix behave as its scenario claims, fixed and reverted? Every case runs in a process of its own.

Example::

    for case in prove(cases(find(), "27360"), device="cpu", jobs=2):
        print(case.state, case.verdict)         # "reverted 27360/slice+assert", "proven"
"""

from __future__ import annotations

import ast
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prtoggle import selection, yamlfile
from prtoggle.errors import InconclusiveError, SelectionError
from prtoggle.result import Result
from prtoggle.runtime import cache, sources
from prtoggle.spec import Fix
from prtoggle.trial import Trial, run

FILE = "scenario.py"
PROVEN, NOT_PROVEN, COULD_NOT_RUN = "proven", "not proven", "could not run"
TIME_LIMIT = 600.0
"""Seconds that one case may take."""


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
        return "fixed" if self.revert == "none" else f"reverted {self.revert}"


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
    written = _written(scenario.path)
    if written is None:
        told, _ = _child(scenario, "none", "cpu", listing=True)
        if "cases" not in told:
            reason, hint = _why(told)
            raise InconclusiveError(f"the scenario of {scenario.fix.id} cannot be loaded: {reason}", hint=hint)
        written = [(str(revert), str(claim)) for revert, claim in told["cases"]]
    found = [Case(scenario, revert, claim) for revert, claim in written]
    return tuple(case for case in found if limit is None or _parts(case) <= limit)


def _written(path: Path) -> list[tuple[str, str]] | None:
    """The cases of ``CASES = (Case("none", "claim", ...), ...)``; None where that is not how they are written.
    Importing a scenario may take seconds, this does not."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return None
    for node in body:
        if isinstance(node, ast.Assign) and any(
            isinstance(name, ast.Name) and name.id == "CASES" for name in node.targets
        ):
            calls = node.value.elts if isinstance(node.value, (ast.Tuple, ast.List)) else [None]
            found = []
            for call in calls:
                words = (
                    [arg.value for arg in call.args[:2] if isinstance(arg, ast.Constant)]
                    if isinstance(call, ast.Call)
                    else []
                )
                if len(words) != 2 or not all(isinstance(word, str) for word in words):
                    return None
                found.append((str(words[0]), str(words[1])))
            return found
    return None


def _parts(case: Case) -> frozenset[str]:
    fix = case.scenario.fix
    parts: set[str] = set()
    for choice in selection.parse(case.revert).choices:
        parts.update(fix.parts if choice.all_parts else fix.default_parts if choice.parts is None else choice.parts)
    return frozenset(parts)


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
        return proof(COULD_NOT_RUN, *_why(told))
    if result.timed_out:
        return proof(COULD_NOT_RUN, f"it did not end within {TIME_LIMIT:.0f} seconds")
    if case.revert != "none":
        if not result.processes:
            return proof(COULD_NOT_RUN, f"prtoggle did not start in {sys.executable}", "prtoggle doctor says why")
        missing = [*result.unused, *(module.module for module in result.never_imported)]
        if not result.ok or missing:
            return proof(NOT_PROVEN, _not_in_force(result, missing))
    if "seen" not in told:
        return proof(NOT_PROVEN, *_why(told))
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
    with tempfile.TemporaryDirectory(prefix="prtoggle-prove-") as name:
        folder = Path(name)
        out, log = folder / "out.json", folder / "log"
        (folder / "journal").mkdir(mode=0o700)
        command = (sys.executable, "-m", "prtoggle.scenario_runner", str(scenario.path), device, str(out))
        with log.open("wb") as sink:
            result = run(
                Trial(
                    revert,
                    command if listing else (*command, revert),
                    fixes=scenario.dirs,
                    quiet=True,
                    cwd=name,
                    folder=folder / "journal",
                    timeout=TIME_LIMIT,
                    stdout=sink,
                    stderr=sink,
                ),
                stop=stop,
            )
        printed = log.read_text("utf-8", "replace").strip()
        try:
            told = json.loads(out.read_text("utf-8"))
        except (OSError, ValueError):
            lines = printed.splitlines()
            told = {"error": f"its process ended with {result.code}" + (f": {lines[-1]}" if lines else "")}
        return told, result


def _why(told: dict[str, Any]) -> tuple[str, str]:
    """Why a child did not do what it should, and what to do about it."""
    missing = told.get("missing")
    if missing == "device":
        return str(told["error"]), "run it with --device cpu, or where nvidia-smi shows a device"
    if missing == "prtoggle":
        return f"{sys.executable} does not find prtoggle", "prtoggle doctor says why"
    if missing:
        return f"{missing} is not installed", f"{sys.executable} -m pip install {missing}"
    return str(told.get("error") or "it said nothing"), ""
