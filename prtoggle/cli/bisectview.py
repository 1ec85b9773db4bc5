"""A bisection while it goes on: on a terminal a view that changes in place, else a line for each trial. On stderr.

Example::

    with watching() as watcher:
        state = session.run(log, executor, watcher, settings)
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from prtoggle.bisection.account import by_reason, duration, first_line, percent, time_left
from prtoggle.bisection.values import FAILURES, Job, State, TrialRecord, Watcher
from prtoggle.cli import render

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

SHOWN = 10
"""Candidates, and trials that run, that the view shows; and half as many that ended."""
LISTED = 24
"""Candidates that a line names all; of more it has the first few, and the log has them all."""
_COLOURS = {"bad": "red", "good": "green", "skip": "bright_black", "measured": "magenta"}


@contextmanager
def watching() -> Iterator[Watcher]:
    """Whoever shows it, for as long as it goes on."""
    if not render.on_terminal(sys.stderr):
        yield Lines()
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    view = View(console)
    with Live(console=console, get_renderable=view.now, refresh_per_second=4, transient=True) as live:
        view.live = live
        yield view


class Lines:
    """A line for each trial that ended, and for what changes."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._told: tuple[int, str] = (0, "")

    def began(self, job: Job) -> None:
        """Nothing is said."""

    def ended(self, record: TrialRecord) -> None:
        """Say what it was."""
        render.words(f"  {ended_line(record)}")

    def stands(self, state: State, running: tuple[Job, ...]) -> None:
        """Say what is new, and now and then how long it will take."""
        for note in news(state, self._said):
            render.words(f"prtoggle: {note}")
        count, left = len(state.records), left_words(state)
        if left and left != self._told[1] and count >= self._told[0] + 5 and state.answer is None:
            self._told = (count, left)
            render.words(f"prtoggle: {left}")


