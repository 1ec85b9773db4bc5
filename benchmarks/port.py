"""How right `prtoggle port` is: proposals right, refused and wrong, over cases whose answer is known some other way.

python -m benchmarks.port [--releases REQ] [--only toggle,drift,change] [--sample N] [--case TEXT] [--all] [--diffs]

Without `--all` the misses are listed by name and reason alone; `--diffs` shows what was proposed against the truth.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks import page
from benchmarks.measure import Row
from benchmarks.port_case import Case, Outcome, judge, tally
from benchmarks.port_changes import change_cases
from benchmarks.port_synthetic import synthetic_cases
from benchmarks.port_toggles import Pair, toggle_pairs
from benchmarks.port_trees import RELEASES, Release, releases
from prtoggle.errors import InconclusiveError

GROUPS = ("toggle", "drift", "change")
DRIFT_CASES, CHANGE_CASES = 320, 400
SAMPLE = 200
"""How many of the drifts and changes the page's section measures; `--only drift,change` measures all of them."""


@dataclass(frozen=True)
class Measured:
    """All outcomes, and the toggle pairs that no porting was needed for."""

    pairs: tuple[Pair, ...]
    outcomes: tuple[Outcome, ...]
    seconds: float

    def of(self, group: str) -> list[Outcome]:
        """The outcomes of one group."""
        return [outcome for outcome in self.outcomes if group_of(outcome.case) == group]

    @property
    def bad(self) -> list[Outcome]:
        """What must never be."""
        return [outcome for outcome in self.outcomes if outcome.bad]


def group_of(case: Case) -> str:
    """The group that a case counts in."""
    head = case.kind.partition(":")[0]
    return {"gone": "drift"}.get(head, head)


def cases(trees: Sequence[Release], only: Sequence[str] = GROUPS) -> tuple[list[Pair], list[Case]]:
    """All that is to be measured."""
    pairs = toggle_pairs(trees) if "toggle" in only else []
    found = [pair.case for pair in pairs if pair.case is not None]
    if "drift" in only:
        found += synthetic_cases(trees, DRIFT_CASES)
    if "change" in only:
        found += change_cases(trees, CHANGE_CASES)
    return pairs, found


def sampled(found: Sequence[Case], count: int) -> list[Case]:
    """``count`` cases, from every kind as many as its share, the same ones each time."""
    order = sorted(found, key=lambda case: random.Random(case.name).random())
    return sorted(order[:count], key=lambda case: case.kind)


def measure(requirement: str = RELEASES, only: Sequence[str] = GROUPS, sample: int = 0) -> Measured:
    """Port everything; progress on stderr."""
    start = time.perf_counter()
    pairs, found = cases(releases(requirement), only)
    if sample:
        found = sampled(found, sample)
    print(f"{len(found)} cases made in {time.perf_counter() - start:.0f} s", file=sys.stderr)
    outcomes = []
    for number, case in enumerate(found, 1):
        outcomes.append(judge(case))
        if number % 25 == 0 or outcomes[-1].bad:
            last = outcomes[-1]
            note = f": {last.verdict.upper()} {case.name}" if last.bad else ""
            print(f"{number}/{len(found)}, {time.perf_counter() - start:.0f} s{note}", file=sys.stderr, flush=True)
    return Measured(tuple(pairs), tuple(outcomes), time.perf_counter() - start)


def lines(measured: Measured) -> Iterator[tuple[str, int, dict[str, int]]]:
    """What the table says: a row's name, how many cases, and how many of each verdict."""
    if measured.pairs:
        counts = tally(measured.of("toggle"))
        counts["stands"] = sum(pair.stands for pair in measured.pairs)
        counts["misleads"] = sum(pair.misleads for pair in measured.pairs)
        counts["no base"] = sum(pair.case is None and not (pair.stands or pair.misleads) for pair in measured.pairs)
        yield "toggle pairs", len(measured.pairs), counts
    kinds = sorted({outcome.case.kind for outcome in measured.outcomes})
    for kind in kinds:
        these = [outcome for outcome in measured.outcomes if outcome.case.kind == kind]
        yield kind, len(these), tally(these)


VERDICTS = ("stands", "right", "same meaning", "refused", "no base", "unknown", "wrong", "misleads", "crashed")


def table(measured: Measured) -> str:
    """One line a kind of case."""
    found = [f"{'':44} {'cases':>6}" + "".join(f"{verdict:>13}" for verdict in VERDICTS)]
    for name, count, counts in lines(measured):
        found.append(f"{name:44} {count:6}" + "".join(f"{counts.get(verdict, 0) or '':>13}" for verdict in VERDICTS))
    return "\n".join(found)


