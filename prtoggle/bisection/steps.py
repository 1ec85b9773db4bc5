"""From the trials so far to the next ones, or to the answer: where a bisection stands, as a pure function.

In order: a traced run, which sets aside what is never executed; the search among fixes, both ends first; what was found
confirmed, by trials of its own; the search among the parts of what was found. A failure that proves to come and go is
searched for as such, with all trials so far.

Example::

    stands = state(settings, candidates, records)
    stands.wanted       # (Wanted("ends", ()), Wanted("ends", ("24401", "27360")))
    stands.answer       # None
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from prtoggle.bisect.values import Ask, Contradiction, Culprit, Direction, Found, Outcome
from prtoggle.bisection.confirming import Confirming
from prtoggle.bisection.searching import Level, Searches
from prtoggle.bisection.trials import Trials, selection_of
from prtoggle.bisection.values import FAILURES, Answer, Blamed, Candidate, Settings, State, TrialRecord, Wanted

ENDS_SEEN = 3
"""Where both ends say the same, so often each before that is believed."""
LOST = 12
"""After so many trials in a row that were no verdict there is nothing to learn from more."""


class _ComesAndGoes(Exception):
    """Trials disagree: no search for a failure that is there or is not can go on."""


class _Wait(Exception):
    """Only these trials can tell how it goes on."""

    def __init__(self, phase: str, wanted: Sequence[tuple[str, ...]]) -> None:
        self.phase, self.wanted = phase, tuple(wanted)


def state(
    settings: Settings,
    candidates: Sequence[Candidate],
    records: Sequence[TrialRecord],
    running: Iterable[tuple[str, ...]] = (),
) -> State:
    """Where a bisection stands after ``records``, while ``running`` (what each trial reverts) are under way."""
    return _Stand(settings, tuple(candidates), tuple(records), tuple(running)).state()


class _Stand:
    def __init__(
        self,
        settings: Settings,
        candidates: tuple[Candidate, ...],
        records: tuple[TrialRecord, ...],
        running: tuple[tuple[str, ...], ...],
    ) -> None:
        self.settings, self.candidates, self.records, self.running = settings, candidates, records, running
        self.trials = Trials(candidates, records)
        self.notes: list[str] = []
        self.direction: Direction | None = None
        self.searches = Searches(
            "metric" if settings.metric else "flaky" if settings.flaky else "certain",
            settings,
            self.trials,
            tuple(sorted(each.name for each in candidates)),
            self.running,
        )
        if self.mode == "certain" and self.trials.disagreeing:
            self._turn_flaky(f"the same trial was good and bad: {selection_of(self.trials.disagreeing)}")

    @property
    def mode(self) -> str:
        return self.searches.mode

    def _turn_flaky(self, why: str) -> None:
        self.searches.mode = "flaky"
        self.notes.append(f"the failure comes and goes ({why}), so every trial counts as a chance only")

    def state(self) -> State:
        phase, answer = "search", None
        wanted: tuple[tuple[str, ...], ...] = ()
        try:
            try:
                answer = self._answer()
            except _ComesAndGoes as found:
                self._turn_flaky(str(found))
                answer = self._answer()
        except _Wait as wait:
            phase, wanted = wait.phase, self._room(wait)
        if answer is None:
            answer = self._given_up()
            wanted = () if answer else wanted
        else:
            phase = "confirm"
        everything = tuple(sorted(each.name for each in self.candidates))
        return State(
            self.settings,
            self.candidates,
            self.records,
            phase,
            self.mode,
            tuple(sorted(self.searches.aside.items())),
            tuple(Wanted(self._phase(phase, names, everything), names) for names in wanted),
            self.searches.belief,
            None if answer else self._runs_left(phase),
            tuple(dict.fromkeys((*self.notes, *self.trials.notes))),
            answer,
        )

    def _phase(self, phase: str, names: tuple[str, ...], everything: tuple[str, ...]) -> str:
        if phase != "search":
            return phase
        kept = tuple(name for name in everything if name not in self.searches.aside)
        return "ends" if names in ((), kept, everything) else "search"

    def _room(self, wait: _Wait) -> tuple[tuple[str, ...], ...]:
        """What of the trials asked for can start now."""
        room = self.settings.jobs - len(self.running)
        if self.settings.max_runs:
            room = min(room, self.settings.max_runs - self.trials.runs - len(self.running))
        return wait.wanted[: max(0, room)]

    def _wait(self, phase: str, wanted: Iterable[Iterable[str]]) -> _Wait:
        """Ask for those of ``wanted`` that are not under way; repeated as often as they stand there."""
        under_way = Counter(tuple(sorted(each)) for each in self.running)
        missing = []
        for names in (tuple(sorted(each)) for each in wanted):
            if under_way[names]:
                under_way[names] -= 1
            else:
                missing.append(names)
        return _Wait(phase, missing)

    def _given_up(self) -> Answer | None:
        reason, more = "", 0
        if self.settings.max_runs and self.trials.runs >= self.settings.max_runs:
            reason, more = f"stopped after {self.trials.runs} trials (--max-runs)", 2 * self.trials.runs
        last = self.records[-LOST:]
        if len(last) == LOST and all(each.kind in FAILURES for each in last):
            reason = f"the last {LOST} trials were no verdict: {last[-1].why}"
        if not reason:
            return None
        belief = self.searches.belief
        confidence = belief.likeliest[1] if belief else 0.0
        left = tuple(sorted(self.searches.left))
        return Answer("inconclusive", self.direction, (), confidence, False, reason, left, more)

    def _runs_left(self, phase: str) -> float | None:
        if self.searches.belief is not None:
            return self.searches.belief.runs_left
        if self.mode == "metric":
            return None
        ends = {"trace": 5, "ends": 4}.get(phase, 2) if phase in ("trace", "search", "ends") else 1
        return math.ceil(math.log2(max(1, len(self.searches.left)))) + ends

    # From the start, with what is known, until something has to be tried

    def _answer(self) -> Answer:
        everything = tuple(sorted(each.name for each in self.candidates))
        if not everything:
            return Answer("none", complete=True, reason="there are no candidates")
        traced = self._trace(everything)
        names = tuple(name for name in everything if name not in self.searches.aside)
        if not names:
            if traced is None or traced.kind != "bad":
                return Answer("none", complete=True, reason="in the traced run no candidate's code was executed")
            self.notes.append("the traced run failed and came to no candidate's code, so nothing is set aside")
            names, self.searches.aside = everything, {}
        found = self._search(Level("search", names))
        if self.searches.aside and traced is not None and self._must_take_back(found, traced, names):
            names = everything
            found = self._search(Level("search", names), traced)
            members = {name for culprit in found.culprits for name in culprit.everything}
            self.searches.aside = {
                name: why for name, why in self.searches.aside.items() if found.culprits and name not in members
            }
        if not found.culprits:
            return self._nothing(found, names)
        self.direction = found.direction
        self.searches.left = found.left
        culprits = [each.everything for each in found.culprits]
        missing = self._confirming(names).missing(found.culprits)
        if missing:
            raise self._wait("confirm", missing)
        blamed = [each for culprit in found.culprits for each in self._blamed(culprit, found, names, culprits)]
        reason = found.reason
        unsure = any(each.unsure for each in blamed)
        return Answer(
            "inconclusive" if unsure else "found",
            found.direction,
            tuple(blamed),
            found.confidence if self.mode == "flaky" else self.settings.confidence if self.mode == "metric" else 1.0,
            found.complete,
            reason or ("trials that could tell were skipped" if unsure else ""),
            tuple(sorted(found.left)),
        )

    def _nothing(self, found: Found, names: tuple[str, ...]) -> Answer:
        reason = found.reason
        if self.mode == "certain" and found.complete:
            # Both ends said the same once, which a failure that comes and goes does all the time.
            again = [end for end in ((), names) for _ in range(ENDS_SEEN - self.trials.seen(end))]
            if again:
                raise self._wait("confirm", again)
            seldom = "" if Outcome.BAD in self.trials.outcomes.values() else " (--flaky, if it fails seldom)"
            reason += f"; each end was tried {ENDS_SEEN} times{seldom}"
        more = 2 * self.trials.runs if self.searches.stopped and not found.complete else 0
        if more:
            reason += f"; --max-runs {more} goes on"
        elif not found.complete:
            why = self.trials.why_skipped
            reason += f": {why}" if why and why not in reason else ""
        return Answer(
            "none" if found.complete else "inconclusive",
            found.direction,
            (),
            found.confidence,
            found.complete,
            reason,
            tuple(sorted(found.left)),
            more,
        )

    def _trace(self, everything: tuple[str, ...]) -> TrialRecord | None:
        """The traced run, once it ran; sets aside what surely makes no difference."""
        if not self.settings.trace:
            return None
        runs = [each for each in self.records if each.phase == "trace" and each.kind != "interrupted"]
        done = next((each for each in runs if each.says), None)
        if done is None:
            if len(runs) <= self.trials.RETRIES:
                raise self._wait("trace", [everything])
            why = runs[-1].why.partition("\n")[0]  # a refusal's hints stand below it
            self.notes.append(f"the traced run was no verdict ({why}), so nothing is set aside")
            return None
        if done.kind == "skip":
            self.notes.append(f"the traced run was skipped ({done.why}), so nothing is set aside")
            return None
        idle = dict(done.idle)
        self.searches.aside = {
            each.name: idle[each.parts[0]]
            for each in self.candidates
            if each.parts and all(part in idle for part in each.parts)
        }
        return done

    def _must_take_back(self, found: Found, traced: TrialRecord, names: tuple[str, ...]) -> bool:
        """Whether one traced run is not enough to leave out what was set aside.

        It is not where that run ended otherwise than the same without tracing and without them; where it failed, so
        that code after the failure may not have been reached; where the failure comes and goes, so that next time
        other code may run, and nothing was found.
        """
        if self.mode == "metric":
            return False
        if self.mode == "flaky":
            take = not found.culprits
        else:
            end = self.trials.outcomes.get(self.trials.parts(names))
            differs = end is not None and traced.kind in ("good", "bad") and end.value != traced.kind
            take = differs or (traced.kind == "bad" and bool(found.culprits))
        if take and not found.culprits:
            self.notes.append(
                f"taken back in, since nothing else explains it: {', '.join(sorted(self.searches.aside))}"
            )
        return take

    def _search(self, level: Level, traced: TrialRecord | None = None) -> Found:
        """The end of a search, or what it has to try."""
        if self.mode == "metric" and (asked := self.searches.measures.ends()):
            raise self._wait("search", asked)
        step = self.searches.step(level, traced)
        if isinstance(step, Contradiction):
            if self.mode == "metric":
                more, less = selection_of(step.good), selection_of(step.bad)
                reason = f"{less} is worse and {more}, which has more of it, is not: the number does not add up"
                return Found(None, (), False, reason, frozenset(level.names))
            raise _ComesAndGoes(f"{selection_of(step.bad)} fails, and {selection_of(step.good)} does not")
        if isinstance(step, Ask):
            raise self._asked(level, step)
        return step

    def _confirming(self, names: tuple[str, ...]) -> Confirming:
        measures = self.searches.measures if self.mode == "metric" else None
        fixed = self.direction is Direction.FIXED
        return Confirming(self.mode, self.trials, frozenset(names), fixed, measures)

    def _asked(self, level: Level, step: Ask) -> _Wait:
        wanted = [(*level.context, *subset) for subset in step.subsets]
        if self.mode == "metric":
            wanted = [names for subset in wanted for names in self.searches.measures.values_for(subset)]
        if self.mode == "flaky":  # it knows what is under way
            return _Wait(level.phase, [tuple(sorted(names)) for names in wanted])
        return self._wait(level.phase, wanted)

    # What was found

    def _blamed(
        self, culprit: Culprit, found: Found, everything: tuple[str, ...], culprits: Sequence[frozenset[str]]
    ) -> list[Blamed]:
        """The culprit with its parts; several where its fixes have several sets of parts that are enough."""
        fixes = tuple(sorted(culprit.members))
        unsure = tuple(tuple(sorted(group)) for group in culprit.unsure)
        several = [name for name in fixes if len(self.trials.parts((name,))) > 1]
        whole = self._told(fixes, fixes, unsure, found, culprits)
        if not several or unsure:
            return [whole]
        pieces = tuple(sorted(part for name in fixes for part in self._pieces(name)))
        context = tuple(name for name in everything if name not in fixes) if self.direction is Direction.FIXED else ()
        parts = self._search(Level("parts", pieces, context, self.direction))
        if parts.direction is not self.direction or not parts.culprits or any(each.unsure for each in parts.culprits):
            self.notes.append(f"which parts of {','.join(fixes)} are needed could not be told: {parts.reason}")
            return [whole]
        return [self._told(fixes, tuple(sorted(each.members)), (), found, culprits) for each in parts.culprits]

    def _pieces(self, name: str) -> tuple[str, ...]:
        return tuple(sorted(self.trials.parts((name,))))

    def _told(
        self,
        fixes: tuple[str, ...],
        parts: tuple[str, ...],
        unsure: tuple[tuple[str, ...], ...],
        found: Found,
        culprits: Sequence[frozenset[str]],
    ) -> Blamed:
        if found.direction is Direction.FIXED:  # reverting all of them is what makes it good
            return Blamed(fixes, parts, unsure, "none", selection_of(frozenset[str]().union(*culprits)))
        return Blamed(
            fixes, parts, unsure, selection_of((*parts, *(name for group in unsure for name in group))), "none"
        )


def interrupted(stands: State, reason: str) -> State:
    """``stands``, ended before its end."""
    return replace(
        stands,
        wanted=(),
        answer=Answer("interrupted", reason=reason, left=tuple(each.name for each in stands.candidates)),
    )
