"""A flaky search is right as often as it says, names nobody where it is nobody, and is a function of what was tried."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prtoggle.bisect import certain
from prtoggle.bisect.flaky import Flaky, believe, search
from prtoggle.bisect.rates import Rates, capacity
from prtoggle.bisect.values import Ask, Direction, Found, Outcome, Subset, Terms, Tried

Run = Callable[[Subset], Outcome]
FEW = 2000
"""More trials than any of these searches should take."""


def named(count: int) -> tuple[str, ...]:
    return tuple(f"c{number:03}" for number in range(count))


def flaky_test(culprit: Iterable[str], fails: float, without: float, seed: int, fixed: Subset | None = None) -> Run:
    """A test that fails at one rate with all of ``culprit`` reverted and at another without; with ``fixed`` (all
    candidates): with all of it fixed. With no culprit it fails at the second rate."""
    chance = random.Random(seed)
    members = frozenset(culprit)

    def run(reverted: Subset) -> Outcome:
        active = reverted if fixed is None else fixed - reverted
        rate = fails if members and members <= active else without
        return Outcome.BAD if chance.random() < rate else Outcome.GOOD

    return run


def flaky_test_of_any(culprits: Mapping[str, float], seed: int, fixed: Subset | None = None) -> Run:
    """A test that fails with each of ``culprits`` at a rate of its own, with several of them at the highest."""
    chance = random.Random(seed)

    def run(reverted: Subset) -> Outcome:
        active = reverted if fixed is None else fixed - reverted
        rate = max((rate for name, rate in culprits.items() if name in active), default=0.0)
        return Outcome.BAD if chance.random() < rate else Outcome.GOOD

    return run


def finish(candidates: tuple[str, ...], run: Run, *, width: int = 1, **how: object) -> tuple[Found, int, int]:
    """The answer, the trials and the rounds that it took."""
    flaky = Flaky(candidates, Terms(**how))  # type: ignore[arg-type]
    trials = rounds = 0
    while isinstance(step := flaky.step(width), Ask):
        assert 0 < len(step.subsets) <= width
        rounds += 1
        trials += len(step.subsets)
        assert trials < FEW
        for subset in step.subsets:
            flaky.add(Tried(subset, run(subset)))
    return step, trials, rounds


def named_by(found: Found) -> list[Subset]:
    return [each.members for each in found.culprits]


def at_most(share: float, searches: int) -> int:
    """So many of ``searches`` at most are wrong, but for one time in a thousand, if each is with probability ``share``."""
    total, wrong = 0.0, -1
    while total < 0.999:
        wrong += 1
        total += math.comb(searches, wrong) * share**wrong * (1 - share) ** (searches - wrong)
    return wrong


def test_both_ends_come_first() -> None:
    assert search(named(4), (), width=2) == Ask((frozenset(), frozenset(named(4))))
    assert search(named(4), (Tried(frozenset(), Outcome.GOOD),)) == Ask((frozenset(named(4)),))


@pytest.mark.parametrize("direction", Direction)
def test_the_direction_follows_from_the_trials(direction: Direction) -> None:
    candidates = named(12)
    fixed = frozenset(candidates) if direction is Direction.FIXED else None
    found, _, _ = finish(candidates, flaky_test({"c007"}, 0.6, 0.0, 5, fixed))
    assert (found.direction, named_by(found)) == (direction, [{"c007"}])
    assert found.confidence >= 0.99


@pytest.mark.parametrize(
    ("fails", "without", "searches"), [(1.0, 0.0, 100), (0.8, 0.0, 100), (0.5, 0.0, 50), (0.7, 0.1, 50)]
)
def test_a_claimed_confidence_is_kept(fails: float, without: float, searches: int) -> None:
    candidates, wrong = named(4), 0
    for seed in range(searches):
        culprit = {candidates[seed % 4]}
        found, _, _ = finish(candidates, flaky_test(culprit, fails, without, seed), confidence=0.95)
        wrong += named_by(found) != [culprit]
    assert wrong <= at_most(0.05, searches)


@pytest.mark.parametrize("rate", [0.3, 0.6, 0.9])
def test_where_it_is_none_of_them_hardly_anybody_is_named(rate: float) -> None:
    candidates, wrong, searches = named(3), 0, 40
    for seed in range(searches):
        found, _, _ = finish(candidates, flaky_test((), 0.0, rate, seed), confidence=0.95)
        wrong += bool(found.culprits)
    assert wrong <= at_most(0.05, searches)


def test_none_of_these_is_said_with_a_confidence_and_a_reason() -> None:
    never, _, _ = finish(named(2), flaky_test((), 0.0, 0.0, 1), confidence=0.9)
    always, _, _ = finish(named(2), flaky_test((), 0.0, 1.0, 1), confidence=0.9)
    assert (never.direction, never.culprits, never.complete, never.reason) == (None, (), True, "it never fails")
    assert (always.direction, always.culprits, always.complete) == (None, (), True)
    assert "whatever is reverted" in always.reason
    assert min(never.confidence, always.confidence) >= 0.9


@given(st.integers(1, 9), st.data())
@settings(max_examples=40, deadline=None)
def test_a_failure_that_is_there_or_is_not_gives_the_certain_answer(count: int, data: st.DataObject) -> None:
    candidates = named(count)
    culprit = data.draw(st.frozensets(st.sampled_from(candidates), min_size=1, max_size=3))
    direction = data.draw(st.sampled_from(Direction))
    fixed = frozenset(candidates) if direction is Direction.FIXED else None
    run = flaky_test(culprit, 1.0, 0.0, 0, fixed)
    found, _, _ = finish(candidates, run, width=data.draw(st.integers(1, 4)))
    tried: list[Tried] = []
    while isinstance(step := certain.search(candidates, tried), Ask):
        tried += [Tried(subset, run(subset)) for subset in step.subsets]
    assert isinstance(step, Found)
    assert (found.direction, named_by(found)) == (step.direction, named_by(step))


@pytest.mark.parametrize(("size", "fails"), [(2, 0.7), (3, 1.0), (4, 1.0)])
def test_several_that_are_needed_together_are_found(size: int, fails: float) -> None:
    candidates = named(10)
    for seed in range(3):
        culprit = frozenset(random.Random(seed).sample(candidates, size))
        found, _, _ = finish(candidates, flaky_test(culprit, fails, 0.0, seed))
        assert named_by(found) == [culprit]


@pytest.mark.parametrize(("count", "fails"), [(2, 0.5), (2, 1.0), (3, 1.0)])
@pytest.mark.parametrize("direction", Direction)
def test_several_each_of_which_is_enough_are_all_found(count: int, fails: float, direction: Direction) -> None:
    candidates = named(8)
    fixed = frozenset(candidates) if direction is Direction.FIXED else None
    for seed in range(4):
        culprits = random.Random(seed).sample(candidates, count)
        run = flaky_test_of_any({name: fails for name in culprits}, seed, fixed)
        found, _, _ = finish(candidates, run)
        assert found.direction is direction
        assert sorted(named_by(found), key=sorted) == [{name} for name in sorted(culprits)]
        assert found.confidence >= 0.99
        assert "trials without them" in found.reason


@pytest.mark.parametrize(("often", "seldom"), [(0.5, 0.2), (0.9, 0.1), (0.3, 0.25)])
def test_of_two_that_fail_at_other_rates_a_right_one_is_named_at_least(often: float, seldom: float) -> None:
    candidates = named(8)
    for seed in range(5):
        two = random.Random(seed).sample(candidates, 2)
        found, trials, _ = finish(candidates, flaky_test_of_any(dict(zip(two, (often, seldom), strict=True)), seed))
        assert {name for members in named_by(found) for name in members} <= set(two)
        assert found.culprits or found.left >= set(two)
        assert trials < 600


def test_a_search_that_leads_nowhere_ends_with_what_is_left_and_goes_on_where_it_is_to() -> None:
    candidates = named(6)
    run = flaky_test_of_any(dict.fromkeys(candidates[:5], 0.5), 0)
    pairs = Terms(max_size=2)  # so that five culprits are more than it can name
    flaky = Flaky(candidates, pairs)
    while isinstance(step := flaky.step(), Ask):
        flaky.add(Tried(step.subsets[0], run(step.subsets[0])))
        assert flaky.trials.count < FEW
    assert (step.culprits, step.complete, step.direction) == ((), False, None)
    assert step.left
    assert f"stopped after {flaky.trials.count} trials, 5 times what it should take" in step.reason
    tried = [Tried(flaky.trials.subset(mask), outcome) for mask, outcome in trials_of(flaky)]
    assert search(candidates, tried, pairs) == step
    assert isinstance(search(candidates, tried, replace(pairs, endless=True)), Ask)


def trials_of(flaky: Flaky) -> Iterator[tuple[int, Outcome]]:
    for mask, (bad, good) in flaky.trials.seen.items():
        yield from ((mask, Outcome.BAD) for _ in range(bad))
        yield from ((mask, Outcome.GOOD) for _ in range(good))


@given(st.integers(0, 1000), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_the_next_trial_follows_from_what_was_tried_in_any_order(seed: int, chance: random.Random) -> None:
    candidates = named(7)
    run = flaky_test({"c002"}, 0.5, 0.1, seed)
    tried: list[Tried] = []
    for _ in range(chance.randrange(12)):
        step = search(candidates, tried, width=chance.randrange(1, 4))
        if not isinstance(step, Ask):
            break
        tried += [Tried(subset, run(subset)) for subset in step.subsets]
    shuffled = chance.sample(tried, len(tried))
    mixed = chance.sample(candidates, len(candidates))
    assert search(candidates, tried, width=2) == search(mixed, shuffled, width=2)
    assert believe(candidates, tried) == believe(mixed, shuffled)


def test_a_search_that_is_taken_up_again_goes_on_as_it_would_have() -> None:
    candidates = named(9)
    whole, run = Flaky(candidates), flaky_test({"c004"}, 0.6, 0.0, 3)
    tried: list[Tried] = []
    while isinstance(step := whole.step(), Ask):
        assert search(candidates, tried) == step
        each = Tried(step.subsets[0], run(step.subsets[0]))
        tried.append(each)
        whole.add(each)
    assert search(candidates, tried) == step


@pytest.mark.parametrize("width", [4, 6])
def test_workers_divide_the_bits(width: int) -> None:
    told = {"fails": 1.0, "fails_without": 0.0, "direction": Direction.REVERTED, "shares": {1: 1.0}}
    for number in range(0, 64, 7):
        found, _, rounds = finish(named(64), flaky_test({f"c{number:03}"}, 1.0, 0.0, 0), width=width, **told)
        assert named_by(found) == [{f"c{number:03}"}]
        assert rounds <= math.ceil(6 / width) + 1


def test_what_is_under_way_is_not_asked_for_once_more() -> None:
    candidates = named(16)
    ends = [Tried(frozenset(), Outcome.GOOD), Tried(frozenset(candidates), Outcome.BAD)]
    first = search(candidates, ends)
    assert isinstance(first, Ask)
    second = search(candidates, ends, running=first.subsets)
    assert isinstance(second, Ask)
    assert first.subsets[0] != second.subsets[0]
    assert search(candidates, (), running=(frozenset(),)) == Ask((frozenset(candidates),))


def test_a_trial_that_was_skipped_says_nothing_and_is_gone_round() -> None:
    candidates = named(8)
    plain = flaky_test({"c003"}, 1.0, 0.0, 0)

    def run(reverted: Subset) -> Outcome:
        broken = {"c001"} <= reverted and not {"c002"} <= reverted
        return Outcome.SKIP if broken else plain(reverted)

    found, _, _ = finish(candidates, run)
    assert named_by(found) == [{"c003"}]
    tried = [Tried(frozenset(), Outcome.GOOD), Tried(frozenset(candidates), Outcome.BAD)]
    before = believe(candidates, tried)
    assert believe(candidates, [*tried, Tried(frozenset({"c001"}), Outcome.SKIP)]) == before


def test_where_all_is_skipped_the_search_gives_up_and_says_what_is_left() -> None:
    found, trials, _ = finish(named(5), lambda _: Outcome.SKIP)
    assert trials < 100
    assert (found.culprits, found.complete, found.left) == ((), False, frozenset(named(5)))
    assert "skipped" in found.reason


def test_what_is_likely_is_found_sooner() -> None:
    candidates = named(32)
    weights = {name: 200.0 if name == "c020" else 1.0 for name in candidates}
    plain = [finish(candidates, flaky_test({"c020"}, 0.7, 0.0, seed))[1] for seed in range(4)]
    likely = [finish(candidates, flaky_test({"c020"}, 0.7, 0.0, seed), weights=weights)[1] for seed in range(4)]
    assert sum(likely) < sum(plain)


def test_what_is_believed_adds_up() -> None:
    candidates = named(6)
    run = flaky_test({"c001"}, 0.7, 0.0, 1)
    tried: list[Tried] = []
    lefts = []
    while isinstance(step := search(candidates, tried), Ask):
        belief = believe(candidates, tried, most=1000)
        lefts.append(belief.runs_left)
        sets = sum(chance for _, chance in (*belief.sets, *belief.either))
        assert sets + belief.none + belief.more == pytest.approx(1, abs=1e-3)
        assert [chance for _, chance in belief.sets] == sorted((chance for _, chance in belief.sets), reverse=True)
        assert belief.fails > belief.fails_without
        tried += [Tried(subset, run(subset)) for subset in step.subsets]
    belief = believe(candidates, tried)
    assert belief.members[0][0] == "c001"
    assert belief.likeliest == ((frozenset({"c001"}),), belief.sets[0][1])
    assert 0.9 <= belief.sets[0][1] <= step.confidence
    assert (min(lefts) > 0, belief.runs_left) == (True, 0)


def test_the_evidence_is_the_average_over_the_rates() -> None:
    rates = Rates(0.5, 0.1)
    assert rates.evidence(2, 1, 1, 3).log == pytest.approx(math.log(0.5**3 * 0.1 * 0.9**3))
    open_ = Rates()
    for runs in (3, 7):
        every = [
            math.comb(runs, bad) * math.comb(runs, low) * math.exp(open_.evidence(bad, runs - bad, low, runs - low).log)
            for bad in range(runs + 1)
            for low in range(runs + 1)
        ]
        assert sum(every) == pytest.approx(1)


def test_a_run_says_no_more_than_the_capacity() -> None:
    assert capacity(1.0, 0.0) == pytest.approx(1)
    assert capacity(0.5, 0.0) == pytest.approx(math.log2(1 + 0.5 * 0.5 ** (0.5 / 0.5)), abs=1e-4)
    assert capacity(0.3, 0.3) == pytest.approx(0, abs=1e-9)


def test_what_cannot_be_searched_is_an_error() -> None:
    with pytest.raises(ValueError, match="twice"):
        search(("a", "a"), ())
    with pytest.raises(ValueError, match="confidence"):
        Terms(confidence=1.0)
    assert search((), ()) == Found(None, (), True, "there are no candidates")
