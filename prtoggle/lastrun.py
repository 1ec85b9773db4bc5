"""The last run of ``prtoggle run``, ended or going on: which of its processes ran with which reverts.

Made from its journals each time, so that a run that goes on, or was killed with its launcher, can be asked for too.

Example::

    found = last_run()
    found.selection, found.going_on, [process.parts for process in found.processes]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prtoggle import journals, runs, selection
from prtoggle.errors import PrtoggleError
from prtoggle.result import Process, told
from prtoggle.runtime.journal import start_time


@dataclass(frozen=True)
class LastRun:
    """One run.

    Attributes:
        selection: canonical text; ``none`` where nothing was to be reverted: its processes wrote nothing.
        start: seconds since the epoch; ``end`` too, 0 where it goes on or was killed.
        refused: packages that could not be imported, since their revert was not in force.
    """

    folder: str
    command: tuple[str, ...]
    selection: str
    start: float
    end: float
    going_on: bool
    processes: tuple[Process, ...]
    refused: tuple[str, ...] = ()


def last_run(base: Path | None = None) -> LastRun | None:
    """The newest run that is kept; None where there is none."""
    for folder in reversed(runs.past(base)):
        about = runs.load(folder)
        if about is not None:
            return _read(folder, about)
    return None


def alive(process: Process) -> bool:
    """Whether this very process still runs; False where that cannot be told."""
    return process.start > 0 and start_time(process.pid) == process.start


def _read(folder: Path, about: Mapping[str, Any]) -> LastRun:
    text = str(about.get("selection") or "none")
    try:
        wanted = selection.parse(text)
    except PrtoggleError:  # written by another version
        wanted = selection.NONE
    found = told(journals.read(folder), wanted, traced=bool(about.get("traced")))
    return LastRun(
        str(folder),
        tuple(map(str, about.get("command") or ())),
        text,
        float(about.get("start") or 0.0),
        float(about.get("end") or 0.0),
        runs.goes_on(folder),
        found.processes,
        tuple(dict.fromkeys(each.package for each in found.refused)),
    )
