"""The section of speed: :mod:`benchmarks.startup` and :mod:`benchmarks.live`, in one run.

python -m benchmarks.speed [--rounds N]
"""

from __future__ import annotations

import argparse

from benchmarks import live, page, startup

ROUNDS = 24


def section(rounds: int = ROUNDS) -> str:
    """The section's text."""
    rows = [*startup.measure(rounds), *live.measure(rounds)]
    return f"{rounds} rounds.\n\n{page.table(rows)}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    print(section(parser.parse_args().rounds))
