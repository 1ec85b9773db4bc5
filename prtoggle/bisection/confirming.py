"""What has to be tried yet before a culprit is named: it alone, and everything but all of them, one after the other.

Nothing is inferred here: each of these is a trial of its own. A set of several is tried again without each of its
members, since that none can be left out rests on trials that were good, and a failure that comes and goes gives those
too.

Example::

    Confirming("certain", trials, frozenset(names), fixed=False).missing(found.culprits)     # [("27360",), ...]
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from prtoggle.bisect.values import Culprit, Outcome, Subset
from prtoggle.bisection.measured import Measured
from prtoggle.bisection.trials import Trials

Names = tuple[str, ...]
AGAIN = 3
"""So often a set of several must fail, and must not without each of its members, before it is named."""


@dataclass(frozen=True)
class Confirming:
    """How culprits are confirmed.

    Attributes:
        universe: all that was searched.
        fixed: whether it fails where the culprits are in: then what is tried alone is what stays fixed.
        measured: the numbers, where the mode is ``metric``.
    """

    mode: str
    trials: Trials
    universe: Subset
    fixed: bool
    measured: Measured | None = None

    def missing(self, culprits: Sequence[Culprit]) -> list[Names]:
        """The trials to run, those that show the failure first; none once all are confirmed."""
        without = self.universe - frozenset[str]().union(*(each.everything for each in culprits))
        wanted: list[Names] = []
        for members in (each.members for each in culprits if not each.unsure):
            wanted += self._of_one(self._reverted(members), self._reverted(without))
            if len(members) > 1 and self.mode == "certain":
                again = [members, *(members - {member} for member in sorted(members))]
                wanted += [names for names in map(self._reverted, again) if self.trials.seen(names) < AGAIN]
        if self.mode == "certain":
            # What several sets share may be all that matters, and fail only sometimes.
            pairs = itertools.combinations([each.members for each in culprits if not each.unsure], 2)
            shared = (self._reverted(one & other) for one, other in pairs if one & other)
            wanted += [names for names in shared if self.trials.seen(names) < 2 * AGAIN]
        # A metric needs many values of one subset.
        return wanted if self.mode == "metric" else list(dict.fromkeys(wanted))

    def _reverted(self, names: Subset) -> Names:
        return tuple(sorted(self.universe - names if self.fixed else names))

    def _of_one(self, alone: Names, without: Names) -> list[Names]:
        if self.measured is not None:
            missing = [names for names in (alone, without) if self.measured.outcome(names) is None]
            return [value for names in missing for value in self.measured.values_for(names)]
        if self.mode == "certain":
            return [names for names in (alone, without) if self.trials.parts(names) not in self.trials.outcomes]
        return self._in_turn(alone, without)

    def _in_turn(self, alone: Names, without: Names) -> list[Names]:
        """Of a failure that comes and goes: it must be seen again, and in as many trials without it nothing else. What
        they say counts as that of all others does, so that a wrong culprit loses by them."""
        shown, other = self.trials.confirmed(alone), self.trials.confirmed(without)
        seen = shown[Outcome.BAD] > 0
        if seen and other[Outcome.GOOD] + other[Outcome.BAD] >= shown[Outcome.BAD] + shown[Outcome.GOOD]:
            return []
        if shown[Outcome.SKIP] + other[Outcome.SKIP] > self.trials.RETRIES:
            return []
        if seen:
            return [without]
        return [alone, without] if sum(shown.values()) <= sum(other.values()) else [without, alone]
