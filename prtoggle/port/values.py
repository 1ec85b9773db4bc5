"""What crosses between a revert in one release, its port to another, and those who ask for one: values, one protocol.

Example::

    revert = Revert("pkg 1.0", (Texts("pkg.a", "x = 1\\n", "x = 0\\n"),))
    port(revert, [tree_of_1_0, tree_of_1_1])        # Carried(Revert("pkg 1.1", ...), steps) or CannotTell(reason, ...)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Texts:
    """One module, in one release, in both states."""

    module: str
    fixed: str
    reverted: str


@dataclass(frozen=True)
class Revert:
    """What one part (or several together) changes in one release: the modules that differ, and no others."""

    release: str
    modules: tuple[Texts, ...]


class Tree(Protocol):
    """A release's sources."""

    @property
    def label(self) -> str:
        """Name and version, for messages: ``pkg 1.0``."""

    def text(self, module: str) -> str | None:
        """The fixed text of ``module``; None where there is none."""

    def modules(self) -> Iterable[str]:
        """The names of all modules of the package."""


@dataclass(frozen=True)
class Step:
    """Evidence: one changed place, over one step between releases.

    Attributes:
        before, after: ``<release> <module>:<qualname>:<line>``.
        how: ``same place``, ``reworded``, ``wrapped over lines``, ``moved to another module`` and so on; several are
            joined with ``, ``.
        why: one sentence: why it is the same.
    """

    before: str
    after: str
    how: str
    why: str


@dataclass(frozen=True)
class Carried:
    """The revert as it is in the other release."""

    revert: Revert
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class CannotTell:
    """Why no port is proposed.

    Attributes:
        where: the place in the release that the revert comes from, as in :class:`Step`; empty where it is about all.
        nearest: the nearest passage of the other release, for a person to look at; may be empty.
        release: the label of the release in which it could not be told.
        steps: what could be told before that.
    """

    reason: str
    where: str
    nearest: str
    release: str
    steps: tuple[Step, ...] = ()
