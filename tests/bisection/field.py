"""A made-up package with many fixes, a command that fails as a boolean expression over them says, and real bisections.

Example::

    field = Field(tmp_path, monkeypatch, fixes=8)
    done = field.bisect("f3 and f5")
    done.culprits == {("3", "5")}
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from prtoggle.bisection import session
from prtoggle.bisection.reaper import MARK
from prtoggle.bisection.record import Log
from prtoggle.bisection.values import Answer, Job, Settings, State, TrialRecord
from tests.runtime.project import CLEARED, Project

CHECK = '''
"""Fails where the expression in its argument is true of what is reverted; writes a line for each run to ran.txt."""
import os, random, sys, time
from app import core
from app import {imports}

class Names(dict):
    def __missing__(self, name):
        if name.startswith("f") and name[1:].isdigit():
            return getattr(core, name)() == "reverted"
        raise KeyError(name)

names = Names(random=random.random, os=os, sys=sys, time=time, print=print, core=core)
with open({ran!r}, "a") as file:
    print("begin", os.environ.get("PRTOGGLE_REVERT", "none"), file=file, flush=True)
failed = eval(sys.argv[1], {{}}, names)
with open({ran!r}, "a") as file:
    print("end", os.environ.get("PRTOGGLE_REVERT", "none"), file=file, flush=True)
sys.exit(failed if type(failed) is int else 1 if failed else 0)
'''


@dataclass
class Seen:
    """What a watcher is told."""

    jobs: list[Job] = field(default_factory=list)
    records: list[TrialRecord] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    def began(self, job: Job) -> None:
        self.jobs.append(job)

    def ended(self, record: TrialRecord) -> None:
        self.records.append(record)

    def stands(self, state: State, running: tuple[Job, ...]) -> None:
        self.states.append(state)


@dataclass(frozen=True)
class Done:
    """How a bisection ended."""

    state: State
    log: Path

    @property
    def answer(self) -> Answer:
        assert self.state.answer is not None
        return self.state.answer

    @property
    def culprits(self) -> set[tuple[str, ...]]:
        return {each.fixes for each in self.answer.culprits}

    @property
    def parts(self) -> set[tuple[str, ...]]:
        return {each.parts for each in self.answer.culprits}

    def kinds(self, phase: str = "") -> list[str]:
        return [each.kind for each in self.state.records if not phase or each.phase == phase]

    @property
    def selections(self) -> list[str]:
        return [each.selection for each in self.state.records]


class Field(Project):
    """``app.core.fN`` returns "fixed", and "reverted" where fix N is; ``check.py EXPRESSION`` fails where it is true."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, fixes: int = 4) -> None:
        super().__init__(root)
        for name in [name for name in os.environ if name.startswith(CLEARED)]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("PYTHONPATH", str(self.site))
        monkeypatch.setenv("PRTOGGLE_PATH", str(self.fixes))
        monkeypatch.setenv("PRTOGGLE_CACHE", str(self.cache))
        self.count = fixes
        functions = "".join(f"def f{n}():\n    return 'fixed {n}'[:5]\n" for n in range(1, fixes + 1))
        self.package(
            {"app/__init__.py": "", "app/core.py": functions, "app/other.py": "def g():\n    return 'fixed'\n"}
        )
        for n in range(1, fixes + 1):
            self.fix(
                n, target=f"app.core.f{n}", edits=f"- match: return 'fixed {n}'[:5]\n  replacement: return 'reverted'"
            )
        self.ran = root / "ran.txt"
        self.check = root / "check.py"
        self.check.write_text(CHECK.format(ran=str(self.ran), imports="core"))

    def settings(self, expression: str = "", **more: object) -> Settings:
        among = ",".join(map(str, range(1, self.count + 1)))
        command = (sys.executable, str(self.check), expression)
        return replace(Settings(command, among, str(self.root), trace=False), **more)  # type: ignore[arg-type]

    def bisect(
        self, expression: str = "", *, log: str = "bisect.jsonl", watcher: Seen | None = None, **more: object
    ) -> Done:
        """A whole bisection, in this process."""
        with session.begin(self.settings(expression, **more), log=self.root / log) as opened:
            return self.go_on(opened, watcher=watcher)

    def go_on(self, log: Log, settings: Settings | None = None, watcher: Seen | None = None) -> Done:
        settings = settings or log.header.settings
        return Done(session.run(log, session.local(settings), watcher or Seen(), settings), log.path)

    def runs(self, word: str = "end") -> list[str]:
        """The selections of the runs that began, or ended, in order."""
        lines = self.ran.read_text().splitlines() if self.ran.exists() else []
        return [line.partition(" ")[2] for line in lines if line.startswith(word)]


def processes_of(root: Path) -> list[int]:
    """Every process that a trial below ``root`` started and that is alive, by the mark in its environment."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            environ = Path("/proc", name, "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(entry.startswith(f"{MARK}={root}".encode()) for entry in environ):
            found.append(int(name))
    return found


def named(mark: str) -> list[int]:
    """Every process with ``mark`` in its command line."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                line = Path("/proc", name, "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in line:
                found.append(int(name))
    return found
