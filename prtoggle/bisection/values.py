"""What crosses between the pieces of a bisection: its settings and candidates, trials to run and trials that ran, where
it stands and how it ended. Plain frozen values, all of which can be written as JSON.

Example::

    job = Job(number=3, phase="search", reverted=("27360",), selection="27360", command=("pytest",), folder="...")
    executor.submit(job)
    record = executor.finished(1.0)     # TrialRecord(number=3, kind="bad", code=1, ...)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from prtoggle.bisect.values import Belief, Direction

PHASES = ("trace", "ends", "search", "parts", "confirm")
VERDICTS = ("good", "bad", "skip", "measured")
"""The kinds of a trial that say something; "measured" is a number, which says something only beside others."""
FAILURES = ("void", "timeout", "infrastructure")
"""The kinds of a trial that is no verdict and is tried again."""

NOT_REACHED = "a Python of it was not reached"
"""How the ``why`` of a verdict begins in whose trial prtoggle did not start in every Python."""


@dataclass(frozen=True)
class Candidate:
    """One thing that may be to blame.

    Attributes:
        name: as it is written in a selection: ``27360``, ``owner/name#27360``, ``27360/slice``, a diff's path.
        parts: what it takes out, as written in a selection and in journals: ``("27360/slice",)``.
        title: its fix's title.
        package: for which package it is.
    """

    name: str
    parts: tuple[str, ...]
    title: str = ""
    package: str = ""


@dataclass(frozen=True)
class Settings:
    """What a bisection was asked to do. The first group decides what trials mean: a log is resumed under no other.

    Attributes:
        command: its words.
        among: the candidates, as a selection; ``all`` is everything that applies here.
        cwd, fixes: where the command runs, and folders of fixes.
        timeout: seconds for a trial; None is for ever.
        timeout_is: ``bad`` or ``skip`` where a trial that takes longer is a verdict; empty: it is none.
        signal_is: what a command that a signal ended is: ``bad``, ``good`` or ``skip``.
        match: only what shows this text is bad; empty: the exit code decides.
        metric, worse: a regular expression whose last match is a number, and which way is worse: ``higher``, ``lower``.
        flaky: whether the failure is known to come and go.
        never_otherwise: whether it is known never to fail without the culprit, which is one of the candidates.
        trace: whether a traced run comes first.
        confidence: how sure the answer must be of a failure that comes and goes, or of a metric.
        max_runs: trials in all, 0: as many as it takes, up to a multiple of what it should take.
        max_sets: stop after so many culprits, 0: all.
        jobs: trials at a time.
        gpus_per_trial: None: those there are, divided by ``jobs``; 0: every trial sees them all.
        executor: ``local`` or ``ray``.
    """

    command: tuple[str, ...]
    among: str = "all"
    cwd: str = ""
    fixes: tuple[str, ...] = ()
    timeout: float | None = None
    timeout_is: str = ""
    signal_is: str = "bad"
    match: str = ""
    metric: str = ""
    worse: str = ""
    flaky: bool = False
    never_otherwise: bool = False
    trace: bool = True
    # What may be another on resuming.
    confidence: float = 0.99
    max_runs: int = 0
    max_sets: int = 0
    jobs: int = 1
    gpus_per_trial: int | None = None
    executor: str = "local"


CHANGEABLE = ("confidence", "max_runs", "max_sets", "jobs", "gpus_per_trial", "executor")
"""The settings that may be others when a log is resumed: no trial means anything else under them."""


@dataclass(frozen=True)
class Job:
    """One trial to run: everything that a worker has to know, on this machine or on another.

    Attributes:
        number: counts from 1, over a bisection and all that resume it.
        phase: one of :data:`PHASES`; a word for people.
        reverted: the candidates that are reverted, as they are written in a selection, sorted.
        selection: what ``PRTOGGLE_REVERT`` is; ``none`` where nothing is.
        folder: the trial's own: ``stdout``, ``stderr``, ``journals/`` and ``result.json`` are written there.
        parts: what must be shown to be in force.
    """

    number: int
    phase: str
    reverted: tuple[str, ...]
    selection: str
    command: tuple[str, ...]
    folder: str
    cwd: str = ""
    fixes: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    timeout: float | None = None
    timeout_is: str = ""
    signal_is: str = "bad"
    match: str = ""
    metric: str = ""
    trace: bool = False
    gpus: tuple[str, ...] = ()
    worker: str = ""


@dataclass(frozen=True)
class TrialRecord:
    """One finished trial, one line of the log.

    Attributes:
        kind: ``good``, ``bad``, ``skip``, ``measured`` (a number), or what is no verdict: ``void`` (the reverts were
            not in force), ``timeout``, ``infrastructure`` (could not be started, out of memory, its executor lost),
            ``interrupted``.
        code: the command's exit code as a shell gives it; None where it did not end.
        signal: the signal that ended it, 0 for none.
        metric: the number that it showed.
        began: seconds since the epoch.
        in_force, executed: parts, from the journals; ``executed`` in a traced run alone.
        idle: parts that surely took no effect in it: never imported, or in a traced run never executed.
        why: a sentence, for kinds that are no verdict, for skips, and where a verdict may not be what it seems.
        folder: where its output and journals are.
    """

    number: int
    phase: str
    reverted: tuple[str, ...]
    selection: str
    kind: str
    code: int | None = None
    signal: int = 0
    metric: float | None = None
    began: float = 0.0
    seconds: float = 0.0
    worker: str = ""
    gpus: tuple[str, ...] = ()
    in_force: tuple[str, ...] = ()
    executed: tuple[str, ...] = ()
    idle: tuple[tuple[str, str], ...] = ()
    why: str = ""
    folder: str = ""

    @property
    def says(self) -> bool:
        """Whether it is a verdict, or a number."""
        return self.kind in VERDICTS


class Executor(Protocol):
    """Runs trials, ``width`` at a time."""

    width: int

    def submit(self, job: Job) -> None:
        """Start ``job``; there is room for it, or it waits for some."""

    def finished(self, timeout: float) -> TrialRecord | None:
        """The next trial that ended, whichever; None where none did within ``timeout`` seconds."""

    def stop(self) -> None:
        """End everything that runs, wait for it, leave no process behind."""


@dataclass(frozen=True)
class Blamed:
    """A culprit as it is told: what, all together, makes the command fail.

    Attributes:
        fixes: candidates, sorted.
        parts: the parts of them that are needed, where a fix has several and it could be told; else the same as
            ``fixes``.
        unsure: groups of candidates of each of which some member is needed: no trial could tell which.
        bad, good: the selections under which it fails, and under which it does not.
    """

    fixes: tuple[str, ...]
    parts: tuple[str, ...]
    unsure: tuple[tuple[str, ...], ...] = ()
    bad: str = "none"
    good: str = "none"


@dataclass(frozen=True)
class Answer:
    """How a bisection ended.

    Attributes:
        verdict: ``found``, ``none`` (none of these), ``inconclusive`` or ``interrupted``.
        direction: whether it fails where the culprits are reverted, or where they are in; None where it is not known.
        complete: whether there surely is no other culprit.
        reason: why not, or why there is no answer.
        left: candidates that are neither culprits nor cleared.
        max_runs: where it stopped after so many trials: a number with which it goes on; else 0.
    """

    verdict: str
    direction: Direction | None = None
    culprits: tuple[Blamed, ...] = ()
    confidence: float = 1.0
    complete: bool = False
    reason: str = ""
    left: tuple[str, ...] = ()
    max_runs: int = 0

    @property
    def exit_code(self) -> int:
        """That of the command."""
        return {"found": 0, "none": 1, "inconclusive": 4, "interrupted": 130}[self.verdict]


@dataclass(frozen=True)
class Wanted:
    """A trial that is to run next: for which phase, and what is reverted in it (candidates, or parts of them)."""

    phase: str
    reverted: tuple[str, ...]


@dataclass(frozen=True)
class State:
    """Where a bisection stands: made of its settings, its candidates and its trials, and of nothing else.

    Attributes:
        mode: ``certain``, ``flaky`` or ``metric``.
        aside: candidates that cannot matter, and why.
        wanted: what to run next; several where several can run at a time; empty once there is an answer.
        belief: what a flaky search believes.
        runs_left: about how many more trials it takes; None where it cannot be told.
        notes: what a person should know by now (a subset was given up, the failure comes and goes).
    """

    settings: Settings
    candidates: tuple[Candidate, ...]
    records: tuple[TrialRecord, ...]
    phase: str
    mode: str
    aside: tuple[tuple[str, str], ...] = ()
    wanted: tuple[Wanted, ...] = ()
    belief: Belief | None = None
    runs_left: float | None = None
    notes: tuple[str, ...] = ()
    answer: Answer | None = None


class Watcher(Protocol):
    """Whoever shows a bisection while it goes on."""

    def began(self, job: Job) -> None:
        """A trial started."""

    def ended(self, record: TrialRecord) -> None:
        """A trial ended; the state that follows comes next."""

    def stands(self, state: State, running: tuple[Job, ...]) -> None:
        """Where it stands now, and what runs."""


def plain(value: Any) -> Any:
    """``value`` as JSON takes it: dataclasses as dictionaries, tuples as lists."""
    import dataclasses
    import enum

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain, value))
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return value


def settings_of(data: Mapping[str, Any]) -> Settings:
    """What :func:`plain` made of settings."""
    return Settings(**{**data, "command": tuple(data["command"]), "fixes": tuple(data["fixes"])})


def job_of(data: Mapping[str, Any]) -> Job:
    """What :func:`plain` made of a job."""
    return Job(**_tuples(data))


def record_of(data: Mapping[str, Any]) -> TrialRecord:
    """What :func:`plain` made of a finished trial."""
    return TrialRecord(**_tuples(data))


def candidate_of(data: Mapping[str, Any]) -> Candidate:
    """What :func:`plain` made of a candidate."""
    return Candidate(**_tuples(data))


def _tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    def made(value: Any) -> Any:
        return tuple(map(made, value)) if isinstance(value, list) else value

    return {name: made(value) for name, value in data.items()}
