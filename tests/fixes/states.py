"""The states of a fix as parameters: each test runs with its state's selection reverted.

Example::

    @pytest.mark.parametrize("state", each(STATES))
    def test_each_state_shows_exactly_what_its_case_claims(state: str) -> None: ...
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def each(states: Iterable[str]) -> list[Any]:
    """A parameter for each state, marked to run in it."""
    return [
        pytest.param(state, marks=() if state == "none" else pytest.mark.reverted(state), id=state) for state in states
    ]
