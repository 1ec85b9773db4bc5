"""A number that is worse instead of a failure: two samples differ, or are the same, or there have to be more values.

A subset is *worse* where its values are worse than those of the good end, by a Mann-Whitney test; it is *the same* as
the good end where they are better than those of the bad end. Neither shape nor spread of the values matters. Values
are looked at at fixed sizes of the samples, the first values of each, so that a verdict once given stays. The error
that is allowed, one minus the confidence, is divided over all subsets of a search and over all looks at each (a union
bound, which holds however the samples depend on each other): it is the probability that *any* verdict of the search
is wrong.

Where every value of both ends is the same number, tests alone would go on to the last look. A difference is taken to
change at least ``CHANGES`` of the values of an end; were there one, so many would be the same with less than the error
that is allowed, and they end it.

Example::

    wanted(0)                                   # 5: so many values to begin with
    compare([9.1, 9.3, 9.2, ...], good=[5.0, ...], bad=[9.0, ...], error=1e-4)     # Judged.WORSE
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from functools import lru_cache

LOOKS = (5, 8, 12, 18, 27, 40, 60, 90, 135, 200)
"""How many values of a subset there are when they are looked at; after the last the subset stays unclear."""
ENDS_AT_LEAST = 12
"""So many values of each end go into every look: they serve all subsets."""
CHANGES = 0.6
"""The share of an end's values that a difference is taken to change, where no value differs from any other."""
EXACT = 40
"""Up to so many values in all the distribution is counted out; beyond it a normal one is near enough, and its tails are
the heavier ones."""


class Judged(enum.Enum):
    """What the values of a subset say so far."""

    WORSE = "worse"
    SAME = "same"
    MORE = "more"
    UNCLEAR = "unclear"


def above(values: Sequence[float], others: Sequence[float]) -> float:
    """The probability that chance alone puts ``values`` so far above ``others`` (Mann-Whitney, one-sided)."""
    if not values or not others:
        return 1.0
    ranks = _doubled_ranks((*values, *others))
    own = sum(ranks[: len(values)])
    return _tail(tuple(sorted(ranks)), len(values), own)


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value, so that those that tie have whole numbers too."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for place in range(first, last + 1):
            ranks[order[place]] = first + last + 2
        first = last + 1
    return ranks


@lru_cache(maxsize=4096)
def _tail(ranks: tuple[int, ...], size: int, own: int) -> float:
    """How probable a sum of at least ``own`` is of ``size`` of the ranks drawn at random."""
    if len(ranks) <= EXACT:
        return _counted(ranks, size, own)
    total, rest = len(ranks), len(ranks) - size
    mean = size * (total + 1)  # of doubled ranks
    ties = sum(count**3 - count for count in _counts(ranks))
    variance = 4 * size * rest / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    return 0.5 * math.erfc((own - 1 - mean) / math.sqrt(2 * variance))


def _counted(ranks: tuple[int, ...], size: int, own: int) -> float:
    ways: list[dict[int, int]] = [{} for _ in range(size + 1)]
    ways[0][0] = 1
    for rank in ranks:
        for taken in range(size, 0, -1):
            into = ways[taken]
            for total, count in ways[taken - 1].items():
                into[total + rank] = into.get(total + rank, 0) + count
    return sum(count for total, count in ways[size].items() if total >= own) / math.comb(len(ranks), size)


def _counts(ranks: tuple[int, ...]) -> list[int]:
    found: dict[int, int] = {}
    for rank in ranks:
        found[rank] = found.get(rank, 0) + 1
    return list(found.values())


def of_end(size: int) -> int:
    """How many values of each end a look at ``size`` values takes."""
    return max(size, ENDS_AT_LEAST)


def compare(values: Sequence[float], *, good: Sequence[float], bad: Sequence[float], error: float) -> Judged:
    """What ``values`` say of their subset, where higher is worse; ``error`` is that of all looks together."""
    each = error / (2 * len(LOOKS))
    for size in LOOKS:
        ends = of_end(size)
        if len(values) < size or len(good) < ends or len(bad) < ends:
            return Judged.MORE
        if above(values[:size], good[:ends]) <= each:
            return Judged.WORSE
        if above(bad[:ends], values[:size]) <= each:
            return Judged.SAME
    return Judged.UNCLEAR


def compare_ends(one: Sequence[float], other: Sequence[float], *, error: float) -> tuple[Judged, Judged]:
    """What the values of each end say of it beside the other; both ``SAME`` where all looks see no difference, or so
    many values are one number that a difference would have shown in some of them."""
    each = error / (2 * len(LOOKS))
    for size in LOOKS:
        if min(len(one), len(other)) < size:
            return Judged.MORE, Judged.MORE
        if above(one[:size], other[:size]) <= each:
            return Judged.WORSE, Judged.SAME
        if above(other[:size], one[:size]) <= each:
            return Judged.SAME, Judged.WORSE
        if len({*one[:size], *other[:size]}) == 1 and (1 - CHANGES) ** size <= error:
            return Judged.SAME, Judged.SAME
    return Judged.SAME, Judged.SAME


def wanted(values: int) -> int:
    """The size of the next look at a subset that has so many values."""
    return next((size for size in LOOKS if size > values), LOOKS[-1])


def error_of(number: int, candidates: int, confidence: float) -> float:
    """The share of the error of the subset that was the ``number``-th to be tried (from 0; 0 are the ends).

    Half is divided evenly over as many as the search of one culprit takes; all that may come after share the rest.
    """
    usual = 2 * max(1, candidates).bit_length() + 8
    error = (1 - confidence) / 2
    if number < usual:
        return error / usual
    beyond = number - usual + 1
    return error / (beyond * (beyond + 1))
