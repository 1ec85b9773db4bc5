"""This process with a selection taken out of it while it runs, and brought back.

Only where each module that changes is imported already: what is imported while a fix is out would have to be brought
back too, and a module's own statements cannot. The environment says the same as the process meanwhile, for what a test
starts.

Example::

    state = enter("27360", "none")      # raises PrtoggleError: nothing has changed
    try: ...
    finally: state.leave()
"""

from __future__ import annotations

import gc
import os
import sys

from prtoggle import selection
from prtoggle.errors import PrtoggleError, RefusedError
from prtoggle.integrations import all_integrations
from prtoggle.runtime import boot, live, targets

_PAGE = "guides/guard-a-fix-with-a-test#live-or-in-a-child-process"


class State:
    """Parts that are out, until :meth:`leave`."""

    def __init__(self, parts: tuple[str, ...], variables: dict[str, str | None]) -> None:
        self.parts = parts
        self.variables = variables

    def leave(self) -> None:
        """Put them back, whatever runs old code. Raises PrtoggleError where that cannot be had."""
        _restore_variables(self.variables)
        for force in (False, True):
            out = {part["part"] for part in live.status()["parts"]}
            mine = tuple(part for part in self.parts if part in out)
            if not mine:
                return
            try:
                with _quiet():
                    live.restore(targets.written(mine), force=force)
            except PrtoggleError:
                # Frames of a traceback, say, that hold a suspended generator of the reverted code.
                gc.collect()
                if force:
                    raise
            else:
                return


def enter(text: str, base: str) -> State:
    """Take ``text`` out of this process, from which ``base`` is out already.

    Raises:
        SelectionError: nobody knows what it names.
        RefusedError: it cannot be had while the process runs, and why; nothing has changed.
    """
    if any(integration.selects(os.environ.get(integration.variable)) for integration in all_integrations()):
        raise RefusedError("the variable of the package itself selects what is reverted in this session", page=_PAGE)
    absent = not_imported(text)
    if absent:
        raise RefusedError(f"{', '.join(absent)} is not imported in this process yet", page=_PAGE)
    with _quiet():
        done = live.revert(text)
    both = text if base == "none" else f"{base},{text}"
    variables = {boot.VARIABLE: os.environ.get(boot.VARIABLE)}
    os.environ[boot.VARIABLE] = str(selection.parse(both)) if "all" not in (base, text) else "all"
    return State(tuple(done["reverted"]), variables)


def not_imported(text: str) -> tuple[str, ...]:
    """The modules that ``text`` changes and that are not imported in this process.

    A package of which nothing is imported does not count beside one that is: a fix may have a variant for another.
    """
    planned = dict.fromkeys(each.name for wanted in targets.resolve(text) for each in wanted.planned)
    known = [name for name in planned if name.partition(".")[0] in sys.modules]
    return tuple(name for name in known or planned if name not in sys.modules)


class _quiet:
    """No line on stderr for each toggle: the report says it."""

    def __enter__(self) -> None:
        self.before = os.environ.get("PRTOGGLE_QUIET")
        os.environ["PRTOGGLE_QUIET"] = "1"

    def __exit__(self, *_: object) -> None:
        _restore_variables({"PRTOGGLE_QUIET": self.before})


def _restore_variables(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
