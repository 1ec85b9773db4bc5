"""Fixtures of the command line's tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.world import ENGINE, FIX, Ran, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def engine(world: World) -> World:
    """A world with the package ``engine`` 1.2 and the fix 101."""
    world.package("engine", "1.2", core=ENGINE)
    world.fix(101, FIX)
    return world


@pytest.fixture
def golden() -> Callable[[str, World, Ran], None]:
    """Compares a command's transcript with ``golden/NAME.txt``; ``WRITE_GOLDEN=1`` writes it instead."""

    def compare(name: str, world: World, ran: Ran) -> None:
        text = f"exit code: {ran.code}\n--- stdout\n{world.readable(ran.out)}--- stderr\n{world.readable(ran.err)}"
        file = Path(__file__).parent / "golden" / f"{name}.txt"
        if os.environ.get("WRITE_GOLDEN") == "1":
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8")

    return compare
