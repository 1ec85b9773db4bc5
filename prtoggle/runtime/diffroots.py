"""Names of packages that a diff in the selection could be for: every folder on the path of every file that it touches.

Too many names cost a look at the plan when one of them is imported; too few would let the diff pass by unseen. No
parsing beyond that.
"""

from __future__ import annotations

import os

from prtoggle import selection

_MARKS = ("--- ", "+++ ", "rename from ", "rename to ", "diff --git ")


def roots(value: str, cwd: str) -> set[str]:
    """Candidates over all diffs that the selection text ``value`` names. A diff that cannot be read gives none."""
    found: set[str] = set()
    for choice in selection.parse(value).choices:
        if choice.kind != "diff":
            continue
        try:
            with open(os.path.join(cwd, choice.path), encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    if line.startswith(_MARKS):
                        for name in line.replace('"', "").split("\t")[0].split():
                            found.update(_folders(name))
        except OSError:
            continue
    return found


def _folders(path: str) -> list[str]:
    pieces = path.replace("\\", "/").split("/")
    names = pieces[:-1]
    if pieces[-1].endswith(".py"):
        names.append(pieces[-1][: -len(".py")])
    return [name for name in names if name.isidentifier()]
