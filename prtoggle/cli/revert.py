"""``prtoggle revert SELECTION --pid N``: take fixes out of processes that run.

Example::

    prtoggle revert 27360 --pid 4711
"""

from __future__ import annotations

import click

from prtoggle.cli import render
from prtoggle.cli.context import json_option
from prtoggle.cli.livewords import live_options, report

_EPILOG = """\b
Examples:
  prtoggle revert 27360 --pid 4711                 (and in all its Python children)
  prtoggle revert 27360/slice --pid 4711 --timeout 10

\b
The process must have been started with PRTOGGLE_CONTROL=1. Either all of the
processes change or none does.

\b
Exit codes: 0 done; 2 no such fix or process; 3 refused, nothing changed.
"""


@click.command("revert", epilog=_EPILOG)
@click.argument("selection")
@live_options
@json_option
def command(selection: str, pids: tuple[int, ...], timeout: float, force: bool, as_json: bool) -> int:
    """Take what SELECTION names out of a process that runs, and of its Python children."""
    from prtoggle import remote
    from prtoggle.cli.livewords import processes, typed

    with render.progress() as say:
        say("asking the processes")
        answers = remote.toggle("revert", typed(selection), pids=processes(pids), timeout=timeout, force=force)
    return report(answers, as_json)
