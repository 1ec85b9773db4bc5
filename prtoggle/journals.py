"""What the processes of a run wrote in their journals, read back as values; lines cut short by a kill are passed over.

A process is named by its pid and its start time; the name of its file says both. The writing side is
:mod:`prtoggle.runtime.journal`.

Example::

    for entry in read(folder):
        print(entry.pid, entry.argv, [event["module"] for event in entry.of("reverted")])
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Event = Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """One process, as it told of itself.

    Attributes:
        pid: its process id, as it saw it itself.
        start: when it started, in clock ticks since boot; 0 where that cannot be told.
        events: what it wrote, in order.
        cut: how many lines could not be read.
    """

    pid: int
    start: int
    events: tuple[Event, ...]
    cut: int = 0

    def of(self, *kinds: str) -> tuple[Event, ...]:
        """The events of these kinds."""
        return tuple(event for event in self.events if event["event"] in kinds)

    @property
    def booted(self) -> tuple[tuple[str, ...], ...]:
        """The command lines with which prtoggle started in it: several where it replaced itself (``exec``)."""
        return tuple(_argv(event) for event in self.of("booted"))

    @property
    def argv(self) -> tuple[str, ...]:
        """The last of its command lines, that of its parent where it was forked."""
        return next((_argv(event) for event in reversed(self.of("booted", "forked"))), ())

    @property
    def ppid(self) -> int:
        """Its parent's process id when it started; 0 where it did not say."""
        return next((int(event.get("ppid") or 0) for event in self.of("booted", "forked")), 0)

    @property
    def version(self) -> str:
        """Its Python's version."""
        return next((str(event.get("version") or "") for event in self.of("booted", "forked")), "")

    @property
    def ranks(self) -> dict[str, str]:
        """Its rank variables, as it last told them."""
        told = [event["ranks"] for event in self.of("booted", "forked") if isinstance(event.get("ranks"), dict)]
        return {str(name): str(value) for name, value in told[-1].items()} if told else {}

    @property
    def forked(self) -> bool:
        """Whether it began as a copy of its parent, with whatever was in force there."""
        return bool(self.events) and self.events[0]["event"] == "forked"

    @property
    def ended(self) -> bool:
        """Whether it said that it ended: one that was killed, or left by ``os._exit``, did not."""
        return bool(self.of("ended"))


def read(folder: Path) -> tuple[Entry, ...]:
    """The entries in ``folder``, in the order in which the processes started."""
    entries = [_read(file) for file in folder.glob("*.jsonl")] if folder.is_dir() else []
    found = [entry for entry in entries if entry is not None]
    return tuple(sorted(found, key=lambda entry: (_first(entry), entry.start, entry.pid)))


def _argv(event: Event) -> tuple[str, ...]:
    return tuple(map(str, event.get("argv") or ()))


def _first(entry: Entry) -> float:
    return float(entry.events[0].get("time") or 0.0) if entry.events else 0.0


def _read(file: Path) -> Entry | None:
    pid, _, start = file.stem.partition("-")
    if not (pid.isdigit() and start.isdigit()):
        return None
    try:
        data = file.read_bytes()
    except OSError:
        return None
    events, cut = [], 0
    for line in data.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            cut += 1
            continue
        if isinstance(event, dict) and isinstance(event.get("event"), str):
            events.append(event)
        else:
            cut += 1
    return Entry(int(pid), int(start), tuple(events), cut)
