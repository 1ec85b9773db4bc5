"""A simulated test that one of many candidates breaks, the same for everybody who searches; standard library only.

Example::

    problem = Problem(64, 1, 0.5, 0.0, seed=7)
    problem.fails(frozenset({3, 4}))    # True or False, by chance where it is flaky
"""

from __future__ import annotations

import random
from collections.abc import Iterable


class Problem:
    """Candidates 0 to ``count`` - 1, ``size`` of which are needed together (0: it is none of them)."""

    def __init__(self, count: int, size: int, fails: float, without: float, seed: int) -> None:
        self.chance = random.Random(f"{count} {size} {fails} {without} {seed}")
        self.count, self.rates = count, (without, fails)
        self.culprit = frozenset(self.chance.sample(range(count), size)) if size else None
        self.runs = 0

    def fails(self, reverted: Iterable[int]) -> bool:
        """One run."""
        self.runs += 1
        with_it = self.culprit is not None and self.culprit <= frozenset(reverted)
        return self.chance.random() < self.rates[with_it]


def go(problem: Problem) -> frozenset[int]:
    """As Go's bisect does: the half that fails alone; where neither does, the one reduced with the other, then the other."""

    def reduced(items: tuple[int, ...], forced: frozenset[int]) -> frozenset[int]:
        if len(items) == 1:
            return frozenset(items)
        left, right = items[: len(items) // 2], items[len(items) // 2 :]
        for half in (left, right):
            if problem.fails(forced | frozenset(half)):
                return reduced(half, forced)
        found = reduced(left, forced | frozenset(right))
        return found | reduced(right, forced | found)

    return reduced(tuple(range(problem.count)), frozenset())
