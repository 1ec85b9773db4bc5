"""Methods that torch.compile inlined, toggled while threads call what it compiled: no call torn, none stale, nothing freed
under a thread.

``PRTOGGLE_TOGGLES`` says how often (500 by hand; a few in the test suite, since every toggle compiles again).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.project import Project

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
TOGGLES = int(os.environ.get("PRTOGGLE_TOGGLES", "6"))
BACKEND = os.environ.get("PRTOGGLE_TEST_BACKEND", "eager")

CORE = """
import torch

compiled = torch.compile(backend="BACKEND")

class H:
    def one(self, x):
        return x + 1

    def two(self, x):
        return x + 1

    @classmethod
    def three(cls, x):
        return x + 1

def four(self, x):
    return x + 1

H.four = four
h = H()

class S(torch.nn.Module):
    def forward(self, x):
        return x + 1

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = S()

    def forward(self, x):
        return self.sub(x) + 1000 * h.one(x)

@compiled
def whole(x):
    return h.one(x) + 1000 * h.two(x)

@compiled
def divided(x):
    y = h.one(x)
    torch._dynamo.graph_break()
    return y + 1000 * h.two(x)

@compiled
def others(x):
    return H.three(x) + 1000 * h.four(x)

def nested():
    @compiled
    def inner(x):
        return h.one(x) + 1000 * h.two(x)
    return inner

kept = nested()
model = torch.compile(M(), backend="BACKEND")

def made_now(x):
    return nested()(x)

CALLERS = (whole, divided, others, kept, made_now, model)
"""

HAMMER = """
import json, threading, time
import app.core as m, prtoggle, torch

x = torch.zeros(1)
stop, torn, calls = threading.Event(), [], [0]
FIXED, REVERTED = 1001.0, 100100.0

def look(): return [caller(x).item() for caller in m.CALLERS]

def load():
    while not stop.is_set():
        for number, caller in enumerate(m.CALLERS):
            try: seen = caller(x).item()
            except BaseException as error: seen = repr(error)
            if seen not in (FIXED, REVERTED): torn.append((number, seen))
            calls[0] += 1
            time.sleep(PAUSE)

first = look()
threads = [threading.Thread(target=load) for _ in range(4)]
[thread.start() for thread in threads]
stale, refused, pauses = [], [], []
try:
    for number in range(TOGGLES):
        do, wanted = (prtoggle.restore, FIXED) if number % 2 else (prtoggle.revert, REVERTED)
        while True:
            try: pauses.append(do("9", timeout=60)["pause"])
            except prtoggle.errors.PrtoggleError as error:
                refused.append(str(error))
                if len(refused) > 3: raise
            else: break
        seen = look()
        if set(seen) != {wanted}: stale.append((number, seen))
finally:
    stop.set()
    [thread.join() for thread in threads]
pauses.sort()
print(json.dumps({
    "first": first, "torn": torn[:5], "stale": stale[:5], "calls": calls[0], "refused": refused,
    "pause": [pauses[len(pauses) // 2], pauses[-1]],
}))
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.package({"app/__init__.py": "", "app/core.py": CORE.replace("BACKEND", BACKEND)})
    edits = "  edits:\n    - match: return x + 1\n      replacement: return x + 100\n"
    targets = ("H.one", "H.two", "H.three", "four", "S.forward")
    made.fix(9, patches="".join(f"- target: app.core.{target}\n{edits}" for target in targets))
    return made


@pytest.mark.slow
def test_no_call_of_what_torch_compile_inlined_is_torn_or_stale(project: Project, tmp_path: Path) -> None:
    program = tmp_path / "hammer.py"
    program.write_text(HAMMER.replace("TOGGLES", str(TOGGLES)).replace("PAUSE", "0.001"))
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(program)],
        env=project.env(PYTHONPATH=f"{project.site}:{ROOT}", PRTOGGLE_QUIET="1"),
        capture_output=True,
        text=True,
        timeout=120 + 30 * TOGGLES,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    print(seen)
    assert set(seen["first"]) == {1001.0}
    assert (seen["torn"], seen["stale"], seen["refused"]) == ([], [], [])
    assert seen["calls"] > 5 * TOGGLES


BEHIND_THE_GATE = """
import torch
from prtoggle.runtime import gate

class H:
    def two(self, x):
        return x + 1

class Gate:
    asked = []

    def enter(self, index):
        self.asked.append(index)
        return lambda self, x: x + 5

H.two.__code__ = gate._gate_code(Gate().enter, 0, H.two)
h = H()

@torch.compile(backend="eager")
def calls(x):
    y = x * 2
    return y + 1000 * h.two(x)

assert calls(torch.ones(2)).tolist() == [6002.0, 6002.0], calls(torch.ones(2))
assert Gate.asked == [0]
"""


def test_what_is_compiled_just_while_the_gate_is_closed_calls_it(tmp_path: Path) -> None:
    program = tmp_path / "behind.py"
    program.write_text(BEHIND_THE_GATE)
    done = subprocess.run(
        [sys.executable, str(program)], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
