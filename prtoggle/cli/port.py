"""``prtoggle port``: a variant for a release that a fix does not apply to, proposed as a patch of its YAML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prtoggle.cli import completion, render
from prtoggle.cli.context import against_options, fixes_option, index_of, json_option
from prtoggle.cli.errors import describe

if TYPE_CHECKING:
    from prtoggle.port import Step
    from prtoggle.proposal.asked import Answer
    from prtoggle.proposal.propose import Proposal

_EPILOG = """\b
Examples:
  prtoggle port 27360 --to sglang==0.5.23
  prtoggle port 27360 --to sglang==0.5.23 --fixes ./fixes | git apply
  prtoggle port 27360,24401 --to sglang==0.5.23 --fixes ./fixes --write
  prtoggle port 26972 --source registry --to sglang==0.5.16 > revert.yaml

\b
Exit codes: 0 it applies, or a patch is proposed; 2 nobody knows the fix, or
`--to` names several releases; 3 it cannot be told how; 4 a release that is
needed could not be had.
"""


@click.command("port", epilog=_EPILOG)
@click.argument("selection", shell_complete=completion.selection)
@click.option(
    "--to", "goal", metavar="WHAT", required=True, help="One release, such as sglang==0.5.23; a wheel, a folder."
)
@click.option(
    "--via",
    metavar="WHAT",
    multiple=True,
    help="What may be looked at, where it applies and on the way: a requirement ('sglang>=0.5.13'), a wheel, a folder; "
    "repeatable. Without it: all releases.",
)
@click.option(
    "--source",
    type=click.Choice(("dir", "path", "bundled", "entry-point", "registry")),
    help="Port the fix of this kind of source, not the first that has the number.",
)
@click.option("--package", metavar="NAME", help="The import name of the package.")
@click.option("--write", is_flag=True, help="Change the files; nothing is written without it.")
@against_options
@fixes_option
@json_option
def command(
    selection: str,
    goal: str,
    via: tuple[str, ...],
    source: str | None,
    package: str | None,
    write: bool,
    python_version: str | None,
    platform: str | None,
    refresh: bool,
    fixes: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Propose a variant of a reverse patch for a release that it does not apply to.

    The patch of the YAML is on stdout. On stderr: where the code was, where it is, why it is the same, and what the
    variant would do. What cannot be told is refused.
    """
    from prtoggle.against import parse_against
    from prtoggle.library import Library
    from prtoggle.proposal.asked import answers, goal_of, keep
    from prtoggle.proposal.bases import Pool
    from prtoggle.selection import parse

    library = Library(fixes)
    selected = parse(selection)
    with render.progress() as say:
        index = index_of(say, python_version=python_version, platform=platform, refresh=refresh)
        to = goal_of(goal, library, index, only=package, selection=selected)
        pool = Pool.of(to.distribution, to.package.name, index, via=[parse_against(text) for text in via])
        found = list(answers(selected, to, library, pool, source=source))
    written: dict[int, Path] = {}
    for at, answer in enumerate(found):
        if write and answer.proposal is not None:
            written[at] = keep(answer.proposal, fixes)
    if as_json:
        render.json(
            {"goal": to.package.label, "fixes": [_data(answer, written.get(at)) for at, answer in enumerate(found)]}
        )
    for at, answer in enumerate(found):
        _say(answer, to.package.label)
        if answer.proposal is not None and not as_json:
            _patch(answer.proposal, written.get(at), several=len(found) > 1)
    if not found:
        render.words("prtoggle: nothing is selected")
    return max((answer.error.exit_code for answer in found if answer.error is not None), default=0)


def _say(answer: Answer, goal: str) -> None:
    fix = f"{answer.fix.id} ({answer.fix.origin})"
    if answer.error is not None:
        _steps(getattr(answer.error, "steps", ()))
        render.words(describe(answer.error))
    elif answer.proposal is None:
        words = "applies to" if answer.verdict == "applies" else "is not in"
        render.words(f"prtoggle: {fix} {words} {goal}: {answer.reason}")
    else:
        proposal = answer.proposal
        old = f", and '{proposal.old_versions}' for the old one" if proposal.old_versions else ""
        render.words(f"prtoggle: {fix}: {proposal.how} for {goal}, versions '{proposal.versions}'{old}")
        render.words(f"  carried from {proposal.base}, where it applies")
        _steps(proposal.steps)
        for note in proposal.notes:
            render.words(f"  note: {note}")
        render.words(f"  what it would do to {goal}:")
        render.words(render.indented(_effect(proposal).rstrip("\n")))


def _steps(steps: Sequence[Step]) -> None:
    """Old place, new place and why it is the same. What stays in its place from release to release is said once."""
    calm = [step for step in steps if step.how == "same place"]
    for step in steps:
        if step not in calm:
            render.words(f"  {step.before} -> {step.after}: {step.how}\n    {step.why}")
    ends: dict[str, Step] = {}
    for step in calm:
        ends[step.after.partition(" ")[0] + step.after.rpartition(" ")[2].rpartition(":")[0]] = step
    for step in ends.values():
        render.words(f"  {step.before} -> {step.after}: {step.how}\n    {step.why}")


def _effect(proposal: Proposal) -> str:
    from prtoggle.revertdiff import revert_diff

    return revert_diff(proposal.plan).decode("utf-8", "backslashreplace")


def _patch(proposal: Proposal, written: Path | None, *, several: bool) -> None:
    from prtoggle.proposal.asked import as_patch

    path, data = as_patch(proposal, several=several)
    render.out_bytes(data)
    if written is not None:
        render.words(f"prtoggle: written to {written}")
    elif proposal.path:
        render.words(f"prtoggle: nothing is written; the patch is for git apply in {path}, or --write")
    else:
        render.words("prtoggle: nothing is written; put it into a folder of its own, or --fixes DIR --write")


def _data(answer: Answer, written: Path | None) -> dict[str, Any]:
    from prtoggle.proposal.asked import as_patch

    proposal, error = answer.proposal, answer.error
    steps = proposal.steps if proposal is not None else getattr(error, "steps", ())
    return {
        "fix": answer.fix.id,
        "origin": {"kind": answer.fix.origin.kind, "where": answer.fix.origin.where},
        "verdict": answer.verdict,
        "reason": answer.reason,
        "nearest": error.nearest if error is not None else "",
        "hint": error.hint if error is not None else "",
        "page": error.page if error is not None else "",
        "steps": [{"before": each.before, "after": each.after, "how": each.how, "why": each.why} for each in steps],
        "base": proposal.base if proposal is not None else "",
        "how": proposal.how if proposal is not None else "",
        "versions": proposal.versions if proposal is not None else "",
        "old_versions": proposal.old_versions if proposal is not None else None,
        "path": proposal.path if proposal is not None else "",
        "patch": as_patch(proposal, several=False)[1].decode("utf-8", "backslashreplace")
        if proposal is not None
        else "",
        "diff": _effect(proposal) if proposal is not None else "",
        "notes": proposal.notes if proposal is not None else (),
        "written": str(written) if written is not None else None,
    }
