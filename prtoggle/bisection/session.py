"""The whole of a bisection: asks what to try, has it run, writes it down, and asks again, until there is an answer.

All that it knows is in the log. So it can be stopped at any moment, also by a kill, and goes on from the log as if
nothing had been: no trial that finished is run again.

Example::

    with begin(settings, log=Path("bisect.jsonl")) as log:
        state = run(log, local(log.header.settings), watcher)
    state.answer.culprits
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from prtoggle import runs
from prtoggle.bisection import candidates, past, steps
from prtoggle.bisection.executors import Local, deal, gpus_here
from prtoggle.bisection.record import Header, Log, resumed, resuming
from prtoggle.bisection.trials import Trials, selection_of
from prtoggle.bisection.values import FAILURES, Executor, Job, Settings, State, TrialRecord, Wanted, Watcher
from prtoggle.bisection.verdict import pattern
from prtoggle.bisection.worker import full
from prtoggle.errors import InconclusiveError, PrtoggleError, RefusedError, UsageError
from prtoggle.trial import CommandError

_LOOK = 0.2
"""Seconds between two looks whether somebody wants it to end."""
_NOT_THERE = (126, 127)
_LOOK_AGAIN = 30.0
"""Seconds between two looks whether the packages are still those that the log is of; more where that takes long."""
_TWO_STATES = "guides/bisect#what-it-takes-for-granted"


def begin(settings: Settings, *, log: Path | None = None) -> Log:
    """A new bisection: its candidates found, its log begun.

    Raises what stands in the way of trying: a pattern that is none, an unknown fix, fixes that conflict.
    """
    settings = replace(settings, cwd=os.path.abspath(settings.cwd or os.getcwd()))
    settings = replace(settings, fixes=tuple(os.path.join(settings.cwd, each) for each in settings.fixes))
    _check(settings)
    field = _field(settings)
    began = time.time()
    path = (log or _place(began)).absolute()
    trials = str(path.with_name(path.name + ".trials"))
    header = Header(settings, field.candidates, field.packages, field.digest, began, trials, field.notes)
    if os.path.exists(header.folder) and not path.exists():
        raise UsageError(f"{header.folder} is there already", hint="name another log, or delete it")
    log_file = Log.create(path, header)
    Path(trials).mkdir(mode=0o700)
    if log is None and runs.root() is not None:  # of those in the cache this is the newest now
        past.prune(path.parent)
    return log_file


def resume(path: Path, given: Mapping[str, Any] | None = None) -> tuple[Log, Settings]:
    """A bisection to go on with, and its settings, changed by what of ``given`` may be changed.

    Raises UsageError where ``given`` has other settings; RefusedError where the packages or the fixes are others now.
    """
    log = Log.open(path.absolute())
    try:
        settings = resumed(log.header, given or {})
        _check(settings)
        moved = path.absolute().with_name(path.name + ".trials")
        if not os.path.exists(log.header.folder) and moved.is_dir():
            log.header = replace(log.header, folder=str(moved))
        changed = _changed(log.header, settings)
        if changed:
            raise RefusedError(changed, hint="begin anew: trials of two states say nothing together", page=_TWO_STATES)
    except BaseException:
        log.close()
        raise
    return log, settings


def _changed(header: Header, settings: Settings) -> str:
    """That the packages or the fixes are others than when the log began, or an empty string."""
    if not header.digest:
        return ""
    try:
        if _field(settings).digest == header.digest:
            return ""
        why = ""
    except PrtoggleError as error:
        why = f" ({error.what})"
    where = ", ".join(f"{label} at {place}" for label, place in header.packages)
    return f"the packages or the fixes are not those that the log is of: {where}{why}"


def _field(settings: Settings) -> candidates.Field:
    script = next((word for word in settings.command[1:] if word.endswith(".py")), "")
    return candidates.find(settings.among, cwd=settings.cwd, fixes=settings.fixes, script=script)


def _check(settings: Settings) -> None:
    if not settings.command:
        raise UsageError("no command to run", hint="prtoggle bisect -- COMMAND")
    if settings.match:
        pattern(settings.match, "--match")
    if settings.metric:
        pattern(settings.metric, "--metric")
        if settings.worse not in ("higher", "lower"):
            raise UsageError("a metric needs to know which way is worse", hint="--worse higher, or --worse lower")
        if settings.match or settings.flaky:
            other = "--match" if settings.match else "--flaky"
            raise UsageError(f"--metric and {other} are two ways to judge a trial", hint=f"leave out {other}")
        if settings.never_otherwise:
            raise UsageError("--never-otherwise is about a failure, and --metric about a number", hint="leave out one")
    elif settings.worse:
        raise UsageError("--worse says what is worse of a metric, and there is none", hint="--metric REGEX")
    if settings.jobs < 1:
        raise UsageError(f"{settings.jobs} trials at a time", hint="--jobs 1")
    if not 0.5 < settings.confidence < 1:
        raise UsageError(f"a confidence is above 0.5 and below 1, not {settings.confidence:g}")


def _place(began: float) -> Path:
    """Where the log of a bisection goes that nobody named a place for: beside past runs, else here."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(began))
    base = runs.root()
    folder = base.with_name("bisections") if base is not None else Path.cwd()
    return folder / f"{stamp}-{os.getpid()}.jsonl"


