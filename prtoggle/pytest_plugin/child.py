"""The child process that runs one test of a session, in the state that its environment selects.

It is started by :mod:`prtoggle.pytest_plugin.childrun` with the arguments of the session, so that options, rootdir,
configuration and plugins are the same; then it collects one file, keeps one test of it, and writes what happened to a
file, line by line, so that a crash leaves what was before it.

Example::

    python -c "from prtoggle.pytest_plugin import child; child.main('request.json')"
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import warnings
from collections.abc import Generator
from typing import Any

import pytest

_plugin: One | None = None
_PARENT_DEATH_SIGNAL = 1

PLAIN: dict[str, Any] = {
    "dist": "no",
    "numprocesses": None,
    "maxprocesses": None,
    "tx": [],
    "px": [],
    "looponfail": False,
    "usepdb": False,
    "trace": False,
    "collectonly": False,
    "setuponly": False,
    "setupplan": False,
    "keyword": "",
    "markexpr": "",
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "stepwise": False,
    "stepwise_skip": False,
    "deselect": None,
    "maxfail": 0,
    "pyargs": False,
    "xmlpath": None,
    "htmlpath": None,
    "report_log": None,
    "no_cov": True,
}
"""Options that are for the whole session and not for one test, with what they are set to in the child."""


def running() -> bool:
    """Whether this process is such a child."""
    return _plugin is not None


class One:
    """The plugin that runs one test and writes what happens."""

    def __init__(self, request: dict[str, Any], out: int) -> None:
        self.request = request
        self.out = out
        self.config: pytest.Config | None = None

    def write(self, kind: str, value: object) -> None:
        """Append one line; nothing is buffered."""
        line = json.dumps({"kind": kind, "value": value}, default=repr) + "\n"
        data = line.encode()
        while data:
            data = data[os.write(self.out, data) :]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, Any, Any]:
        for name, value in PLAIN.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        for name, value in self.request["options"].items():
            setattr(config.option, name, value)
        if self.request["basetemp"]:
            config.option.basetemp = self.request["basetemp"]
        config.args = [self.request["file"]]
        self.config = config
        return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        # The session's own terminal tells of this test; here nobody reads what a reporter writes.
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        writer = getattr(reporter, "_tw", None)
        if writer is not None:
            writer._file = open(os.devnull, "w")  # noqa: SIM115 - as long as the process

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        mine = [item for item in items if item.nodeid == self.request["nodeid"]]
        yield
        items[:] = mine[:1]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.write("collect", report.longreprtext)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self.write("phase", "setup")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        self.write("phase", "call")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self) -> None:
        self.write("phase", "teardown")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        assert self.config is not None
        hook = self.config.hook
        self.write("report", hook.pytest_report_to_serializable(config=self.config, report=report))

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, when: str) -> None:
        if when == "runtest":  # the session itself has what collecting the file warned of
            kind = warning_message.category
            place = [warning_message.filename, warning_message.lineno]
            self.write("warning", [kind.__module__, kind.__qualname__, str(warning_message.message), *place])

    def pytest_internalerror(self, excrepr: object) -> None:
        self.write("collect", str(excrepr))

    def pytest_sessionfinish(self) -> None:
        from prtoggle.runtime import boot

        refused = dict(boot.finder.refused) if boot.finder is not None else {}
        booted = boot.finder is not None or not os.environ.get(boot.VARIABLE)
        self.write("end", {"refused": refused, "booted": booted})


def main(path: str) -> None:
    """Run the test that the request in ``path`` names."""
    global _plugin
    with open(path, encoding="utf-8") as file:
        request = json.load(file)
    _die_with_parent()
    sys.path[:] = request["sys_path"]
    sys.argv[:] = request["argv"]
    out = os.open(request["out"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    _plugin = One(request, out)
    sys.exit(pytest.main(request["args"], plugins=[_plugin]))


def _die_with_parent() -> None:
    """End with the session, also where that is killed (a time limit, a crash, a worker of pytest-xdist): nobody else
    ends a test that hangs. Only Linux knows it."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
