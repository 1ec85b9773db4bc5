"""A flaky search names the culprit as surely as it says, and is a function of what was tried."""

from __future__ import annotations

import random
from collections.abc import Callable

from prtoggle.bisect.flaky import Flaky, search
from prtoggle.bisect.values import Ask, Direction, Found, Outcome, Subset, Tried

Run = Callable[[Subset], Outcome]


def named(count: int) -> tuple[str, ...]:
    return tuple(f"c{number:03}" for number in range(count))


def flaky_test(culprit: Subset | None, fails: float, without: float, seed: int) -> Run:
    """A test that fails at one rate with all of ``culprit`` reverted and at another without."""
    chance = random.Random(seed)

    def run(reverted: Subset) -> Outcome:
        rate = fails if culprit is not None and culprit <= reverted else without
        return Outcome.BAD if chance.random() < rate else Outcome.GOOD

    return run


def finish(candidates: tuple[str, ...], run: Run, *, width: int = 1) -> tuple[Found, int]:
    flaky = Flaky(candidates)
    trials = 0
    while isinstance(step := flaky.step(width), Ask):
        trials += len(step.subsets)
        for subset in step.subsets:
            flaky.add(Tried(subset, run(subset)))
    return step, trials


def test_both_ends_come_first() -> None:
    assert search(named(4), (), width=2) == Ask((frozenset(), frozenset(named(4))))


def test_a_culprit_that_fails_half_the_time_is_found() -> None:
    culprit = frozenset({"c003"})
    found, _ = finish(named(16), flaky_test(culprit, 0.5, 0.0, 1))
    assert (found.direction, [each.members for each in found.culprits]) == (Direction.REVERTED, [culprit])
    assert found.confidence >= 0.99
