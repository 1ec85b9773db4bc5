"""What became of each part in one process, from its journal: how it came out, since when, and whether it came back.

Example::

    for state in states(events, entry, traced=True):
        state.part, state.how, state.since, state.until, state.trace
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from prtoggle.journals import Entry, Event


@dataclass(frozen=True)
class PartState:
    """One part that was out of one process for some time.

    Attributes:
        package: where it was out.
        modules: those of its modules that ran without it; none where none was imported.
        how: ``import`` (the module was imported reverted) or ``live`` (taken out while the process ran).
        since: seconds since the epoch.
        until: when it was put back, live; 0 where it was out to the end.
        trace: in a traced run ``executed``, ``not executed`` or ``unknown``.
    """

    part: str
    package: str
    modules: tuple[str, ...]
    how: str
    since: float
    until: float = 0.0
    trace: str = ""


def inherited(entry: Entry, entries: Sequence[Entry]) -> tuple[Event, ...]:
    """What was reverted and toggled in a process, with what it had in memory from its parent when it was forked."""
    own = entry.of("reverted", "toggled")
    if not entry.forked:
        return own
    born = _time(entry.events[0])
    parents = [
        other for other in entries if other is not entry and other.pid == entry.ppid and other.start <= entry.start
    ]
    if not parents:
        return own
    parent = max(parents, key=lambda other: other.start)
    return (*(event for event in inherited(parent, entries) if _time(event) <= born), *own)


def modules_reverted(events: Iterable[Event]) -> Iterator[Event]:
    """Every module that came to run without a part: imported so, or changed live. As an event ``reverted`` has it."""
    for event in events:
        if event["event"] == "reverted":
            yield event
        else:
            yield from (each for each in event["modules"] if each["parts"] and each["loaded"])


def states(events: Sequence[Event], entry: Entry, *, traced: bool) -> tuple[PartState, ...]:
    """The parts in the order in which they came out. ``events`` are those of :func:`inherited`."""
    found: list[PartState] = []
    out: dict[tuple[str, str], int] = {}

    def add(part: str, module: Event, how: str, at: float, loaded: bool) -> None:
        package = str(module["module"]).partition(".")[0]
        index = out.get((package, part))
        if index is None:
            index = out[package, part] = len(found)
            found.append(PartState(part, package, (), how, at))
        if loaded and module["module"] not in found[index].modules:
            found[index] = replace(found[index], modules=(*found[index].modules, str(module["module"])))

    for event in events:
        at = _time(event)
        if event["event"] == "reverted":
            for part in event["parts"]:
                add(part, event, "import", at, True)
            continue
        for key in [key for key in out if key[1] in event["restored"]]:
            index = out.pop(key)
            found[index] = replace(found[index], until=at)
        for module in event["modules"]:
            for part in module["parts"]:
                # A part that the variable took out, of which no module is imported yet, is not toggled by this.
                if part in event["reverted"] or (str(module["module"]).partition(".")[0], part) in out:
                    add(part, module, "live", at, bool(module["loaded"]))
    if traced:
        found = [replace(state, trace=_trace(state, entry)) for state in found]
    return tuple(found)


def _trace(state: PartState, entry: Entry) -> str:
    """What the marks in the part's edits say; code that was set live has none."""
    if any(state.part in event["edit"]["parts"] for event in entry.of("executed")):
        return "executed"
    left = [left for event in entry.of("traced") for left in event["unhit"] if state.part in left["edit"]["parts"]]
    if state.how == "live" or not left or any(each["unknown"] for each in left):
        return "unknown"
    return "not executed"


def _time(event: Event) -> float:
    return float(event.get("time") or 0.0)
