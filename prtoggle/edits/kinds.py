"""The kinds of edit, as values: what a reverse patch asks for, before it is known whether it applies.

Each is made by the loader (or by an integration) and given to its locator:
:class:`LinesEdit` to ``lines.locate``, :class:`PatternEdit` to ``pattern.locate``, :class:`DiffEdit` to
``udiff.locate``, :class:`PreambleEdit` to ``preamble.locate``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class LinesEdit:
    """Whole lines: find ``match``, then replace it by ``text``, or put ``text`` before or after it."""

    match: str
    action: Literal["replace", "prepend", "append"]
    text: str


@dataclass(frozen=True)
class PatternEdit:
    """A code pattern. ``put`` is empty for a deletion; ``unfixed`` shows how the place looks without the fix: one
    pattern, or several where it can look in several ways (with another part of the fix still in)."""

    find: str
    put: str
    unfixed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hunk:
    """One hunk, already in the direction in which it is applied: ``old`` is what must stand there, ``new`` what comes.

    Lines carry no line end. ``line`` is the line number that the diff states (a help for messages only), ``section``
    the text behind the second ``@@``.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    line: int = 0
    section: str = ""


@dataclass(frozen=True)
class DiffEdit:
    """Hunks of a unified diff for one file, in file order."""

    hunks: tuple[Hunk, ...]


@dataclass(frozen=True)
class PreambleEdit:
    """Lines put at the start of a function's body, after its docstring (SGLang's ``preamble``)."""

    text: str


EditKind = LinesEdit | PatternEdit | DiffEdit | PreambleEdit
