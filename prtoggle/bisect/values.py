"""What crosses between a search and whoever runs its trials.

A candidate is a name (``27360``, ``27360/slice``); a subset is the set of candidates that are *reverted* in a trial.

Example::

    match certain.search(("a", "b"), tried, width=2):
        case Ask(subsets): ...      # run each with just these reverted, and ask again
        case Found() as answer: ...
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Subset = frozenset[str]


class Outcome(enum.Enum):
    """What one trial says. What is no verdict (a time-out, a void trial) is no outcome."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"


class Direction(enum.Enum):
    """Which way the failure depends on the candidates; it follows from the trials of both ends."""

    REVERTED = "reverted"
    """It fails where certain fixes are reverted."""
    FIXED = "fixed"
    """It fails where certain fixes are in."""


@dataclass(frozen=True)
class Tried:
    """One trial that gave an outcome: what was reverted, and what was seen."""

    subset: Subset
    outcome: Outcome


@dataclass(frozen=True)
class Terms:
    """What is known before a search by chances begins, and what is asked of it.

    Attributes:
        confidence: how probable it must be that whoever is named is a culprit, above one half.
        weights: how likely each candidate is, in any unit; one where it is not said.
        max_size: up to so many candidates may be needed together, or be culprits each of their own.
        direction: where it is known.
        fails: how often it fails with the culprit in force, where that is known.
        fails_without: how often it fails without, where that is known; 0 where it never does.
        shares: how probable each number of candidates needed together is (0: none of them); then each alone is none.
        endless: go on for as long as it takes, also where that is much longer than it should take.
    """

    confidence: float = 0.99
    weights: Mapping[str, float] | None = None
    max_size: int = 6
    direction: Direction | None = None
    fails: float | None = None
    fails_without: float | None = None
    shares: Mapping[int, float] | None = None
    endless: bool = False

    def __post_init__(self) -> None:
        if not 0.5 < self.confidence < 1:
            raise ValueError(f"a confidence is above 0.5 and below 1, not {self.confidence}")


@dataclass(frozen=True)
class Ask:
    """Trials to run next, most useful first; any of them may be run, in any order, at the same time."""

    subsets: tuple[Subset, ...]


@dataclass(frozen=True)
class Culprit:
    """A set that makes the test fail, and from which nothing can be left out.

    Attributes:
        members: the candidates, all needed together.
        unsure: groups of candidates of each of which some member is needed, where every trial that could tell which
            was skipped.
    """

    members: Subset
    unsure: tuple[Subset, ...] = ()

    @property
    def everything(self) -> Subset:
        """Members and groups."""
        return self.members.union(*self.unsure)


@dataclass(frozen=True)
class Found:
    """The end of a search.

    Attributes:
        direction: None where the test says the same at both ends.
        culprits: in the order in which they were found; empty where it is none of the candidates.
        complete: whether there surely is no other minimal set; else ``reason`` says what was not looked at.
        left: candidates that are neither culprits nor cleared.
        confidence: how probable it is that this is the answer; 1 for a failure that is certainly there or not.
    """

    direction: Direction | None
    culprits: tuple[Culprit, ...]
    complete: bool
    reason: str = ""
    left: Subset = frozenset()
    confidence: float = 1.0


@dataclass(frozen=True)
class Belief:
    """What a flaky search believes after some trials.

    Attributes:
        sets: the most probable culprits and their probabilities, the likeliest first.
        either: the same of sets of culprits, each of which is enough alone.
        none: the probability that it is none of the candidates.
        more: the probability that it takes more candidates together than ``sets`` considers.
        members: candidate -> the probability that it is a member of the culprit.
        fails: the expected probability that a trial with the culprit in force fails.
        fails_without: the same for a trial without it.
        runs_left: about how many more trials the search will take.
    """

    sets: tuple[tuple[Subset, float], ...]
    none: float
    more: float
    members: tuple[tuple[str, float], ...]
    fails: float
    fails_without: float
    runs_left: float
    either: tuple[tuple[Subset, float], ...] = ()

    @property
    def likeliest(self) -> tuple[tuple[Subset, ...], float]:
        """The most probable culprits, none where it is none of the candidates, and how probable that is."""
        together = [((members,), chance) for members, chance in self.sets[:1]]
        each = [(tuple(frozenset({name}) for name in sorted(names)), chance) for names, chance in self.either[:1]]
        found: tuple[tuple[Subset, ...], float] = max([*together, *each, ((), self.none)], key=lambda pair: pair[1])
        return found


@dataclass(frozen=True)
class Contradiction:
    """Two trials (what was reverted in each) that cannot both be true of a failure that is there or is not.

    ``bad`` failed, and ``good``, which has all that ``bad`` has and more (reverted, or fixed: as the direction is), did
    not. The failure is flaky, or more of the same hides what less of it shows.
    """

    bad: Subset
    good: Subset


Step = Ask | Found | Contradiction


def subset(names: Iterable[str]) -> Subset:
    """``names`` as a subset."""
    return frozenset(names)
