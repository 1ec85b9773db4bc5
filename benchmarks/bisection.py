"""How many runs a bisection takes, beside what is possible at all and beside others: simulated tests, nothing executed.

python -m benchmarks.bisection [--quick] [--only certain,parallel,flaky,sure] [--no-peers]
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.bisect_problem import Problem, go
from benchmarks.measure import Row
from benchmarks.page import table
from prtoggle.bisect import certain
from prtoggle.bisect.flaky import Flaky
from prtoggle.bisect.rates import capacity
from prtoggle.bisect.values import Ask, Direction, Found, Outcome, Terms, Tried

HERE = Path(__file__).resolve().parent
PEERS = ("picire==21.8", "setuptools<81", "git_bayesect==1.2", "mlbisect==0.1.0")
"""picire asks for pkg_resources, which later setuptools lack."""
CONFIDENCE = 0.99
LIMIT = 5000
TABLES = ("certain", "parallel", "flaky", "sure")

CERTAIN = tuple((count, size) for count in (16, 64, 256) for size in (1, 2, 3))
PARALLEL = tuple(
    (count, size, width) for count, size in ((16, 1), (16, 2), (64, 1), (64, 2), (256, 1)) for width in (1, 6, 16)
)
FLAKY = (
    *((64, 1, f, 0.0) for f in (1.0, 0.9, 0.5, 0.25, 0.1, 0.05)),
    *((64, 1, f, f0) for f, f0 in ((0.5, 0.05), (0.5, 0.1), (0.2, 0.05))),
    *((count, 1, f, f0) for count in (16, 256) for f, f0 in ((1.0, 0.0), (0.5, 0.0), (0.5, 0.1))),
    *((16, size, f, f0) for size in (2, 3) for f, f0 in ((0.5, 0.0), (0.2, 0.0), (0.5, 0.1))),
    (64, 2, 0.5, 0.0),
)
SURE = (
    *((1, f, f0) for f, f0 in ((1.0, 0.0), (0.9, 0.1), (0.5, 0.0), (0.5, 0.05), (0.25, 0.0))),
    (2, 1.0, 0.0),
    *((0, f0, f0) for f0 in (0.1, 0.3, 0.6, 0.9)),
)
SHARE = 8
"""A peer's searches of one cell are dealt out to so many processes."""
SURE_COUNT = 8
"""How many candidates are needed together (0: it is none of them), and both rates."""


@dataclass(frozen=True)
class Ran:
    """One search."""

    runs: int
    rounds: int
    right: bool
    wrong: bool
    """It named something, and not the culprit; that it named nothing is neither right nor wrong."""


@dataclass(frozen=True)
class Cell:
    """Searches of one kind of test."""

    count: int
    size: int
    fails: float
    without: float
    width: int = 1
    how: str = "flaky"


# One search


def run(cell: Cell, seed: int) -> Ran:
    """One search by ``cell.how``."""
    problem = Problem(cell.count, cell.size, cell.fails, cell.without, seed)
    if cell.how == "go":
        found = go(problem)
        return Ran(problem.runs, problem.runs, found == problem.culprit, found != problem.culprit)
    return _ours(cell, problem)


def _ours(cell: Cell, problem: Problem) -> Ran:
    names = [f"{number:03}" for number in range(cell.count)]
    steps = _certain(cell, names) if cell.how == "certain" else _flaky(cell, names)
    rounds = 0
    step = next(steps)
    while isinstance(step, Ask) and problem.runs < LIMIT:
        rounds += 1
        seen = []
        for subset in step.subsets:
            failed = problem.fails(map(int, subset))
            seen.append(Tried(subset, Outcome.BAD if failed else Outcome.GOOD))
        step = steps.send(seen)
    named = frozenset(map(int, step.culprits[0].members)) if isinstance(step, Found) and step.culprits else None
    right = isinstance(step, Found) and named == problem.culprit
    return Ran(problem.runs, rounds, right, named is not None and not right)


def _certain(cell: Cell, names: Sequence[str]) -> Iterator[Any]:
    """Both ends are known beforehand, as they are for the others."""
    tried = [Tried(frozenset(), Outcome.GOOD), Tried(frozenset(names), Outcome.BAD)]
    while True:
        tried += yield certain.search(names, tried, width=cell.width, limit=1)


