"""A toggle under way, for a child that another thread forks in the middle of it: the thread of the toggle is not there.

A child forked while the gate is closed has everything as it was. One forked after that has functions that changed, and
nothing that says so: it goes through with the rest of the toggle by itself.

Example::

    with Midway(finish) as midway:
        midway.changes = changes
        ...                        # set them, then do what finish() does
"""

from __future__ import annotations

import os
from _thread import get_ident

from prtoggle.runtime import functions, gate, notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from prtoggle.runtime.change import Change

_under_way: list[Midway] = []


class Midway:
    """One toggle under way.

    Attributes:
        changes: what the functions are to become.
        files: the files that they are of.
    """

    def __init__(self, finish: Callable[[], None]) -> None:
        self.changes: list[Change] = []
        self.files: set[str] = set()
        self._finish = finish
        self._thread = get_ident()

    def __enter__(self) -> Midway:
        _under_way.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _under_way.remove(self)

    def go_on(self) -> None:
        """In a forked child: go through with it, where it had begun."""
        if self._thread == get_ident():
            return  # the toggle itself goes on here
        _under_way.remove(self)
        mine = [each.function for each in self.changes if each.function.__code__ is each.code]
        if not mine:
            return
        try:
            self._finish()
            functions.clear(mine, functions.look(self.files))
        except Exception as error:
            notice.error(f"this process was forked in the middle of a toggle, which failed here: {error}")


def _forked() -> None:
    if _under_way:
        gate._forked()
        for each in list(_under_way):
            each.go_on()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