def local(settings: Settings, environ: Mapping[str, str] | None = None) -> Local:
    """The executor of this machine, with its GPUs dealt out."""
    gpus = () if settings.gpus_per_trial == 0 or (settings.gpus_per_trial is None and settings.jobs == 1) else None
    here = gpus_here(os.environ if environ is None else environ) if gpus is None else ()
    return Local(settings.jobs, deal(here, jobs=settings.jobs, each=settings.gpus_per_trial))


def run(log: Log, executor: Executor, watcher: Watcher, settings: Settings | None = None) -> State:
    """Go on until there is an answer, or until somebody wants it to end (Ctrl-C, SIGTERM, SIGHUP).

    Whatever happens, no process is left behind. Raises CommandError where the command is not there.
    """
    settings = replace(settings or log.header.settings, jobs=executor.width)
    return _Session(log, executor, watcher, settings).run()


class _Session:
    def __init__(self, log: Log, executor: Executor, watcher: Watcher, settings: Settings) -> None:
        self.log, self.executor, self.watcher, self.settings = log, executor, watcher, settings
        self.parts = Trials(log.header.candidates, ()).parts
        self.running: dict[int, Job] = {}
        self.number = log.next_number
        self.asked_to_end = 0
        self.taken: list[int] = []
        self.look_again = time.monotonic() + _LOOK_AGAIN

    def run(self) -> State:
        with self._signals():
            try:
                return self._loop()
            finally:
                self._stop()

    def _loop(self) -> State:
        stands = self._state()
        self.watcher.stands(stands, ())
        while not self.asked_to_end and (stands.answer is None or self.running):
            if stands.answer is not None:
                # Nothing else is needed. What had ended by now is in the log, so the answer has to be one to that too.
                self._stop()
                stands = self._state()
                continue
            for wanted in stands.wanted:
                self._start(wanted)
            if not self.running:
                raise RuntimeError("nothing runs and nothing is wanted, and there is no answer")
            self.watcher.stands(stands, tuple(self.running.values()))
            record = self._next()
            if record is None:
                break
            self._take(record)
            stands = self._state()
            self._look(stands)
        if self.asked_to_end:
            self._stop()
            stands = self._state()
            if stands.answer is None:
                stands = steps.interrupted(stands, f"ended by {signal.Signals(self.asked_to_end).name}")
        self.watcher.stands(stands, ())
        return stands

    def _look(self, stands: State) -> None:
        """Whether the packages are still the same, now and then, and before there is an answer: raises where not."""
        begun = time.monotonic()
        if begun < self.look_again and stands.answer is None:
            return
        changed = _changed(self.log.header, self.settings)
        if changed:
            undo = " ".join(f"--undo {number}" for number in self.taken)
            hint = f"put them back, then: {resuming(self.log.path)} {undo}; or begin anew"
            raise RefusedError(changed, hint=hint, page=_TWO_STATES)
        self.taken.clear()
        now = time.monotonic()
        self.look_again = now + max(_LOOK_AGAIN, 50 * (now - begun))

    def _state(self) -> State:
        running = [job.reverted for job in self.running.values()]
        return steps.state(self.settings, self.log.header.candidates, self.log.records, running)

    def _start(self, wanted: Wanted) -> None:
        job = self._job(wanted)
        self.number += 1
        self.running[job.number] = job
        self.executor.submit(job)
        self.watcher.began(job)

    def _job(self, wanted: Wanted) -> Job:
        settings = self.settings
        return Job(
            self.number,
            wanted.phase,
            wanted.reverted,
            selection_of(wanted.reverted),
            settings.command,
            str(self.log.trial_folder(self.number)),
            settings.cwd,
            settings.fixes,
            parts=tuple(sorted(self.parts(wanted.reverted))),
            timeout=settings.timeout,
            timeout_is=settings.timeout_is,
            signal_is=settings.signal_is,
            match=settings.match,
            metric=settings.metric if wanted.phase != "trace" else "",
            trace=wanted.phase == "trace",
        )

    def _next(self) -> TrialRecord | None:
        """The next trial that ended; None where somebody wants all of it to end."""
        while not self.asked_to_end:
            record = self.executor.finished(_LOOK)
            if record is not None:
                return record
        return None

    def _take(self, record: TrialRecord) -> None:
        self.running.pop(record.number, None)
        if record.kind == "infrastructure" and record.code in _NOT_THERE:
            raise CommandError(record.why, record.code)
        if record.kind in FAILURES and full(Path(self.log.header.folder)):
            # More of the same would count against the trial; as it is, it is tried again once there is room.
            raise InconclusiveError(
                f"no room is left in {self.log.header.folder}",
                hint=f"make room, then: {resuming(self.log.path)}",
                page="guides/bisect#stopping-and-going-on",
            )
        if record.kind == "interrupted":  # and nobody here wanted that
            record = replace(record, kind="infrastructure", why=f"somebody else ended it: {record.why}")
        self.log.append(record)
        self.taken.append(record.number)
        self.watcher.ended(record)

    def _stop(self) -> None:
        """End what runs; take in what had finished."""
        if not self.running:
            return
        self.executor.stop()
        while self.running:
            record = self.executor.finished(0)
            if record is None:
                break
            self.running.pop(record.number, None)
            if record.kind != "interrupted":
                self.log.append(record)
                self.watcher.ended(record)
        self.running.clear()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Take down that somebody wants it to end, so that the end comes between two steps and not within one."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def note(number: int, frame: object) -> None:
            self.asked_to_end = number

        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {each: signal.signal(each, note) for each in numbers if signal.getsignal(each) is not signal.SIG_IGN}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
