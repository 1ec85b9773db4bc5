"""``prtoggle bisect -- COMMAND``: which of many reverts makes COMMAND fail, or keeps it from failing.

The answer goes to stdout, what happens meanwhile to stderr. All of it is in a log, from which it goes on after Ctrl-C,
a kill or a reboot.

Example::

    prtoggle bisect --timeout 20m -- pytest tests/test_spec.py
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from prtoggle.cli import completion, render
from prtoggle.cli.context import fixes_option, json_option
from prtoggle.errors import UsageError

if TYPE_CHECKING:
    from prtoggle.bisection.record import Log
    from prtoggle.bisection.values import Executor, Settings

_EPILOG = """\b
Examples:
  prtoggle bisect -- pytest tests/test_spec.py
  prtoggle bisect --among 24401,27360/all --timeout 20m -- python repro.py
  prtoggle bisect --flaky --jobs 8 --gpus-per-trial 1 -- python repro.py
  prtoggle bisect --match 'illegal memory access' -- python repro.py
  prtoggle bisect --metric 'throughput: ([0-9.]+)' --worse lower -- python bench.py
  prtoggle bisect --resume bisect.jsonl --max-runs 200 --report bisect.html

\b
What COMMAND's exit code says, as for `git bisect run`: 0 good, 125 skip this one, all
else bad, signals too. A trial that took longer than --timeout, that could not be
started, or in which the reverts were not in force says nothing and is tried again,
twice at most.

