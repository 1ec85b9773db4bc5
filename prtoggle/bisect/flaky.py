"""A failure that is there sometimes: a posterior over sets of candidates, and the subsets that narrow it fastest.

The test fails with one rate where the culprit is in force, and with a lower one, often none, where it is not; neither
is known. "None of these" is a hypothesis like any other, and no culprit is named that is not as sure against it as
against every other candidate. Which way the failure goes (with the culprit reverted, or with it in) follows from the
trials as well: both ends are tried first and are trials like any other. The answer is a function of what was tried, in
any order: ties are broken by chance, with a seed made of the trials.

Example::

    match search(("a", "b", "c"), tried, Terms(confidence=0.99), width=4):
        case Ask(subsets): ...      # run them, and ask again with all that was tried
        case Found() as answer: ...
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from prtoggle.bisect.hypotheses import Guess, Posterior, Prior
from prtoggle.bisect.packing import Packing
from prtoggle.bisect.rates import Rates, capacity
from prtoggle.bisect.tally import Trials
from prtoggle.bisect.values import Ask, Belief, Culprit, Direction, Found, Subset, Terms, Tried

TERMS = Terms()
TIMES = 5
LEAST = 100
"""The search gives up after so many times what it should take, but not before so many trials."""
EXAMPLES = 16
SMALL_PART = 0.05
SKIPS = 30
"""Where more trials than this were skipped, and more than gave an outcome, the search gives up."""


def search(
    candidates: Sequence[str],
    tried: Iterable[Tried],
    terms: Terms = TERMS,
    *,
    width: int = 1,
    running: Iterable[Subset] = (),
) -> Ask | Found:
    """What to try next, or the answer.

    Args:
        candidates: their order counts for nothing.
        tried: every trial so far, in any order, also such as no search asked for.
        terms: what is known beforehand, and what is asked.
        width: how many more trials can be started now.
        running: trials that are under way, so that none is asked for that says the same.
    """
    return Flaky(candidates, terms, tried).step(width, running)


def believe(candidates: Sequence[str], tried: Iterable[Tried], terms: Terms = TERMS, *, most: int = 20) -> Belief:
    """What ``search`` believes after these trials, and about how many more it will take."""
    return Flaky(candidates, terms, tried).belief(most)


class Flaky:
    """The same for whoever adds one trial after the other: ``search`` over all that was added."""

    def __init__(self, candidates: Sequence[str], terms: Terms = TERMS, tried: Iterable[Tried] = ()) -> None:
        if len(set(candidates)) != len(candidates):
            raise ValueError(f"candidates twice: {sorted(candidates)}")
        self.terms = terms
        self.trials = Trials(sorted(candidates))
        rates = rates_of(terms.fails, terms.fails_without)
        self.prior = Prior(self.trials.names, terms.weights or {}, rates, terms.direction, terms.max_size, terms.shares)
        self._known: Posterior | None = None
        for each in tried:
            self.add(each)

    def add(self, tried: Tried) -> None:
        """Take in a trial."""
        self.trials.add(tried.subset, tried.outcome)
        self._known = None

    @property
    def posterior(self) -> Posterior:
        """What is believed after all that was added."""
        if self._known is None:
            self._known = self.prior.after(self.trials, self.terms.confidence)
        return self._known

    def step(self, width: int = 1, running: Iterable[Subset] = ()) -> Ask | Found:
        """What to try next, or the answer."""
        trials = self.trials
        if not trials.names:
            return Found(None, (), True, "there are no candidates")
        under_way = [trials.mask(each) for each in running]
        ends = (
            []
            if self.terms.direction
            else [end for end in (0, trials.everything) if end not in (*trials.seen, *under_way)]
        )
        ends = [end for end in ends if not trials.skipped[end]]
        if ends:
            return Ask(tuple(trials.subset(end) for end in ends[: max(1, width)]))
        skipped = sum(trials.skipped.values())
        posterior = self.posterior
        if posterior.impossible:
            return self._given_up("what was seen cannot be, if it never fails without a culprit")
        if posterior.settled(self.terms.confidence):
            return self._found(posterior)
        if self.exhausted:
            if posterior.sure >= self.terms.confidence:  # of some culprits, and not that they are all
                return self._found(posterior)
            needs = f"{TIMES} times what it should take, about {math.ceil(self.needs)}"
            return self._given_up(f"stopped after {trials.count} trials, {needs}")
        if skipped > SKIPS and skipped > trials.count:
            return self._given_up(f"{skipped} of {skipped + trials.count} trials were skipped")
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
        if self.terms.fails is not None:
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
        trials, posterior = self.trials, self.posterior
        likely = posterior.likely
        members = sorted(zip(trials.names, posterior.members, strict=True), key=lambda pair: (-pair[1], pair[0]))
        sets, either = (
            tuple((trials.subset(guess.mask), guess.chance) for guess in posterior.guesses if guess.either is kind)
            for kind in (False, True)
        )
        return Belief(
            sets[:most],
            posterior.none.chance,
            posterior.beyond,
            tuple(members),
            likely.fails,
            likely.without,
            0.0 if posterior.settled(self.terms.confidence) else self._runs(posterior.best.chance),
            either[:most],
        )

    @property
    def needs(self) -> float:
        """About how many trials it should take to find what is the likeliest now, failing as often as it does."""
        return self._runs(min(self.prior.chance(self.posterior.likely), 0.5))

    @property
    def exhausted(self) -> bool:
        """Whether there were so many trials that the search gives up."""
        return not self.terms.endless and self.trials.count >= max(LEAST, TIMES * self.needs)

    def _runs(self, chance: float) -> float:
        """About how many trials make this chance the confidence wanted: the odds to be gained, a trial at its most."""
        wanted, likely = self.terms.confidence, self.posterior.likely
        bits = math.log2(wanted / (1 - wanted)) - math.log2(chance / (1 - chance))
        return max(1.0, bits) / max(capacity(likely.fails, likely.without), 1e-6)

    def _found(self, posterior: Posterior) -> Found:
        best, sure = posterior.best, posterior.sure
        if not best.mask:
            never = not self.trials.bads
            says = "it never fails" if never else "it fails about as often whatever is reverted"
            return Found(None, (), True, says, confidence=sure)
        culprits = tuple(Culprit(self.trials.subset(mask)) for mask in best.culprits)
        without = [counts for mask, counts in self.trials.seen.items() if not best.in_force(mask)]
        failed, all_ = sum(bad for bad, _ in without), sum(map(sum, without))
        says = f"it failed in {failed or 'none'} of {all_} trials without {'it' if len(culprits) == 1 else 'them'}"
        return Found(best.direction, culprits, False, says, confidence=sure)

    def _given_up(self, reason: str) -> Found:
        posterior = self.posterior
        doubt = 1 - self.terms.confidence
        names = zip(self.trials.names, posterior.members, strict=True)
        left = frozenset(
            name for name, chance in names if chance > doubt / len(self.trials.names) or posterior.beyond > doubt
        )
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
