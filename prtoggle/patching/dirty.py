"""Files that somebody changed: uncommitted changes, for git, and files that are not what their distribution installed.

Example::

    dirty((Path("python/sglang/srt/x.py"),))     # (("python/sglang/srt/x.py has uncommitted changes",), ())
"""

from __future__ import annotations

import base64
import csv
import hashlib
from collections.abc import Iterable
from pathlib import Path

from prtoggle import git
from prtoggle.packages import Package

_SECONDS = 60.0


def uncommitted(files: Iterable[Path]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which of ``files`` have changes that git was not given, one line each; and what could not be looked at."""
    changed: list[str] = []
    unknown: dict[str, None] = {}
    for file in files:
        if not any((parent / ".git").exists() for parent in file.parents):
            continue
        words = ("status", "--porcelain", "-z", "--untracked-files=no", "--", file.name)
        asked = git.ask(file.parent, *words, seconds=_SECONDS)
        if asked.out:
            changed.append(f"{file} has uncommitted changes")
        elif not asked.ok and not asked.why.startswith("not a git repository"):
            unknown[asked.why] = None
        if not asked.ran:
            break  # nor will it for the next
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
