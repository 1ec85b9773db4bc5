"""The verdicts of DESIGN section 5 that the tests of commands do not reach."""

from __future__ import annotations

from pathlib import Path

from prtoggle.packages import Package
from prtoggle.sources import Sources
from prtoggle.verdict import Verdict, decide
from prtoggle.yamlfile import loads

FIX = """\
prtoggle: 1
fix: 7
title: t
parts: {cut: c}
variants:
  - package: engine
    patches:
      - target: engine.f
        edits:
          - {part: cut, find: 'x = x[:n]', put: '', unfixed: 'return x'}
"""


def verdict(folder: Path, body: str) -> Verdict:
    """The verdict on the fix's one part for ``engine.f`` with that body."""
    file = folder / "engine.py"
    file.write_text("def f(x, n):\n" + "".join(f"    {line}\n" for line in body.split("; ")))
    fix = loads(FIX, "revert.yaml", id="7")
    return decide(fix, fix.variants[0], Sources(Package("engine", (), file)))["cut"].verdict


def test_what_stands_once_applies(tmp_path: Path) -> None:
    assert verdict(tmp_path, "x = x[:n]; return x") is Verdict.APPLIES


def test_what_stands_twice_is_rot_even_where_the_unfixed_place_is_recognised(tmp_path: Path) -> None:
    assert verdict(tmp_path, "x = x[:n]; x = x[:n]; return x") is Verdict.ROT


def test_what_stands_nowhere_while_the_unfixed_place_is_recognised_is_not_there(tmp_path: Path) -> None:
    assert verdict(tmp_path, "return x") is Verdict.NOT_SEEN
