"""Files that somebody changed: uncommitted changes, for git, and files that are not what their distribution installed.

Example::

    dirty((Path("python/sglang/srt/x.py"),))     # (("python/sglang/srt/x.py has uncommitted changes",), ())
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from prtoggle.packages import Package

_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")


def uncommitted(files: Iterable[Path]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which of ``files`` have changes that git was not given, one line each; and what could not be looked at."""
    changed: list[str] = []
    unknown: dict[str, None] = {}
    env = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    env |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    for file in files:
        if not any((parent / ".git").exists() for parent in file.parents):
            continue
        command = ["git", "--literal-pathspecs", "-C", str(file.parent), "status", "--porcelain", "-z"]
        try:
            done = subprocess.run(
                [*command, "--untracked-files=no", "--", file.name], env=env, capture_output=True, check=False
            )
        except OSError:
            unknown["git is not installed"] = None
            continue
        if done.stdout:
            changed.append(f"{file} has uncommitted changes")
        elif done.returncode and b"not a git repository" not in done.stderr:
            unknown[(done.stderr.decode(errors="replace").strip().splitlines() or ["git failed"])[0]] = None
    notes = tuple(f"whether files have uncommitted changes was not looked at: {why}" for why in unknown)
    return tuple(changed), notes


def not_as_installed(package: Package, paths: Iterable[str]) -> tuple[str, ...]:
    """Which of ``paths`` (from the package's parent) differ from what its distribution recorded, one line each."""
    if package.metadata is None:
        return ()
    try:
        with open(package.metadata / "RECORD", encoding="utf-8", errors="surrogateescape", newline="") as lines:
            recorded = {row[0]: row[1] for row in csv.reader(lines) if len(row) > 1}
    except (OSError, csv.Error):
        return ()
    root = package.metadata.parent
    found = []
    for path in paths:
        algorithm, _, digest = recorded.get(path, "").partition("=")
        if digest and algorithm in ("sha256", "sha384", "sha512"):
            ours = hashlib.new(algorithm, (root / path).read_bytes()).digest()
            if base64.urlsafe_b64encode(ours).rstrip(b"=").decode() != digest:
                found.append(f"{root / path} is not the file that {package.metadata.name} installed")
    return tuple(found)
