"""Two samples differ, or are the same, or there have to be more values; and the error over a whole search is kept."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prtoggle.bisect.metric import (
    LOOKS,
    Judged,
    above,
    compare,
    compare_ends,
    error_of,
    of_end,
    wanted,
)


def by_enumeration(values: list[float], others: list[float]) -> float:
    """The share of all ways to draw ``values`` out of both in which they are at least as far up."""

    def wins(ours: list[float], theirs: list[float]) -> float:
        return sum((one > other) + 0.5 * (one == other) for one in ours for other in theirs)

    pooled, seen = values + others, wins(values, others)
    as_far = total = 0
    for places in itertools.combinations(range(len(pooled)), len(values)):
        ours = [pooled[place] for place in places]
        theirs = [value for place, value in enumerate(pooled) if place not in places]
        total += 1
        as_far += wins(ours, theirs) >= seen
    return as_far / total


small = st.lists(st.integers(0, 4).map(float), min_size=1, max_size=5)


@settings(max_examples=200, deadline=None)
@given(small, small)
def test_small_samples_are_counted_out_ties_too(values: list[float], others: list[float]) -> None:
    assert above(values, others) == pytest.approx(by_enumeration(values, others))


def test_samples_apart_are_as_improbable_as_the_ways_to_draw_them() -> None:
    assert above([4.0, 5.0, 6.0], [1.0, 2.0, 3.0]) == pytest.approx(1 / 20)
    assert above([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]) == 1.0


def test_large_samples_are_near_what_counting_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(1)
    values = [draw.gauss(0.6, 1) for _ in range(20)]
    others = [draw.gauss(0, 1) for _ in range(20)]
    counted = above(values, others)
    monkeypatch.setattr("prtoggle.bisect.metric.EXACT", 0)
    near = above([value + 1e-9 for value in values], [value + 1e-9 for value in others])
    from prtoggle.bisect import metric

    metric._tail.cache_clear()
    near = above(values, others)
    metric._tail.cache_clear()
    assert near == pytest.approx(counted, rel=0.1)


def test_values_that_are_all_the_same_show_nothing() -> None:
    assert above([1.0] * 50, [1.0] * 50) == 1.0
    assert compare_ends([1.0] * 200, [1.0] * 200, error=0.01) == (Judged.SAME, Judged.SAME)


@pytest.mark.parametrize("candidates", [1, 8, 64, 1000])
def test_ends_that_are_one_number_throughout_take_few_values(candidates: int) -> None:
    error = error_of(0, candidates, 0.99)
    assert compare_ends([1.0] * 8, [1.0] * 8, error=error) == (Judged.MORE, Judged.MORE)
    assert compare_ends([1.0] * 12, [1.0] * 12, error=error) == (Judged.SAME, Judged.SAME)


def test_one_value_that_differs_is_reason_to_go_on_and_the_difference_is_seen() -> None:
    error = error_of(0, 64, 0.99)
    one, other = [1.0] * 60, [1.0, 2.0] * 30
    assert compare_ends(one[:12], [1.0] * 11 + [2.0], error=error) == (Judged.MORE, Judged.MORE)
    assert compare_ends([1.0] * 12, [2.0] * 12, error=error) == (Judged.SAME, Judged.WORSE)
    assert compare_ends(one, other, error=error) == (Judged.SAME, Judged.WORSE)


def test_the_surer_it_has_to_be_the_more_values_a_constant_takes() -> None:
    assert compare_ends([1.0] * 12, [1.0] * 12, error=1e-6) == (Judged.MORE, Judged.MORE)
    assert compare_ends([1.0] * 18, [1.0] * 18, error=1e-6) == (Judged.SAME, Judged.SAME)


def test_a_look_waits_for_all_of_its_values() -> None:
    low, high = [float(n) for n in range(12)], [float(n) for n in range(100, 112)]
    assert compare(high[:4], good=low, bad=high, error=0.01) is Judged.MORE
    assert compare(high[:8], good=low[:11], bad=high, error=0.01) is Judged.MORE
    assert compare(high[:8], good=low, bad=high, error=0.01) is Judged.WORSE
    assert compare(low[:8], good=low, bad=high, error=0.01) is Judged.SAME


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_a_verdict_stays_whatever_values_come_after(seed: int) -> None:
    draw = random.Random(seed)
    good = [draw.gauss(0, 1) for _ in range(60)]
    bad = [draw.gauss(2, 1) for _ in range(60)]
    values = [draw.gauss(draw.choice((0, 2)), 1) for _ in range(60)]
    first = Judged.MORE
    for size in range(61):
        now = compare(values[:size], good=good[: size + 12], bad=bad[: size + 12], error=0.05)
        assert first is Judged.MORE or now is first
        first = now


def test_the_shares_of_the_error_add_up_to_no_more_than_all_of_it() -> None:
    for candidates in (1, 2, 8, 64, 1000):
        assert sum(error_of(number, candidates, 0.99) for number in range(20_000)) <= 0.01


def test_looks_come_at_growing_sizes_and_end() -> None:
    assert [wanted(size) for size in (0, 5, 6, 199, 200, 500)] == [5, 8, 8, 200, 200, 200]
    assert of_end(5) == 12 and of_end(200) == 200
    assert list(LOOKS) == sorted(set(LOOKS))


def test_of_many_searches_few_see_a_difference_that_is_not_there() -> None:
    draw = random.Random(7)
    wrong = 0
    for _ in range(300):
        one = [draw.gauss(0, 1) for _ in range(40)]
        other = [draw.gauss(0, 1) for _ in range(40)]
        wrong += Judged.WORSE in compare_ends(one, other, error=0.1)
    assert wrong <= 300 * 0.1


def test_of_many_differences_of_two_spreads_all_are_seen() -> None:
    draw = random.Random(8)
    for _ in range(50):
        one = [draw.gauss(0, 1) for _ in range(60)]
        other = [draw.gauss(2, 1) for _ in range(60)]
        assert compare_ends(one, other, error=error_of(0, 64, 0.99)) == (Judged.SAME, Judged.WORSE)
