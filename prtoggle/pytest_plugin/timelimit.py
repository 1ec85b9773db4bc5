"""A time limit of pytest-timeout is one of each run of a marked test, and not of all of them together: a reverted run
must not fail for the time that the fixed one took.

Example::

    restart(item)               # before another run in this process
    with paused(item): ...      # while a child process runs, which keeps the limit by itself
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest


def restart(item: pytest.Item) -> None:
    """Begin the limit of ``item`` anew, where it has one."""
    _set(item, _stop(item))


@contextmanager
def paused(item: pytest.Item) -> Generator[None, None, None]:
    """No limit meanwhile; anew after."""
    settings = _stop(item)
    try:
        yield
    finally:
        _set(item, settings)


def _stop(item: pytest.Item) -> Any:
    """Stop the limit; what it is, None where it has none that holds for setup and teardown too."""
    plugin: Any = item.config.pluginmanager.get_plugin("timeout")
    find = getattr(plugin, "_get_item_settings", None)
    if find is None or not hasattr(item.config.hook, "pytest_timeout_set_timer"):
        return None
    settings = find(item)
    if not settings.timeout or settings.timeout <= 0 or settings.func_only:
        return None
    item.config.hook.pytest_timeout_cancel_timer(item=item)
    return settings


def _set(item: pytest.Item, settings: Any) -> None:
    if settings is not None:
        item.config.hook.pytest_timeout_set_timer(item=item, settings=settings)
