"""What trials say of subsets that were not tried: a superset of a bad one is bad, a subset of a good one is good.

Bad means here: as at the end where the test fails. Subsets are bit masks over the candidates, which a search makes and
unmakes by the thousand.

Example::

    known = Knowledge()
    known.add(0b011, BAD)
    known.value(0b111)      # BAD: nothing has to be run
"""

from __future__ import annotations

from collections.abc import Iterator

from prtoggle.bisect.values import Outcome

GOOD, BAD, SKIP = Outcome.GOOD, Outcome.BAD, Outcome.SKIP


class Knowledge:
    """Outcomes of subsets (bit masks), and what follows from them while more of the set never cures the failure."""

    def __init__(self) -> None:
        self._bad: list[int] = []
        self._good: list[int] = []
        self._skipped: set[int] = set()
        self.contradiction: tuple[int, int] | None = None

    def add(self, mask: int, outcome: Outcome) -> None:
        """Take in a trial. An outcome counts more than a skip; two that disagree are a contradiction."""
        if outcome is SKIP:
            self._skipped.add(mask)
        elif outcome is BAD:
            good = next((good for good in self._good if mask & ~good == 0), None)
            if good is not None:
                self.contradiction = self.contradiction or (mask, good)
            self._bad = [bad for bad in self._bad if mask & ~bad] + [mask]
        else:
            bad = next((bad for bad in self._bad if bad & ~mask == 0), None)
            if bad is not None:
                self.contradiction = self.contradiction or (bad, mask)
            self._good = [good for good in self._good if good & ~mask] + [mask]

    def value(self, mask: int) -> Outcome | None:
        """The outcome of ``mask``, or None where only a trial can tell."""
        if any(bad & ~mask == 0 for bad in self._bad):
            return BAD
        if any(mask & ~good == 0 for good in self._good):
            return GOOD
        return SKIP if mask in self._skipped else None

    @property
    def evidence(self) -> Iterator[tuple[int, Outcome]]:
        """The strongest trials: minimal bad ones, maximal good ones."""
        yield from ((mask, BAD) for mask in self._bad)
        yield from ((mask, GOOD) for mask in self._good)
