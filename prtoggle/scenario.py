"""What a scenario is: a small program that shows a fix's symptom when reverted and its absence when fixed.

A fix's ``scenario.py`` defines two names::

    def observe(device: str) -> dict[str, object]:
        '''Exercise the component on ``device`` ("cpu" or "cuda") and return what was seen: plain JSON values.'''

    CASES = (
        Case("none", "the padded tail holds zeros", lambda seen: seen["tail"] == [0, 0]),
        Case("24401", "the padded tail holds the last replay's values", lambda seen: seen["tail"] == [5, 6]),
    )

``observe`` does not know which state it runs in; every case runs it in a process of its own, with the case's
selection reverted, and then judges what it saw.

``real.py`` beside it, where there is one, runs the real package's own code and has the same two names, ``observe()``
without a device; :mod:`prtoggle.real_runner` says what else it defines. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """One state of a fix and what must be seen in it.

    Attributes:
        revert: the selection to run under; ``"none"`` is the fixed state.
        claim: what must be seen, in plain words, present tense, no full stop.
        holds: judges what ``observe`` returned.
    """

    revert: str
    claim: str
    holds: Callable[[dict[str, Any]], bool]


class CannotRun(Exception):
    """Raised by ``observe`` where a release's code cannot be imported or called here; says why in plain words."""