def miss(outcome: Outcome, diffs: bool) -> str:
    """All that is needed to look at one outcome."""
    case = outcome.case
    head = f"{outcome.verdict.upper()} [{case.kind}] {case.name}{'; ' + case.note if case.note else ''}"
    text = [head, f"    {outcome.reason}", *(f"    {how}" for how in outcome.how)]
    if diffs and outcome.diff:
        text += [f"    | {line}" for line in outcome.diff.splitlines()]
    return "\n".join(text)


def rows(requirement: str = RELEASES, sample: int = SAMPLE) -> list[Row]:
    """The rows of docs/benchmarks.md: all toggle pairs, and ``sample`` of the other cases, the same ones each time."""
    goals = {"toggle": "right in 95 % or more, wrong in none", "drift": "wrong in none", "change": "wrong in none"}
    try:
        toggled = measure(requirement, ("toggle",))
        others = measure(requirement, ("drift", "change"), sample)
        measured = Measured(toggled.pairs, toggled.outcomes + others.outcomes, toggled.seconds + others.seconds)
    except InconclusiveError as error:
        return [Row(f"`port`, {group}", goal, "not measured", False, error.what) for group, goal in goals.items()]
    found = []
    toggles = tally(measured.of("toggle"))
    stands = sum(pair.stands for pair in measured.pairs)
    right = stands + toggles.get("right", 0) + toggles.get("same meaning", 0)
    count, wrong = len(measured.pairs), sum(outcome.bad for outcome in measured.of("toggle"))
    share = right / count
    found.append(
        Row(
            f"`port`, SGLang's own toggles over {len(releases(requirement))} releases, {count} pairs",
            goals["toggle"],
            f"right in {right} ({share:.1%}), refused {count - right - wrong}, wrong {wrong}",
            share >= 0.95 and not wrong,
            f"{stands} apply as they stand, {right - stands} are ported",
        )
    )
    for group, title in (
        ("drift", "small reverts of real functions, mechanical drifts"),
        ("change", "real changes between releases, taken back in a later one"),
    ):
        these = measured.of(group)
        known = [outcome for outcome in these if outcome.case.expected is not None]
        hopeful = [outcome for outcome in known if outcome.case.expected]
        counts, lost = tally(hopeful), [outcome for outcome in known if not outcome.case.expected]
        good = counts.get("right", 0) + counts.get("same meaning", 0)
        wrong = sum(outcome.bad for outcome in these)
        unknown = [outcome for outcome in these if outcome.case.expected is None]
        detail = f"and {len(lost)} where nothing is left to take out: {tally(lost).get('refused', 0)} refused"
        if unknown:
            proposed = tally(unknown).get("unknown", 0)
            detail += f"; {len(unknown)} without a known answer: {proposed} proposals"
        found.append(
            Row(
                f"`port`, {title}, {len(hopeful)} cases",
                goals[group],
                f"right in {good} ({good / max(len(hopeful), 1):.1%}), refused {counts.get('refused', 0)}, wrong {wrong}",
                not wrong,
                detail,
            )
        )
    return found


def section() -> str:
    """The section of docs/benchmarks.md."""
    return page.table(rows())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", default=RELEASES, help=f"which releases to use (default {RELEASES})")
    parser.add_argument("--only", default=",".join(GROUPS), help="groups, separated by commas")
    parser.add_argument("--sample", type=int, default=0, help="only so many cases, the same ones each time")
    parser.add_argument("--all", action="store_true", help="list every refusal and unknown, not only what is wrong")
    parser.add_argument("--diffs", action="store_true", help="show proposals against the truth")
    parser.add_argument("--case", default="", help="only cases whose kind or name holds this text")
    options = parser.parse_args()
    if options.case:
        _, found = cases(releases(options.releases), options.only.split(","))
        found = [case for case in found if options.case in f"{case.kind} {case.name}"]
        measured = Measured((), tuple(judge(case) for case in found), 0)
    else:
        measured = measure(options.releases, options.only.split(","), options.sample)
    for outcome in measured.outcomes:
        if outcome.bad or (options.all and outcome.verdict != "right"):
            print(miss(outcome, options.diffs))
    print(table(measured))
    slow = sorted(measured.outcomes, key=lambda outcome: -outcome.seconds)[:3]
    print(
        f"{measured.seconds:.0f} s, of a processor {time.process_time():.0f} s; slowest: "
        + "; ".join(f"{o.seconds:.1f} s {o.case.name}" for o in slow)
    )


if __name__ == "__main__":
    main()