\b
Exit codes: 0 found; 1 none of these; 4 inconclusive: what is left is listed;
2 what was typed is wrong; 3 the fixes cannot be reverted together; 127, 126 COMMAND
is not there, or cannot be executed; 130 interrupted: the last line says how to resume.
"""


def _seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    unit = value[-1:] if value[-1:] in ("s", "m", "h") else ""
    try:
        seconds = float(value.removesuffix(unit)) * {"": 1, "s": 1, "m": 60, "h": 3600}[unit]
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise UsageError(f"--timeout {value} is no time, expected 90, 90s, 20m or 2h")
    return seconds


_NOT_SETTINGS = ("cmd", "fixes", "log", "resume", "undo", "report", "as_json")
"""Options that say nothing of what is tried."""


@click.command("bisect", epilog=_EPILOG, context_settings={"allow_interspersed_args": False})
@click.option(
    "--among",
    metavar="SEL",
    default="all",
    shell_complete=completion.selection,
    help="The suspects; else every fix that applies here.",
)
@fixes_option
@click.option("--timeout", metavar="T", callback=_seconds, help="End a trial after T: 90, 90s, 20m, 2h.")
@click.option("--timeout-is", type=click.Choice(["bad", "skip"]), default=None, help="A trial ended so is a verdict.")
@click.option(
    "--signal-is", type=click.Choice(["bad", "good", "skip"]), default="bad", help="What COMMAND killed by a signal is."
)
@click.option("--match", metavar="REGEX", default="", help="Bad is only what shows this in its output.")
@click.option("--metric", metavar="REGEX", default="", help="Compare a number: the last match's first group.")
@click.option("--worse", type=click.Choice(["higher", "lower"]), default=None, help="Which way the number is worse.")
@click.option("--flaky", is_flag=True, help="The failure comes and goes: say so from the start.")
@click.option("--never-otherwise", is_flag=True, help="It surely never fails without the culprit, one of these.")
@click.option("--trace/--no-trace", default=True, help="One traced run first; what it never executes is set aside.")
@click.option("--confidence", metavar="P", type=float, default=0.99, help="How sure to be where chance plays a part.")
@click.option("--max", "max_sets", metavar="N", type=click.IntRange(0), default=0, help="Stop after N culprits.")
@click.option("--max-runs", metavar="N", type=click.IntRange(0), default=0, help="Stop after N trials.")
@click.option("--jobs", "-j", metavar="N", type=click.IntRange(1), default=1, help="Trials at a time.")
@click.option(
    "--gpus-per-trial", metavar="N", type=click.IntRange(0), help="GPUs of each trial; else they are divided by --jobs."
)
@click.option("--executor", type=click.Choice(["local", "ray"]), default="local", help="Where trials run.")
@click.option("--log", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="The log; else a new one.")
@click.option("--resume", metavar="FILE", type=click.Path(path_type=Path), help="Go on with a log.")
@click.option("--undo", metavar="N", type=int, multiple=True, help="With --resume: trial N counts no more; repeatable.")
@click.option(
    "--report", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write one HTML file at the end."
)
@json_option
@click.argument("cmd", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.pass_context
def command(ctx: click.Context, /, cmd: tuple[str, ...], fixes: tuple[Path, ...], **options: Any) -> int:
    """Which fix, taken out, makes COMMAND fail; or which one, left in."""
    from prtoggle.bisection import account, page, session
    from prtoggle.bisection.record import resuming
    from prtoggle.cli.bisectview import watching

    if options["report"] is not None:
        page.writable(options["report"])
    given = _given(ctx, cmd, fixes, options)
    log, settings = _open(options["resume"], options["log"], options["undo"], given)
    with log:
        for number in options["undo"]:
            log.undo(number)
        executor = _executor(settings)
        _say(log)
        with watching() as watcher:
            state = session.run(log, executor, watcher, settings)
    shown = {name: os.environ[name] for name in account.VARIABLES if os.environ.get(name)}
    more = f" --max-runs {state.answer.max_runs}" if state.answer and state.answer.max_runs else ""
    told = account.account(state, resume=resuming(log.path) + more, environment=shown)
    if options["report"] is not None:  # before the words: whoever reads those may stop after the first
        try:
            page.write(told, options["report"])
        except UsageError as error:  # the answer took hours, and counts
            render.words(f"prtoggle: {error}")
    if options["as_json"]:
        render.json(account.to_json(told))
    else:
        for line in account.text(told):
            render.out(line)
    return told.exit_code


def _given(
    ctx: click.Context, cmd: tuple[str, ...], fixes: tuple[Path, ...], options: dict[str, Any]
) -> dict[str, Any]:
    """The settings that were given, as :class:`Settings` calls them."""
    words = cmd[1:] if cmd[:1] == ("--",) else cmd
    given = {
        name: value
        for name, value in options.items()
        if name not in _NOT_SETTINGS and ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    if words:
        given["command"] = words
    if fixes:
        given["fixes"] = tuple(str(folder.absolute()) for folder in fixes)
    return given


def _open(resume: Path | None, log: Path | None, undo: tuple[int, ...], given: dict[str, Any]) -> tuple[Log, Settings]:
    from prtoggle.bisection import session
    from prtoggle.bisection.values import Settings

    if resume is not None:
        if log is not None:
            raise UsageError("--resume goes on with its own log", hint="leave out --log")
        return session.resume(resume, given)
    if undo:
        raise UsageError("--undo takes a trial of a log back", hint="--resume FILE names the log")
    if "command" not in given:
        raise UsageError("no command to run", hint="prtoggle bisect -- COMMAND")
    with render.progress() as say:
        say("looking at the fixes")
        opened = session.begin(Settings(**given), log=log)
    return opened, opened.header.settings


def _executor(settings: Settings) -> Executor:
    if settings.executor == "ray":
        from prtoggle.bisection.rayexec import Ray

        return Ray(settings.jobs, settings.gpus_per_trial or 0)
    from prtoggle.bisection import session

    return session.local(settings)


def _say(log: Log) -> None:
    """What a person should know before it begins."""
    count = len(log.header.candidates)
    render.words(f"prtoggle: {count} candidate{'' if count == 1 else 's'}; the log is {log.path}")
    for label, where in log.header.packages:
        render.words(f"prtoggle: {label} at {where}")
    for note in log.header.notes:
        render.words(f"prtoggle: note: {note}")
