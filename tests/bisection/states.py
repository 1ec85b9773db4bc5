"""Bisections that stand somewhere, made by hand, for tests of what is said of them.

Example::

    state(trial(1, "ends", (), "good"), trial(2, "ends", ("1", "2"), "bad"), answer=found("2"))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prtoggle.bisect.values import Belief, Direction
from prtoggle.bisection.values import Answer, Blamed, Candidate, Settings, State, TrialRecord

COMMAND = ("python", "-c", "import app.core; app.core.check('<&>')")


def trial(
    number: int,
    phase: str,
    reverted: Sequence[str],
    kind: str,
    *,
    began: float = 0.0,
    seconds: float = 1.0,
    **more: Any,
) -> TrialRecord:
    """A finished trial; without ``began``, one after the other from a day in 2026."""
    return TrialRecord(
        number,
        phase,
        tuple(reverted),
        ",".join(reverted) or "none",
        kind,
        code={"good": 0, "bad": 1, "skip": 125}.get(kind),
        began=began or 1_767_300_000.0 + number,
        seconds=seconds,
        **{"worker": "local/0", **more},
    )


def found(*sets: Sequence[str], direction: Direction = Direction.REVERTED, **more: Any) -> Answer:
    """The answer that each of ``sets`` is a culprit."""
    blamed = tuple(Blamed(tuple(names), tuple(names), bad=",".join(names), good="none") for names in sets)
    return Answer("found", direction, blamed, **{"confidence": 1.0, "complete": True, **more})


def state(
    *records: TrialRecord,
    candidates: Sequence[str] = ("1", "2", "3", "4"),
    answer: Answer | None = None,
    belief: Belief | None = None,
    settings: Settings | None = None,
    **more: Any,
) -> State:
    """A bisection that stands after these trials."""
    return State(
        settings or Settings(COMMAND, cwd="/somewhere"),
        tuple(Candidate(name, (f"{name}/fix",), f"title of {name}", "app") for name in candidates),
        tuple(records),
        "search",
        **{"mode": "flaky" if belief else "certain", **more},
        belief=belief,
        answer=answer,
    )
