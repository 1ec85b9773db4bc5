"""Tiny packages and fixes, and the real command in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

CHECKOUT = Path(__file__).resolve().parents[2]
LEFT_OUT = ("PRTOGGLE_", "SGLANG_", "PYTHON", "GITHUB_", "NO_COLOR", "COLUMNS", "_PRTOGGLE", "PIP_")


@dataclass(frozen=True)
class Ran:
    """A command that ended."""

    code: int
    out: str
    err: str


class World:
    """A folder with packages on the path (``site``), fixes (``fixes``) and a current folder (``here``).

    prtoggle itself is seen through a link in ``lib``, so that the fixes that come with it are not.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.site, self.fixes, self.here, self.lib = root / "site", root / "fixes", root / "here", root / "lib"
        for folder in (self.site, self.fixes, self.here, self.lib):
            folder.mkdir(parents=True)
        (self.lib / "prtoggle").symlink_to(CHECKOUT / "prtoggle")

    def package(self, name: str = "engine", version: str = "1.2", into: Path | None = None, **modules: str) -> Path:
        """A package with its metadata; ``modules`` are texts by module name."""
        site = into or self.site
        folder = site / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").write_text("")
        for module, text in modules.items():
            (folder / f"{module}.py").write_bytes(text.encode())
        if version:
            info = site / f"{name}-{version}.dist-info"
            info.mkdir(exist_ok=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            (info / "RECORD").write_text(f"{name}/__init__.py,,\n")
        return folder

    def fix(self, number: int, yaml: str, into: Path | None = None) -> Path:
        """A reverse patch in ``fixes``."""
        folder = (into or self.fixes) / f"pr{number}_x"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "revert.yaml"
        file.write_text(dedent(yaml), encoding="utf-8")
        return file

    def environ(self, env: dict[str, str] | None = None) -> dict[str, str]:
        """The environment of a command: only this world is seen."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
        return clean | {
            "PYTHONPATH": os.pathsep.join([str(self.lib), str(self.site)]),
            "PRTOGGLE_CACHE": str(self.root / "cache"),
            "PRTOGGLE_PATH": str(self.fixes),
            "PYTHONUTF8": "1",
            **(env or {}),
        }

    def start(self, *args: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """``prtoggle ARGS``, started."""
        return subprocess.Popen(
            [sys.executable, "-m", "prtoggle", *args],
            cwd=self.here,
            env=self.environ(env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def run(self, *args: str, env: dict[str, str] | None = None) -> Ran:
        """``prtoggle ARGS``, ended."""
        started = self.start(*args, env=env)
        out, err = started.communicate(timeout=120)
        return Ran(started.returncode, out, err)

    def readable(self, text: str) -> str:
        """``text`` with what differs from place to place replaced."""
        text = text.replace(sys.executable, "<PYTHON>/bin/python")
        for folder, name in ((self.root, "<ROOT>"), (CHECKOUT, "<PRTOGGLE>"), (Path(sys.prefix), "<PYTHON>")):
            text = text.replace(str(folder), name)
        text = re.sub(r"prtoggle, version \S+", "prtoggle, version <VERSION>", text)
        return "\n".join(line.rstrip() for line in text.splitlines()) + ("\n" if text else "")


ENGINE = """\
class Runner:
    def step(self, batch):
        batch = batch[: self.limit]  # cut
        assert len(batch) <= self.limit
        return self.forward(batch)
"""
"""A module with the fix that :data:`FIX` takes out."""

FIX = """\
prtoggle: 1
fix: 101
title: a batch longer than the limit is written past the end
project: acme/engine
merged: 2026-01-02
symptom: IndexError after hours
contains:
  engine: '>=1.2'
parts:
  slice: cut the batch to the limit
  assert: refuse a batch that is too long
  pad: pad an empty batch
default: [slice]
variants:
  - package: engine
    versions: '>=1.0'
    lacks: [pad]
    patches:
      - target: engine.core.Runner.step
        edits:
          - part: slice
            find: 'batch = batch[: self.limit]'
            put: ''
            unfixed: |
              def step(self, batch):
                  assert $TEST
                  return $RESULT
          - part: assert
            find: 'assert len(batch) <= self.limit'
            put: ''
"""

FIXED, REVERTED = ENGINE, ENGINE.replace("        batch = batch[: self.limit]  # cut\n", "")
GONE = "class Runner:\n    def step(self, batch):\n        batch = batch[: self.size]\n        return self.go(batch)\n"
