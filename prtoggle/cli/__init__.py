"""The command ``prtoggle``: one file a command, each of which parses, calls and renders.

Example::

    prtoggle --version
"""

from __future__ import annotations

import click

from prtoggle import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="prtoggle")
def main() -> None:
    """Take a merged fix back out of an installed package, at run time, in every process."""
