"""Small texts and packages for the tests of ``new``."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from prtoggle.authoring.change import Pair
from prtoggle.authoring.parts import Part, parts
from prtoggle.authoring.written import edits
from prtoggle.edits.text import SourceText
from prtoggle.packages import Package, locate


def text(code: str) -> SourceText:
    return SourceText(dedent(code))


def pair(fixed: str, reverted: str, module: str = "engine.core") -> Pair:
    return Pair(module, text(fixed), text(reverted))


def parts_of(*pairs: Pair) -> tuple[Part, ...]:
    return parts(pairs, {each.module: edits(each) for each in pairs})


def units(*pairs: Pair) -> list[list[str]]:
    """The definitions of each part."""
    return [[unit for _, unit in part.units] for part in parts_of(*pairs)]


def package(root: Path, files: Mapping[str, str], name: str = "engine") -> Package:
    """A package with an empty ``__init__`` and these files, by path in it."""
    for path, code in {"__init__.py": "", **files}.items():
        file = root / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(code))
    found = locate(name, [str(root)])
    assert found is not None
    return found


class Repo:
    """A git repository in ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false")
        env = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": str(self.root)}
        env |= {"GIT_COMMITTER_DATE": "2026-01-02T10:00:00 +0000", "GIT_AUTHOR_DATE": "2026-01-01T10:00:00 +0000"}
        env |= {"PATH": "/usr/local/bin:/usr/bin:/bin"}
        done = subprocess.run(["git", *who, *words], cwd=self.root, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str | None], message: str = "a change (#101)") -> str:
        """Write these files (None: delete), commit, and say which commit that is."""
        for path, code in files.items():
            file = self.root / path
            if code is None:
                self.git("rm", "-q", path)
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(code.encode())
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")
