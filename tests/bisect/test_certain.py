"""A failure that is there or is not: every minimal set is found, and no more trials than can be afforded."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prtoggle.bisect.certain import search
from prtoggle.bisect.values import Ask, Contradiction, Direction, Found, Outcome, Subset, Tried

Oracle = Callable[[Subset], Outcome]


def named(count: int) -> tuple[str, ...]:
    return tuple(f"c{number}" for number in range(count))


def fails_with(
    *sets: set[str] | frozenset[str], direction: Direction = Direction.REVERTED, all: Sequence[str] = ()
) -> Oracle:
    """A test that fails where one of ``sets`` is whole among what is reverted (or among what is not)."""

    def run(reverted: Subset) -> Outcome:
        active = reverted if direction is Direction.REVERTED else frozenset(all) - reverted
        return Outcome.BAD if any(each <= active for each in sets) else Outcome.GOOD

    return run


def finish(
    candidates: Sequence[str], run: Oracle, *, width: int = 1, **how: object
) -> tuple[Found | Contradiction, int, int]:
    """The answer, the trials and the rounds it took, both ends among them."""
    tried: list[Tried] = []
    rounds = 0
    while True:
        step = search(candidates, tried, width=width, **how)  # type: ignore[arg-type]
        if not isinstance(step, Ask):
            return step, len(tried), rounds
        assert 0 < len(step.subsets) <= width
        assert len(set(step.subsets)) == len(step.subsets)
        assert not {each.subset for each in tried} & set(step.subsets), "asked for what was tried"
        rounds += 1
        tried += [Tried(subset, run(subset)) for subset in step.subsets]


def minimal(sets: Sequence[frozenset[str]]) -> set[frozenset[str]]:
    return {each for each in sets if not any(other < each for other in sets)}


@st.composite
def problems(draw: st.DrawFn) -> tuple[tuple[str, ...], list[frozenset[str]], Direction, int]:
    candidates = named(draw(st.integers(1, 14)))
    member = st.sampled_from(candidates)
    sets = draw(st.lists(st.frozensets(member, min_size=1, max_size=4), min_size=1, max_size=4))
    return candidates, sets, draw(st.sampled_from(Direction)), draw(st.integers(1, 6))


@given(problems())
@settings(max_examples=12000, deadline=None)
def test_every_minimal_set_is_found_and_nothing_else(
    problem: tuple[tuple[str, ...], list[frozenset[str]], Direction, int],
) -> None:
    candidates, sets, direction, width = problem
    answer, _, _ = finish(candidates, fails_with(*sets, direction=direction, all=candidates), width=width)
    assert isinstance(answer, Found)
    assert {culprit.members for culprit in answer.culprits} == minimal(sets)
    assert len(answer.culprits) == len(minimal(sets))
    assert (answer.direction, answer.complete, answer.left) == (direction, True, frozenset())


@given(problems(), st.randoms(use_true_random=False), st.floats(0, 0.6))
@settings(max_examples=6000, deadline=None)
def test_skipped_trials_make_an_answer_less_sure_and_never_wrong(
    problem: tuple[tuple[str, ...], list[frozenset[str]], Direction, int], chance: random.Random, share: float
) -> None:
    candidates, sets, direction, width = problem
    plain = fails_with(*sets, direction=direction, all=candidates)
    skipped = (
        {subset: chance.random() < share for subset in map(frozenset, powerset(candidates))}
        if len(candidates) < 9
        else {}
    )

    def run(subset: Subset) -> Outcome:
        ends = not subset or len(subset) == len(candidates)
        return Outcome.SKIP if skipped.get(subset) and not ends else plain(subset)

    answer, _, _ = finish(candidates, run, width=width)
    assert isinstance(answer, Found)
    assert answer.culprits
    for culprit in answer.culprits:
        if not culprit.unsure:
            assert culprit.members in minimal(sets)
        else:
            assert not answer.complete
            assert any(each <= culprit.everything for each in sets)
    if answer.complete:
        assert {culprit.members for culprit in answer.culprits} == minimal(sets)


def powerset(names: Sequence[str]) -> list[tuple[str, ...]]:
    return [each for size in range(len(names) + 1) for each in itertools.combinations(names, size)]


@given(problems())
@settings(max_examples=300, deadline=None)
def test_disjoint_sets_alone_are_found_with_a_trial_for_each(
    problem: tuple[tuple[str, ...], list[frozenset[str]], Direction, int],
) -> None:
    candidates, sets, direction, width = problem
    run = fails_with(*sets, direction=direction, all=candidates)
    answer, _, _ = finish(candidates, run, width=width, overlapping=False)
    assert isinstance(answer, Found)
    members = [culprit.members for culprit in answer.culprits]
    assert set(members) <= minimal(sets)
    assert sum(map(len, members)) == len(frozenset().union(*members))
    left = frozenset(candidates) - frozenset().union(*members)
    assert not any(each <= left for each in sets)


@given(problems(), st.data())
@settings(max_examples=300, deadline=None)
def test_the_trials_are_all_of_a_searchs_state(
    problem: tuple[tuple[str, ...], list[frozenset[str]], Direction, int], data: st.DataObject
) -> None:
    candidates, sets, direction, width = problem
    run = fails_with(*sets, direction=direction, all=candidates)
    tried: list[Tried] = []
    while isinstance(step := search(candidates, tried, width=width), Ask):
        assert search(candidates, data.draw(st.permutations(tried)), width=width) == step
        tried += [Tried(subset, run(subset)) for subset in step.subsets]
    extra = data.draw(st.frozensets(st.sampled_from(candidates)))
    more = search(candidates, [*tried, Tried(extra, run(extra))], width=width)
    assert isinstance(more, Found)
    assert isinstance(step, Found)
    assert set(more.culprits) == set(step.culprits)


@given(problems(), st.data())
@settings(max_examples=300, deadline=None)
def test_two_trials_that_cannot_both_be_are_named(
    problem: tuple[tuple[str, ...], list[frozenset[str]], Direction, int], data: st.DataObject
) -> None:
    candidates, sets, direction, width = problem
    run = fails_with(*sets, direction=direction, all=candidates)
    everything = frozenset(candidates)
    tried = [Tried(end, run(end)) for end in (frozenset[str](), everything)]
    if len(candidates) == 1:
        return
    subset = data.draw(st.frozensets(st.sampled_from(candidates), min_size=1).filter(lambda each: each != everything))
    lie = Outcome.BAD if run(subset) is Outcome.GOOD else Outcome.GOOD
    step = search(candidates, [*tried, Tried(subset, run(subset)), Tried(subset, lie)], width=width)
    assert step == Contradiction(subset, subset)
    active = everything - subset if direction is Direction.FIXED else subset
    if run(subset) is Outcome.BAD:
        more = data.draw(st.sampled_from(sorted(everything - active)))
        larger = active | {more}
        reverted = everything - larger if direction is Direction.FIXED else larger
        if reverted in (frozenset(), everything):
            return
        step = search(candidates, [*tried, Tried(subset, Outcome.BAD), Tried(reverted, Outcome.GOOD)], width=width)
        assert step == Contradiction(subset, reverted)


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        ((Outcome.GOOD, Outcome.GOOD), "never fails"),
        ((Outcome.BAD, Outcome.BAD), "with everything reverted and with nothing"),
    ],
)
def test_the_same_at_both_ends_is_none_of_these(ends: tuple[Outcome, Outcome], reason: str) -> None:
    answer, trials, _ = finish(named(4), lambda subset: ends[len(subset) == 4], width=2)
    assert isinstance(answer, Found)
    assert (answer.direction, answer.culprits, answer.complete, trials) == (None, (), True, 2)
    assert reason in answer.reason


def test_an_end_that_is_skipped_leaves_everything_open() -> None:
    answer, _, _ = finish(named(3), lambda subset: Outcome.SKIP if subset else Outcome.GOOD)
    assert isinstance(answer, Found)
    assert (answer.complete, answer.left) == (False, frozenset(named(3)))


def test_a_limit_ends_the_search_and_says_so() -> None:
    candidates = named(8)
    answer, _, _ = finish(candidates, fails_with({"c1"}, {"c2"}, {"c3"}), limit=2)
    assert isinstance(answer, Found)
    assert (len(answer.culprits), answer.complete, answer.reason) == (2, False, "stopped after 2")


def mean_trials(count: int, size: int, *, weights: dict[str, float] | None = None, searches: int = 300) -> float:
    """Trials beyond both ends, over random sets of ``size`` needed together, until the set is found and seen to fail."""
    chance = random.Random(count * 31 + size)
    candidates = named(count)
    total = 0
    for _ in range(searches):
        oracle = fails_with(frozenset(chance.sample(candidates, size)))
        total += finish(candidates, oracle, limit=1, weights=weights)[1] - 2
    return total / searches


@pytest.mark.parametrize(
    ("count", "size", "go"), [(16, 1, 5.9), (64, 1, 9.1), (64, 2, 15.6), (64, 3, 21.2), (256, 2, 22.0)]
)
def test_it_takes_no_more_trials_than_gos_bisect(count: int, size: int, go: float) -> None:
    assert mean_trials(count, size) <= go


@pytest.mark.parametrize(("count", "width"), [(64, 6), (16, 2), (256, 4), (200, 3)])
def test_several_at_a_time_share_out_the_bits(count: int, width: int) -> None:
    candidates = named(count)
    for culprit in candidates:
        answer, _, rounds = finish(candidates, fails_with({culprit}), width=width)
        assert isinstance(answer, Found)
        assert [each.members for each in answer.culprits] == [{culprit}]
        ends, one_round_to_confirm = 1, 2
        assert rounds <= ends + math.ceil(math.log2(count) / width) + one_round_to_confirm


def test_what_is_likely_is_found_sooner() -> None:
    candidates = named(64)
    weights = {name: 100.0 if name == "c40" else 1.0 for name in candidates}
    likely = finish(candidates, fails_with({"c40"}), weights=weights)[1]
    assert likely < finish(candidates, fails_with({"c40"}))[1]


def test_a_candidate_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="twice"):
        search(("a", "a"), ())
