"""Which sets of candidates may make a test fail sometimes, and how probable each is after what was tried.

A hypothesis is a set and a direction. Either all of the set is needed together: a trial has it in force where the
whole set is reverted (or, in the other direction, where none of it is). Or each of it is a culprit of its own: in force
where any of the set is reverted (or in). Beside them stand "none of these", with one rate for all trials, and "more": a
set of more candidates than are looked at one by one, which a trial has in force by chance. Single candidates come
first; sets of several are looked at where they may matter: all of a size where there are few, else what one more
candidate makes of the ``BEAM`` likeliest of the size before, since part of a culprit explains much of what it does.

Example::

    trials = Trials(("a", "b"))
    trials.add(frozenset({"a"}), BAD)
    Prior(("a", "b"), {}, Rates()).after(trials).best
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prtoggle.bisect.rates import Evidence, Rates
from prtoggle.bisect.tally import Trials, places
from prtoggle.bisect.values import Direction

MOST = {False: 50_000, True: 10_000}
"""So many sets of a size are looked at one by one: of those that are needed together, and of those that are not."""
BEAM = 100
SHARES = {0: 0.67, 1: 0.3, 2: 0.02, 3: 0.006, 4: 0.002, 5: 0.001, 6: 0.0004, 7: 0.0002, 8: 0.0004}
"""How probable it is beforehand that so many candidates are needed together (0: none of these; 8: or more). None has so
much that of the searches where it is none no larger share names somebody than may be wrong altogether: in simulations
with an even chance it was up to three times that, for some rates."""
LESS = 0.05
"""The same of none, where it is known how often the test fails without the culprit: whoever knows that knows of one."""
EITHER = {2: 0.01, 3: 0.003, 4: 0.001, 5: 0.0005, 6: 0.0003, 7: 0.0003}
"""How probable it is beforehand that there are so many culprits, each of them alone enough (7: or more)."""
WHOLE = 0.9
"""Whoever is named is a culprit as surely as was asked for, and all of them so surely, as a share of that."""
SPREAD = 2654435761
"""Of equally likely sets those that are kept are to hold all candidates, not just the first ones."""
FAR = 30.0
LITTLE = 1e-7
"""What is less probable is left out of account when subsets are packed."""
DOUBT = 0.15
"""Sets of one more are looked at where it is at least so probable that it takes more, or the most looked at so far."""


@dataclass(frozen=True)
class Guess:
    """One hypothesis; ``mask`` are its members, none where it is none of these. ``either``: any of them is enough."""

    mask: int
    direction: Direction | None
    chance: float
    fails: float
    without: float
    either: bool = False

    def in_force(self, reverted: int) -> bool:
        """Whether a trial that reverts these candidates has it in force."""
        active = self.mask & (~reverted if self.direction is Direction.FIXED else reverted)
        return bool(active) if self.either else active == self.mask

    @property
    def culprits(self) -> tuple[int, ...]:
        """The sets each of which is enough."""
        return tuple(1 << place for place in places(self.mask)) if self.either else (self.mask,)

    def among(self, other: Guess) -> bool:
        """Whether its culprits are culprits by the other one too."""
        if self.direction is not other.direction:
            return False
        single = self.either or self.mask.bit_count() == 1
        if other.either and single:
            return self.mask & other.mask == self.mask
        return self.mask == other.mask and self.either == other.either


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
        impossible: whether nothing that is believed allows what was seen.
    """

    guesses: tuple[Guess, ...]
    none: Guess
    more: tuple[Guess, ...]
    size: int
    largest: float
    members: tuple[float, ...]
    impossible: bool = False

    @property
    def best(self) -> Guess:
        """The likeliest of all, none among them."""
        return max((*self.guesses[:1], self.none), key=lambda guess: guess.chance)

    @property
    def likely(self) -> Guess:
        """The likeliest that names somebody, where there is one."""
        return next(iter(self.guesses), self.none)

    @property
    def sure(self) -> float:
        """That whom the best one names is a culprit, whoever else may be."""
        best = self.best
        return sum(guess.chance for guess in self.guesses if best.among(guess)) if best.mask else best.chance

    def settled(self, confidence: float) -> bool:
        """Whether that is an answer."""
        return self.best.chance >= WHOLE * confidence and self.sure >= confidence

    @property
    def beyond(self) -> float:
        """That more are needed together than were looked at."""
        return sum(guess.chance for guess in self.more)


