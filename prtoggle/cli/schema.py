"""``prtoggle schema``: the JSON Schema of reverse patches, for editors."""

from __future__ import annotations

import click

from prtoggle.cli import render

_EPILOG = """\b
Examples:
  prtoggle schema
  prtoggle schema --path
  (an editor finds it by the first line of a revert.yaml:)
  prtoggle schema --modeline fixes/pr27360_x/revert.yaml

\b
Exit code 0.
"""


@click.command("schema", epilog=_EPILOG)
@click.option("--path", "show_path", is_flag=True, help="Print where the schema's file lies.")
@click.option(
    "--modeline", "at", metavar="FILE", help="Print the first line that a reverse patch at FILE needs for editors."
)
def command(show_path: bool, at: str | None) -> None:
    """The JSON Schema of reverse patches, for editors."""
    from pathlib import Path

    from prtoggle.errors import UsageError
    from prtoggle.schema import FILE, modeline, schema

    if show_path and at is not None:
        raise UsageError("--path and --modeline are two questions", hint="ask one at a time")
    if at is not None:
        render.out(modeline(Path(at)))
    elif show_path:
        render.out(str(FILE))
    else:
        render.json(schema())
