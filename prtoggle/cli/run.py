"""``prtoggle run SELECTION -- COMMAND``: the command with the selection reverted in all its processes, and a report on
stderr.

stdout belongs to the command. Exits with the command's own code, with 125 when the revert was not in force.

Example::

    prtoggle run 27360/slice+assert -- python -m sglang.launch_server ...
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from prtoggle.cli import completion, render
from prtoggle.cli.context import fixes_option
from prtoggle.cli.livewords import part_words
from prtoggle.cli.runwords import in_order
from prtoggle.errors import UsageError, see, without_page
from prtoggle.known import UNINSTALLED
from prtoggle.result import NOT_IN_FORCE, Result

_EPILOG = """\b
Examples:
  prtoggle run 27360 -- python -m sglang.launch_server ...
  prtoggle run 24401/positions,27360/slice+assert -- pytest tests/
  prtoggle run ./suspect.diff -- python serve.py
  prtoggle run --trace --json report.json 27360 -- python bench.py
  prtoggle run none -- python bench.py          (fixed, whatever the environment says)

\b
Exit codes: COMMAND's own, 128+N where signal N ended it; 127 not found, 126 cannot be
executed; 125 the revert was not in force: a process refused, or none imported what one
of the selected fixes changes (--allow-unused lets that pass).
"""


class _Run(click.Command):
    """A command whose options may also stand behind the selection."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option) and not each.is_flag]
        return super().parse_args(ctx, in_order(args, {name for each in options for name in each.opts}))


