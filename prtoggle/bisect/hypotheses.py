"""Which sets of candidates may make a test fail sometimes, and how probable each is after what was tried.

A hypothesis is a set and a direction: a trial has it in force where the whole set is reverted (or, in the other
direction, where none of it is). Beside them stand "none of these", with one rate for all trials, and "more": a set of
more candidates than are looked at one by one, which a trial has in force by chance. Single candidates come first; sets
of several are looked at where they may matter: all of a size where there are at most ``MOST``, else what
one more candidate makes of the ``BEAM`` likeliest of the size before, since part of a culprit explains much of what the
whole of it does.

Trials are kept the other way round: for each candidate the trials that revert it, as bits of one number, so that what
was seen of a set takes two counts of bits, however many trials there are.

Example::

    trials = Trials(("a", "b"))
    trials.add(frozenset({"a"}), BAD)
    Prior(("a", "b"), {}, Rates()).after(trials).best
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from prtoggle.bisect.rates import Evidence, Rates
from prtoggle.bisect.values import Direction, Outcome, Subset

MOST = 50_000
"""So many hypotheses are looked at one by one."""
BEAM = 100
SHARES = {0: 0.67, 1: 0.3, 2: 0.02, 3: 0.006, 4: 0.002, 5: 0.001, 6: 0.0004, 7: 0.0002, 8: 0.0004}
"""How probable it is beforehand that so many candidates are needed together (0: none of these; 8: or more). None has so
much that of the searches where it is none no larger share names somebody than may be wrong altogether: in simulations
with an even chance it was up to three times that, for some rates."""
SPREAD = 2654435761
"""Of equally likely sets those that are kept are to hold all candidates, not just the first ones."""
FAR = 30.0
LITTLE = 1e-7
"""What is less probable is left out of account when subsets are packed."""
DOUBT = 0.15
"""Sets of one more are looked at where it is at least so probable that it takes more, or the most looked at so far."""


class Trials:
    """What was tried, in a form that is the same in whatever order it came."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.bit = {name: 1 << place for place, name in enumerate(self.names)}
        self.rows = [0] * len(self.names)
        self.count = self.bad = self.bads = 0
        self.skipped: Counter[int] = Counter()
        self.seen: dict[int, list[int]] = {}
        self.seed = 0

    def add(self, subset: Subset, outcome: Outcome) -> None:
        """Take in a trial."""
        mask = self.mask(subset)
        text = f"{outcome.value} {' '.join(sorted(subset))}"
        self.seed = (self.seed + int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")) % (1 << 64)
        if outcome is Outcome.SKIP:
            self.skipped[mask] += 1
            return
        at = 1 << self.count
        for place in places(mask):
            self.rows[place] |= at
        self.count += 1
        is_bad = outcome is Outcome.BAD
        if is_bad:
            self.bad |= at
            self.bads += 1
        self.seen.setdefault(mask, [0, 0])[not is_bad] += 1

    def mask(self, subset: Subset) -> int:
        """A subset as a bit mask."""
        return sum(self.bit[name] for name in subset)

    def subset(self, mask: int) -> Subset:
        """A bit mask as a subset."""
        return frozenset(self.names[place] for place in places(mask))

    @property
    def everything(self) -> int:
        return (1 << len(self.names)) - 1

    def rows_of(self, direction: Direction) -> list[int]:
        """For each candidate the trials that have it in force."""
        if direction is Direction.REVERTED:
            return self.rows
        return [((1 << self.count) - 1) & ~row for row in self.rows]

    def by_size(self, direction: Direction) -> list[tuple[int, int, int]]:
        """How many candidates were in force, and how often it failed then, and did not."""
        found: dict[int, list[int]] = {}
        for mask, (bad, good) in self.seen.items():
            size = mask.bit_count()
            both = found.setdefault(size if direction is Direction.REVERTED else len(self.names) - size, [0, 0])
            both[0] += bad
            both[1] += good
        return [(size, bad, good) for size, (bad, good) in sorted(found.items())]


@dataclass(frozen=True)
class Guess:
    """One hypothesis. ``mask`` are its members; none: it is none of the candidates."""

    mask: int
    direction: Direction | None
    chance: float
    fails: float
    without: float

    def in_force(self, reverted: int) -> bool:
        """Whether a trial that reverts these candidates has it in force."""
        if self.direction is Direction.FIXED:
            return not self.mask & reverted
        return self.mask & reverted == self.mask


@dataclass(frozen=True)
class Posterior:
    """What is believed after some trials.

    Attributes:
        guesses: the likeliest first; without none and more.
        none: that it is none of the candidates.
        more: for each direction, that more are needed together than ``size``.
        size: sets of up to so many candidates were looked at one by one.
        largest: that it is one of just so many.
        members: for each candidate, that it is a member (among the sets that were looked at).
    """

    guesses: tuple[Guess, ...]
    none: Guess
    more: tuple[Guess, ...]
    size: int
    largest: float
    members: tuple[float, ...]

    @property
    def best(self) -> Guess:
        """The likeliest of all, none among them."""
        return max((*self.guesses[:1], self.none), key=lambda guess: guess.chance)

    @property
    def beyond(self) -> float:
        """That more are needed together than were looked at."""
        return sum(guess.chance for guess in self.more)


_Row = tuple[float, int, Direction, int, int]  # log of the chance, members, direction, bad and good with it in force


class Prior:
    """What is believed before the first trial."""

    def __init__(
        self,
        names: Sequence[str],
        weights: Mapping[str, float],
        rates: Rates,
        direction: Direction | None = None,
        max_size: int = 6,
        shares: Mapping[int, float] | None = None,
    ) -> None:
        given = [max(weights.get(name, 1.0), 1e-12) for name in names]
        self.weights = [each / max(sum(given), 1e-300) for each in given]
        self.logs = [math.log(each) for each in self.weights]
        self.rates, self.count = rates, len(names)
        self.keep = max(512, 2 * self.count)
        self.directions = (direction,) if direction else tuple(Direction)
        self.max_size = max(1, min(max_size, self.count, max(SHARES) - 1))
        self.shares = {size: share for size, share in (shares or SHARES).items() if size <= self.count and share > 0}
        total = sum(self.shares.values())
        self.shares = {size: share / total for size, share in self.shares.items()}
        # For each size the sum over all sets of the products of their weights.
        self.sums = [1.0] + [0.0] * self.max_size
        for weight in self.weights:
            for size in range(self.max_size, 0, -1):
                self.sums[size] += weight * self.sums[size - 1]

    def after(self, trials: Trials, confidence: float = 1.0) -> Posterior:
        """What is believed after ``trials``, with sets of as many candidates as matter: nothing is believed with
        ``confidence`` before sets of one more were looked at, nor that it is none before sets of several were."""
        size = 1
        while True:
            found = self.upto(size, trials)
            best = found.best
            sure = best.chance >= confidence and size <= (best.mask.bit_count() or 2)
            # Alone, each of several that are needed together explains as much as another.
            open_ = found.beyond >= DOUBT or found.largest >= DOUBT
            if size >= min(self.max_size, max(self.shares)) or not (sure or open_):
                return found
            size += 1

    def upto(self, size: int, trials: Trials) -> Posterior:
        """What is believed if sets of up to ``size`` candidates are looked at one by one."""
        rows: list[_Row] = []
        singles = {direction: self._sets(1, direction, trials, ()) for direction in self.directions}
        far = max((row[0] for each in singles.values() for row in each), default=-math.inf) - FAR
        for direction, before in singles.items():
            if 1 in self.shares:
                rows += before
            # A direction in which each candidate alone explains so little is not looked at further.
            if len(singles) > 1 and all(row[0] < far for row in before):
                continue
            for each in range(2, size + 1):
                if each in self.shares:
                    before = self._sets(each, direction, trials, before)
                    rows += before
        none_evidence = self.rates.constant(trials.bads, trials.count - trials.bads)
        none = _log(self.shares.get(0, 0.0)) + none_evidence.log
        left = sum(share for each, share in self.shares.items() if each > size)
        lumps: list[tuple[float, Direction, Evidence]] = []
        if left > 0:
            for direction in self.directions:
                evidence = self._lump(size + 1, direction, trials)
                lumps.append((math.log(left / len(self.directions)) + evidence.log, direction, evidence))
        top = max([none, *(row[0] for row in rows), *(log for log, _, _ in lumps)])
        chances = [math.exp(row[0] - top) for row in rows]
        total = sum(chances) + math.exp(none - top) + sum(math.exp(log - top) for log, _, _ in lumps)
        order = sorted(
            (at for at, chance in enumerate(chances) if chance > LITTLE * total),
            key=lambda at: (-chances[at], at * SPREAD % (1 << 32)),
        )
        members = [0.0] * self.count
        for at in order:
            for place in places(rows[at][1]):
                members[place] += chances[at] / total
        guesses = tuple(self._guesses([(rows[at], chances[at] / total) for at in order[: self.keep]], trials))
        nothing = Guess(0, None, math.exp(none - top) / total, none_evidence.fails, none_evidence.without)
        largest = sum(chance for row, chance in zip(rows, chances, strict=True) if row[1].bit_count() == size) / total
        more = tuple(
            Guess(0, direction, math.exp(log - top) / total, each.fails, each.without) for log, direction, each in lumps
        )
        return Posterior(guesses, nothing, more, size, largest, tuple(members))

    def _guesses(self, rows: Sequence[tuple[_Row, float]], trials: Trials) -> Iterator[Guess]:
        known: dict[tuple[int, int], Evidence] = {}
        all_bad, all_good = trials.bads, trials.count - trials.bads
        for (_, mask, direction, bad, good), chance in rows:
            seen = known.get((bad, good))
            if seen is None:
                seen = known[bad, good] = self.rates.evidence(bad, good, all_bad - bad, all_good - good)
            yield Guess(mask, direction, chance, seen.fails, seen.without)

    def _sets(self, size: int, direction: Direction, trials: Trials, before: Sequence[_Row]) -> list[_Row]:
        rows, bads = trials.rows_of(direction), trials.bad
        start = math.log(self.shares.get(size, 1.0) / len(self.directions) / self.sums[size])
        all_bad, all_good = trials.bads, trials.count - trials.bads
        known: dict[tuple[int, int], float] = {}
        evidence = self.rates.log
        found: list[_Row] = []
        if math.comb(self.count, size) <= MOST or size == 1:
            sets = _all_sets(size, rows, self.logs)
        else:
            sets = _grown(sorted(before, key=lambda row: -row[0])[:BEAM], rows, self.logs)
        for mask, row, log in sets:
            bad = (row & bads).bit_count()
            good = row.bit_count() - bad
            seen = known.get((bad, good))
            if seen is None:
                seen = known[bad, good] = evidence(bad, good, all_bad - bad, all_good - good)
            found.append((start + log + seen, mask, direction, bad, good))
        return found

    def _lump(self, size: int, direction: Direction, trials: Trials) -> Evidence:
        most = max(1, math.comb(self.count, size))
        return self.rates.lump(
            [(math.comb(many, size) / most, bad, good) for many, bad, good in trials.by_size(direction)]
        )


def _all_sets(size: int, rows: Sequence[int], logs: Sequence[float]) -> Iterator[tuple[int, int, float]]:
    """Every set of ``size``: its mask, the trials that have all of it in force, the sum of ``logs``."""
    count = len(rows)
    if size == 1:
        yield from ((1 << place, rows[place], logs[place]) for place in range(count))
        return
    for first in itertools.combinations(range(count), size - 1):
        mask, row, log = 0, -1, 0.0
        for place in first:
            mask, row, log = mask | 1 << place, row & rows[place], log + logs[place]
        for place in range(first[-1] + 1, count):
            yield mask | 1 << place, row & rows[place], log + logs[place]


def _grown(best: Sequence[_Row], rows: Sequence[int], logs: Sequence[float]) -> Iterator[tuple[int, int, float]]:
    """The same of every set that is one of ``best`` and one candidate more."""
    seen: set[int] = set()
    for _, mask, *_ in best:
        row, log = -1, 0.0
        for place in places(mask):
            row, log = row & rows[place], log + logs[place]
        for place in range(len(rows)):
            larger = mask | 1 << place
            if larger != mask and larger not in seen:
                seen.add(larger)
                yield larger, row & rows[place], log + logs[place]


def places(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
