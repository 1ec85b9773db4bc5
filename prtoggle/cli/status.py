"""``prtoggle status``: which processes run with which reverts, now and in the last run; what is out of files.

Example::

    prtoggle status --pid 4711
    prtoggle status --tree ./checkout
"""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prtoggle.cli import render
from prtoggle.cli.context import json_option
from prtoggle.cli.livewords import part_words, when
from prtoggle.cli.treewords import report_state, tree_option
from prtoggle.errors import UsageError

if TYPE_CHECKING:
    from prtoggle.lastrun import LastRun

_EPILOG = """\b
Examples:
  prtoggle status              (every process that takes requests, and the last prtoggle run)
  prtoggle status --pid 4711   (one process, and its Python children)
  prtoggle status --tree DIR   (what revert --tree took out of the files there)

\b
Exit codes: 0 every process answered; 2 no such process or folder; 3 one could
not be asked.
"""


@click.command("status", epilog=_EPILOG)
@click.option("--pid", "pids", type=int, metavar="N", multiple=True, help="A process and its children; repeatable.")
@tree_option("What `revert --tree DIR` took out of the files there.")
@json_option
def command(pids: tuple[int, ...], tree: Path | None, as_json: bool) -> int:
    """Which processes run with which reverts: those started with PRTOGGLE_CONTROL=1, and those of the last prtoggle
    run."""
    if tree is not None:
        return _of_tree(tree, bool(pids), as_json)
    from prtoggle import remote
    from prtoggle.cli.livewords import processes
    from prtoggle.lastrun import last_run
    from prtoggle.runtime.journal import start_time

    answers = remote.statuses(processes(pids) if pids else remote.listening())
    if not pids:  # one that ended between the listing and the question is no news
        answers = tuple(answer for answer in answers if answer.ok or start_time(answer.pid))
    last = None if pids else last_run()
    code = max((answer.exit_code for answer in answers), default=0)
    if as_json:
        run = None if last is None else asdict(last)
        render.json({"processes": [asdict(answer) for answer in answers], "last_run": run, "exit_code": code})
        return code
    rows = []
    for answer in answers:
        if not answer.ok:
            render.words(f"prtoggle: {answer.error}")
            continue
        result = answer.result
        what = _process(result.get("ranks", {}), result.get("command", ()))
        parts = result.get("parts") or []
        names = [part["part"] for part in parts]
        for part in parts:
            where = f" in {part['package']}" if names.count(part["part"]) > 1 else ""
            rows.append((str(answer.pid), part["part"] + where, _how(part), what))
        if not parts:
            rows.append((str(answer.pid), "nothing is reverted", "", what))
    if rows:
        render.table(rows, header=_HEADER)
    elif not answers:
        render.words("no process of this user takes requests: start one with PRTOGGLE_CONTROL=1")
    if last is not None:
        _show(last)
    return code


def _of_tree(tree: Path, also_pids: bool, as_json: bool) -> int:
    from prtoggle.patching.state import look
    from prtoggle.patching.trees import only_store

    if also_pids:
        raise UsageError("--pid and --tree stand together", hint="ask for processes, or for files, one at a time")
    store = only_store(tree, linked=True)
    return report_state(look(store) if store else None, as_json, tree=tree)


_HEADER = ("pid", "reverted", "how", "process")


def _show(last: LastRun) -> None:
    """The last run: the processes that ran something reverted, those that still run first said to."""
    from prtoggle.lastrun import alive

    end = "goes on" if last.going_on else f"ended {when(last.end)}" if last.end else "was killed"
    render.out(f"last run: prtoggle run {last.selection} -- {shlex.join(last.command)[:80]}")
    render.out(f"  started {when(last.start)}, {end}; journals: {last.folder}")
    rows = []
    for process in last.processes:
        state = "running" if alive(process) else "ended"
        for part, said in part_words(process.parts):
            rows.append((f"{process.pid}", part, f"{said}; {state}", _process(process.ranks, process.argv)))
    if rows:
        render.table(rows, header=_HEADER, indent="  ")
    elif last.selection != "none":
        render.out(f"  nothing was reverted in any of its processes ({len(last.processes)} reached)")
    for package in last.refused:
        render.out(f"  refused: {package}")


def _process(ranks: dict[str, str], command: tuple[str, ...]) -> str:
    named = " ".join(f"{name}={value}" for name, value in ranks.items())
    return " ".join(word for word in (named, " ".join(" ".join(command).split())[:60]) if word)


def _how(part: dict[str, object]) -> str:
    since = part.get("since")
    at = f", {when(since)}" if isinstance(since, (int, float)) else ""
    return f"{part.get('how', '')}{at}{'' if part.get('loaded') else ', not imported yet'}"
