"""What is said of a live toggle, written of it in the journal, and who is called after it.

Example::

    @on_toggle                            # prtoggle.on_toggle
    def capture_again(event): ...
"""

from __future__ import annotations

import sys

from prtoggle.runtime import journal, notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from prtoggle.runtime.targets import Wanted

_callbacks: list[Callable[[Event], object]] = []


class Event:
    """What a callback of :func:`on_toggle` is given.

    Attributes:
        reverted: the parts that were taken out.
        restored: the parts that were put back.
        baked_in: where old code lives on, as the fixes say: ``cuda-graph``.
    """

    __slots__ = ("baked_in", "restored", "reverted")

    def __init__(self, reverted: tuple[str, ...], restored: tuple[str, ...], baked_in: tuple[str, ...]) -> None:
        self.reverted = reverted
        self.restored = restored
        self.baked_in = baked_in


def on_toggle(callback: Callable[[Event], object]) -> Callable[[Event], object]:
    """Have ``callback`` called after each toggle, to capture anew what holds old code. Also a decorator."""
    _callbacks.append(callback)
    return callback


def say(result: dict[str, Any], plans: Iterable[Wanted]) -> None:
    """One line on stderr for each direction."""
    labels = ", ".join(plan.label for plan in plans)
    for word in ("reverted", "restored"):
        if result[word]:
            notice.say(f"{', '.join(result[word])} {word} in {labels}, while running")


def write(result: dict[str, Any], plans: Iterable[Wanted], texts: Iterable[tuple[str, str, bytes, bytes]]) -> None:
    """The event ``toggled``: the parts, and each module whose text changed, with the hashes of its original and of
    what it runs now."""
    if not journal.wanted():
        return
    from prtoggle.runtime.cache import digest

    plans = tuple(plans)
    planned = {each.name: each for plan in plans for each in plan.planned}
    modules = []
    for name, file, base, text in texts:
        known = planned.get(name)
        edits = known.edits if known is not None else ()
        modules.append(
            {
                "module": name,
                "file": file,
                "before": digest(base),
                "after": digest(text),
                "parts": known.parts if known is not None else (),
                "edits": [{"parts": e[0], "place": e[1], "line": e[2], "target": e[3]} for e in edits],
                "loaded": name in sys.modules,
            }
        )
    journal.record(
        "toggled",
        reverted=result["reverted"],
        restored=result["restored"],
        packages=[{"package": plan.package, "label": plan.label, "parts": plan.parts} for plan in plans],
        modules=modules,
        pause=result["pause"],
        left=result["left"],
    )


def tell(result: dict[str, Any], baked_in: tuple[str, ...]) -> None:
    """Warn of what keeps old code, and call who can make it anew."""
    said = list(result["warnings"])
    if baked_in:
        said.append(f"old code lives on where it was captured ({', '.join(baked_in)}) until that is captured again")
    event = Event(result["reverted"], result["restored"], baked_in)
    for callback in list(_callbacks):
        try:
            callback(event)
        except Exception as error:
            said.append(f"a callback of on_toggle failed: {type(error).__name__}: {error}")
    for each in said:
        notice.error(each) if "failed" in each else notice.say(f"warning: {each}")
    result["warnings"] = tuple(said)


__all__ = ["Event", "on_toggle", "say", "tell", "write"]
