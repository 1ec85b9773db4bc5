"""The log of a bisection: a file of JSON lines that only grows. The first says what was asked, each other is a trial.

A line is on the disk before the next trial is asked for; one that was cut short by a kill is dropped when the log is
opened again. Whoever has it open holds its lock, so that no two bisections write one log. The trials' own folders lie
beside it: a result there that the log lacks is taken over, so that no trial that finished is run again.

Example::

    with Log.create(Path("bisect.jsonl"), header) as log:
        log.append(record)
    with Log.open(Path("bisect.jsonl")) as log:
        log.header.settings, log.records
        log.undo(3)                         # trial 3 was none: what came of it is forgotten
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from prtoggle import __version__
from prtoggle.bisection.executors import taken
from prtoggle.bisection.values import (
    CHANGEABLE,
    Candidate,
    Settings,
    TrialRecord,
    candidate_of,
    plain,
    record_of,
    settings_of,
)
from prtoggle.bisection.worker import LOCK, lock
from prtoggle.errors import InconclusiveError, Place, RefusedError, UsageError

_PAGE = "guides/bisect#stopping-and-going-on"

FORMAT = 1
PATIENCE = 30.0
"""Seconds to wait for the workers of a bisection that was killed: they end their trials as soon as they notice."""


@dataclass(frozen=True)
class Header:
    """What a bisection was asked, and of what.

    Attributes:
        packages: label -> where it lies, of each package that a candidate is for.
        digest: of the candidates' modules, as they are and reverted; empty where they are not installed here.
        began: seconds since the epoch.
        folder: where the trials' folders are.
        notes: what was left out of the candidates, and why.
        version: the prtoggle that wrote it.
    """

    settings: Settings
    candidates: tuple[Candidate, ...]
    packages: tuple[tuple[str, str], ...] = ()
    digest: str = ""
    began: float = 0.0
    folder: str = ""
    notes: tuple[str, ...] = ()
    version: str = __version__


class Log:
    """An open log. ``dropped`` is how many bytes of a line that was cut short were left out."""

    def __init__(self, path: Path, read: _Read, file: int) -> None:
        self.path, self.header, self.records = path, read.header, read.records
        self.dropped = read.size - read.whole
        self._undone = set(read.undone)
        self._file = file

    @classmethod
    def create(cls, path: Path, header: Header) -> Log:
        """A new log; UsageError where there is a file of that name."""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise UsageError(f"{path} is there already", hint=_what_to_do(path), page=_PAGE) from None
        except OSError as error:
            raise UsageError(f"the log {path} cannot be written: {error.strerror or error}", page=_PAGE) from None
        _lock(file, path)
        log = cls(path, _Read(header), file)
        try:
            log._write({"prtoggle-bisect": FORMAT, **plain(header)})
        except InconclusiveError as error:  # there is nothing to go on with
            log.close()
            path.unlink(missing_ok=True)
            raise UsageError(error.what, hint="name another place: --log", page=_PAGE) from None
        return log

    @classmethod
    def open(cls, path: Path) -> Log:
        """A log to go on with: what finished meanwhile is in it.

        Raises UsageError where there is none, or another bisection has it; RefusedError where it cannot be read.
        """
        try:
            file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise UsageError(f"the log {path} cannot be opened: {error.strerror or error}", page=_PAGE) from None
        _lock(file, path)
        try:
            read = _read(path)
        except FileNotFoundError:  # deleted for its age, by another bisection, before it was locked
            os.close(file)
            raise UsageError(f"the log {path} is gone", hint="begin anew", page=_PAGE) from None
        except BaseException:
            os.close(file)
            raise
        if read.whole < read.size:
            os.ftruncate(file, read.whole)
        log = cls(path, read, file)
        for record in log._left_behind():
            log.append(record)
        return log

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and so give up its lock."""
        os.close(self._file)

    def append(self, record: TrialRecord) -> None:
        """Add a finished trial; it is on the disk when this returns."""
        self._write({"trial": plain(record)})
        self.records = (*self.records, record)

    def undo(self, number: int) -> None:
        """Have trial ``number`` count no more; UsageError where there is none."""
        kept = tuple(record for record in self.records if record.number != number)
        if len(kept) == len(self.records):
            known = ", ".join(str(record.number) for record in self.records) or "none"
            raise UsageError(f"the log has no trial {number}", hint=f"it has {known}", page=_PAGE)
        self._write({"undo": number})
        self.records = kept
        self._undone.add(number)

    def trial_folder(self, number: int) -> Path:
        """Where trial ``number`` keeps its output."""
        return Path(self.header.folder) / f"{number:04d}"

    @property
    def next_number(self) -> int:
        """A number that no trial has, also none that was started and never finished."""
        used = {record.number for record in self.records} | self._undone | set(_folders(Path(self.header.folder)))
        return max(used, default=0) + 1

    def _write(self, line: Mapping[str, Any]) -> None:
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:  # what is cut short now is dropped on resuming
            raise InconclusiveError(
                f"the log {self.path} cannot be written: {error.strerror or error}",
                hint=f"once it can be, go on with: {resuming(self.path)}",
                page=_PAGE,
            ) from None

    def _left_behind(self) -> list[TrialRecord]:
        """Trials that finished and that the log lacks, in their order. Waits for workers that are about to end."""
        known = {record.number for record in self.records} | self._undone
        found = []
        for number, folder in sorted(_folders(Path(self.header.folder)).items()):
            if number in known:
                continue
            if (folder / LOCK).exists():
                held = lock(folder, seconds=PATIENCE)
                if held is None:
                    raise RefusedError(
                        f"trial {number} of a bisection before this one still runs", hint=str(folder), page=_PAGE
                    )
                os.close(held)
            record = taken(folder)
            # An interrupted one, or one whose command was not there, says nothing to whoever tries again.
            if record is not None and record.kind not in ("interrupted", "infrastructure"):
                found.append(replace(record, folder=str(folder)))
        return found


