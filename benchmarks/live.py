"""What toggling a running process costs: the pause, and how long a whole revert and restore take; beside others' ways, in the same run.

python -m benchmarks.live [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import peers, program
from benchmarks.measure import Row, median

_PAUSE = """
import json, sys, threading, time
from prtoggle.runtime.gate import Change, exchange

count, busy, rounds = map(int, sys.argv[1:])
texts = ["".join(f"def f{n}(x):\\n    return x + {n + more}\\n" for n in range(count)) for more in (0, 1)]
spaces = [{}, {}]
for text, space in zip(texts, spaces):
    exec(text, space)
functions = [spaces[0][f"f{n}"] for n in range(count)]
codes = [[f.__code__ for f in functions], [spaces[1][f"f{n}"].__code__ for n in range(count)]]
end = False

def elsewhere():
    while not end:
        sum(range(100))

threads = [threading.Thread(target=elsewhere) for _ in range(busy)]
for thread in threads:
    thread.start()
pauses, whole = [], []
for turn in range(rounds):
    time.sleep(0.001)
    start = time.perf_counter()
    done = exchange([Change(f, c) for f, c in zip(functions, codes[(turn + 1) % 2])], timeout=20)
    whole.append(time.perf_counter() - start)
    pauses.append(done.pause)
end = True
print(json.dumps([pauses, whole]))
"""

_TOGGLE = """
import json, sys, time
import app.core, prtoggle
prtoggle.revert("7"); prtoggle.restore("7")  # resolved by now
times = []
for _ in range(int(sys.argv[1])):
    start = time.perf_counter()
    prtoggle.revert("7")
    assert app.core.target(1) == 3
    prtoggle.restore("7")
    times.append(time.perf_counter() - start)
    assert app.core.target(1) == 2
print(json.dumps([times]))
"""


def _run(code: str, *args: int, env: dict[str, str] | None = None) -> list[list[float]]:
    command = [sys.executable, "-c", code, *map(str, args)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    found: list[list[float]] = json.loads(done.stdout)
    return found


def measure(rounds: int) -> list[Row]:
    """The rows."""
    rows = []
    for count, busy in ((1, 0), (1, 8), (1000, 0)):
        pauses, whole = _run(_PAUSE, count, busy, rounds * 5)
        what = "a function" if count == 1 else f"{count:,} functions"
        threads = f", {busy} busy threads elsewhere" if busy else ""
        pauses.sort()
        rows.append(
            Row(
                f"live toggle of {what} that no thread is in{threads}",
                "under 5 ms pause",
                f"{median(pauses) * 1e3:.3f} ms",
                median(pauses) < 5e-3,
                f"99th percentile {pauses[int(len(pauses) * 0.99)] * 1e3:.2f} ms; the exchange with what stands around "
                f"the pause {median(whole) * 1e3:.2f} ms",
            )
        )
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        env = program.write(root)
        home = str(Path(__file__).resolve().parent.parent)
        env["PYTHONPATH"] = os.pathsep.join([env["PYTHONPATH"], home])
        (times,) = _run(_TOGGLE, rounds, env=env)
        rows.append(
            Row(
                "live toggles a second, a small program, resolved before",
                "none",
                f"{2 / median(times):.0f}",
                True,
                f"revert and restore {median(times) * 1e3:.1f} ms",
            )
        )
    return [*rows, *peers.measure(rounds)]


if __name__ == "__main__":
    from benchmarks.startup import table

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    print(table(measure(parser.parse_args().rounds)))
