"""A failure that is there or is not: all minimal sets of candidates that cause it, from as few trials as can be.

The failure is monotone: reverting more (or less, where it fails with the fixes in) never cures it. One set is found by
binary search: the shortest run of candidates, in order, with which the test fails, ends in a member of the set; what
comes after it is not needed, and the search goes on before it. That takes about ``log2`` of the number of candidates
for each member, and one trial a member to see whether it is enough: what is found is minimal by what was tried. With
several trials at a time, a single culprit is read off bit by bit, in ``log2(candidates) / width`` rounds. Other sets
lie outside some member of each set found: all such ways to leave them out are tried, so that the answer is complete.
A trial that is skipped is gone round; where that cannot be, the candidates that it hides are named.

Example::

    step = search(("a", "b", "c"), ())
    step        # Ask(({}, {a, b, c})): both ends first, and the direction follows from them
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from prtoggle.bisect.knowledge import BAD, GOOD, SKIP, Knowledge
from prtoggle.bisect.values import Ask, Contradiction, Culprit, Direction, Found, Outcome, Step, Subset, Tried

WAYS = 2000
"""How many ways to leave out something of each set found are tried before the search stops looking for more sets."""

LATER = 0.6
"""Where the first cut for a further member of a set is: what is looked for is the last of those that are still missing,
and of several the last is seldom near the start. One half is right for one; this costs a pair little, helps triples."""


class _Need(Exception):
    """Only trials can tell how it goes on."""

    def __init__(self, masks: Sequence[int]) -> None:
        self.masks = tuple(dict.fromkeys(masks))


def search(
    candidates: Sequence[str],
    tried: Iterable[Tried],
    *,
    width: int = 1,
    limit: int = 0,
    overlapping: bool = True,
    weights: Mapping[str, float] | None = None,
) -> Step:
    """What to try next, or the answer.

    Args:
        candidates: their order counts only for which is tried first.
        tried: every trial so far, in any order, also such as no search asked for.
        width: how many trials can run at a time; never more are asked for.
        limit: stop after so many sets; 0: find all.
        overlapping: also look for sets that share members with those found; else for disjoint ones only.
        weights: how likely each candidate is, in any unit; one where it is not said.
    """
    if len(set(candidates)) != len(candidates):
        raise ValueError(f"candidates twice: {sorted(candidates)}")
    return _Search(tuple(candidates), tuple(tried), max(1, width), limit, overlapping, weights or {}).step()


class _Search:
    """One step: runs from the start with what is known, until something has to be tried."""

    def __init__(
        self,
        candidates: tuple[str, ...],
        tried: tuple[Tried, ...],
        width: int,
        limit: int,
        overlapping: bool,
        weights: Mapping[str, float],
    ) -> None:
        # The likely ones first: they then stand together in short prefixes.
        self.names = tuple(sorted(candidates, key=lambda name: -weights.get(name, 1.0)))
        self.mass = [max(weights.get(name, 1.0), 1e-12) for name in self.names]
        self.bit = {name: 1 << place for place, name in enumerate(self.names)}
        self.all = (1 << len(self.names)) - 1
        self.tried, self.width, self.limit, self.overlapping = tried, width, limit, overlapping
        self.known = Knowledge()
        self.flipped = False  # masks are of what is fixed, not of what is reverted

    def step(self) -> Step:
        ends = {
            each.subset: each.outcome for each in self.tried if each.subset in (self._reverted(0), self._everything)
        }
        none, every = ends.get(frozenset()), ends.get(self._everything)
        missing = [end for end, outcome in ((frozenset[str](), none), (self._everything, every)) if outcome is None]
        if missing and self.names:
            return Ask(tuple(missing[: self.width]))
        if SKIP in (none, every):
            what = "nothing" if none is SKIP else "everything"
            return Found(None, (), False, f"the trial with {what} reverted was skipped", self._everything)
        if none is every or not self.names:
            says = "it fails with everything reverted and with nothing" if none is BAD else "it never fails"
            return Found(None, (), True, says)
        self.flipped = none is BAD
        direction = Direction.FIXED if self.flipped else Direction.REVERTED
        for each in self.tried:
            self.known.add(self._mask(each.subset), each.outcome)
        if self.known.contradiction:
            bad, good = map(self._reverted, self.known.contradiction)
            # What fails with less reverted (or fixed) and not with more; in terms of what is reverted.
            return Contradiction(bad, good)
        try:
            culprits, reason = self._enumerate()
        except _Need as need:
            return Ask(tuple(self._reverted(mask) for mask in need.masks[: self.width]))
        unsure = frozenset[str]().union(*(group for culprit in culprits for group in culprit.unsure))
        return Found(direction, tuple(culprits), not reason and not unsure, reason, unsure)

    @property
    def _everything(self) -> Subset:
        return frozenset(self.names)

    def _mask(self, subset: Subset) -> int:
        mask = sum(self.bit[name] for name in subset)
        return self.all & ~mask if self.flipped else mask

    def _reverted(self, mask: int) -> Subset:
        mask = self.all & ~mask if self.flipped else mask
        return frozenset(name for name, bit in self.bit.items() if mask & bit)

    def _ask(self, masks: Sequence[int]) -> list[Outcome]:
        """The outcomes of ``masks``; those that are not known are what the search needs next."""
        values = [self.known.value(mask) for mask in masks]
        missing = [mask for mask, value in zip(masks, values, strict=True) if value is None]
        if missing:
            raise _Need(missing)
        return [value for value in values if value is not None]

    # All sets

    def _enumerate(self) -> tuple[list[Culprit], str]:
        found: list[list[int]] = []  # each culprit as the masks that can be left out: one a member, one a group
        culprits: list[Culprit] = []
        reason = ""
        pool: int | None = self.all
        while pool is not None:
            members, groups = self._one(pool)
            found.append([*members, *groups])
            culprits.append(
                Culprit(self._names(sum(members)), tuple(self._names(group) for group in groups)),
            )
            if self.limit and len(culprits) >= self.limit:
                return culprits, f"stopped after {self.limit}"
            pool, reason = self._outside(found)
        return culprits, reason

    def _names(self, mask: int) -> Subset:
        return frozenset(name for name, bit in self.bit.items() if mask & bit)

    def _outside(self, found: Sequence[Sequence[int]]) -> tuple[int | None, str]:
        """A failing set that holds none of those found whole; None, and why, where that there is none is not sure."""
        left_out = self._hitting(found) if self.overlapping else iter([sum(map(sum, found))])
        reason = ""
        missing = []
        for number, hit in enumerate(left_out):
            if number >= WAYS:
                reason = f"more than {WAYS} ways to leave out what was found, so there may be more"
                break
            rest = self.all & ~hit
            value = self.known.value(rest)
            if value is BAD:
                return rest, ""
            if value is SKIP:
                reason = "trials without what was found were skipped, so there may be more"
            elif value is None:
                missing.append(rest)
                if len(missing) >= self.width:
                    break
        if missing:
            raise _Need(missing)
        return None, reason

    def _hitting(self, found: Sequence[Sequence[int]]) -> Iterator[int]:
        """Every set that takes something from each of ``found`` and has nothing to spare, the small ones first."""
        level, seen = {0}, set[int]()
        while level:
            following: set[int] = set()
            for hit in sorted(level):
                unhit = next((each for each in found if not any(part & hit for part in each)), None)
                if unhit is not None:
                    following.update(hit | part for part in unhit)
                elif not any(smaller & ~hit == 0 for smaller in seen):
                    seen.add(hit)
                    yield hit
            level = following

    # One set

    def _one(self, universe: int) -> tuple[list[int], list[int]]:
        """A minimal failing set in ``universe``, which fails: the bits of its members, and groups that hide others."""
        if self.width > 1:
            single = self._by_bits(universe)
            if single:
                return [single], []
        order = self._places(self._smallest_bad(universe))
        members: list[int] = []
        groups: list[int] = []
        while order:
            context = sum(members) + sum(groups)
            alone = self._alone(context)
            if alone is BAD:
                break
            low, high = self._threshold(context, order, 0 if alone is GOOD else -1)
            if high - low == 1 and low >= 0:
                members.append(1 << order[low])
                order = order[:low]
                continue
            order, member, group = self._round_skips(context, order[: max(low, 0)], order[max(low, 0) : high], low < 0)
            members += [member] if member else []
            groups += [group] if group else []
        return members, groups

    def _alone(self, context: int) -> Outcome:
        if not context:
            return GOOD
        (value,) = self._ask([context])
        return value

    def _places(self, mask: int) -> list[int]:
        return [place for place in range(len(self.names)) if mask >> place & 1]

    def _smallest_bad(self, universe: int) -> int:
        inside = [mask for mask, value in self.known.evidence if value is BAD and mask & ~universe == 0]
        return min(inside, key=lambda mask: (mask.bit_count(), mask), default=universe)

    def _prefix(self, context: int, order: Sequence[int], length: int) -> int:
        return context | sum(1 << place for place in order[:length])

    def _threshold(self, context: int, order: Sequence[int], low: int) -> tuple[int, int]:
        """The longest prefix that is good and the shortest that is bad, ``width`` cuts at a time; skipped cuts between
        them are all that keeps them apart. ``low`` is -1 where not even the context alone is known to be good."""
        high = len(order)
        mass = [0.0]
        for place in order:
            mass.append(mass[-1] + self.mass[place])
        while True:
            # All that is known of any cut first: it may have been tried for another reason.
            values = {cut: self.known.value(self._prefix(context, order, cut)) for cut in range(max(low, 0), high)}
            high = min((cut for cut, value in values.items() if value is BAD), default=high)
            low = max((cut for cut, value in values.items() if value is GOOD and cut < high), default=low)
            open_cuts = [cut for cut in range(max(low, 0) + 1, high) if values.get(cut) is None]
            if not open_cuts:
                return low, high
            first = mass[max(low, 0)]
            step = (mass[high] - first) / (self.width + 1)
            if self.width == 1 and context and low <= 0:
                step = (mass[high] - first) * LATER
            wanted = [first + step * (number + 1) for number in range(self.width)]
            cuts = dict.fromkeys(min(open_cuts, key=lambda cut: abs(mass[cut] - goal)) for goal in wanted)
            self._ask([self._prefix(context, order, cut) for cut in cuts])

    def _round_skips(
        self, context: int, before: list[int], block: list[int], unknown_context: bool
    ) -> tuple[list[int], int, int]:
        """Which of ``block`` is needed, where every prefix that ends in it was skipped.

        Returns what is left to search, the bit of a member, and a group where it stays hidden.
        """
        base = self._prefix(context, before, len(before))
        block = list(block)
        for place in list(block):
            bit = 1 << place
            if len(block) == 1:
                break
            if not unknown_context:  # the base is good: what fails with one more needs that one
                (value,) = self._ask([base | bit])
                if value is BAD:
                    return before, bit, 0
            whole = base | sum(1 << other for other in block)
            (value,) = self._ask([whole & ~bit])
            if value is GOOD:
                return before + [other for other in block if other != place], bit, 0
            if value is BAD:
                block.remove(place)
        if len(block) == 1 and not unknown_context:
            return before, 1 << block[0], 0
        if len(block) == 1:
            (value,) = self._ask([base])
            if value is GOOD:
                return before, 1 << block[0], 0
        return before, 0, sum(1 << place for place in block)

    # One culprit alone, by bits

    def _by_bits(self, universe: int) -> int:
        """The one candidate that explains every trial of ``universe``, where it alone fails; 0 where there is none."""
        while True:
            alone = self._explaining(universe)
            if not alone:
                return 0
            if len(alone) == 1:
                bit = 1 << alone[0]
                (value,) = self._ask([bit])
                return bit if value is BAD else 0
            asked = self._bits(alone)
            if not asked:
                return 0
            self._ask(asked)

    def _explaining(self, universe: int) -> list[int]:
        bad = universe
        good = 0
        for mask, value in self.known.evidence:
            if value is BAD and mask & ~universe == 0:
                bad &= mask
            elif value is GOOD:
                good |= mask
        return self._places(bad & ~good)

    def _bits(self, places: Sequence[int]) -> list[int]:
        """For each trial of a round the candidates that it reverts, so that the outcomes spell the culprit's number."""
        rounds = min(self.width, (len(places) - 1).bit_length())
        cells = 1 << rounds
        asked = []
        for number in range(rounds):
            mask = 0
            for index, place in enumerate(places):
                cell = index * cells // len(places)
                if cell >> number & 1:
                    mask |= 1 << place
            if self.known.value(mask) is not SKIP:
                asked.append(mask)
        return [mask for mask in asked if self.known.value(mask) is None]
