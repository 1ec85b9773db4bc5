"""What was tried, as bits: a trial is a bit of one number for each candidate that it reverts.

So what was seen of a set takes two counts of bits, however many trials there are.

Example::

    trials = Trials(("a", "b"))
    trials.add(frozenset({"a"}), Outcome.BAD)
    trials.rows     # [1, 0]
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence

from prtoggle.bisect.values import Direction, Outcome, Subset


class Trials:
    """What was tried, in a form that is the same in whatever order it came."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.bit = {name: 1 << place for place, name in enumerate(self.names)}
        self.rows = [0] * len(self.names)
        self.count = self.bad = self.bads = 0
        self.skipped: Counter[int] = Counter()
        self.seen: dict[int, list[int]] = {}
        self.seed = 0

    def add(self, subset: Subset, outcome: Outcome) -> None:
        """Take in a trial."""
        mask = self.mask(subset)
        text = f"{outcome.value} {' '.join(sorted(subset))}"
        self.seed = (self.seed + int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")) % (1 << 64)
        if outcome is Outcome.SKIP:
            self.skipped[mask] += 1
            return
        at = 1 << self.count
        for place in places(mask):
            self.rows[place] |= at
        self.count += 1
        is_bad = outcome is Outcome.BAD
        if is_bad:
            self.bad |= at
            self.bads += 1
        self.seen.setdefault(mask, [0, 0])[not is_bad] += 1

    def mask(self, subset: Subset) -> int:
        """A subset as a bit mask."""
        return sum(self.bit[name] for name in subset)

    def subset(self, mask: int) -> Subset:
        """A bit mask as a subset."""
        return frozenset(self.names[place] for place in places(mask))

    @property
    def everything(self) -> int:
        return (1 << len(self.names)) - 1

    def rows_of(self, direction: Direction) -> list[int]:
        """For each candidate the trials that have it in force."""
        if direction is Direction.REVERTED:
            return self.rows
        return [((1 << self.count) - 1) & ~row for row in self.rows]

    def by_size(self, direction: Direction) -> list[tuple[int, int, int]]:
        """How many candidates were in force, and how often it failed then, and did not."""
        found: dict[int, list[int]] = {}
        for mask, (bad, good) in self.seen.items():
            size = mask.bit_count()
            both = found.setdefault(size if direction is Direction.REVERTED else len(self.names) - size, [0, 0])
            both[0] += bad
            both[1] += good
        return [(size, bad, good) for size, (bad, good) in sorted(found.items())]


def places(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
