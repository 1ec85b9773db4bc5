"""Tables that put states of a fix side by side, as wide as the terminal (100 columns where there is none).

Example::

    table(("", "fixed", "reverted 24401"), [("plan", "fine", "IndexError: ...")])
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from prtoggle.cli import render

WIDTH = 100
_LONG = 160


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, states: Mapping[str, str] | None = None) -> None:
    """Print a table on stdout, its cells wrapped. A cell that is a key of ``states`` has that state's colour."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    coloured = render.on_terminal(sys.stdout)
    console = Console(
        file=sys.stdout,
        width=columns(),
        force_terminal=coloured,
        no_color=not coloured,
        highlight=False,
        legacy_windows=False,
        soft_wrap=False,
    )
    made = Table(box=box.SIMPLE_HEAD if _takes_lines() else box.ASCII, pad_edge=False, show_lines=False, expand=False)
    for name in header:
        made.add_column(name, overflow="fold", vertical="top")
    for row in rows:
        made.add_row(*(Text(cell, style=render.COLOURS.get((states or {}).get(cell, ""), "")) for cell in row))
    with console.capture() as printed:
        console.print(made)
    for line in printed.get().strip("\n").splitlines():
        render.out(line.rstrip())


def columns() -> int:
    """How wide tables and text are."""
    return max(40, render.width() or WIDTH)


def text(words: str, indent: str = "", *, bold: bool = False) -> None:
    """Print text on stdout, wrapped."""
    for line in textwrap.wrap(
        words, columns(), initial_indent=indent, subsequent_indent=indent, break_long_words=False
    ):
        render.out(render.colour(line, bold=bold))


def _takes_lines() -> bool:
    """Whether stdout's encoding has the characters of which lines are drawn."""
    try:
        "─".encode(sys.stdout.encoding or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True


def differing(seen: Sequence[Mapping[str, Any] | None]) -> list[str]:
    """The keys whose values are not the same in all states, in the order in which they were seen."""
    there = [values for values in seen if values is not None]
    keys = list(dict.fromkeys(key for values in there for key in values))
    return [key for key in keys if any(values.get(key) != there[0].get(key) for values in there)]


def word(value: object) -> str:
    """A value as a reader wants it: text as it is, yes and no, the rest as JSON, not too long."""
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    text = value if isinstance(value, str) else json.dumps(value)
    text = text or "none"
    return text if len(text) <= _LONG else text[: _LONG - 3] + "..."


def name(key: str) -> str:
    """``positions_tail`` as words."""
    return key.replace("_", " ")
