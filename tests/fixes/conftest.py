"""Copies of a fix's modules with parts taken out by hand: an oracle beside the reverse patches."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FIXES = Path(__file__).resolve().parents[2] / "fixes"

Observed = dict[str, Any]
ByHand = Mapping[str, tuple[str, str]]
"""Part -> (text that stands once in forward.py, text in its place)."""


def _edited(source: str, parts: tuple[str, ...], by_hand: ByHand) -> str:
    for part in parts:
        old, new = by_hand[part]
        assert source.count(old) == 1, f"{part}: the text to edit stands {source.count(old)} times"
        source = source.replace(old, new)
    ast.parse(source)
    return source


@pytest.fixture
def observe_by_hand(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, tuple[str, ...], ByHand], Observed]:
    """``observe("pr27360_...", ("slice",), edits)``: what the scenario sees on the CPU without these parts."""

    def observe(folder: str, parts: tuple[str, ...], by_hand: ByHand) -> Observed:
        package = f"prtoggle_fixes.{folder}"
        path = FIXES / folder / "forward.py"
        for name in [name for name in sys.modules if name.startswith(package + ".")]:
            monkeypatch.delitem(sys.modules, name)
        forward = ModuleType(f"{package}.forward")
        forward.__file__ = str(path)
        monkeypatch.setitem(sys.modules, forward.__name__, forward)
        monkeypatch.setattr(importlib.import_module(package), "forward", forward, raising=False)
        source = _edited(path.read_text(encoding="utf-8"), parts, by_hand)
        exec(compile(source, str(path), "exec"), forward.__dict__)
        scenario = importlib.import_module(f"{package}.scenario")
        seen: Observed = scenario.observe("cpu")
        for name in [name for name in sys.modules if name.startswith(package + ".")]:
            monkeypatch.delitem(sys.modules, name)
        return seen

    return observe
