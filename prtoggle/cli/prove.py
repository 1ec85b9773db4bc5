"""``prtoggle prove``: each scenario fixed and reverted, in processes of their own, and whether each behaves as claimed.

Exits 0 where every case is proven, 1 where one is not, 4 where one could not be run.

Example::

    prtoggle prove 27360 --device cuda
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from prtoggle import proof
from prtoggle.caserun import COULD_NOT_RUN, NOT_PROVEN, PROVEN
from prtoggle.cli import completion, render, sidebyside
from prtoggle.cli.context import fixes_option, json_option
from prtoggle.errors import InconclusiveError
from prtoggle.proof import Case, Proof

_EPILOG = """\b
Examples:
  prtoggle prove
  prtoggle prove 27360 --device cuda
  prtoggle prove 24401/positions --json

\b
Exit codes: 0 every case behaves as claimed; 1 one does not; 4 one could not be run.
"""
STATES = {PROVEN: "ok", NOT_PROVEN: "bad", COULD_NOT_RUN: "warning"}


@click.command("prove", epilog=_EPILOG)
@click.argument("selection", required=False, shell_complete=completion.selection)
@click.option(
    "--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="Where the scenarios run."
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(1),
    help="How many cases run at a time.  [default: 2 on the CPU, 1 on a GPU]",
)
@fixes_option
@json_option
def command(selection: str | None, device: str, jobs: int | None, fixes: tuple[Path, ...], as_json: bool) -> int:
    """Run each scenario fixed and reverted, side by side: does it behave as claimed?

    SELECTION limits it to these fixes, or to these parts of them.
    """
    scenarios = proof.chosen(selection, tuple(map(os.fspath, fixes)))
    wanted = [case for scenario, limit in scenarios for case in proof.cases(scenario, limit)]
    if not wanted:
        raise InconclusiveError(
            "there is no scenario to run",
            hint="a scenario.py stands beside the revert.yaml of its fix",
            page="commands#prove",
        )
    proofs = run_all(wanted, device, jobs or (1 if device == "cuda" else min(2, os.cpu_count() or 1)))
    if as_json:
        render.json(
            {"device": device, "proven": all(p.verdict == PROVEN for p in proofs), "cases": [data(p) for p in proofs]}
        )
    else:
        show(proofs, device)
    return exit_code(proofs)


def run_all(wanted: Sequence[Case], device: str, jobs: int) -> list[Proof]:
    """The proofs in the order of the cases; progress is said on stderr."""
    done: dict[tuple[str, str], Proof] = {}
    running: list[Case] = []
    with ended_as_interrupted(), render.progress() as say:

        def tell() -> None:
            now = ", ".join(
                case.revert if case.revert != "none" else f"{case.scenario.fix.id} fixed" for case in running
            )
            say(f"{len(done)} of {len(wanted)} cases done" + (f"; now {now}" if now else ""))

        def started(case: Case) -> None:
            running.append(case)
            tell()

        for found in proof.prove(wanted, device=device, jobs=jobs, on_start=started):
            done[found.case.key] = found
            running.remove(found.case)
            tell()
    return [done[case.key] for case in wanted]


@contextmanager
def ended_as_interrupted() -> Iterator[None]:
    """SIGTERM is taken as Ctrl-C is, so that the processes of the cases end with this one."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def exit_code(proofs: Sequence[Proof]) -> int:
    """0, 1 or 4: a "no" outweighs what could not be told."""
    verdicts = {found.verdict for found in proofs}
    return 1 if NOT_PROVEN in verdicts else InconclusiveError.exit_code if COULD_NOT_RUN in verdicts else 0


def data(found: Proof) -> dict[str, Any]:
    """One proof as plain values."""
    return {
        "fix": found.case.scenario.fix.id,
        "project": found.case.scenario.fix.project,
        "revert": found.case.revert,
        "claim": found.case.claim,
        "verdict": found.verdict,
        "reason": found.reason,
        "hint": found.hint,
        "seen": found.seen,
        "in_force": list(found.in_force),
        "seconds": round(found.seconds, 3),
    }


def show(proofs: Sequence[Proof], device: str) -> None:
    """A table for each fix, and one line at the end."""
    for name in dict.fromkeys(found.case.key[0] for found in proofs):
        of_fix = [found for found in proofs if found.case.key[0] == name]
        sidebyside.text(f"{of_fix[0].case.scenario.fix.id}  {of_fix[0].case.scenario.fix.title}", bold=True)
        keys = sidebyside.differing([found.seen for found in of_fix])
        rows = [(found.case.state, found.case.claim, _seen(found, keys), found.verdict) for found in of_fix]
        sidebyside.table(("state", "claimed", "seen", "verdict"), rows, states=STATES)
    complain(proofs)
    good = sum(found.verdict == PROVEN for found in proofs)
    sidebyside.text(
        f"{good} of {len(proofs)} cases proven on {device} (of what was seen, what differs is shown; --json has all)"
    )


def complain(proofs: Sequence[Proof]) -> None:
    """Why a case is not proven, and what to do, on stderr; what is said of several is said once."""
    said = set()
    for found in proofs:
        if found.verdict == PROVEN:
            continue
        if found.hint and (found.reason, found.hint) in said:
            continue
        said.add((found.reason, found.hint))
        render.words(f"prtoggle: {found.case.scenario.fix.id} {found.case.state}: {found.verdict}: {found.reason}")
        if found.hint:
            render.words(f"  hint: {found.hint}")


def _seen(found: Proof, keys: Sequence[str]) -> str:
    if found.seen is None:
        return found.reason
    shown = keys or list(found.seen)
    return "\n".join(
        f"{sidebyside.name(key)}: {sidebyside.word(found.seen[key])}" for key in shown if key in found.seen
    )
