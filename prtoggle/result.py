"""What became of a trial: which processes were reached, what was in force in them, and what was not.

Made from the journals of the processes and from what was seen of them from outside; rendered elsewhere.

Example::

    result.in_force[0].module       # "sglang.srt.layers.attention.flashattention_backend"
    result.ok                       # whether the selection was in force: nothing refused, something reverted
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from prtoggle.descendants import Unreached
from prtoggle.journals import Entry, Event
from prtoggle.partstates import PartState, inherited, modules_reverted, states
from prtoggle.selection import Choice, Selection, parse

NOT_IN_FORCE = 125
"""The exit code of ``run`` when the revert was not in force; to ``git bisect run`` it means "skip"."""


@dataclass(frozen=True)
class Process:
    """A process that prtoggle started in. ``modules`` are the reverted ones in it, also those it had from its
    parent; ``parts`` what became of each part in it; ``start`` is when it started, in clock ticks since boot."""

    pid: int
    ppid: int
    argv: tuple[str, ...]
    version: str
    forked: bool
    ended: bool
    modules: tuple[str, ...]
    parts: tuple[PartState, ...] = ()
    ranks: dict[str, str] = field(default_factory=dict)
    start: int = 0


@dataclass(frozen=True)
class Edited:
    """One edit of a reverted module, and in a traced run what became of it: executed, not executed, unknown."""

    parts: tuple[str, ...]
    target: str
    line: int
    place: str
    state: str = ""


@dataclass(frozen=True)
class InForce:
    """One reverted module, with the hashes of its text before and after, and the processes that ran it."""

    module: str
    file: str
    before: str
    after: str
    parts: tuple[str, ...]
    edits: tuple[Edited, ...]
    pids: tuple[int, ...]


@dataclass(frozen=True)
class Refused:
    """A target package that could not be imported, why, and in which processes."""

    package: str
    reason: str
    pids: tuple[int, ...]


@dataclass(frozen=True)
class NeverImported:
    """A module that was planned in some process and imported in none: its revert took no effect."""

    module: str
    file: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """All that is known of one trial.

    Attributes:
        code: the command's own exit code, 128+N where signal N ended it.
        selection: canonical text, diffs by absolute path.
        unused: what was selected and came out in no process, as written in the selection.
        labels: the packages that were imported, with their versions.
        plan_notes: what the plans say beside.
        interrupted: the signal by which the trial itself was cut short, 0 for none.
        timed_out: whether it was ended at its time limit.
        still_running: processes of the command that went on when it ended.
        blind: what cannot be seen from here.
        notes: what else a reader should know.
    """

    code: int
    selection: str
    command: tuple[str, ...]
    folder: str
    seconds: float
    processes: tuple[Process, ...] = ()
    in_force: tuple[InForce, ...] = ()
    refused: tuple[Refused, ...] = ()
    never_imported: tuple[NeverImported, ...] = ()
    unused: tuple[str, ...] = ()
    unreached: tuple[Unreached, ...] = ()
    labels: tuple[str, ...] = ()
    plan_notes: tuple[str, ...] = ()
    traced: bool = False
    interrupted: int = 0
    timed_out: bool = False
    still_running: tuple[int, ...] = ()
    blind: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_none(self) -> bool:
        """Whether nothing was to be reverted."""
        return self.selection == "none"

    @property
    def verdict(self) -> str:
        """``fixed`` (nothing was selected), ``in force`` (all of it), ``in part`` (no process imported what some of it
        changes), ``refused`` or ``unused`` (no process imported what any of it changes)."""
        if self.is_none:
            return "fixed"
        if self.refused:
            return "refused"
        if not self.in_force:
            return "unused"
        return "in part" if self.unused else "in force"

    @property
    def used(self) -> tuple[str, ...]:
        """What was selected and came out in some process, as written in the selection."""
        if not self.in_force:
            return ()
        chosen = parse(self.selection)
        if chosen.everything:
            return (self.selection,)
        return tuple(str(choice) for choice in chosen.choices if str(choice) not in self.unused)

    @property
    def ok(self) -> bool:
        """Whether the state that was asked for is the one that ran."""
        return self.verdict in ("fixed", "in force")

    def exit_code(self, *, allow_unused: bool = False) -> int:
        """The exit code of ``prtoggle run`` (DESIGN section 9)."""
        if self.verdict == "refused":
            return NOT_IN_FORCE
        if self.verdict in ("unused", "in part") and not allow_unused and not self.interrupted:
            return NOT_IN_FORCE
        return self.code

    def to_json(self) -> dict[str, Any]:
        """Plain values, for ``run.json`` and ``--json``."""
        found = asdict(self)
        found["verdict"] = self.verdict
        return found


@dataclass(frozen=True)
class Told:
    """What the journals say, ready to become part of a result."""

    processes: tuple[Process, ...]
    in_force: tuple[InForce, ...]
    refused: tuple[Refused, ...]
    never_imported: tuple[NeverImported, ...]
    unused: tuple[str, ...]
    labels: tuple[str, ...]
    plan_notes: tuple[str, ...]
    notes: tuple[str, ...]


def told(entries: Sequence[Entry], selection: Selection, *, traced: bool) -> Told:
    """Read the entries of all processes together."""
    events = {id(entry): inherited(entry, entries) for entry in entries}
    holding = {key: tuple(modules_reverted(theirs)) for key, theirs in events.items()}
    processes = tuple(
        Process(
            entry.pid,
            entry.ppid,
            entry.argv,
            entry.version,
            entry.forked,
            entry.ended,
            tuple(dict.fromkeys(event["module"] for event in holding[id(entry)])),
            states(events[id(entry)], entry, traced=traced),
            entry.ranks,
            entry.start,
        )
        for entry in entries
    )
    planned = [event for entry in entries for event in entry.of("planned")]
    toggles = [event for entry in entries for event in entry.of("toggled")]
    in_force = _in_force(entries, holding, traced)
    out = {part for module in in_force for part in module.parts}
    return Told(
        processes,
        in_force,
        _refused(entries),
        _never_imported(planned, toggles, {module.module for module in in_force}),
        _unused(selection, out),
        _labels(planned, toggles),
        tuple(dict.fromkeys(str(note) for event in planned for note in event.get("notes") or ())),
        _notes(entries, in_force),
    )


def _in_force(entries: Sequence[Entry], holding: dict[int, tuple[Event, ...]], traced: bool) -> tuple[InForce, ...]:
    events: dict[tuple[str, str, str, str], Event] = {}
    holders: dict[tuple[str, str, str, str], list[Entry]] = {}
    for entry in entries:
        for event in holding[id(entry)]:
            key = (event["module"], event["file"], event["before"], event["after"])
            events.setdefault(key, event)
            theirs = holders.setdefault(key, [])
            if entry not in theirs:
                theirs.append(entry)
    return tuple(
        InForce(
            *key,
            parts=tuple(event["parts"]),
            edits=tuple(
                Edited(
                    tuple(edit["parts"]),
                    edit["target"],
                    edit["line"],
                    edit["place"],
                    _state(key[0], edit, holders[key]) if traced else "",
                )
                for edit in event["edits"]
            ),
            pids=tuple(entry.pid for entry in holders[key]),
        )
        for key, event in events.items()
    )


def _state(module: str, edit: Event, holders: Sequence[Entry]) -> str:
    """Executed where any process executed it; "not executed" only where every process that had it said so at its
    end."""

    def same(event: Event, other: Event) -> bool:
        return bool(
            event["module"] == module and all(other[name] == edit[name] for name in ("place", "line", "target"))
        )

    certain = True
    for entry in holders:
        if any(same(event, event["edit"]) for event in entry.of("executed")):
            return "executed"
        said = [left for event in entry.of("traced") for left in event["unhit"] if same(left, left["edit"])]
        certain = certain and bool(said) and not any(left["unknown"] for left in said)
    return "not executed" if certain else "unknown"


def _refused(entries: Iterable[Entry]) -> tuple[Refused, ...]:
    found: dict[tuple[str, str], list[int]] = {}
    for entry in entries:
        for event in entry.of("refused"):
            pids = found.setdefault((str(event["package"]), str(event["reason"])), [])
            if entry.pid not in pids:
                pids.append(entry.pid)
    return tuple(Refused(package, reason, tuple(pids)) for (package, reason), pids in found.items())


def _never_imported(
    planned: Iterable[Event], toggles: Iterable[Event], imported: set[str]
) -> tuple[NeverImported, ...]:
    named = [(each["name"], each) for event in planned for each in event["modules"]]
    named += [(each["module"], each) for event in toggles for each in event["modules"] if each["parts"]]
    found = {
        name: NeverImported(name, module["file"], tuple(module["parts"]))
        for name, module in named
        if name not in imported
    }
    return tuple(found.values())


def _labels(planned: Iterable[Event], toggles: Iterable[Event]) -> tuple[str, ...]:
    packages = [*planned, *(package for event in toggles for package in event["packages"])]
    return tuple(dict.fromkeys(str(each["label"]) for each in packages if each.get("parts")))


def _unused(selection: Selection, out: set[str]) -> tuple[str, ...]:
    return tuple(str(choice) for choice in selection.choices if not _came_out(choice, out))


def _came_out(choice: Choice, out: set[str]) -> bool:
    name = choice.path if choice.kind == "diff" else str(choice.number)
    if choice.parts is not None:
        return all(f"{name}/{part}" in out or (part == "fix" and name in out) for part in choice.parts)
    return any(part == name or part.startswith(f"{name}/") for part in out)


def _notes(entries: Sequence[Entry], in_force: Sequence[InForce]) -> tuple[str, ...]:
    notes = []
    copies: dict[str, set[tuple[str, str]]] = {}
    texts: dict[tuple[str, tuple[str, ...]], set[str]] = {}  # of one set of parts: live toggles make several sets
    for module in in_force:
        copies.setdefault(module.module, set()).add((module.file, module.before))
        texts.setdefault((module.module, module.parts), set()).add(module.after)
    for name, different in copies.items():
        most = max(len(different), *(len(made) for (of, _), made in texts.items() if of == name))
        if most > 1:
            notes.append(f"{name} was reverted in {most} different copies, see the files and hashes")
    cut = sum(entry.cut for entry in entries)
    if cut:
        notes.append(f"{cut} journal line{'s' if cut > 1 else ''} cut short, by a kill or a full disk")
    return tuple(notes)
