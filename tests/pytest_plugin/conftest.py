"""Real pytest sessions, in processes of their own, with the plugin as it is installed."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.pytest_plugin.app import App


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def app(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, cache: Path, installed: str) -> App:
    if not [each for each in entry_points(group="pytest11") if each.name == "prtoggle"]:
        pytest.fail("prtoggle's plugin is not known to pytest here: install prtoggle again (make test does)")
    return App(pytester, monkeypatch, cache)
