"""The ``revert`` fixture: takes a fix out in the middle of a test, and puts it back when the test ends.

Example::

    def test_both(revert):
        assert cut([1, 2, 3]) == [1, 2]
        with revert("27360"):
            assert cut([1, 2, 3]) == [1, 2, 3]
"""

from __future__ import annotations

from collections.abc import Callable, Generator

import pytest

from prtoggle.errors import PrtoggleError, RefusedError, UsageError
from prtoggle.pytest_plugin import SESSION, live, marks


class Out:
    """A fix that is out, until the ``with`` block or the test ends."""

    def __init__(self, state: live.State) -> None:
        self._state = state
        self._left = False

    def restore(self) -> None:
        """Put it back now."""
        if not self._left:
            self._left = True
            self._state.leave()

    def __enter__(self) -> Out:
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()


def reverter(request: pytest.FixtureRequest) -> Generator[Callable[..., Out], None, None]:
    """The body of the fixture."""
    held = request.config.stash.get(SESSION, None)
    base = str(held.selection) if held is not None else "none"
    out: list[Out] = []

    def revert(*selections: str | int) -> Out:
        """Take ``selections`` out of this process. Raises RefusedError, by name, where that cannot be had live."""
        text = marks.joined(marks.texts(selections, "revert", "revert"), str(request.config.rootpath))
        try:
            state = live.enter(text, base)
        except UsageError:
            raise
        except PrtoggleError as error:
            raise RefusedError(
                f"{text} cannot be taken out in the middle of a test: {error.what}",
                hint=f'mark the whole test: @pytest.mark.reverted("{text}") runs it in a child process where it must',
                page="guides/guard-a-fix-with-a-test#live-or-in-a-child-process",
            ) from None
        out.append(Out(state))
        return out[-1]

    yield revert
    try:
        for each in reversed(out):
            each.restore()
    except PrtoggleError as error:
        request.session.shouldfail = f"prtoggle could not put a fix back after {request.node.nodeid}: {error}"
        raise
