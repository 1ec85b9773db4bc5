"""Which candidates to revert together, so that a trial says as much as it can of which hypothesis is true.

A trial says most where it is about as probable as not that the culprit is in force: with ``f`` and ``f0`` unequal, not
one half but the share at which the capacity is reached. Any set of candidates can be reverted, so one is packed:
hypotheses are put in force one by one, the likeliest first, as long as that adds information, and then each candidate
is turned over once more. That is a few per cent from the best there is.

Several trials at a time: the next subset is packed for all outcomes that those before it may have (the likeliest
``WORLDS`` of them), so that no two ask the same and together they read off the culprit's number.

Example::

    Packing(guesses, none, 0b111).pick(3, random.Random(seed))

``none`` is a guess without members: no subset changes it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Container, Sequence

from prtoggle.bisect.hypotheses import Guess
from prtoggle.bisect.rates import entropy
from prtoggle.bisect.tally import places
from prtoggle.bisect.values import Direction

WORLDS = 64
ENTRIES = 6000
"""So many outcomes of the trials before, and so many hypotheses in all of them together, are kept."""
LITTLE = 1e-15


class Packing:
    """Hypotheses with their chances, in each world: after each outcome that the subsets chosen so far may have."""

    def __init__(self, guesses: Sequence[Guess], none: Guess, everything: int) -> None:
        self.guesses, self.everything = [*guesses, none], everything
        self.high = [entropy(guess.fails) for guess in self.guesses]
        self.low = [entropy(guess.without) for guess in self.guesses]
        self.worlds = [{at: guess.chance for at, guess in enumerate(self.guesses) if guess.chance > LITTLE}]
        self.holders: dict[int, list[int]] = {}
        for at, guess in enumerate(guesses):
            for place in places(guess.mask):
                self.holders.setdefault(place, []).append(at)

    def pick(self, how_many: int, chance: random.Random, taken: Container[int] = ()) -> list[int]:
        """So many subsets, masks of what is reverted, none of those ``taken``."""
        found: list[int] = []
        for _ in range(how_many):
            mask = self._best(chance, taken)
            found.append(mask)
            self.running(mask)
        return found

    def running(self, mask: int) -> None:
        """A trial of ``mask`` is under way: what comes after it is to say something else."""
        children: list[tuple[float, dict[int, float]]] = []
        for world in self.worlds:
            bad: dict[int, float] = {}
            good: dict[int, float] = {}
            for at, weight in world.items():
                guess = self.guesses[at]
                fails = guess.fails if guess.mask and guess.in_force(mask) else guess.without
                if weight * fails > LITTLE:
                    bad[at] = weight * fails
                if weight * (1 - fails) > LITTLE:
                    good[at] = weight * (1 - fails)
            children += [(sum(each.values()), each) for each in (bad, good) if each]
        children.sort(key=lambda pair: -pair[0])
        self.worlds, entries = [], 0
        for _, each in children[:WORLDS]:
            entries += len(each)
            if self.worlds and entries > ENTRIES:
                break
            self.worlds.append(each)

    def _best(self, chance: random.Random, taken: Container[int]) -> int:
        state = _State(self)
        ties = [chance.random() for _ in self.guesses]
        total = [0.0] * len(self.guesses)
        for world in self.worlds:
            for at, weight in world.items():
                total[at] += weight
        order = sorted(range(len(self.guesses) - 1), key=lambda at: (-round(total[at], 9), ties[at]))
        for at in order:
            guess = self.guesses[at]
            missing = guess.mask & (state.mask if guess.direction is Direction.FIXED else ~state.mask)
            if missing and not state.on[at]:
                state.improve(missing)
        turned = True
        for _ in range(2):
            if not turned:
                break
            turned = False
            for at in order:
                for place in places(self.guesses[at].mask):
                    turned = state.improve(1 << place) or turned
                    if len(order) > 64 and self.guesses[at].mask.bit_count() > 1:
                        break
        if state.mask not in taken:
            return state.mask
        return self._beside(state, chance, taken)

    def _beside(self, state: _State, chance: random.Random, taken: Container[int]) -> int:
        """The most that a subset says that is not taken, one candidate away; where all are, a random one."""
        near = [(state.gain(1 << place), chance.random(), state.mask ^ 1 << place) for place in places(self.everything)]
        free = [each for each in near if each[2] not in taken]
        if free:
            return max(free)[2]
        return chance.getrandbits(max(1, self.everything.bit_length())) & self.everything


class _State:
    """A subset that is being packed, and what is known of its outcome in each world."""

    def __init__(self, packing: Packing) -> None:
        self.packing = packing
        guesses, worlds = packing.guesses, packing.worlds
        fixed = sum(guess.chance for guess in guesses if guess.direction is Direction.FIXED)
        reverted = sum(guess.chance for guess in guesses if guess.direction is Direction.REVERTED)
        # What is in no hypothesis stays out of force.
        self.mask = packing.everything if fixed > reverted else 0
        self.on = [bool(guess.mask) and guess.in_force(self.mask) for guess in guesses]
        self.worlds_of: list[list[tuple[int, float]]] = [[] for _ in guesses]
        self.weight, self.fails, self.known = [], [], []
        for number, world in enumerate(worlds):
            fails = known = 0.0
            for at, weight in world.items():
                self.worlds_of[at].append((number, weight))
                fails += weight * (guesses[at].fails if self.on[at] else guesses[at].without)
                known += weight * (packing.high[at] if self.on[at] else packing.low[at])
            self.weight.append(sum(world.values()))
            self.fails.append(fails)
            self.known.append(known)
        self.says = [self._says(number, 0.0, 0.0) for number in range(len(worlds))]

    def _says(self, number: int, fails: float, known: float) -> float:
        weight = self.weight[number]
        if weight <= 0:
            return 0.0
        chance = (self.fails[number] + fails) / weight
        if chance <= 0 or chance >= 1:
            return -(self.known[number] + known)
        entropy = -chance * math.log2(chance) - (1 - chance) * math.log2(1 - chance)
        return weight * entropy - (self.known[number] + known)

    def _turned(self, flip: int) -> tuple[list[int], dict[int, list[float]]]:
        """The hypotheses that turning these candidates over puts in force or out, and what that is in each world."""
        packing = self.packing
        mask = self.mask ^ flip
        changed: list[int] = []
        worlds: dict[int, list[float]] = {}
        seen: set[int] = set()
        for place in places(flip):
            for at in packing.holders.get(place, ()):
                if at in seen:
                    continue
                seen.add(at)
                guess = packing.guesses[at]
                on = guess.in_force(mask)
                if on == self.on[at]:
                    continue
                changed.append(at)
                fails = guess.fails - guess.without
                known = packing.high[at] - packing.low[at]
                if not on:
                    fails, known = -fails, -known
                for number, weight in self.worlds_of[at]:
                    both = worlds.get(number)
                    if both is None:
                        worlds[number] = [weight * fails, weight * known]
                    else:
                        both[0] += weight * fails
                        both[1] += weight * known
        return changed, worlds

    def gain(self, flip: int) -> float:
        """How much more a subset says with these candidates turned over."""
        _, worlds = self._turned(flip)
        return sum(self._says(number, *both) - self.says[number] for number, both in worlds.items())

    def improve(self, flip: int) -> bool:
        """Turn them over where that says more."""
        changed, worlds = self._turned(flip)
        says = {number: self._says(number, *both) for number, both in worlds.items()}
        if sum(each - self.says[number] for number, each in says.items()) <= 1e-12:
            return False
        self.mask ^= flip
        for at in changed:
            self.on[at] = not self.on[at]
        for number, (fails, known) in worlds.items():
            self.fails[number] += fails
            self.known[number] += known
            self.says[number] = says[number]
        return True
