"""Thousands of modules made at random, with edits made at random, in a running process.

Whatever is nested in what: taken out live, every function, also those that were alive before, is what a fresh import of the reverted
text gives, bytecode and lines included, and does what that does; put back, it is what it was, the very same objects; or the revert is
refused by name, and then nothing changed. An edit of what stands in a function's body is never refused.

The modules are toggled in a process that has nothing else in it (`any_module_child.py`): a toggle looks at every object of the process, and
pytest, Hypothesis and torch have many. ``PRTOGGLE_EXAMPLES`` asks for more than CI's, ``PRTOGGLE_SEED`` for others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.runtime.any_module import EDITS, SHAPES, Made, modules

SHARES = 4  # one test each, so that the work can be dealt out
EXAMPLES = int(os.environ.get("PRTOGGLE_EXAMPLES", "3000")) // SHARES
SEED = int(os.environ.get("PRTOGGLE_SEED", "0"))
ROOT = Path(__file__).resolve().parents[2]


class Child:
    """The process in which modules are toggled."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("any_module_child.py")
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PRTOGGLE", "PYTHON"))}
        self.process = subprocess.Popen(
            [sys.executable, str(script)],
            env={**env, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.read() == {"heavy": []}

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, f"the process died: {self.process.wait()}"
        found: dict[str, Any] = json.loads(line)
        return found

    def toggle(self, made: Made) -> dict[str, Any]:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"texts": made.texts, "warm": made.warm}) + "\n")
        self.process.stdin.flush()
        return self.read()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def child() -> Iterator[Child]:
    made = Child()
    yield made
    made.end()


@pytest.mark.parametrize("share", range(SHARES))
def test_live_is_what_a_fresh_import_gives_or_nothing_changed(share: int, child: Child) -> None:
    counts: Counter[str] = Counter()
    toggled: Counter[str] = Counter()
    different: set[tuple[str, ...]] = set()

    @seed(SEED * SHARES + share)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(modules())
    def run(made: Made) -> None:
        said = child.toggle(made)
        shown = "\n-----\n".join(made.texts)
        assert not said["problem"], f"{said['problem']}\n{shown}"
        if made.plain and said["refused"]:
            assert made.suspended and "is suspended" in said["refused"], f"{said['refused']}\n{shown}"
        counts["cases"] += 1
        counts["toggled" if said["changed"] else "refused" if said["refused"] else "same"] += 1
        different.add(made.texts)
        if said["changed"]:
            toggled.update((*made.shapes, *(f"edit: {kind}" for kind in made.edits)))

    run()
    assert counts["cases"] == EXAMPLES
    assert len(different) > 0.9 * EXAMPLES
    # Neither end is all there is: much is really toggled, of every shape and with every kind of edit, and some is refused.
    assert counts["toggled"] > 0.5 * EXAMPLES, counts
    assert counts["refused"] > 0.1 * EXAMPLES, counts
    assert {shape for shape in SHAPES if toggled[shape] <= EXAMPLES // 150} == set()
    assert {kind for kind in EDITS if not toggled[f"edit: {kind}"]} == set()
