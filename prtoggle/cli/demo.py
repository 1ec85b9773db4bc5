"""``prtoggle demo``: both fixes that come with prtoggle, fixed and reverted side by side; no GPU needed.

Example::

    prtoggle demo
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

import click

from prtoggle import proof
from prtoggle.caserun import PROVEN
from prtoggle.cli import render, sidebyside
from prtoggle.cli.prove import STATES, complain, exit_code, run_all
from prtoggle.errors import InconclusiveError
from prtoggle.proof import Case, Proof, Scenario

SHOWN = {"24401": ("none", "24401"), "27360": ("none", "27360", "27360/slice+assert")}
"""The states that are shown of each fix; ``prove`` has all."""

_INTRO = (
    "prtoggle takes a merged fix back out of an installed Python package when it runs, in every process, with no file "
    "changed. Below, each column is a process of its own: the same program on the same files, fixed or reverted."
)

_ON = """Go on with
  prtoggle list                        what can be reverted here
  prtoggle diff 27360                  what is taken out, as a diff
  prtoggle prove                       every state of these fixes, as claimed or not
  prtoggle run 27360 -- COMMAND        your program without the fix
  prtoggle run ./x.diff -- COMMAND     the same for any merged diff"""


_EPILOG = """\b
Examples:
  prtoggle demo
  prtoggle demo --device cuda

\b
Exit codes: 0 both fixes behave as claimed; 1 one does not; 4 torch is not installed.
"""


@click.command("demo", epilog=_EPILOG)
@click.option(
    "--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="Where the programs run."
)
def command(device: str) -> int:
    """Two of the fixes that come with prtoggle, fixed and reverted side by side, in under two minutes."""
    sidebyside.text(_INTRO)
    scenarios = [scenario for scenario, _ in proof.chosen(",".join(SHOWN))]
    wanted = [case for scenario in scenarios for case in proof.cases(scenario) if case.revert in SHOWN[scenario.fix.id]]
    if find_spec("torch") is None:
        _without_torch(scenarios, wanted)
    proofs = run_all(wanted, device, 1 if device == "cuda" else min(2, os.cpu_count() or 1))
    for scenario in scenarios:
        _show(scenario, [found for found in proofs if found.case.scenario is scenario])
    complain(proofs)
    render.out()
    render.out(_ON)
    return exit_code(proofs)


def _show(scenario: Scenario, proofs: Sequence[Proof]) -> None:
    _head(scenario)
    keys = sidebyside.differing([found.seen for found in proofs])
    rows = [
        ("what happens", *(found.case.claim if found.verdict == PROVEN else found.reason for found in proofs)),
        *((sidebyside.name(key), *(_cell(found, key) for found in proofs)) for key in keys),
        ("as claimed?", *(found.verdict for found in proofs)),
    ]
    sidebyside.table(("", *(found.case.state for found in proofs)), rows, states=STATES)
    reverted = [found for found in proofs if found.in_force]
    parts = ", ".join(dict.fromkeys(part for found in reverted for part in found.in_force))
    if reverted:
        disk = (
            "the files on disk are as they were"
            if all(found.untouched for found in reverted)
            else "FILES ON DISK CHANGED"
        )
        sidebyside.text(f"Taken out in the reverted processes, as they say themselves: {parts}; {disk}.", "  ")


def _head(scenario: Scenario) -> None:
    render.out()
    sidebyside.text(f"{scenario.fix.id}  {scenario.fix.title}", bold=True)
    if scenario.fix.symptom:
        sidebyside.text(f"Without it: {scenario.fix.symptom}", "  ")


def _cell(found: Proof, key: str) -> str:
    return sidebyside.word(found.seen[key]) if found.seen is not None and key in found.seen else ""


def _without_torch(scenarios: Sequence[Scenario], wanted: Sequence[Case]) -> None:
    """Say what would be seen, and how to see it."""
    for scenario in scenarios:
        _head(scenario)
        mine = [case for case in wanted if case.scenario is scenario]
        sidebyside.table(("state", "what would be seen"), [(case.state, case.claim) for case in mine])
    raise InconclusiveError(
        "torch is not installed, and both programs need it, so nothing was run",
        hint=f"{sys.executable} -m pip install torch, then prtoggle demo; list, show, diff and run work without it",
        page="commands#demo",
    )
