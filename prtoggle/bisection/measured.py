"""The numbers of a bisection by a metric: which end is worse, what each subset's values say, which values are missing.

Example::

    measured = Measured(settings, trials, names)
    measured.ends()                        # [(), ("24401", "27360"), ()]: more values of both ends first
    measured.outcome(("27360",))           # Outcome.BAD: worse than the good end
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest

from prtoggle.bisect import metric
from prtoggle.bisect.metric import Judged
from prtoggle.bisect.values import Outcome
from prtoggle.bisection.trials import Parts, Trials
from prtoggle.bisection.values import Settings

_OUTCOMES = {Judged.WORSE: Outcome.BAD, Judged.SAME: Outcome.GOOD, Judged.UNCLEAR: Outcome.SKIP}


class Measured:
    """The values so far. Contract: the verdict on a subset depends on the values alone, in the order of the trials."""

    def __init__(self, settings: Settings, trials: Trials, names: tuple[str, ...]) -> None:
        self.trials, self.everything = trials, names
        self.confidence = settings.confidence
        sign = -1.0 if settings.worse == "lower" else 1.0
        self._values: dict[Parts, list[float]] = {}
        self._without: dict[Parts, list[str]] = {}
        for parts, record in trials.values():
            values = self._values.setdefault(parts, [])
            if record.metric is not None and record.kind == "measured":
                values.append(sign * record.metric)
            else:
                self._without.setdefault(parts, []).append(record.why)
        self._none, self._every = trials.parts(()), trials.parts(names)
        # The order of the first trials numbers the subsets, for their share of the error.
        order = [parts for parts in self._values if parts not in (self._none, self._every)]
        self._number = {parts: number for number, parts in enumerate(order, 1)}

    @property
    def no_values(self) -> str:
        """Why an end has no values, or an empty string."""
        for end, what in ((self._none, "nothing"), (self._every, "everything")):
            if self._hopeless(end):
                return f"the trials with {what} reverted give no number: {self._without[end][-1]}"
        return ""

    def _hopeless(self, parts: Parts) -> bool:
        return not self._values.get(parts) and len(self._without.get(parts, ())) > self.trials.RETRIES

    def _ends_say(self) -> tuple[Judged, Judged]:
        none, every = self._values.get(self._none, []), self._values.get(self._every, [])
        return metric.compare_ends(none, every, error=self._error(0))

    def _error(self, number: int) -> float:
        return metric.error_of(number, len(self.everything), self.confidence)

    def ends(self) -> list[tuple[str, ...]]:
        """The values of both ends that are missing before it can be said which is worse; in turn."""
        if self.no_values or Judged.MORE not in self._ends_say():
            return []
        have = min(len(self._values.get(self._none, [])), len(self._values.get(self._every, [])))
        size = metric.wanted(have)
        return _in_turn([self._missing((), size), self._missing(self.everything, size)])

    def _missing(self, names: Iterable[str], size: int) -> list[tuple[str, ...]]:
        names = tuple(sorted(names))
        return [names] * (size - len(self._values.get(self.trials.parts(names), [])))

    @property
    def worse_end(self) -> Parts | None:
        """What is reverted at the end that is worse; None where neither is."""
        if self.no_values:
            return None
        none, every = self._ends_say()
        return self._none if none is Judged.WORSE else self._every if every is Judged.WORSE else None

    def outcome(self, names: Iterable[str]) -> Outcome | None:
        """What the values of ``names`` say; None where there have to be more."""
        return self._outcome(self.trials.parts(names))

    def _outcome(self, parts: Parts) -> Outcome | None:
        worse = self.worse_end
        better = self._none if worse == self._every else self._every
        if worse is None:
            return None
        if parts in (worse, better):
            return Outcome.BAD if parts == worse else Outcome.GOOD
        if self._hopeless(parts):
            return Outcome.SKIP
        judged = metric.compare(
            self._values.get(parts, []),
            good=self._values[better],
            bad=self._values[worse],
            error=self._error(self._number.get(parts, len(self._number) + 1)),
        )
        return _OUTCOMES.get(judged)

    def judged(self, names: Sequence[str], context: Iterable[str]) -> list[tuple[frozenset[str], Outcome]]:
        """Every subset of ``names``, beside ``context``, that there is a verdict on."""
        found = []
        for parts in dict.fromkeys((self._none, self._every, *self._values)):
            subset = self.trials.among(names, context, parts)
            outcome = self._outcome(parts) if subset is not None else None
            if subset is not None and outcome is not None:
                found.append((subset, outcome))
        return found

    def values_for(self, names: Iterable[str]) -> list[tuple[str, ...]]:
        """The trials that the next look at ``names`` needs: its own and those of both ends, in turn."""
        names = tuple(sorted(names))
        size = metric.wanted(len(self._values.get(self.trials.parts(names), [])))
        ends = metric.of_end(size)
        return _in_turn([self._missing(names, size), self._missing((), ends), self._missing(self.everything, ends)])


def _in_turn(groups: Sequence[Sequence[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    return [each for each in chain.from_iterable(zip_longest(*groups)) if each is not None]
