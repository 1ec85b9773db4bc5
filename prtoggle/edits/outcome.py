"""What a locator says of one edit in one source text, as values.

Exactly one of: :class:`Found` (it can be made, here is how), :class:`Already` (what it would make is there already),
:class:`Missing` (not there; the nearest candidate) and :class:`Several` (there more than once).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Replacement:
    """Put ``new`` in place of ``text[start:end]``; an insertion has ``start == end``.

    ``new`` is written with ``\\n``; :func:`prtoggle.edits.combine.combine` turns it into the file's line ends.
    """

    start: int
    end: int
    new: str


@dataclass(frozen=True)
class Found:
    """The edit's one place: ``line`` is the first it touches, ``notes`` what a person should know (a comment lost)."""

    replacements: tuple[Replacement, ...]
    line: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Already:
    """The text that the edit would make stands there already, at ``line``."""

    line: int
    reason: str = ""


@dataclass(frozen=True)
class Missing:
    """Not found. ``nearest`` is the nearest candidate's text and ``line`` its line (0: there is none)."""

    reason: str
    nearest: str = ""
    line: int = 0


@dataclass(frozen=True)
class Several:
    """Found more than once, at ``lines``."""

    lines: tuple[int, ...]
    reason: str = ""


Outcome = Found | Already | Missing | Several