class View:
    """The view on a terminal; :meth:`now` is what it shows at this moment."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.time) -> None:
        self.console, self.clock = console, clock
        self.live: Live | None = None
        self._state: State | None = None
        self._running: tuple[Job, ...] = ()
        self._began: dict[int, float] = {}
        self._said: set[str] = set()

    def began(self, job: Job) -> None:
        """It runs from now on."""
        self._began[job.number] = self.clock()

    def ended(self, record: TrialRecord) -> None:
        """What is no verdict stays to be seen; the rest is in the view."""
        self._began.pop(record.number, None)
        if record.kind in FAILURES:
            self._print(f"  {ended_line(record)}")

    def stands(self, state: State, running: tuple[Job, ...]) -> None:
        """What is new stays to be seen."""
        self._state, self._running = state, running
        for note in news(state, self._said):
            self._print(f"prtoggle: {note}")

    def now(self) -> RenderableType:
        """The view; empty before anything is known."""
        from rich.console import Group
        from rich.text import Text

        state = self._state
        if state is None:
            return Text("")
        pieces: list[RenderableType] = [Text(headline(state), style="bold", no_wrap=True, overflow="ellipsis")]
        left = left_words(state)
        if left:
            pieces.append(Text(left, no_wrap=True, overflow="ellipsis"))
        if state.belief is not None:
            pieces.append(_bars(state, self.console.width, self.console.encoding))
        if self._running:
            pieces.append(self._table([self._running_row(job) for job in self._running[:SHOWN]]))
            if len(self._running) > SHOWN:
                pieces.append(Text(f"  and {len(self._running) - SHOWN} more"))
        last = sorted(state.records, key=lambda record: record.number)[-SHOWN // 2 :]
        pieces.append(self._table([_ended_row(record) for record in last]))
        return Group(*pieces)

    def _running_row(self, job: Job) -> Sequence[Any]:
        ago = duration(max(0.0, self.clock() - self._began.get(job.number, self.clock())))
        return (str(job.number), "runs", ago, job.phase, what(job.reverted))

    def _table(self, rows: Sequence[Sequence[Any]]) -> RenderableType:
        from rich.table import Table

        made = Table.grid(padding=(0, 2, 0, 0))
        for place in range(5):
            made.add_column(no_wrap=True, overflow="ellipsis", min_width=5, justify="right" if place == 0 else "left")
        for row in rows:
            made.add_row(*row)
        return made

    def _print(self, line: str) -> None:
        from rich.text import Text

        (self.live.console if self.live is not None else self.console).print(Text(line))


def headline(state: State) -> str:
    """What goes on, and how many trials there were."""
    kinds = Counter(record.kind for record in state.records)
    counts = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    trials = f"{len(state.records)} trial{'' if len(state.records) == 1 else 's'}{f' ({counts})' if counts else ''}"
    return f"{state.phase}, {state.mode}: {trials}, {len(state.candidates) - len(state.aside)} candidates"


def left_words(state: State) -> str:
    """How many runs and how much time are left, and how sure it is so far; empty where neither is known."""
    words = []
    if state.runs_left is not None and state.answer is None:
        runs = max(1, round(state.runs_left))
        seconds = time_left(state)
        words.append(f"about {runs} run{'' if runs == 1 else 's'} left" + (f", {duration(seconds)}" if seconds else ""))
    if state.belief is not None and (state.belief.sets or state.belief.either):
        culprits, probability = state.belief.likeliest
        wanted = percent(state.settings.confidence)
        names = sorted({name for members in culprits for name in members})
        who = f"{'any of ' if len(culprits) > 1 else ''}{what(names)}" if names else "none of these"
        words.append(f"{percent(probability)} sure of {who}, {wanted} wanted")
    return "; ".join(words)


def news(state: State, said: set[str]) -> list[str]:
    """What was not said yet; ``said`` then has it."""
    aside = [f"set aside: {', '.join(names)}: {why}" for why, names in by_reason(state.aside)]
    found = [note for note in (*map(first_line, state.notes), *aside) if note not in said]
    said.update(found)
    return found


def ended_line(record: TrialRecord) -> str:
    """A trial that ended, in one line."""
    number = "" if record.metric is None else f" {record.metric:g}"
    why = f": {first_line(record.why)}" if record.why else ""
    took = duration(record.seconds)
    reverted = record.selection
    if len(record.reverted) > LISTED:
        reverted = f"{len(record.reverted)}: {what(record.reverted)}"
    return f"{record.number:4d}  {record.phase:<7}  {record.kind}{number}  {took}  {reverted}{why}"


def what(names: Sequence[str], most: int = 6) -> str:
    """Some candidates, the first few by name."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "nothing") + more


def _ended_row(record: TrialRecord) -> Sequence[Any]:
    from rich.text import Text

    kind = record.kind if record.metric is None else f"{record.kind} {record.metric:g}"
    shown = Text(kind, style=_COLOURS.get(record.kind, "yellow"))
    return (str(record.number), shown, duration(record.seconds), record.phase, what(record.reverted))


def _bars(state: State, width: int, encoding: str) -> RenderableType:
    """How probable each candidate is, and none of them."""
    from rich.table import Table
    from rich.text import Text

    assert state.belief is not None
    likely = sorted(state.belief.members, key=lambda member: -member[1])[:SHOWN]
    rows = [*likely, ("none of these", state.belief.none)]
    if state.belief.more >= 0.005:
        rows.append(("more together", state.belief.more))
    long = max(10, min(40, width - 40))
    full, empty = "█░" if encoding.lower().startswith("utf") else "#."
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True, overflow="ellipsis", max_width=28)
    made.add_column(no_wrap=True)
    made.add_column(no_wrap=True, justify="right")
    for name, probability in rows:
        filled = round(long * min(1.0, probability))
        bar = Text(full * filled, style="red").append(empty * (long - filled), style="bright_black")
        made.add_row(name, bar, percent(probability))
    return made
