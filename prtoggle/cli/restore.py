"""``prtoggle restore SELECTION``: put fixes back into processes that run (``--pid``), or into files (``--tree``).

Example::

    prtoggle restore 27360 --pid 4711
    prtoggle restore --tree ./checkout
"""

from __future__ import annotations

from pathlib import Path

import click

from prtoggle.cli import completion
from prtoggle.cli.context import json_option
from prtoggle.cli.livewords import live_options, toggle
from prtoggle.cli.treewords import pids_or_tree, report_tree, tree_options

_EPILOG = """\b
Examples:
  prtoggle restore 27360 --pid 4711
  prtoggle restore --pid 4711                      (everything that is out)
  prtoggle restore --tree ./checkout               (the files as they were)
  prtoggle restore --tree ./checkout --dry-run     (what is out of them)

\b
A process must have been started with PRTOGGLE_CONTROL=1. Either all of the
processes change or none does. Files are put back also after a command that
was killed; what somebody edited since is not overwritten.

\b
Exit codes: 0 done, or nothing is out; 2 it is not out there, or no such process
or folder; 3 refused, nothing changed.
"""


@click.command("restore", epilog=_EPILOG)
@click.argument("selection", default="all", shell_complete=completion.selection)
@tree_options
@live_options
@json_option
def command(
    selection: str,
    pids: tuple[int, ...],
    timeout: float,
    force: bool,
    tree: Path | None,
    dry_run: bool,
    fixes: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Put what SELECTION names back into a process that runs, and its Python children; or into the files of a
    package."""
    pids_or_tree(pids, tree, dry_run, fixes)
    if tree is not None:
        from prtoggle.library import Library
        from prtoggle.patching.restoring import restore
        from prtoggle.selection import parse

        answer = restore(parse(selection), tree, Library(fixes), seconds=timeout, force=force, dry_run=dry_run)
        return report_tree(answer, as_json, tree=tree)

    return toggle("restore", selection, pids, timeout=timeout, force=force, as_json=as_json)
