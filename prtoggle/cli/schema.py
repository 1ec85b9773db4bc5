"""``prtoggle schema``: the JSON Schema of reverse patches, for editors."""

from __future__ import annotations

import click

from prtoggle.cli import render

_EPILOG = """\b
Examples:
  prtoggle schema > revert.schema.json
  (then, in the first line of a revert.yaml:)
  # yaml-language-server: $schema=./revert.schema.json

\b
Exit code 0.
"""


@click.command("schema", epilog=_EPILOG)
def command() -> None:
    """The JSON Schema of reverse patches, for editors."""
    from prtoggle.schema import schema

    render.json(schema())
