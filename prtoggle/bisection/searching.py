"""One search among some candidates, by whichever way the failure is to be judged: what it asks next, or its answer.

Example::

    searches = Searches("flaky", settings, trials, ("24401", "27360"))
    searches.step(Level("search", ("24401", "27360")))      # Ask((frozenset(), frozenset({"24401", "27360"})))
    searches.belief                                         # what a search by chances believes by now
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from prtoggle.bisect import certain
from prtoggle.bisect.values import Ask, Belief, Direction, Found, Outcome, Step, Terms, Tried
from prtoggle.bisection.measured import Measured
from prtoggle.bisection.trials import Trials
from prtoggle.bisection.values import Settings, TrialRecord

NEVER = 0.001
"""How often a test fails of which somebody says that it never does: one failure is not to count for a proof."""


@dataclass(frozen=True)
class Level:
    """One search: among ``names``, with ``context`` reverted in every trial."""

    phase: str
    names: tuple[str, ...]
    context: tuple[str, ...] = ()
    direction: Direction | None = None


@dataclass
class Searches:
    """The searches of a bisection.

    Attributes:
        mode: ``certain``, ``flaky`` or ``metric``.
        names: all candidates.
        running: what each trial that is under way reverts.
        aside: candidates that cannot matter, and why.
        left: of the search among fixes, those that may yet be to blame.
        belief: of the search among fixes, what it believes; None where chance plays no part.
        stopped: whether the last search took so many trials that it gives up.
    """

    mode: str
    settings: Settings
    trials: Trials
    names: tuple[str, ...]
    running: tuple[tuple[str, ...], ...] = ()
    aside: dict[str, str] = field(default_factory=dict)
    belief: Belief | None = None
    stopped: bool = False

    def __post_init__(self) -> None:
        self.left = frozenset(self.names)

    def step(self, level: Level, traced: TrialRecord | None = None) -> Step:
        """What to try next, or how the search ended; ``traced`` is a trial of all of them, if it counts."""
        if self.mode == "flaky":
            return self._by_chances(level)
        if self.mode == "metric":
            return self._by_numbers(level)
        tried = self.trials.tried(level.names, level.context)
        if traced is not None:
            tried = [*tried, Tried(frozenset(level.names), Outcome(traced.kind))]
        if level.phase == "search":
            self.left = self.trials.suspects(level.names)
        return certain.search(level.names, tried, width=self.settings.jobs, limit=self._limit(level))

    @cached_property
    def measures(self) -> Measured:
        """The numbers that trials showed; first looked at once it is known what is set aside."""
        return Measured(self.settings, self.trials, tuple(name for name in self.names if name not in self.aside))

    def _limit(self, level: Level) -> int:
        return self.settings.max_sets if level.phase == "search" else 0

    def _by_chances(self, level: Level) -> Step:
        from prtoggle.bisect.flaky import Flaky

        context, names = set(level.context), set(level.names)
        running = [frozenset(each) - context for each in self.running if context <= set(each)]
        terms = Terms(
            self.settings.confidence,
            direction=level.direction,
            fails_without=NEVER if self.settings.never_otherwise else None,
            endless=bool(self.settings.max_runs),
        )
        flaky = Flaky(level.names, terms, self.trials.tried(level.names, level.context))
        step = flaky.step(max(1, self.settings.jobs - len(self.running)), [each for each in running if each <= names])
        self.stopped = flaky.exhausted
        if isinstance(step, Ask) and not step.subsets and not self.running:
            return Found(None, (), False, "every trial that could tell was skipped", frozenset(level.names))
        if level.phase == "search":
            self.belief = flaky.belief()
            unseen = self.belief.more > 1 - self.settings.confidence
            self.left = frozenset(name for name, chance in self.belief.members if chance > 1e-3 or unseen)
        return step

    def _by_numbers(self, level: Level) -> Step:
        """Both ends have values."""
        if self.measures.worse_end is None:
            if reason := self.measures.no_values:
                return Found(None, (), False, reason, frozenset(level.names))
            # That no difference was seen says nothing of how probable it is that there is none.
            says = "the values with everything reverted and with nothing show no difference"
            return Found(None, (), True, says, confidence=0.0)
        tried = [Tried(each, outcome) for each, outcome in self.measures.judged(level.names, level.context)]
        width = max(1, self.settings.jobs // 5)
        return certain.search(level.names, tried, width=width, limit=self._limit(level))
