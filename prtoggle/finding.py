"""One thing that the doctor looked at, and how it is.

Example::

    Finding("cache", "warning", "there is no home folder to cache in", "set PRTOGGLE_CACHE")
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: ``state`` is ``ok``, ``warning`` or ``bad``."""

    name: str
    state: str
    what: str
    hint: str = ""
    nearest: str = ""
