"""The pytest plugin: tests that run with a fix taken out, and tests that prove that they guard one.

``--revert SEL`` takes a selection out of the whole session; ``@pytest.mark.reverted("27360/slice")`` out of one test;
``@pytest.mark.guards("27360")`` demands that a test passes fixed and fails reverted; the ``revert`` fixture takes a fix
out in the middle of a test. docs/guides/guard-a-fix-with-a-test.md has the rules.

Only hooks stand here. Every pytest run of an environment with prtoggle loads this module, so it imports nothing until
there is something to do.

Example::

    @pytest.mark.guards("27360")
    def test_the_batch_is_cut(): ...
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from typing import Any

import pytest

SYS_PATH = list(sys.path)
"""As it was before conftest files and test modules put their folders into it: what a child process starts with."""

LIMIT = "prtoggle_start_timeout"
"""The setting of how many seconds a child process may take before it comes to its test."""
MARKS = ("reverted", "guards")
HELD: pytest.StashKey[bool] = pytest.StashKey()
"""Whether any test of the session has one of the marks."""
SESSION: pytest.StashKey[Any] = pytest.StashKey()
"""What is taken out of the whole session, a :class:`prtoggle.pytest_plugin.session.Session`."""
REPORTS: pytest.StashKey[list[Any]] = pytest.StashKey()
"""The reports of tests with one of the marks, from all processes that run tests."""
_BEGUN: pytest.StashKey[bool] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("prtoggle", "fixes taken out (prtoggle)")
    group.addoption(
        "--revert",
        metavar="SEL",
        default=None,
        help="take SEL (27360, 27360/slice, a .diff) out, in this session and in every process that it starts",
    )
    group.addoption(
        "--revert-allow-unused",
        action="store_true",
        default=False,
        help="do not fail a session with --revert in which no process imported what SEL changes",
    )
    parser.addini(
        LIMIT,
        "seconds that a child process may take before it comes to its test; 0: as long as it takes (prtoggle)",
        default="600",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    # What a distribution with a plugin holds, pytest takes for part of the plugin and rewrites when it is imported. The
    # bundled fixes are none of it: what pytest rewrites cannot be reverted.
    hook = getattr(early_config.pluginmanager, "rewrite_hook", None)
    getattr(hook, "_must_rewrite", set()).difference_update({"prtoggle", "prtoggle_fixes"})
    # Before conftest files, and so before almost all that could import what is to be reverted.
    _begin(early_config, early_config.known_args_namespace.revert)


def _begin(config: pytest.Config, asked: str | None) -> None:
    config.stash[_BEGUN] = True
    if asked is not None or os.environ.get("PRTOGGLE_REVERT") or "prtoggle.runtime.boot" in sys.modules:
        from prtoggle.pytest_plugin import session

        session.begin(config, asked)


def pytest_configure(config: pytest.Config) -> None:
    if not config.stash.get(_BEGUN, False):  # a conftest file names the plugin, and nothing loads it before
        _begin(config, config.getoption("revert"))
    config.stash[REPORTS] = []
    config.pluginmanager.register(_Collector(config), "prtoggle-reports")
    config.addinivalue_line(
        "markers",
        "reverted(selection, ..., child=False): run the test with this taken out, live where that can be had, else in "
        "a child process (prtoggle)",
    )
    config.addinivalue_line(
        "markers",
        "guards(selection, ..., raises=None, match=None, child=False): the test must pass, and must fail with this "
        "taken out (prtoggle)",
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    held = config.stash.get(SESSION, None)
    if held is not None:
        held.end()


def pytest_report_header(config: pytest.Config) -> str | None:
    held = config.stash.get(SESSION, None)
    return f"prtoggle: {held.words}" if held is not None else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[HELD] = any(is_marked(item) for item in items)


def is_marked(item: pytest.Item) -> bool:
    """Whether the test has one of the marks."""
    return any(item.get_closest_marker(name) is not None for name in MARKS)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    if not item.config.stash.get(HELD, False):
        return None
    from prtoggle.pytest_plugin import protocol

    return protocol.run(item)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
    # No fixture lives into a marked test. Here, and not by running the test again with no next one: other plugins wrap
    # the whole protocol of a test, and not twice.
    if nextitem is None or not item.config.stash.get(HELD, False) or not is_marked(nextitem):
        return (yield)
    try:
        return (yield)
    finally:
        state: Any = item.session
        state._setupstate.teardown_exact(None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.excinfo is not None and is_marked(item):
        from prtoggle.pytest_plugin import raised

        raised.note(report, call.excinfo)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    if not hasattr(report, "prtoggle"):
        return None
    from prtoggle.pytest_plugin import summary

    return summary.status(report)


class _Collector:
    """Keeps the reports that the summary is made from; with pytest-xdist, those of all workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "prtoggle"):
            self.config.stash[REPORTS].append(report)
        held = self.config.stash.get(SESSION, None)
        if held is not None:
            held.tests_ran = True


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    held = session.config.stash.get(SESSION, None)
    if held is not None:
        held.judge(session)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    held = config.stash.get(SESSION, None)
    reports: list[Any] = config.stash[REPORTS]
    if reports or (held is not None and held.problems):
        from prtoggle.pytest_plugin import summary

        summary.show(terminalreporter, reports, held.problems if held is not None else ())


@pytest.fixture
def revert(request: pytest.FixtureRequest) -> Generator[Callable[..., object], None, None]:
    """``revert("27360")`` takes a fix out of this process until the test ends; also ``with revert("27360"):``."""
    from prtoggle.pytest_plugin import fixture

    yield from fixture.reverter(request)
