"""How often a test fails, with the culprit in force and without it: neither is known, so both are averaged over.

The rate with it is roughly anything, the rate without it often nothing, and the odds of the first are at least ``ODDS``
times those of the second: a difference that is smaller would take more runs to see than anybody has. ``evidence`` of
what was seen is the probability of just that, and what it says of both rates; it depends on four counts alone, and
falls into a part of two counts and another of two counts that are kept, so that thousands of hypotheses cost little.

Example::

    Rates().evidence(5, 3, 0, 9)    # failed in 5 of 8 runs with it, in none of 9 without
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul

ODDS = 3.0
FAILS = (
    0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4,
    0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.94, 0.97, 0.99, 1.0,
)  # fmt: skip
WITHOUT = (0.0, 0.005, 0.01, 0.02, 0.035, 0.05, 0.07, 0.1, 0.14, 0.2, 0.3, 0.45, 0.65)
ALWAYS = 0.1
"""How probable it is beforehand that it always fails with the culprit."""
NEVER = 0.5
"""How probable it is beforehand that it never fails without the culprit."""

KEPT = 100_000


@dataclass(frozen=True)
class Evidence:
    """``log`` of the probability of what was seen, and the rates to be expected after it."""

    log: float
    fails: float
    without: float


class Rates:
    """Both rates as they may be: on a grid, or known where ``fails`` or ``without`` says so."""

    def __init__(self, fails: float | None = None, without: float | None = None) -> None:
        high = _spread(FAILS, ALWAYS) if fails is None else ((fails, 1.0),)
        low = _often_never(WITHOUT) if without is None else ((without, 1.0),)
        self._high, self._low = _logs(high), _logs(low)
        exact = fails is not None and without is not None
        self._first = [
            next(
                (at for at, (f, _) in enumerate(high) if exact or (f > f0 and _odds(f) >= ODDS * _odds(f0))), len(high)
            )
            for f0, _ in low
        ]
        total = sum(
            share * sum(each for _, each in high[first:]) for (_, share), first in zip(low, self._first, strict=True)
        )
        if not total:
            raise ValueError(f"a test that fails with {fails} and without with {without} tells nothing")
        self._log_total = math.log(total)
        self._always = _logs(_either(high, low))
        self.told_without = without is not None
        self.with_it = lru_cache(KEPT)(self._with)
        self.without_it = lru_cache(KEPT)(self._without)
        self._lumped = [
            (share * sum(w for _, w in high[lo:hi]), _mean(high[lo:hi]), f0)
            for at, (f0, share) in enumerate(low)
            if len(low) == 1 or at % 4 == 0
            for lo, hi in _pieces(self._first[at], len(high))
        ]
        self._lump = lru_cache(KEPT)(self._chances)

    def _with(self, bad: int, good: int) -> tuple[float, tuple[float, ...], tuple[float, ...]]:
        """log scale; for each rate without: the probability summed over the rates above it, and times the rate."""
        scale, parts = _scaled(self._high, bad, good)
        sums, means = [0.0], [0.0]
        for part, (rate, *_) in zip(reversed(parts), reversed(self._high), strict=True):
            sums.append(sums[-1] + part)
            means.append(means[-1] + part * rate)
        at = [len(parts) - first for first in self._first]
        return scale, tuple(sums[place] for place in at), tuple(means[place] for place in at)

    def _without(self, bad: int, good: int) -> tuple[float, tuple[float, ...]]:
        scale, parts = _scaled(self._low, bad, good)
        return scale, tuple(parts)

    def log(self, bad: int, good: int, bad_without: int, good_without: int) -> float:
        """``evidence(...).log`` alone."""
        scale, sums, _ = self.with_it(bad, good)
        scale_without, low = self.without_it(bad_without, good_without)
        total = sum(map(mul, sums, low))
        return math.log(total) + scale + scale_without - self._log_total if total > 0 else -math.inf

    def evidence(self, bad: int, good: int, bad_without: int, good_without: int) -> Evidence:
        """What was seen in runs with the culprit in force and in runs without it."""
        scale, sums, means = self.with_it(bad, good)
        scale_without, low = self.without_it(bad_without, good_without)
        total = sum(map(mul, sums, low))
        if total <= 0:
            return Evidence(-math.inf, 0.5, 0.0)
        fails = sum(map(mul, means, low)) / total
        without = sum(a * b * row[0] for a, b, row in zip(sums, low, self._low, strict=True)) / total
        return Evidence(math.log(total) + scale + scale_without - self._log_total, fails, without)

    def constant(self, bad: int, good: int) -> Evidence:
        """The same where it is none of the candidates: one rate for all runs."""
        scale, parts = _scaled(self._always, bad, good)
        total = sum(parts)
        if total <= 0:
            return Evidence(-math.inf, 0.5, 0.5)
        mean = sum(part * row[0] for part, row in zip(parts, self._always, strict=True)) / total
        return Evidence(math.log(total) + scale, mean, mean)

    def lump(self, seen: Sequence[tuple[float, int, int]]) -> Evidence:
        """The same where the culprit is in force by chance: ``(how probable that is, bad, good)`` of like runs."""
        logs = [0.0] * len(self._lumped)
        for chance, bad, good in seen:
            for at, (log_bad, log_good) in enumerate(self._lump(chance)):
                logs[at] += (bad * log_bad if bad else 0.0) + (good * log_good if good else 0.0)
        scale = max(logs)
        if scale == -math.inf:
            return Evidence(scale, 0.5, 0.0)
        parts = [row[0] * math.exp(log - scale) for row, log in zip(self._lumped, logs, strict=True)]
        total = sum(parts)
        share = sum(row[0] for row in self._lumped)
        fails = sum(part * row[1] for part, row in zip(parts, self._lumped, strict=True)) / total
        without = sum(part * row[2] for part, row in zip(parts, self._lumped, strict=True)) / total
        return Evidence(math.log(total / share) + scale, fails, without)

    def _chances(self, chance: float) -> list[tuple[float, float]]:
        rates = [chance * f + (1 - chance) * f0 for _, f, f0 in self._lumped]
        return [(_log(rate), _log(1 - rate)) for rate in rates]


def capacity(fails: float, without: float) -> float:
    """How many bits one run says of the culprit at most, and so at least how many runs a bit takes."""
    return max((information(share / 200, fails, without) for share in range(1, 200)), default=0.0)


def information(share: float, fails: float, without: float) -> float:
    """How many bits a run says where the culprit is in force with probability ``share``."""
    return entropy(share * fails + (1 - share) * without) - share * entropy(fails) - (1 - share) * entropy(without)


def entropy(chance: float) -> float:
    """In bits, of something that is so or not."""
    if chance <= 0 or chance >= 1:
        return 0.0
    return -chance * math.log2(chance) - (1 - chance) * math.log2(1 - chance)


Weighted = Sequence[tuple[float, float]]


def _spread(values: Sequence[float], at_end: float) -> Weighted:
    """Each value with the width of what is nearest to it, but the last with ``at_end``."""
    ends = [0.0, *((a + b) / 2 for a, b in itertools.pairwise(values)), 1.0]
    widths = [(b - a) * (1 - at_end) for a, b in itertools.pairwise(ends)]
    widths[-1] += at_end
    return tuple(zip(values, widths, strict=True))


def _often_never(values: Sequence[float]) -> Weighted:
    return tuple((value, NEVER if not value else (1 - NEVER) / (len(values) - 1)) for value in values)


def _either(high: Weighted, low: Weighted) -> Weighted:
    """One rate for all runs: as likely as one with the culprit or as one without."""
    both = dict.fromkeys(sorted({rate for rate, _ in (*high, *low)}), 0.0)
    for rate, share in (*high, *low):
        both[rate] += share / 2
    return tuple(both.items())


def _pieces(first: int, end: int) -> list[tuple[int, int]]:
    step = max(1, (end - first + 7) // 8)
    return [(at, min(at + step, end)) for at in range(first, end, step)]


def _mean(weighted: Weighted) -> float:
    return sum(rate * share for rate, share in weighted) / sum(share for _, share in weighted)


def _odds(rate: float) -> float:
    return rate / (1 - rate) if rate < 1 else math.inf


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _logs(weighted: Weighted) -> list[tuple[float, float, float, float]]:
    """rate, log weight, log rate, log of what is left to 1."""
    return [(rate, _log(share), _log(rate), _log(1 - rate)) for rate, share in weighted]


def _scaled(rows: Sequence[tuple[float, float, float, float]], bad: int, good: int) -> tuple[float, list[float]]:
    """The probability of these counts for each rate, divided by the largest, whose log comes first."""
    logs = [
        share + (bad * log_bad if bad else 0.0) + (good * log_good if good else 0.0)
        for _, share, log_bad, log_good in rows
    ]
    scale = max(logs)
    if scale == -math.inf:
        return 0.0, [0.0] * len(logs)
    return scale, [math.exp(log - scale) for log in logs]