def _what_to_do(path: Path) -> str:
    """With a file that is where a new log shall be."""
    try:
        begun = b"\n" in path.read_bytes()
    except OSError:
        begun = True
    if not begun:  # ended before anything was tried
        return "no bisection is in it: delete it, or name another log"
    return f"to go on with it: {resuming(path)}; else name another log"


def resuming(path: Path) -> str:
    """The command that goes on with a log."""
    return shlex.join(["prtoggle", "bisect", "--resume", str(path)])


def _folders(folder: Path) -> dict[int, Path]:
    try:
        return {int(entry.name): entry for entry in folder.iterdir() if entry.name.isdigit() and entry.is_dir()}
    except OSError:
        return {}


def _lock(file: int, path: Path) -> None:
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise UsageError(f"another bisection has {path} open", page=_PAGE) from None
    except OSError:
        pass  # a file system without locks


def read(path: Path) -> tuple[Header, tuple[TrialRecord, ...]]:
    """What a log says, without opening it to go on: also of a bisection that runs."""
    try:
        found = _read(path)
    except OSError as error:
        raise UsageError(f"the log {path} cannot be read: {error.strerror or error}", page=_PAGE) from None
    return found.header, found.records


@dataclass(frozen=True)
class _Read:
    """What a log says: the trials that count, the numbers of those that do not; how many bytes are whole lines, and how
    many there are."""

    header: Header
    records: tuple[TrialRecord, ...] = ()
    undone: tuple[int, ...] = ()
    whole: int = 0
    size: int = 0


def _read(path: Path) -> _Read:
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].splitlines()
    if not lines:
        what = "not a log of `prtoggle bisect`: its first line is missing"
        raise RefusedError(what, place=Place(str(path)), hint="delete it and begin anew", page=_PAGE)
    header: Header | None = None
    records: list[TrialRecord] = []
    undone: list[int] = []
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            if number == 1:
                header = _header(entry, path)
            elif "trial" in entry:
                records.append(record_of(entry["trial"]))
            elif "undo" in entry:
                undone.append(int(entry["undo"]))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            what = "not a log of `prtoggle bisect`" if number == 1 else "not a trial"
            hint = "" if number == 1 else "delete that line: what the trial's folder says of it is taken over"
            raise RefusedError(f"{what}: {error}", place=Place(str(path), number), hint=hint, page=_PAGE) from None
    assert header is not None
    counting = tuple(record for record in records if record.number not in undone)
    return _Read(header, counting, tuple(undone), whole, len(data))


def _header(entry: dict[str, Any], path: Path) -> Header:
    format = entry.pop("prtoggle-bisect", None)
    if format != FORMAT:
        what = "not a log of `prtoggle bisect`" if format is None else f"a log of format {format}, expected {FORMAT}"
        raise RefusedError(what, place=Place(str(path), 1), page=_PAGE)
    return Header(
        **{
            **entry,
            "settings": settings_of(entry["settings"]),
            "candidates": tuple(map(candidate_of, entry["candidates"])),
            "packages": tuple((label, where) for label, where in entry["packages"]),
            "notes": tuple(entry["notes"]),
        }
    )


def resumed(header: Header, given: Mapping[str, Any]) -> Settings:
    """The settings to go on with: those of the log, with what of ``given`` may be another.

    Raises UsageError, which names every setting that was given and is not the log's.
    """
    names = {each.name for each in fields(Settings)}
    other = [
        name
        for name, value in given.items()
        if name in names and name not in CHANGEABLE and getattr(header.settings, name) != value
    ]
    if other:
        said = "; ".join(
            f"{name.replace('_', '-')} was {_shown(getattr(header.settings, name))} and is {_shown(given[name])}"
            for name in other
        )
        raise UsageError(
            f"the log is of another bisection: {said}", hint="leave out what is not to be changed", page=_PAGE
        )
    return replace(header.settings, **{name: value for name, value in given.items() if name in CHANGEABLE})


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return repr(shlex.join(value))
    return repr(value) if isinstance(value, str) else str(value)
