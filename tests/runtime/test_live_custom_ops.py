"""Live toggles of what torch calls by a registration: custom operators, their fakes, autograd functions; and functools."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.project import Project

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]

CORE = """
import functools
import torch

@torch.library.custom_op("app::decorated", mutates_args=())
def decorated(x: torch.Tensor) -> torch.Tensor:
    return x + 1

@decorated.register_fake
def decorated_fake(x):
    return torch.empty_like(x)

library = torch.library.Library("app", "FRAGMENT")
library.define("defined(Tensor x) -> Tensor")

def defined(x):
    return x + 1

library.impl("defined", defined, "CPU")

@torch.library.register_fake("app::defined")
def defined_fake(x):
    return torch.empty_like(x)

class Plus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1

    @staticmethod
    def backward(ctx, gradient):
        return gradient + 1

def gradient():
    x = torch.zeros(1, requires_grad=True)
    Plus.apply(x).backward()
    return x.grad

@functools.singledispatch
def single(x):
    return x + 1

@single.register
def _(x: torch.Tensor):
    return x + 1

@functools.lru_cache
def cached(n):
    return n + 1

def operators(x):
    return decorated(x) + 10 * torch.ops.app.defined(x) + 1000 * Plus.apply(x)

compiled = torch.compile(operators, backend="aot_eager")
"""

TARGETS = ("decorated", "defined", "Plus.forward", "Plus.backward", "single", "_", "cached")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.package({"app/__init__.py": "", "app/core.py": CORE})
    made.fix(
        7,
        patches="".join(
            f"- target: app.core.{target}\n  edits:\n    - match: return {what} + 1\n      replacement: return {what} + 5\n"
            for target in TARGETS
            for what in ({"Plus.backward": "gradient", "cached": "n"}.get(target, "x"),)
        ),
    )
    return made


LOOK = """
import app.core as m, prtoggle, threading, torch
x = torch.zeros(1)
def look():
    print(*(each.item() for each in (m.decorated(x), torch.ops.app.defined(x), m.Plus.apply(x), m.gradient(), m.single(x))),
          m.single(0), m.cached(0), m.compiled(x).item(), m.operators(x).item())
"""


@pytest.mark.parametrize("threads", [False, True], ids=["alone", "beside a thread"])
def test_operators_autograd_functions_and_caches_run_the_new_code_everywhere(project: Project, threads: bool) -> None:
    code = f"""{LOOK}
stop = threading.Event()
if {threads}: threading.Thread(target=stop.wait).start()
try:
    look()
    with prtoggle.reverted("7"): look()
    look()
finally: stop.set()
"""
    done = project.python(code, PYTHONPATH=f"{project.site}:{ROOT}", PRTOGGLE_QUIET="1")
    assert done.code == 0, done.err
    fixed, reverted = "1.0 1.0 1.0 2.0 1.0 1 1 1011.0 1011.0", "5.0 5.0 5.0 6.0 5.0 5 5 5055.0 5055.0"
    assert done.out.splitlines() == [fixed, reverted, fixed]