def _flaky(cell: Cell, names: Sequence[str]) -> Iterator[Any]:
    terms = Terms(CONFIDENCE, endless=True)
    if cell.how == "told":  # what the bound knows
        terms = replace(
            terms,
            fails=cell.fails,
            fails_without=cell.without,
            direction=Direction.REVERTED,
            shares={cell.size: 1.0},
        )
    flaky = Flaky(names, terms)
    while True:
        for each in (yield flaky.step(cell.width)) or ():
            flaky.add(each)


# Many searches


def many(pool: Any, cell: Cell, searches: int) -> Callable[[], list[Ran]]:
    """Begin ``searches`` of them, the same ones each time; what is returned waits for them. So all cells of a table are
    begun before the first is waited for, and no core waits for the longest search of a cell."""
    begun = pool.map_async(partial(run, cell), range(searches), chunksize=max(1, min(8, searches // 64)))
    found: Callable[[], list[Ran]] = begun.get
    return found


def mean(values: Sequence[float]) -> float:
    """Their mean."""
    return sum(values) / len(values)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that a share of them does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def bound(cell: Cell) -> float:
    """Fano: so many runs on the mean at least, for who knows both rates and that there is a culprit."""
    wrong = 1 - CONFIDENCE
    return ((1 - wrong) * _bits(cell) - _entropy(wrong)) / capacity(cell.fails, cell.without)


def bound_with_none(cell: Cell) -> float:
    """The same for who names a culprit in at most 1 % of searches where there is none and the test fails at some rate.

    That one culprit is named by mistake has then a probability of 1 % over the number of culprits, since none is
    special; so where it is right it must be told from none as surely, and no run says more of that than the capacity
    where the test without a culprit fails as often as one with it looks to.
    """
    wrong = 1 - CONFIDENCE
    return ((1 - wrong) * (_bits(cell) - math.log2(wrong)) - _entropy(wrong)) / capacity(cell.fails, cell.without)


def _bits(cell: Cell) -> float:
    return math.log2(math.comb(cell.count, cell.size))


def _entropy(chance: float) -> float:
    return -chance * math.log2(chance) - (1 - chance) * math.log2(1 - chance)


OWN = "BENCH_PEERS_PYTHON"
"""A Python that has the peers, where none can be made."""


class Peers:
    """Others' searches, in an environment made for them; what cannot be had is said once and left empty."""

    def __init__(self, root: Path, wanted: bool) -> None:
        self.python, self.missing = root / "bin" / "python", "" if wanted else "not asked for"
        self.threads = ThreadPoolExecutor(os.cpu_count())
        if not wanted:
            return
        if OWN in os.environ:
            self.python = Path(os.environ[OWN])
            return
        subprocess.run([sys.executable, "-m", "venv", str(root)], check=True)
        pip = [str(self.python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        for peer in PEERS:
            done = subprocess.run([*pip, peer], capture_output=True, text=True)
            if done.returncode:
                self.missing += f"{peer} could not be installed; "

    def mean(self, tool: str, cell: Cell, searches: int) -> Callable[[], str]:
        """Begin these searches; what is returned waits for them, and says mean runs and how many were wrong if any were."""
        if self.missing == "not asked for" or tool in self.missing:
            return lambda: "not measured"
        seeds = [range(searches)[first::SHARE] for first in range(min(SHARE, searches))]
        begun = [self.threads.submit(self._said, tool, cell, list(each)) for each in seeds]
        return partial(_words, begun, searches)

    def _said(self, tool: str, cell: Cell, seeds: list[int]) -> dict[str, Any]:
        asked = {"tool": tool, "cell": [cell.count, cell.size, cell.fails, cell.without], "seeds": seeds}
        command = [str(self.python), str(HERE / "bisect_peers.py")]
        done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True)
        if done.returncode:
            return {"failed": done.stderr.strip().splitlines()[-1][:60]}
        said: dict[str, Any] = json.loads(done.stdout)
        return said


def _words(begun: Sequence[Future[dict[str, Any]]], searches: int) -> str:
    said = [each.result() for each in begun]
    for each in said:
        if "failed" in each:
            return f"failed: {each['failed']}"
    counts = {key: sum(each[key] for each in said) for key in ("wrong", "nothing")}
    notes = [
        f"{counts[key]} of {searches} {word}" for key, word in (("wrong", "wrong"), ("nothing", "none")) if counts[key]
    ]
    return f"{mean([runs for each in said for runs in each['runs']]):.1f}" + (f" ({', '.join(notes)})" if notes else "")


# Tables


Table = tuple[str, list[str], list[list[str]], list[Row]]
"""What it is of, the head, the lines, and the rows of the page's own table."""


def certain_table(pool: Any, peers: Peers, quick: bool) -> Table:
    begun = []
    for count, size in CERTAIN:
        searches = (40 if quick else 400) * (3 if count == 16 else 1)  # short ones; means lie close together
        cell = Cell(count, size, 1.0, 0.0, how="certain")
        theirs = [
            peers.mean(tool, cell, max(5, searches // divisor)) for tool, divisor in (("picire", 4), ("mlbisect", 40))
        ]
        gos = many(pool, Cell(count, size, 1.0, 0.0, how="go"), searches)
        begun.append((cell, many(pool, cell, searches), gos, theirs))
    lines, misses = [], []
    for cell, ours, gos, theirs in begun:
        own, other = mean([each.runs for each in ours()]), mean([each.runs for each in gos()])
        wrong = sum(each.wrong for each in (*ours(), *gos()))
        name = f"{cell.count}, {cell.size}"
        if own > other or wrong:
            misses.append(f"N, k = {name}: {own:.1f} against {other:.1f}, {wrong} wrong")
        lines.append([name, f"{_bits(cell):.1f}", f"{own:.1f}", f"{other:.1f}", *(each() for each in theirs)])
    row = Row(
        "bisect, certain: mean trials, all k of N needed together",
        "at or below Go's bisect",
        f"in {len(CERTAIN) - len(misses)} of {len(CERTAIN)} cells",
        not misses,
        "; ".join(misses),
    )
    head = ["N, k", "log2 C(N, k)", "prtoggle", "Go's bisect", "picire 21.8", "mlbisect 0.1.0"]
    return "Certain outcomes: mean trials beyond both ends until one set is found and seen to fail", head, lines, [row]


def parallel_table(pool: Any, peers: Peers, quick: bool) -> Table:
    searches = 20 if quick else 100
    begun = [
        [
            many(pool, Cell(count, size, fails, 0.0, width, how), max(5, searches * 16 // count))
            for fails, how in ((1.0, "certain"), (0.5, "told"))
        ]
        for count, size, width in PARALLEL
    ]
    lines = []
    for (count, size, width), both in zip(PARALLEL, begun, strict=True):
        line = [f"{count}, {size}", str(width), str(math.ceil(math.log2(math.comb(count, size)) / width))]
        for each in both:
            ran = each()
            line.append(f"{mean([each.rounds for each in ran]):.1f} ({mean([each.runs for each in ran]):.0f})")
        lines.append(line)
    head = ["N, k", "m", "rounds at least, certain", "certain: rounds (trials)", "fails half the time: rounds (runs)"]
    return "Several trials at a time: m workers, mean rounds", head, lines, []


def flaky_table(pool: Any, peers: Peers, quick: bool) -> Table:
    begun = []
    for count, size, fails, without in FLAKY:
        told, open_ = (Cell(count, size, fails, without, how=how) for how in ("told", "flaky"))
        runs_to_spend = 40_000 / max(1, count / 64) / (4 if size > 1 else 1) / (20 if quick else 1)
        same = max(6, min(400, int(runs_to_spend / bound(told))))
        searches = max(6, min(200, int(runs_to_spend / 10 / bound(told))))
        # One culprit is all that git_bayesect looks for; mlbisect takes very many runs.
        theirs: list[Callable[[], str]] = [str, str]
        if size == 1:
            theirs[0] = peers.mean("git_bayesect", told, max(5, searches // 4))
        if count == 64:
            theirs[1] = peers.mean("mlbisect", told, max(5, searches // 20))
        begun.append((told, many(pool, told, same), many(pool, open_, searches), theirs))
    lines, misses, over = [], [], []
    for told, same_runs, own, theirs in begun:
        least, least_none = bound(told), bound_with_none(told)
        runs, open_runs = [each.runs for each in same_runs()], [each.runs for each in own()]
        ratio = mean(runs) / least
        if ratio > 1.15:
            misses.append(f"N = {told.count}, k = {told.size}, {told.fails:g} / {told.without:g}: {ratio:.2f}x")
        over.append(mean(open_runs) / least_none)
        lines.append(
            [
                f"{told.count}, {told.size}",
                f"{told.fails:g} / {told.without:g}",
                f"{least:.1f}",
                f"{mean(runs):.1f} ({percentile(runs, 0.95)})",
                f"{ratio:.2f}x",
                f"{least_none:.1f}",
                f"{mean(open_runs):.1f} ({percentile(open_runs, 0.95)})",
                f"{over[-1]:.2f}x",
                *(each() for each in theirs),
            ]
        )
    head = [
        "N, k",
        "f / f0",
        "bound, rates known",
        "prtoggle, told the same: mean (95 %)",
        "",
        "bound, none of these too",
        "prtoggle, told nothing: mean (95 %)",
        "",
        "git_bayesect 1.2",
        "mlbisect 0.1.0",
    ]
    row = Row(
        "bisect, flaky: mean runs, told what the Fano bound knows",
        "within 1.15 of the bound",
        f"in {len(FLAKY) - len(misses)} of {len(FLAKY)} cells",
        not misses,
        "; ".join(misses),
    )
    open_row = Row(
        "bisect, flaky: mean runs, told nothing, and sure that it is any of them",
        "none",
        f"{min(over):.2f} to {max(over):.2f} times the bound for that",
        True,
    )
    return (
        "Flaky, all k of N needed together, 99 % confidence: runs, both ends among them",
        head,
        lines,
        [row, open_row],
    )


def sure_table(pool: Any, peers: Peers, quick: bool) -> Table:
    searches = 20 if quick else -(-10_000 // len(SURE))
    begun = [many(pool, Cell(SURE_COUNT, size, fails, without), searches) for size, fails, without in SURE]
    lines, total, bad, worst = [], 0, 0, 0.0
    for (size, fails, without), begun_one in zip(SURE, begun, strict=True):
        ran = begun_one()
        wrong, right = sum(each.wrong for each in ran), sum(each.right for each in ran)
        total, bad, worst = total + searches, bad + wrong, max(worst, wrong / searches)
        lines.append(
            [
                str(size) if size else "none",
                f"{fails:g} / {without:g}" if size else f"{without:g}",
                str(searches),
                str(right),
                str(searches - right - wrong),
                f"{wrong} ({wrong / searches:.1%})",
                f"{mean([each.runs for each in ran]):.0f}",
            ]
        )
    row = Row(
        f"bisect, flaky: {total:,} searches at 99 %, also where it is none of the candidates",
        "at most 1 % name a wrong culprit",
        f"{bad} ({bad / total:.2%})",
        bad / total <= 0.01,
        f"in the worst cell {worst:.2%}",
    )
    head = ["culprit", "f / f0", "searches", "right", "named nothing, or none of these", "wrong", "mean runs"]
    return f"Claimed 99 %, told nothing, N = {SURE_COUNT}", head, lines, [row]


MAKERS: dict[str, Callable[[Any, Peers, bool], Table]] = {
    "certain": certain_table,
    "parallel": parallel_table,
    "flaky": flaky_table,
    "sure": sure_table,
}


def measure(only: Sequence[str] = TABLES, quick: bool = False, peers: bool = True) -> tuple[list[Row], str]:
    """The rows for the page's table, and the tables behind them as Markdown."""
    rows: list[Row] = []
    text = []
    with tempfile.TemporaryDirectory() as folder, multiprocessing.Pool(os.cpu_count()) as pool:
        others = Peers(Path(folder) / "peers", peers)
        for name in only:
            title, head, lines, found = MAKERS[name](pool, others, quick)
            rows += found
            text += [f"{title}:\n", f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
            text += [f"| {' | '.join(line)} |" for line in lines] + [""]
            print(f"{name} done", file=sys.stderr, flush=True)
        if others.missing:
            text.append(f"Peers: {others.missing}.\n")
    return rows, "\n".join(text)


INTRODUCTION = """Simulated tests, no processes. N candidates, k of them needed together; f: how often it fails with the culprit in force,
f0: without. The Fano bound is for who knows both rates and that one of the candidates is the culprit; the other bound
for who also names nobody, but once in a hundred, where it is none of them and the test fails at a rate of its own.
"""


def section(quick: bool = False) -> str:
    """The section of docs/benchmarks.md."""
    rows, text = measure(quick=quick)
    return f"{INTRODUCTION}\n{table(rows)}\n{text}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the searches")
    parser.add_argument("--only", default=",".join(TABLES), help="which tables")
    parser.add_argument("--no-peers", action="store_true", help="ours alone")
    options = parser.parse_args()
    rows, text = measure(options.only.split(","), options.quick, not options.no_peers)
    print(table(rows))
    print(text)


if __name__ == "__main__":
    main()
