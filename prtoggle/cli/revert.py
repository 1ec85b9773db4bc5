"""``prtoggle revert SELECTION``: take fixes out of processes that run (``--pid``), or of files (``--tree``).

Example::

    prtoggle revert 27360 --pid 4711
    prtoggle revert 27360 --tree ./checkout
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
  prtoggle revert 27360 --pid 4711                 (and in all its Python children)
  prtoggle revert 27360/slice --pid 4711 --timeout 10
  prtoggle revert 27360 --tree ./checkout          (the files; restore puts them back)
  prtoggle apply 27360 --tree ./checkout           (the same)

\b
A process must have been started with PRTOGGLE_CONTROL=1. Either all of the
processes, and all of the files, change or none does.

\b
Exit codes: 0 done, or already so; 2 no such fix, process or folder; 3 refused,
nothing changed.
"""


@click.command("revert", epilog=_EPILOG)
@click.argument("selection", shell_complete=completion.selection)
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
    """Take what SELECTION names out of a process that runs, and of its Python children; or out of the files of a
    package."""
    pids_or_tree(pids, tree, dry_run, fixes)
    if tree is not None:
        from prtoggle.library import Library
        from prtoggle.patching.applying import revert
        from prtoggle.selection import parse

        answer = revert(parse(selection), tree, Library(fixes), seconds=timeout, force=force, dry_run=dry_run)
        return report_tree(answer, as_json, tree=tree)

    return toggle("revert", selection, pids, timeout=timeout, force=force, as_json=as_json)
