"""``prtoggle status``: which processes run with which reverts.

Example::

    prtoggle status --pid 4711
"""

from __future__ import annotations

import time
from dataclasses import asdict

import click

from prtoggle.cli import render
from prtoggle.cli.context import json_option

_EPILOG = """\b
Examples:
  prtoggle status                                  (every process that takes requests)
  prtoggle status --pid 4711                       (one, and its Python children)

\b
Exit codes: 0 every process answered; 2 no such process; 3 one could not be asked.
"""


@click.command("status", epilog=_EPILOG)
@click.option("--pid", "pids", type=int, metavar="N", multiple=True, help="A process and its children; repeatable.")
@json_option
def command(pids: tuple[int, ...], as_json: bool) -> int:
    """Which processes run with which reverts: those started with PRTOGGLE_CONTROL=1."""
    from prtoggle import remote
    from prtoggle.cli.livewords import processes
    from prtoggle.runtime.journal import start_time

    answers = remote.statuses(processes(pids) if pids else remote.listening())
    if not pids:  # one that ended between the listing and the question is no news
        answers = tuple(answer for answer in answers if answer.ok or start_time(answer.pid))
    code = max((answer.exit_code for answer in answers), default=0)
    if as_json:
        render.json({"processes": [asdict(answer) for answer in answers], "exit_code": code})
        return code
    rows = []
    for answer in answers:
        if not answer.ok:
            render.words(f"prtoggle: {answer.error}")
            continue
        result = answer.result
        ranks = " ".join(f"{name}={value}" for name, value in result.get("ranks", {}).items())
        command_line = " ".join(" ".join(result.get("command", ())).split())
        what = " ".join(word for word in (ranks, command_line[:60]) if word)
        for part in result.get("parts") or [{}]:
            rows.append((str(answer.pid), part.get("part", "nothing is reverted"), _how(part), what))
    if rows:
        render.table(rows, header=("pid", "reverted", "how", "process"))
    elif not answers:
        render.words("no process of this user takes requests: start one with PRTOGGLE_CONTROL=1")
    return code


def _how(part: dict[str, object]) -> str:
    if not part:
        return ""
    since = part.get("since")
    at = time.strftime(", %Y-%m-%d %H:%M:%S", time.localtime(since)) if isinstance(since, (int, float)) else ""
    return f"{part.get('how', '')}{at}{'' if part.get('loaded') else ', not imported yet'}"
