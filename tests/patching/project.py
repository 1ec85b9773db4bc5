"""A tree with a package of three modules and a fix of two parts, and the commands of ``--tree`` called on it in this process.

Example::

    project = Project(tmp_path)
    project.revert("7/one")
    project.texts()["a"]      # the reverted text
"""

from __future__ import annotations

import os
import py_compile
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from prtoggle.library import Library
from prtoggle.patching.answer import Answer
from prtoggle.patching.applying import revert
from prtoggle.patching.restoring import restore
from prtoggle.selection import parse

A = 'def f():\n    """α"""\n    one = 1\n    both = 2\n    return one\n'
B = "def g():\n    both = 2\n    return both\n"
C = "def h():\n    return 3\n"
FIX = """\
prtoggle: 1
fix: 7
title: two parts in two modules
project: acme/engine
merged: 2026-01-02
symptom: it breaks
contains:
  engine: '>=1.0'
parts:
  one: the first
  both: in both modules
variants:
  - package: engine
    patches:
      - target: engine.a.f
        edits:
          - part: one
            match: '    one = 1'
            replacement: '    one = "reverted"'
          - part: both
            match: '    both = 2'
            replacement: '    both = "reverted"'
      - target: engine.b.g
        edits:
          - part: both
            match: '    both = 2'
            replacement: '    both = "reverted"'
"""
ONE = {"a": A.replace("one = 1", 'one = "reverted"'), "b": B}
BOTH = {"a": A.replace("both = 2", 'both = "reverted"'), "b": B.replace("both = 2", 'both = "reverted"')}
ALL = {"a": ONE["a"].replace("both = 2", 'both = "reverted"'), "b": BOTH["b"]}
FIXED = {"a": A, "b": B}

Snapshot = dict[str, tuple[str, bytes, int, int]]


@dataclass
class Project:
    """Everything lies below ``root``: ``site`` is the tree, ``fixes`` the reverse patches."""

    root: Path

    def __post_init__(self) -> None:
        self.site, self.fixes = self.root / "site", self.root / "fixes"
        package = self.site / "engine"
        package.mkdir(parents=True)
        self.write("__init__", "")
        for name, text in (("a", A), ("b", B), ("c", C)):
            self.write(name, text)
        self.metadata("1.2")
        self.fix(7, FIX)

    def file(self, module: str) -> Path:
        return self.site / "engine" / f"{module}.py"

    def write(self, module: str, text: str | bytes) -> Path:
        file = self.file(module)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def metadata(self, version: str) -> None:
        for old in self.site.glob("engine-*.dist-info"):
            for file in old.iterdir():
                file.unlink()
            old.rmdir()
        info = self.site / f"engine-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: engine\nVersion: {version}\n")
        (info / "RECORD").write_text("engine/__init__.py,,\n")

    def fix(self, number: int, yaml: str) -> None:
        folder = self.fixes / f"pr{number}_x"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "revert.yaml").write_text(dedent(yaml), encoding="utf-8")

    def compile(self, mode: py_compile.PycInvalidationMode = py_compile.PycInvalidationMode.TIMESTAMP) -> None:
        for file in sorted((self.site / "engine").glob("*.py")):
            py_compile.compile(str(file), doraise=True, invalidation_mode=mode)

    @property
    def library(self) -> Library:
        return Library([self.fixes], path=[str(self.site)], environ={})

    def revert(self, selection: str, tree: Path | None = None, **options: bool | float) -> Answer:
        return revert(parse(selection), tree or self.site, self.library, **options)  # type: ignore[arg-type]

    def restore(self, selection: str = "all", tree: Path | None = None, **options: bool | float) -> Answer:
        return restore(parse(selection), tree or self.site, self.library, **options)  # type: ignore[arg-type]

    def texts(self) -> dict[str, str]:
        """The two modules that the fix is in."""
        return {name: self.file(name).read_text(encoding="utf-8") for name in ("a", "b")}

    def snapshot(self) -> Snapshot:
        return snapshot(self.site)

    def runs(self) -> str:
        """What the modules say in a Python of their own."""
        done = subprocess.run(
            [sys.executable, "-S", "-c", "import engine.a, engine.b; print(engine.a.f(), engine.b.g())"],
            cwd=self.site,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()


def snapshot(root: Path) -> Snapshot:
    """Every file below ``root``: its kind, bytes (of a link: where it leads), mode and time. Of the lock, that it is
    there."""
    found: Snapshot = {}
    for folder, folders, files in os.walk(root):
        for name in (*files, *folders):
            path = Path(folder, name)
            state = path.lstat()
            key = path.relative_to(root).as_posix()
            if key == ".prtoggle/lock":
                found[key] = ("lock", b"", 0, 0)
            elif path.is_symlink():
                found[key] = ("link", os.fsencode(os.readlink(path)), 0, 0)
            elif path.is_dir():
                found[key] = ("folder", b"", stat.S_IMODE(state.st_mode), 0)
            else:
                found[key] = ("file", path.read_bytes(), stat.S_IMODE(state.st_mode), state.st_mtime_ns)
    return found