_Row = tuple[float, int, Direction, int, int, bool]
"""Log of the chance, members, direction, bad and good with it in force, whether any of them is enough."""


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
        usual = {**SHARES, 0: LESS} if rates.told_without else SHARES
        both = {False: shares or usual, True: {} if shares else EITHER}
        total = sum(share for each in both.values() for size, share in each.items() if size <= self.count)
        self.shares = {
            either: {size: share / total for size, share in each.items() if size <= self.count and share > 0}
            for either, each in both.items()
        }
        self.largest = min(self.max_size, max(size for each in self.shares.values() for size in each))
        # For each size the sum over all sets of the products of their weights.
        self.sums = [1.0] + [0.0] * self.max_size
        for weight in self.weights:
            for size in range(self.max_size, 0, -1):
                self.sums[size] += weight * self.sums[size - 1]

    def chance(self, guess: Guess) -> float:
        """About how probable it was beforehand; the least of singles where it names nobody."""
        size = guess.mask.bit_count() or 1
        share = self.shares[guess.either].get(size, 0.0) or self.shares[False].get(1, 0.5)
        return share / len(self.directions) / math.comb(self.count, size)

    def after(self, trials: Trials, confidence: float = 1.0) -> Posterior:
        """What is believed after ``trials``, with sets of as many candidates as matter: nothing is believed with
        ``confidence`` before sets of one more were looked at, nor that it is none before sets of several were."""
        size = 1
        while True:
            found = self.upto(size, trials)
            sure = found.settled(confidence) and size <= (found.best.mask.bit_count() or 2)
            # Alone, each of several explains as much as another.
            open_ = found.beyond >= DOUBT or found.largest >= DOUBT
            if size >= self.largest or not (sure or open_):
                return found
            size += 1

    def upto(self, size: int, trials: Trials) -> Posterior:
        """What is believed if sets of up to ``size`` candidates are looked at one by one."""
        rows: list[_Row] = []
        singles = {direction: self._sets(1, direction, trials, ()) for direction in self.directions}
        far = max((row[0] for each in singles.values() for row in each), default=-math.inf) - FAR
        for direction, alone in singles.items():
            if 1 in self.shares[False]:
                rows += alone
            # A direction in which each candidate alone explains so little is not looked at further.
            if len(singles) > 1 and all(row[0] < far for row in alone):
                continue
            for either, shares in self.shares.items():
                before = alone
                for each in range(2, size + 1):
                    if each in shares:
                        before = self._sets(each, direction, trials, before, either)
                        rows += before
        none_evidence = self.rates.constant(trials.bads, trials.count - trials.bads)
        none = _log(self.shares[False].get(0, 0.0)) + none_evidence.log
        lumps: list[tuple[float, Direction, Evidence, bool]] = []
        for either, shares in self.shares.items():
            left = sum(share for each, share in shares.items() if each > size)
            for direction in self.directions if left > 0 else ():
                evidence = self._lump(size + 1, direction, trials, either)
                lumps.append((math.log(left / len(self.directions)) + evidence.log, direction, evidence, either))
        top = max([none, *(row[0] for row in rows), *(log for log, *_ in lumps)])
        if top == -math.inf:
            nobody = Guess(0, None, 1.0, none_evidence.fails, none_evidence.without)
            return Posterior((), nobody, (), size, 0.0, (1.0,) * self.count, impossible=True)
        chances = [math.exp(row[0] - top) for row in rows]
        total = sum(chances) + math.exp(none - top) + sum(math.exp(log - top) for log, *_ in lumps)
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
            Guess(0, direction, math.exp(log - top) / total, each.fails, each.without, either)
            for log, direction, each, either in lumps
        )
        return Posterior(guesses, nothing, more, size, largest, tuple(members))

    def _guesses(self, rows: Sequence[tuple[_Row, float]], trials: Trials) -> Iterator[Guess]:
        known: dict[tuple[int, int], Evidence] = {}
        all_bad, all_good = trials.bads, trials.count - trials.bads
        for (_, mask, direction, bad, good, either), chance in rows:
            seen = known.get((bad, good))
            if seen is None:
                seen = known[bad, good] = self.rates.evidence(bad, good, all_bad - bad, all_good - good)
            yield Guess(mask, direction, chance, seen.fails, seen.without, either)

    def _sets(
        self, size: int, direction: Direction, trials: Trials, before: Sequence[_Row], either: bool = False
    ) -> list[_Row]:
        rows, bads = trials.rows_of(direction), trials.bad
        start = math.log(self.shares[either].get(size, 1.0) / len(self.directions) / self.sums[size])
        all_bad, all_good = trials.bads, trials.count - trials.bads
        known: dict[tuple[int, int], float] = {}
        evidence = self.rates.log
        found: list[_Row] = []
        if math.comb(self.count, size) <= MOST[either] or size == 1:
            sets: Iterable[tuple[int, ...]] = itertools.combinations(range(self.count), size)
        else:
            sets = _grown(sorted(before, key=lambda row: -row[0])[:BEAM], self.count)
        for mask, row, log in _either(sets, rows, self.logs) if either else _together(sets, rows, self.logs):
            bad = (row & bads).bit_count()
            good = row.bit_count() - bad
            seen = known.get((bad, good))
            if seen is None:
                seen = known[bad, good] = evidence(bad, good, all_bad - bad, all_good - good)
            found.append((start + log + seen, mask, direction, bad, good, either))
        return found

    def _lump(self, size: int, direction: Direction, trials: Trials, either: bool) -> Evidence:
        most = max(1, math.comb(self.count, size))

        def in_force(many: int) -> float:
            if either:
                return 1 - math.comb(self.count - many, size) / most
            return math.comb(many, size) / most

        return self.rates.lump([(in_force(many), bad, good) for many, bad, good in trials.by_size(direction)])


