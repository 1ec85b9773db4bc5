"""A made-up package with a fix of several parts, and real pytest sessions over tests of it.

Example::

    ran = app.run("def test_x(): ...")
    ran.results["test_x"], ran.code
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

CORE = """\
LIMIT = 3


def cut(rows):
    rows = rows[:LIMIT]
    return rows


def unused(rows):
    rows = sorted(rows)
    return rows


def fits(rows):
    if len(rows) > LIMIT:
        raise IndexError(f"{len(rows)} rows, and room for {LIMIT}")
    return rows


def dies(code):
    code = 0
    if code:
        import os

        os.kill(os.getpid(), code)
    return code


def steps():
    step = 1
    yield step
    yield step
"""

FIX = """\
prtoggle: 1
fix: 7
title: rows are cut to the limit
parts:
  slice: cut the rows
  sort: sort them
  limit: a smaller limit
  check: refuse what does not fit
  alive: do not die
  step: one at a time
default: [slice]
variants:
  - package: engine
    patches:
      - {target: engine.core.cut, edits: [{part: slice, find: 'rows = rows[:LIMIT]', put: ''}]}
      - {target: engine.core.unused, edits: [{part: sort, find: 'rows = sorted(rows)', put: ''}]}
      - {target: engine.core, edits: [{part: limit, find: 'LIMIT = 3', put: 'LIMIT = 5'}]}
      - target: engine.core.fits
        edits: [{part: check, find: 'raise IndexError($X)', put: 'raise RuntimeError("too late")'}]
      - {target: engine.core.dies, edits: [{part: alive, find: 'code = 0', put: ''}]}
      - {target: engine.core.steps, edits: [{part: step, find: 'step = 1', put: 'step = 2'}]}
"""

_PLAIN = re.compile(
    r"^(\S+?)(::\S+(?: \S+)*?)? (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)( \(.*?\))?\s*(?:\[ *\d+%\])?$"
)
_XDIST = re.compile(r"^\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)( \(.*?\))? (\S+)\s*$")


@dataclass(frozen=True)
class Ran:
    """A pytest session that ended.

    Attributes:
        results: test's name -> what ``-v`` says of it.
        section: the lines of prtoggle's section.
    """

    code: int
    out: str
    err: str
    results: dict[str, str]
    section: list[str]


class App:
    """A folder with the package ``engine``, its fix 7, and whatever a test adds."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.file("engine/__init__.py", "")
        self.file("engine/core.py", CORE)
        self.file("fixes/pr7_rows/revert.yaml", FIX)
        for name in ("PRTOGGLE_REVERT", "PRTOGGLE_QUIET", "PRTOGGLE_JOURNAL", "PYTEST_ADDOPTS", "COLUMNS"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PRTOGGLE_PATH", str(self.path / "fixes"))
        monkeypatch.setenv("PRTOGGLE_CACHE", str(cache))
        monkeypatch.setenv("COLUMNS", "200")

    def file(self, name: str, text: str) -> Path:
        """Write a file of the folder."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def run(self, tests: str = "", *args: str, name: str = "test_it.py", random: bool = False) -> Ran:
        """Run pytest in a process of its own over ``tests``, which may use ``pytest`` and ``core``; in the order in which
        they stand, unless ``random``."""
        if tests:
            self.file(
                name, "import pytest\nfrom engine import core\n\nROWS = [1, 2, 3, 4]\n\n" + textwrap.dedent(tests)
            )
        # Where pytest-asyncio is not installed nobody knows its option.
        plain = ["-v", "-o", "asyncio_default_fixture_loop_scope=function", "-W", "ignore::pytest.PytestConfigWarning"]
        plain += [] if random else ["-p", "no:randomly"]
        done = self.pytester.runpytest_subprocess(*plain, *args, timeout=240)
        out, err = done.stdout.str(), done.stderr.str()
        return Ran(int(done.ret), out, err, dict(_results(out)), _section(out))


def _results(out: str) -> list[tuple[str, str]]:
    found = []
    for line in out.splitlines():
        plain, spread = _PLAIN.match(line), _XDIST.match(line)
        if plain and plain[2]:
            found.append((plain[2].rpartition("::")[2], plain[3] + (plain[4] or "")))
        elif spread:
            found.append((spread[3].rpartition("::")[2], spread[1] + (spread[2] or "")))
    return found


def _section(out: str) -> list[str]:
    lines = out.splitlines()
    begin = next((at for at, line in enumerate(lines) if re.match(r"=+ fixes taken out =+$", line)), None)
    if begin is None:
        return []
    end = next(at for at in range(begin + 1, len(lines)) if re.match(r"=+ .* =+$", lines[at]))
    return [line for line in lines[begin + 1 : end] if line.strip()]
