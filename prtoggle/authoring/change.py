"""A change to be taken out, as values: both texts of each module, what of it is left in and why, and what was said of
it.

Contract: pure apart from what :class:`Package` reads. Whatever the change touches is in ``pairs`` or in ``left``,
never in neither.

Example::

    classify("engine/fast.pyx", in_package=True)     # Left("engine/fast.pyx", "refused", "a compiled source")
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from prtoggle.difffix import COMPILED, skipped
from prtoggle.edits.text import SourceText
from prtoggle.packages import Package

SKIPPED, STAYS, REFUSED = "skipped", "stays", "refused"
"""Nothing of the running program; nothing to take out; cannot be taken out at run time."""


@dataclass(frozen=True)
class Left:
    """A file of the change that stays as it is: ``kind`` is one of the three above."""

    path: str
    kind: str
    why: str


@dataclass(frozen=True)
class Pair:
    """One module in both states."""

    module: str
    fixed: SourceText
    reverted: SourceText


@dataclass(frozen=True)
class Told:
    """What the commit or mail says of the change; empty where it does not say."""

    title: str = ""
    merged: str = ""
    project: str = ""
    number: str = ""
    links: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """A change of one package.

    Attributes:
        home: the copy of the package whose texts are the fixed ones.
        label: what that copy is called: ``commit 1f2e3d4``, ``engine 1.3``.
        came: where the change came from, in words.
        older: the label of what the reverted texts are from.
    """

    home: Package
    label: str
    came: str
    older: str
    pairs: tuple[Pair, ...]
    left: tuple[Left, ...]
    told: Told = Told()


def classify(path: str, *, in_package: bool, package: str) -> Left | None:
    """Why a file of a change is not for a reverse patch, going by its name; None for a module of the package."""
    if skipped(path):
        return Left(path, SKIPPED, "tests and documentation")
    if path.endswith(COMPILED):
        return Left(path, REFUSED, "a compiled source")
    if path.endswith(".pyi"):
        return Left(path, SKIPPED, "types, which nothing runs")
    if not in_package:
        return Left(path, SKIPPED, f"not part of {package}")
    if not path.endswith(".py"):
        return Left(path, REFUSED, "not a Python module")
    return None


def added(path: str) -> Left:
    """A module that came with the change."""
    return Left(path, STAYS, "a module that the change added; nothing imports it once the rest is out")


def deleted(path: str) -> Left:
    """A module that went with the change."""
    return Left(path, REFUSED, "a file that the change deleted")


def renamed(path: str, before: str) -> Left:
    """A module that has another name since the change."""
    return Left(path, REFUSED, f"a file that the change renamed, from {before}")


def paired(path: str, module: str, fixed: bytes, reverted: bytes) -> Pair | Left:
    """Both texts of a module, or why they are of no use."""
    texts = []
    for data in (fixed, reverted):
        try:
            source = SourceText.decode(data)
            _ = source.tree
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return Left(path, REFUSED, f"cannot be read as Python: {type(error).__name__}: {error}")
        texts.append(source)
    if ast.dump(texts[0].tree) == ast.dump(texts[1].tree):
        return Left(path, SKIPPED, "comments and layout alone")
    return Pair(module, texts[0], texts[1])


def module_name(package: str, relative: str) -> str:
    """The module of the file ``relative`` to the package's folder; empty where its name can be none."""
    pieces = relative.removesuffix(".py").split("/")
    if pieces[-1] == "__init__":
        pieces.pop()
    return ".".join([package, *pieces]) if all(piece.isidentifier() for piece in pieces) else ""
