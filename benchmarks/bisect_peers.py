"""What runs in the environment of the peers: searches of the same simulated tests; JSON in, JSON out.

Asked ``{"tool": ..., "cell": [count, size, fails, without], "seeds": [...]}``, a line each; answered with the runs of each
search and how many named something else than the culprit.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from bisect_problem import Problem

LIMIT = 5000


def picire(problem: Problem) -> frozenset[int] | None:
    """ddmin, with its own cache; a test that fails is what it keeps."""
    import picire as library

    logging.disable(logging.CRITICAL)

    def test(config: list[int], _: object) -> Any:
        if len(config) == problem.count:  # both ends are known, and count for nobody
            return library.Outcome.FAIL
        return library.Outcome.FAIL if problem.fails(config) else library.Outcome.PASS

    return frozenset(library.DD(test, cache=library.ConfigCache())(list(range(problem.count))))


def git_bayesect(problem: Problem) -> frozenset[int] | None:
    """Its search as ``git bayesect run --confidence 0.99``: position b stands for the candidates from b on."""
    import git_bayesect as library

    bisector = library.Bisector([1.0] * problem.count)
    while bisector.distribution.max() < 0.99:
        if problem.runs >= LIMIT:
            return None
        at = bisector.select()
        bisector.record(at, problem.fails(range(at, problem.count)))
    return frozenset({int(bisector.distribution.argmax())})


def mlbisect(problem: Problem) -> frozenset[int] | None:
    """ddmin over configurations that are run several times; told how large the difference is, and never out of runs."""
    from mlbisect import manifest, search
    from mlbisect.executors.base import RunResult

    without, fails = problem.rates
    names = [f"c{number}" for number in range(problem.count)]

    class Executor:
        def run(self, config: Any, seed: int) -> RunResult:
            failed = problem.fails(int(name[1:]) for name in config.axes)
            return RunResult(config.axes, seed, float(failed), True, 1.0)

    asked = manifest.Manifest(
        version=1,
        name="simulated",
        metric={"name": "fails", "direction": "lower_is_better", "min_effect": (fails - without) / 2},
        run={"command": "none"},
        axes=[{"name": name, "old": "fixed", "new": "reverted"} for name in names],
        budget={"max_runs": 1_000_000, "confidence": 0.99},
    )
    found = search.find_culprits(Executor(), asked).culprit_sets
    return frozenset(int(name[1:]) for name in found[0]) if found else None


TOOLS = {"picire": picire, "git_bayesect": git_bayesect, "mlbisect": mlbisect}


def main() -> None:
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        asked = json.loads(line)
        runs, wrong, nothing = [], 0, 0
        for seed in asked["seeds"]:
            problem = Problem(*asked["cell"], seed)
            found = TOOLS[asked["tool"]](problem)
            runs.append(problem.runs)
            nothing += found is None
            wrong += found is not None and found != problem.culprit
        print(json.dumps({"runs": runs, "wrong": wrong, "nothing": nothing}), flush=True)


if __name__ == "__main__":
    main()
