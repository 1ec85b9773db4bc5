"""The options that commands share, and what they make of them.

Example::

    @click.command()
    @fixes_option
    @json_option
    def command(fixes, json): ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from prtoggle.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from prtoggle.releases import Index
    from prtoggle.selection import Selection

F = TypeVar("F", bound=Callable[..., Any])


def fixes_option(command: F) -> F:
    """``--fixes DIR``, repeatable: ``fixes`` is a tuple of folders."""
    return click.option(
        "--fixes",
        metavar="DIR",
        multiple=True,
        type=click.Path(path_type=Path),
        callback=_folders,
        help="A folder of fixes, looked at before all others; repeatable.",
    )(command)


def _folders(ctx: click.Context, param: click.Parameter, folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """What is named must be there: a folder that is not would have none of the fixes, and nobody would know."""
    for folder in folders:
        if not folder.is_dir():
            parent = folder.absolute().parent
            beside = [entry.name for entry in parent.iterdir() if entry.is_dir()] if parent.is_dir() else []
            near = did_you_mean(folder.name, beside)
            what = "is no folder" if folder.exists() else "is not there"
            raise UsageError(f"--fixes {folder} {what}", nearest=str(folder.with_name(near)) if near else "")
    return folders


def json_option(command: F) -> F:
    """``--json``: the parameter is called ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")(command)


def against_options(command: F) -> F:
    """For which interpreter pip lists and fetches releases: ``python_version``, ``platform`` and ``refresh``."""
    for option in (
        click.option(
            "--refresh", is_flag=True, help="List the releases anew; a listing is otherwise believed for a day."
        ),
        click.option(
            "--platform", metavar="TAG", help="Fetch wheels for this platform, such as manylinux_2_34_x86_64."
        ),
        click.option("--python-version", metavar="X.Y", help="Fetch wheels for this Python version."),
    ):
        command = option(command)
    return command


def parse_all(texts: Sequence[str]) -> Selection:
    """Several selections as one; everything where none is given. Raises UsageError where nothing is selected."""
    from prtoggle.selection import ALL, Selection, parse

    parsed = [parse(text) for text in texts]
    if not parsed or any(selection.everything for selection in parsed):
        return ALL
    choices = tuple(choice for selection in parsed for choice in selection.choices)
    if not choices:
        raise UsageError("nothing is selected", hint="name a fix, or leave it out for all")
    return Selection(choices)


def index_of(say: Callable[[str], None], *, python_version: str | None, platform: str | None, refresh: bool) -> Index:
    """The releases that the user's pip lists, for what ``against_options`` say; ``say`` shows the progress."""
    from prtoggle.cli import render
    from prtoggle.releases import Index

    def note(text: str) -> None:
        render.words(f"prtoggle: {text}")

    return Index(python_version=python_version, platform=platform, refresh=refresh, say=say, note=note)
