"""``prtoggle restore SELECTION --pid N``: put fixes back into processes that run.

Example::

    prtoggle restore 27360 --pid 4711
"""

from __future__ import annotations

import click

from prtoggle.cli import render
from prtoggle.cli.context import json_option
from prtoggle.cli.livewords import live_options, report

_EPILOG = """\b
Examples:
  prtoggle restore 27360 --pid 4711
  prtoggle restore --pid 4711                      (everything that is out)

\b
The process must have been started with PRTOGGLE_CONTROL=1. Either all of the
processes change or none does.

\b
Exit codes: 0 done; 2 not reverted there, or no such process; 3 refused, nothing changed.
"""


@click.command("restore", epilog=_EPILOG)
@click.argument("selection", default="all")
@live_options
@json_option
def command(selection: str, pids: tuple[int, ...], timeout: float, force: bool, as_json: bool) -> int:
    """Put what SELECTION names back into a process that runs, and its Python children."""
    from prtoggle import remote
    from prtoggle.cli.livewords import processes, typed

    with render.progress() as say:
        say("asking the processes")
        answers = remote.toggle("restore", typed(selection), pids=processes(pids), timeout=timeout, force=force)
    return report(answers, as_json)
