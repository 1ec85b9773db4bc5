"""``prtoggle demo``: both bundled fixes, fixed and reverted side by side."""

from __future__ import annotations

import importlib.util
import os
import sys
import time

import pytest

from tests.cli.world import CHECKOUT, World

pytestmark = pytest.mark.usefixtures("installed")
BUNDLED = {"PYTHONPATH": str(CHECKOUT), "PRTOGGLE_PATH": ""}
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")


@pytest.mark.slow
@needs_torch
def test_both_fixes_are_shown_fixed_and_reverted_in_under_two_minutes(world: World) -> None:
    begun = time.monotonic()
    ran = world.run("demo", env=BUNDLED)
    assert ran.code == 0, ran.err
    assert time.monotonic() - begun < 120
    lines = ran.out.splitlines()
    assert lines[0].startswith("prtoggle takes a merged fix back out")
    assert [line.split()[0] for line in lines if line.startswith(("24401 ", "27360 "))] == ["24401", "27360"]
    assert any(line.split() == ["fixed", "reverted", "24401"] for line in lines)
    tail = next(line for line in lines if line.strip().startswith("positions tail"))
    assert "[0, 0, 0, 0]" in tail
    assert "[300, 301, 302, 303]" in tail
    assert "not proven" not in ran.out
    assert " ".join(ran.out.split()).count("the files on disk are as they were") == 2
    assert "prtoggle run 27360 -- COMMAND" in lines[-2]
    assert max(map(len, lines)) <= 100
    assert "\x1b" not in ran.out + ran.err


def test_without_torch_it_says_what_would_be_seen_and_what_to_do(world: World) -> None:
    hide = "import sys\nsys.modules['torch'] = None\n"  # what an import, and find_spec, take for absent
    (world.site / "sitecustomize.py").write_text(hide)
    ran = world.run("demo", env={**BUNDLED, "PYTHONPATH": f"{CHECKOUT}{os.pathsep}{world.site}"})
    assert ran.code == 4
    assert "torch is not installed" in ran.err
    assert f"hint: {sys.executable} -m pip install torch, then prtoggle demo" in ran.err
    assert "what would be seen" in ran.out