_Sets = Iterator[tuple[int, int, float]]
"""Sets: the mask of each, the trials that have it in force, the sum of the logs of its members' chances."""


def _together(sets: Iterable[tuple[int, ...]], rows: Sequence[int], logs: Sequence[float]) -> _Sets:
    """Where all of a set is needed."""
    bits = [1 << place for place in range(len(rows))]
    for members in sets:
        mask, row, log = 0, -1, 0.0
        for place in members:
            mask, row, log = mask | bits[place], row & rows[place], log + logs[place]
        yield mask, row, log


def _either(sets: Iterable[tuple[int, ...]], rows: Sequence[int], logs: Sequence[float]) -> _Sets:
    """Where any of a set is enough."""
    bits = [1 << place for place in range(len(rows))]
    for members in sets:
        mask, row, log = 0, 0, 0.0
        for place in members:
            mask, row, log = mask | bits[place], row | rows[place], log + logs[place]
        yield mask, row, log


def _grown(best: Sequence[_Row], count: int) -> Iterator[tuple[int, ...]]:
    """Every set that is one of ``best`` and one candidate more."""
    seen: set[int] = set()
    for _, mask, *_ in best:
        members = tuple(places(mask))
        for place in range(count):
            larger = mask | 1 << place
            if larger != mask and larger not in seen:
                seen.add(larger)
                yield (*members, place)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