@click.command("run", cls=_Run, epilog=_EPILOG, context_settings={"allow_interspersed_args": False})
@fixes_option
@click.option("--trace", is_flag=True, help="Find out whether the reverted code is executed.")
@click.option("--allow-unused", is_flag=True, help="No 125 where no process imported what a selected fix changes.")
@click.option(
    "--json",
    "report_file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the report as JSON.",
)
@click.option("-q", "--quiet", is_flag=True, help="Report only what went wrong; no line from each process.")
@click.option("-v", "--verbose", is_flag=True, help="Say also what cannot be seen from here.")
@click.argument("selection", shell_complete=completion.selection)
@click.argument("cmd", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def command(
    fixes: tuple[Path, ...],
    trace: bool,
    allow_unused: bool,
    report_file: Path | None,
    quiet: bool,
    verbose: bool,
    selection: str,
    cmd: tuple[str, ...],
) -> int:
    """Run COMMAND with SELECTION reverted in all its processes."""
    from prtoggle.trial import Trial, run

    words = cmd[1:] if cmd[0] == "--" else cmd
    if not words:
        raise UsageError("no command to run", hint="prtoggle run SELECTION -- COMMAND")
    if report_file is not None:
        _try(report_file)
    trial = Trial(selection, words, fixes=tuple(map(os.fspath, fixes)), trace=trace, quiet=quiet)
    result = run(trial, on_notes=_say_notes)
    if report_file is not None:
        _write(report_file, result, allow_unused)
    for line in report(result, allow_unused=allow_unused, quiet=quiet, verbose=verbose):
        render.words(f"prtoggle: {line}" if not line.startswith(" ") else line)
    return result.exit_code(allow_unused=allow_unused)


def _say_notes(notes: tuple[str, ...]) -> None:
    for note in notes:
        render.words(f"prtoggle: note: {note}")


def _try(file: Path) -> None:
    """Say that the report cannot be written before the command has run for hours."""
    try:
        file.open("a", encoding="utf-8").close()
    except OSError as error:
        raise UsageError(f"the report {file} cannot be written: {error.strerror or error}") from None


def _write(file: Path, result: Result, allow_unused: bool) -> None:
    about = {**result.to_json(), "exit_code": result.exit_code(allow_unused=allow_unused)}
    try:
        file.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        render.words(f"prtoggle: the report {file} could not be written: {error.strerror or error}")


def report(result: Result, *, allow_unused: bool = False, quiet: bool = False, verbose: bool = False) -> list[str]:
    """The lines of the report. Lines that start with a space belong to the one before."""
    if result.is_none:
        return []
    return [
        *_headline(result, allow_unused, quiet),
        *([] if quiet else _in_force(result)),
        *_out_of_force(result),
        *_see(result, allow_unused),
        *([] if quiet else _beside(result, verbose)),
        *([] if quiet else _by_process(result)),
    ]


def _headline(result: Result, allow_unused: bool, quiet: bool) -> list[str]:
    code = result.exit_code(allow_unused=allow_unused)
    own = "" if code == result.code else f" (exit code {code}; the command's own was {result.code})"
    if result.verdict == "refused":
        return [f"ERROR: {result.selection} was NOT in force ({_reached(result)}): a process refused{own}"]
    lines = []
    if result.verdict != "in force":
        lacking = ",".join(result.unused) or result.selection
        why = _why_unused(result)
        said = f"{lacking} was not used: {why}" if allow_unused else f"ERROR: {lacking} was NOT in force: {why}{own}"
        lines.append(said)
    if result.in_force and not quiet:
        where = len({pid for module in result.in_force for pid in module.pids})
        processes = _count(where, "process", "processes")
        labels = ", ".join(result.labels)
        lines.append(f"{','.join(result.used)} was in force in {processes} of {_reached(result)} ({labels})")
    return lines


def _see(result: Result, allow_unused: bool) -> list[str]:
    """What explains 125, unless a refusal names its own page."""
    if result.exit_code(allow_unused=allow_unused) != NOT_IN_FORCE or result.verdict == "in force":
        return []
    if any(without_page(refused.reason)[1] for refused in result.refused):
        return []
    return [see("reference/exit-codes#125-the-revert-was-not-in-force")]


def _why_unused(result: Result) -> str:
    if not result.processes:
        return "no Python process was reached"
    where = "" if result.in_force else f" ({_reached(result)})"
    planned = {part for module in result.never_imported for part in module.parts}
    if planned and all(any(_is_of(part, choice) for part in planned) for choice in result.unused):
        return f"no process imported a module that it changes{where}"
    return f"no process imported a package that it changes{where}"


def _is_of(part: str, choice: str) -> bool:
    return part == choice or part.startswith(f"{choice.partition('/')[0]}/")


def _reached(result: Result) -> str:
    return f"{len(result.processes)} reached"


def _in_force(result: Result) -> list[str]:
    lines = []
    for module in result.in_force:
        lines.append(f"  {module.module}  {module.before[:8]} -> {module.after[:8]}  {_pids(module.pids)}")
        lines.append(f"    {module.file}")
        for edit in module.edits:
            state = f": {edit.state}" if edit.state else ""
            lines.append(f"    {'+'.join(edit.parts)}  {edit.target} line {edit.line}{state}")
    return lines


def _out_of_force(result: Result) -> list[str]:
    """What a person must see, also when quiet."""
    lines = []
    for refused in result.refused:
        lines.append(f"  refused: {refused.package}  {_pids(refused.pids)}")
        lines.append(render.indented(refused.reason))
    for module in result.never_imported:
        lines.append(f"  never imported: {module.module} ({', '.join(module.parts)}): its revert took no effect")
    for note in result.notes:
        if note.startswith(tuple(UNINSTALLED + choice for choice in result.unused)):
            lines.append(f"  {note}")
    lines += _restored(result)
    lines += _unreached(result)
    if result.traced:
        edits = [(module, edit) for module in result.in_force for edit in module.edits]
        lines += [
            f"  never executed: {'+'.join(edit.parts)} at {module.module}:{edit.line}"
            for module, edit in edits
            if edit.state == "not executed"
        ]
    return lines


def _restored(result: Result) -> list[str]:
    """Parts that the selection took out and that somebody put back while the processes ran."""
    back: dict[str, list[int]] = {}
    for process in result.processes:
        last = {state.part: state for state in process.parts}
        for part, state in last.items():
            if state.until:
                back.setdefault(part, []).append(process.pid)
    return [f"  restored while it ran: {part}  {_pids(tuple(pids))}" for part, pids in back.items()]


def _by_process(result: Result) -> list[str]:
    """What became of each part in each process: where, how, since when."""
    holding = [process for process in result.processes if process.parts]
    lines = []
    for process in holding[:_SHOWN]:
        ranks = "".join(f" {name}={value}" for name, value in process.ranks.items())
        lines.append(f"  pid {process.pid}{ranks}: {_short(process.argv)}")
        lines += [f"    {part}  {said}" for part, said in part_words(process.parts)]
    if len(holding) > _SHOWN:
        lines.append(f"  and {_count(len(holding) - _SHOWN, 'process', 'processes')} more: prtoggle status, --json")
    return lines


_SHOWN = 8
"""Processes that the report shows one by one."""


def _unreached(result: Result) -> list[str]:
    by_reason: dict[str, list[tuple[int, str]]] = {}
    for seen in result.unreached:
        by_reason.setdefault(seen.reason, []).append((seen.pid, _short(seen.argv)))
    lines = []
    for reason, them in by_reason.items():
        head = f"{_count(len(them), 'Python process', 'Python processes')} seen and not reached"
        lines.append(f"  {head}: {reason}")
        lines += [f"    pid {pid}: {argv}" for pid, argv in them[:3]]
        if len(them) > 3:
            lines.append(f"    and {len(them) - 3} more")
    return lines


def _beside(result: Result, verbose: bool) -> list[str]:
    lines = [
        f"  note: {note}"
        for note in (*result.plan_notes, *(note for note in result.notes if "journal" in note or "copies" in note))
    ]
    if any(edit.state == "unknown" for module in result.in_force for edit in module.edits):
        lines.append(
            "  unknown: replayed CUDA graphs, scripted and Triton code cannot be traced, nor what was changed live,"
            " nor a process that was killed"
        )
    if result.still_running:
        lines.append(f"  still running: {_pids(result.still_running)}; what they do from now on is not in this report")
    if verbose or result.unreached or result.verdict != "in force":
        lines.append(f"  cannot be seen from here: {'; '.join(result.blind)}")
    lines.append(f"  journals: {result.folder}")
    return lines


def _pids(pids: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, pids[:5])) + (f" and {len(pids) - 5} more" if len(pids) > 5 else "")
    return f"pid {shown}" if len(pids) == 1 else f"pids {shown}"


def _short(argv: tuple[str, ...]) -> str:
    text = " ".join(word if word.isprintable() else repr(word) for word in argv)
    return text if len(text) <= 80 else text[:77] + "..."


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
