"""A failure that is there sometimes: a posterior over sets of candidates, and the subsets that narrow it fastest.

The test fails with one rate where the culprit is in force, and with a lower one, often none, where it is not; neither
is known. "None of these" is a hypothesis like any other, and no culprit is named that is not as sure against it as
against every other candidate. Which way the failure goes (with the culprit reverted, or with it in) follows from the
trials as well: both ends are tried first and are trials like any other. The answer is a function of what was tried, in
any order: ties are broken by chance, with a seed made of the trials.

Example::

    match search(("a", "b", "c"), tried, confidence=0.99, width=4):
        case Ask(subsets): ...      # run them, and ask again with all that was tried
        case Found() as answer: ...
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from prtoggle.bisect.hypotheses import Guess, Posterior, Prior, Trials
from prtoggle.bisect.packing import Packing
from prtoggle.bisect.rates import Rates, capacity
from prtoggle.bisect.values import Ask, Belief, Culprit, Direction, Found, Subset, Tried

EXAMPLES = 16
SMALL_PART = 0.05
SKIPS = 30
"""Where more trials than this were skipped, and more than gave an outcome, the search gives up."""


def search(
    candidates: Sequence[str],
    tried: Iterable[Tried],
    *,
    confidence: float = 0.99,
    width: int = 1,
    weights: Mapping[str, float] | None = None,
    max_size: int = 6,
    direction: Direction | None = None,
    fails: float | None = None,
    fails_without: float | None = None,
    running: Iterable[Subset] = (),
) -> Ask | Found:
    """What to try next, or the answer.

    Args:
        candidates: their order counts for nothing.
        tried: every trial so far, in any order, also such as no search asked for.
        confidence: how probable the answer must be, above one half.
        width: how many more trials can be started now.
        weights: how likely each candidate is, in any unit; one where it is not said.
        max_size: up to so many candidates may be needed together.
        direction: where it is known beforehand.
        fails: how often it fails with the culprit in force, where that is known.
        fails_without: how often it fails without, where that is known; 0 where it never does.
        running: trials that are under way, so that none is asked for that says the same.
    """
    flaky = Flaky(
        candidates,
        confidence=confidence,
        weights=weights,
        max_size=max_size,
        direction=direction,
        fails=fails,
        fails_without=fails_without,
    )
    for each in tried:
        flaky.add(each)
    return flaky.step(width, running)


def believe(
    candidates: Sequence[str],
    tried: Iterable[Tried],
    *,
    confidence: float = 0.99,
    weights: Mapping[str, float] | None = None,
    max_size: int = 6,
    direction: Direction | None = None,
    fails: float | None = None,
    fails_without: float | None = None,
    most: int = 20,
) -> Belief:
    """What ``search`` believes after these trials, and about how many more it will take."""
    flaky = Flaky(
        candidates,
        confidence=confidence,
        weights=weights,
        max_size=max_size,
        direction=direction,
        fails=fails,
        fails_without=fails_without,
    )
    for each in tried:
        flaky.add(each)
    return flaky.belief(most)


class Flaky:
    """The same for whoever adds one trial after the other: ``search`` over all that was added."""

    def __init__(
        self,
        candidates: Sequence[str],
        *,
        confidence: float = 0.99,
        weights: Mapping[str, float] | None = None,
        max_size: int = 6,
        direction: Direction | None = None,
        fails: float | None = None,
        fails_without: float | None = None,
        shares: Mapping[int, float] | None = None,
    ) -> None:
        if len(set(candidates)) != len(candidates):
            raise ValueError(f"candidates twice: {sorted(candidates)}")
        if not 0.5 < confidence < 1:
            raise ValueError(f"a confidence is above 0.5 and below 1, not {confidence}")
        self.confidence, self.direction, self.fails = confidence, direction, fails
        self.trials = Trials(sorted(candidates))
        rates = rates_of(fails, fails_without)
        self.prior = Prior(self.trials.names, weights or {}, rates, direction, max_size, shares)

    def add(self, tried: Tried) -> None:
        """Take in a trial."""
        self.trials.add(tried.subset, tried.outcome)

    def step(self, width: int = 1, running: Iterable[Subset] = ()) -> Ask | Found:
        """What to try next, or the answer."""
        trials = self.trials
        if not trials.names:
            return Found(None, (), True, "there are no candidates")
        under_way = [trials.mask(each) for each in running]
        ends = (
            [] if self.direction else [end for end in (0, trials.everything) if end not in (*trials.seen, *under_way)]
        )
        ends = [end for end in ends if not trials.skipped[end]]
        if ends:
            return Ask(tuple(trials.subset(end) for end in ends[: max(1, width)]))
        skipped = sum(trials.skipped.values())
        posterior = self.prior.after(trials, self.confidence)
        if posterior.best.chance >= self.confidence:
            return self._found(posterior.best)
        if skipped > SKIPS and skipped > trials.count:
            return self._given_up(posterior, f"{skipped} of {skipped + trials.count} trials were skipped")
        chance = random.Random(trials.seed)
        packing = Packing(
            (*_that_count(posterior), *self._examples(posterior, chance)), posterior.none, trials.everything
        )
        for mask in under_way:
            packing.running(mask)
        taken = {mask for mask in trials.skipped if mask not in trials.seen}
        masks = [end for end in self._end(posterior) if end not in under_way and end not in taken]
        for mask in masks:
            packing.running(mask)
        masks += packing.pick(max(1, width) - len(masks), chance, taken)
        return Ask(tuple(trials.subset(mask) for mask in masks))

    def _end(self, posterior: Posterior) -> list[int]:
        """The end at which it should fail, now and then (once more whenever the trials have doubled): how often it does
        keeps apart those who explain little, of whom one who fails seldom and "none" would else look alike for long."""
        if self.fails is not None:
            return []
        fixed = sum(guess.chance for guess in posterior.guesses if guess.direction is Direction.FIXED)
        reverted = sum(guess.chance for guess in posterior.guesses if guess.direction is Direction.REVERTED)
        end = 0 if fixed > reverted else self.trials.everything
        due = (self.trials.count // 8).bit_length()
        return [end] if sum(self.trials.seen.get(end, ())) < due else []

    def _examples(self, posterior: Posterior, chance: random.Random) -> Iterator[Guess]:
        """Some of the sets that are too many to look at one by one, in place of all."""
        count = len(self.trials.names)
        for lump in posterior.more:
            if lump.chance > SMALL_PART * (1 - posterior.best.chance):
                for _ in range(EXAMPLES):
                    mask = sum(1 << place for place in chance.sample(range(count), min(count, posterior.size + 1)))
                    yield replace(lump, mask=mask, chance=lump.chance / EXAMPLES)

    def belief(self, most: int = 20) -> Belief:
        """What is believed now."""
        trials = self.trials
        posterior = self.prior.after(trials, self.confidence)
        best = posterior.best if posterior.best.mask else posterior.guesses[0] if posterior.guesses else posterior.none
        members = sorted(zip(trials.names, posterior.members, strict=True), key=lambda pair: (-pair[1], pair[0]))
        return Belief(
            tuple((trials.subset(guess.mask), guess.chance) for guess in posterior.guesses[:most]),
            posterior.none.chance,
            posterior.beyond,
            tuple(members),
            best.fails,
            best.without,
            self._left(posterior),
        )

    def _left(self, posterior: Posterior) -> float:
        """About how many more trials: the odds that the likeliest still has to gain, a trial at its most."""
        best = posterior.best
        if best.chance >= self.confidence:
            return 0.0
        rates = best if best.mask else posterior.guesses[0] if posterior.guesses else best
        bits = math.log2(self.confidence / (1 - self.confidence)) - math.log2(best.chance / (1 - best.chance))
        return bits / max(capacity(rates.fails, rates.without), 1e-6)

    def _found(self, best: Guess) -> Found:
        if not best.mask:
            never = not self.trials.bads
            says = "it never fails" if never else "it fails about as often whatever is reverted"
            return Found(None, (), True, says, confidence=best.chance)
        culprit = Culprit(self.trials.subset(best.mask))
        return Found(
            best.direction,
            (culprit,),
            False,
            "one set was looked for, and there may be others",
            confidence=best.chance,
        )

    def _given_up(self, posterior: Posterior, reason: str) -> Found:
        names = zip(self.trials.names, posterior.members, strict=True)
        left = frozenset(name for name, chance in names if chance > (1 - self.confidence) / len(self.trials.names))
        return Found(None, (), False, reason, left, posterior.best.chance)


def _that_count(posterior: Posterior) -> Iterator[Guess]:
    """The likeliest, but for those that together are a small part of all that is open."""
    rest = sum(guess.chance for guess in posterior.guesses)
    enough = SMALL_PART * (1 - posterior.best.chance)
    for guess in posterior.guesses:
        if rest < enough:
            return
        yield guess
        rest -= guess.chance


_RATES: dict[tuple[float | None, float | None], Rates] = {}


def rates_of(fails: float | None, without: float | None) -> Rates:
    """The same object for the same rates: it remembers what it worked out."""
    key = (fails, without)
    if key not in _RATES:
        _RATES[key] = Rates(fails, without)
    return _RATES[key]
