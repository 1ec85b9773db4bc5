"""Names of packages that a diff in the selection could be for: every folder on the path of every file that it touches.

Too many names cost a look at the plan when one of them is imported; too few would let the diff pass by unseen. No
parsing beyond that.
"""

from __future__ import annotations

import os

from prtoggle import selection
from prtoggle.runtime import sources

_MARKS = ("--- ", "+++ ", "rename from ", "rename to ", "diff --git ")


def roots(value: str, cwd: str) -> set[str]:
    """Candidates over all diffs that the selection text ``value`` names. A diff that cannot be read gives none."""
    return look(value, cwd)[0]


def look(value: str, cwd: str) -> tuple[set[str], list[str]]:
    """As :func:`roots`, and why a diff gives none."""
    found: set[str] = set()
    problems: list[str] = []
    for choice in selection.parse(value).choices:
        if choice.kind != "diff":
            continue
        path = os.path.join(cwd, choice.path)
        try:
            text = sources.read(path).decode("utf-8", "replace")
        except OSError as error:
            problems.append(f"the diff {path} cannot be read: {error.strerror or error}")
            continue
        names: set[str] = set()
        for line in text.split("\n"):
            if line.startswith(_MARKS):
                for name in line.replace('"', "").split("\t")[0].split():
                    names.update(_folders(name))
        found |= names
        if not names:
            problems.append(f"the diff {path} names no package")
    return found, problems


def _folders(path: str) -> list[str]:
    pieces = path.replace("\\", "/").split("/")
    names = pieces[:-1]
    if pieces[-1].endswith(".py"):
        names.append(pieces[-1][: -len(".py")])
    return [name for name in names if name.isidentifier()]
