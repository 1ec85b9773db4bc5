"""All rendering of the command line: data on stdout, words on stderr, colour only on a terminal.

Example::

    render.table([("27360/slice", "applies")], header=("part", "here"))
    render.json({"fixes": []})
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import click

from prtoggle.cli import errors

if TYPE_CHECKING:
    from collections.abc import Callable

COLOURS = {
    "applies": "green",
    "contains is wrong": "red",
    "rot": "red",
    "half reverted": "red",
    "already reverted": "yellow",
    "could not be had": "yellow",
    "ok": "green",
    "warning": "yellow",
    "bad": "red",
}
"""Verdicts and states that have a colour; absence has none."""

SLOW = 2.0
"""Seconds after which something that goes on is said."""


def on_terminal(stream: IO[str]) -> bool:
    """Whether ``stream`` is a terminal that takes colour."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def colour(text: str, state: str = "", *, bold: bool = False) -> str:
    """``text`` in the colour of ``state``, for stdout; as it is where stdout is no terminal."""
    if not on_terminal(sys.stdout) or not (bold or state in COLOURS):
        return text
    return click.style(text, fg=COLOURS.get(state), bold=bold or None)


def out(text: str = "") -> None:
    """A line of data."""
    click.echo(text, color=on_terminal(sys.stdout))


def out_bytes(data: bytes) -> None:
    """Data as it is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def words(text: str) -> None:
    """A line of words, where stderr takes it: a command does what it does, and ends as it ends, also on a full disk."""
    try:
        click.echo(text, err=True, color=on_terminal(sys.stderr))
    except OSError:
        errors.discard(sys.stderr)


def json(data: Mapping[str, Any]) -> None:
    """``data`` as JSON on stdout; bytes of a name or an argument that are no text are escaped: ``\\udcff``."""
    import json as module
    import re

    text = module.dumps(data, indent=2, ensure_ascii=False)
    out(re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text))


def width() -> int | None:
    """The columns of the terminal; None where stdout is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def table(rows: Iterable[Sequence[str]], *, header: Sequence[str] = (), indent: str = "") -> None:
    """Columns, two spaces apart. A cell that is a state has its colour; the last column is not padded."""
    lines = [tuple(row) for row in rows]
    widths = [max(map(_columns, column)) for column in zip(*([tuple(header)] if header else []), *lines, strict=True)]
    if header:
        out(colour(_row(header, widths, indent, plain=True), bold=True))
    for line in lines:
        out(_row(line, widths, indent))


def _row(cells: Sequence[str], widths: Sequence[int], indent: str, plain: bool = False) -> str:
    padded = []
    for index, cell in enumerate(cells):
        space = " " * (widths[index] - _columns(cell)) if index < len(cells) - 1 else ""
        padded.append((cell if plain else colour(cell, cell.strip())) + space)
    return (indent + "  ".join(padded)).rstrip()


def _columns(text: str) -> int:
    """How many columns ``text`` takes: East Asian wide characters take two."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def matrix_width(corner: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> int:
    """How many columns of text :func:`matrix` would take in one block."""
    first = max([_columns(corner), *(_columns(name) for name, _ in rows)])
    texts = zip(columns, *(cells for _, cells in rows), strict=True)
    return first + sum(2 + max(map(_columns, column)) for column in texts)


def matrix(corner: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> None:
    """A table of many columns, in as many blocks as the terminal's width asks for."""
    first = max([_columns(corner), *(_columns(name) for name, _ in rows)])
    room = width()
    start = 0
    while start < len(columns) or start == 0:
        taken, used = start, first
        while taken < len(columns):
            used += 2 + max([_columns(columns[taken]), *(_columns(cells[taken]) for _, cells in rows)])
            if room is not None and used > room and taken > start:
                break
            taken += 1
        if start:
            out()
        table([(name, *cells[start:taken]) for name, cells in rows], header=(corner, *columns[start:taken]))
        if taken >= len(columns):
            return
        start = taken


def indented(text: str, by: str = "    ") -> str:
    """``text`` with every line indented."""
    return "\n".join(by + line if line else line for line in text.splitlines())


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A function that takes what goes on now. It is said on stderr once it takes over two seconds: on a terminal as a
    line that goes away, else as a line for each. No thread is started before, and none is left behind."""
    import threading

    waiting: list[threading.Timer] = []
    shown: list[Any] = []

    def stop() -> None:
        while waiting:
            timer = waiting.pop()
            timer.cancel()
            timer.join()

    def show(text: str) -> None:
        if not on_terminal(sys.stderr):
            words(f"prtoggle: {text} ...")
            return
        if not shown:
            from rich.console import Console

            shown.append(Console(stderr=True).status(""))
            shown[0].start()
        shown[0].update(f"prtoggle: {text}")

    def say(text: str) -> None:
        stop()
        if shown:
            show(text)
            return
        timer = threading.Timer(SLOW, show, (text,))
        timer.daemon = True
        timer.start()
        waiting.append(timer)

    try:
        yield say
    finally:
        stop()
        if shown:
            shown[0].stop()
