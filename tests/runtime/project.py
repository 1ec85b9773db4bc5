"""A made-up target package with a fix of its own, and real Python processes that import it.

Example::

    project = Project(tmp_path)
    project.package({"app/__init__.py": "", "app/core.py": "def f():\\n    return 'fixed'\\n"})
    project.fix(7, target="app.core.f", edits="- match: return 'fixed'\\n  replacement: return 'reverted'")
    project.python("import app.core; print(app.core.f())", revert="7").stdout == "reverted\\n"
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

_CODE = re.compile(r"((?:match|replacement|prepend|append|find|put|unfixed|preamble): )([^|'\n].*)")
"""Code that a test wrote plainly: quoted, since a reverse patch takes it only so."""

CLEARED = ("PRTOGGLE_", "SGLANG_DEBUG_REVERT_PR", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")


@dataclass(frozen=True)
class Done:
    """How a process ended. ``err`` leaves out prtoggle's own one-line notice."""

    code: int
    out: str
    err: str
    notices: tuple[str, ...]


class Project:
    """Folders for one test: ``site`` (importable), ``fixes``, ``cache``, ``journal``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.site, self.fixes, self.cache = root / "site", root / "fixes", root / "cache"
        for folder in (self.site, self.fixes):
            folder.mkdir(parents=True, exist_ok=True)

    def package(self, files: dict[str, str | bytes], *, where: Path | None = None) -> Path:
        """Write the package's files; a text is dedented, bytes are written as they are."""
        base = where or self.site
        for name, text in files.items():
            path = base / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
        return base

    def fix(
        self, number: int, *, target: str = "", edits: str = "", patches: str = "", extra: str = "", slug: str = "x"
    ) -> Path:
        """Write a fix folder. ``edits`` is a YAML list for the one ``target``; or give ``patches`` whole."""
        package = (target or patches.partition("target:")[2].strip().split()[0]).partition(".")[0].partition(":")[0]
        if not patches:
            patches = f"- target: {target}\n  edits:\n" + textwrap.indent(textwrap.dedent(edits).strip(), "    ")
        patches = _CODE.sub(lambda found: f"{found[1]}'{found[2].replace(chr(39), chr(39) * 2)}'", patches)
        text = f"prtoggle: 1\nfix: {number}\ntitle: a fix of this test\n"
        text += textwrap.dedent(extra).strip() + "\n" if extra else ""
        text += (
            f"variants:\n  - package: {package}\n    patches:\n"
            + textwrap.indent(textwrap.dedent(patches).strip(), "      ")
            + "\n"
        )
        file = self.fixes / f"pr{number}_{slug}" / "revert.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        return file

    def env(self, revert: str | None = None, **more: str) -> dict[str, str]:
        """The environment of a process under ``revert``."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(CLEARED)}
        env.update(PYTHONPATH=str(self.site), PRTOGGLE_PATH=str(self.fixes), PRTOGGLE_CACHE=str(self.cache))
        if revert is not None:
            env["PRTOGGLE_REVERT"] = revert
        env.update(more)
        return env

    def python(
        self,
        code: str | list[str],
        *,
        revert: str | None = None,
        flags: tuple[str, ...] = (),
        cwd: Path | None = None,
        **env: str,
    ) -> Done:
        """Run ``code`` (text for -c, or arguments) in a real Python process."""
        tail = code if isinstance(code, list) else ["-c", textwrap.dedent(code)]
        done = subprocess.run(
            [sys.executable, *flags, *tail],
            env=self.env(revert, **env),
            cwd=cwd or self.root,
            capture_output=True,
            text=True,
            timeout=120,
        )
        lines = done.stderr.splitlines(keepends=True)
        notices = tuple(line for line in lines if line.startswith("prtoggle: "))
        err = "".join(line for line in lines if line not in notices)
        return Done(done.returncode, done.stdout, err, notices)


def tree_hashes(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder`` with its bytes, bytecode files too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
