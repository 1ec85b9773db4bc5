"""What the trials of a bisection say, by what each of them reverts: a set of parts, however it was asked for.

The trial of ``27360`` (which has the one part ``slice``) and that of ``27360/slice`` are trials of one thing, so that
what the search among fixes tried counts for the search among parts.

Example::

    trials = Trials(candidates, records)
    trials.outcomes[trials.parts(("27360",))]                      # Outcome.BAD
    trials.tried(("27360/assert", "27360/slice"), context=())      # [Tried({"27360/slice"}, BAD), ...]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from prtoggle import selection
from prtoggle.bisect.values import Outcome, Tried
from prtoggle.bisection.values import NOT_REACHED, Candidate, TrialRecord

Parts = frozenset[str]


class Trials:
    """The trials so far.

    Attributes:
        outcomes: of each set of parts, what was last seen with it.
        disagreeing: what was reverted in a trial that was good once and bad once; None where there is none.
        runs: how many there were, but for those that were interrupted.
        notes: what was given up.
        why_skipped: of the last trial that was given up or skipped, why.
    """

    RETRIES = 2
    """How often a trial that was no verdict is tried again before it counts as skipped."""

    def __init__(self, candidates: Sequence[Candidate], records: Sequence[TrialRecord]) -> None:
        self._parts = {each.name: frozenset(each.parts) for each in candidates}
        self.records = tuple(record for record in records if record.kind != "interrupted")
        self.outcomes: dict[Parts, Outcome] = {}
        self.notes: list[str] = []
        self.disagreeing: tuple[str, ...] | None = None
        self.why_skipped = ""
        self._said: list[tuple[Parts, Outcome, TrialRecord]] = []
        self._take()

    @property
    def runs(self) -> int:
        return len(self.records)

    def parts(self, names: Iterable[str]) -> Parts:
        """What ``names`` (candidates, or parts of them) take out together."""
        return frozenset[str]().union(*(self._parts.get(name, frozenset((name,))) for name in names))

    def values(self) -> list[tuple[Parts, TrialRecord]]:
        """The trials of a metric, those without a number too."""
        return [(self.parts(record.reverted), record) for record in self.records if record.phase != "trace"]

    def _take(self) -> None:
        failed: dict[Parts, list[TrialRecord]] = {}
        for record in self.records:
            # A revert that is not in force in a traced run is in no other. All else may be due to the trace.
            if record.kind == "measured" or (record.phase == "trace" and record.kind != "void"):
                continue
            parts = self.parts(record.reverted)
            if not record.says:
                failed.setdefault(parts, []).append(record)
                continue
            if record.why.startswith(NOT_REACHED) and not any(NOT_REACHED in note for note in self.notes):
                self.notes.append(f"trial {record.number}: {record.why}; what it imports is not reverted")
            outcome = Outcome(record.kind)
            self._said.append((parts, outcome, record))
            before = self.outcomes.get(parts)
            if before not in (None, outcome) and Outcome.SKIP not in (before, outcome):
                self.disagreeing = self.disagreeing or record.reverted
            if before is None or outcome is not Outcome.SKIP:
                self.outcomes[parts] = outcome
            if outcome is Outcome.SKIP:
                self.why_skipped = record.why
        for parts, those in failed.items():
            if len(those) > self.RETRIES and parts not in self.outcomes:
                last = those[-1]
                self.outcomes[parts] = Outcome.SKIP
                self._said.append((parts, Outcome.SKIP, last))
                self.why_skipped = last.why
                self.notes.append(f"given up after {len(those)} trials ({last.kind}): {last.selection}: {last.why}")

    def tried(self, names: Sequence[str], context: Iterable[str] = ()) -> list[Tried]:
        """The trials that a search among ``names`` knows, with ``context`` reverted in each of them."""
        found = []
        for parts, outcome, _ in self._said:
            subset = self.among(names, context, parts)
            if subset is not None:
                found.append(Tried(subset, outcome))
        return found

    def among(self, names: Sequence[str], context: Iterable[str], parts: Parts) -> frozenset[str] | None:
        """``parts`` as those of ``names`` beside the ``context``; None where they are something else."""
        around = self.parts(context)
        if not around <= parts:
            return None
        rest = parts - around
        subset = frozenset(name for name in names if self.parts((name,)) <= rest)
        return subset if self.parts(subset) == rest else None

    def seen(self, names: Iterable[str]) -> int:
        """How often ``names`` were tried to an outcome; often where they were given up."""
        wanted = self.parts(names)
        if self.outcomes.get(wanted) is Outcome.SKIP:
            return 1_000_000
        return sum(parts == wanted and outcome is not Outcome.SKIP for parts, outcome, _ in self._said)

    def confirmed(self, names: Iterable[str]) -> Counter[Outcome]:
        """What the trials of ``names`` said that were made to confirm it."""
        wanted = self.parts(names)
        return Counter(
            outcome for parts, outcome, record in self._said if parts == wanted and record.phase == "confirm"
        )

    def suspects(self, names: Sequence[str]) -> frozenset[str]:
        """Those that may yet be the one to blame: in every bad trial and in no good one, or the smallest bad trial."""
        everything = frozenset(names)
        said = [(each.subset, each.outcome) for each in self.tried(names)]
        none = next((outcome for subset, outcome in said if not subset), None)
        if none is Outcome.BAD:
            said = [(everything - subset, outcome) for subset, outcome in said]
        bad = [subset for subset, outcome in said if outcome is Outcome.BAD]
        good = frozenset[str]().union(*(subset for subset, outcome in said if outcome is Outcome.GOOD))
        if not bad:
            return everything
        return frozenset.intersection(*bad) - good or min(bad, key=lambda subset: (len(subset), sorted(subset)))


def selection_of(names: Iterable[str]) -> str:
    """``names`` as one selection."""
    text = ",".join(sorted(names))
    return str(selection.parse(text)) if text else "none"
