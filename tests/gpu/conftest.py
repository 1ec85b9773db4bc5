"""Skips what needs a GPU where there is none, and collects what the tests saw (see evidence.py)."""

from __future__ import annotations

import functools
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gpu import evidence as writer

Record = Callable[..., None]
RECORDED, MARKED = "prtoggle evidence", "needs a GPU"
_tests: dict[str, dict[str, Any]] = {}


@functools.cache
def no_gpu() -> str:
    """Why there is no GPU here; empty where there is one."""
    try:
        import torch
    except ImportError:
        return "needs a CUDA device: torch is not installed"
    if torch.version.cuda is None:
        return f"needs a CUDA device: torch {torch.__version__} is built without CUDA"
    return "" if torch.cuda.is_available() else "needs a CUDA device: torch sees none"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # A report's keywords do not tell the marker from this folder's name.
    for item in items:
        if item.get_closest_marker("gpu"):
            item.user_properties.append((MARKED, True))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and (reason := no_gpu()):
        pytest.skip(reason)


@pytest.fixture
def evidence(request: pytest.FixtureRequest) -> Record:
    """``evidence("what is claimed", figure=3, seen=[...])``: written down before it is judged."""

    def record(claim: str, **figures: Any) -> None:
        request.node.user_properties.append((RECORDED, {"claim": claim, "figures": figures}))

    return record


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # With xdist the reports, user properties included, come to the process that writes.
    marked = any(name == MARKED for name, _ in report.user_properties)
    if not marked or not (report.when == "call" or report.outcome != "passed"):
        return
    entry: dict[str, Any] = {
        "test": report.nodeid,
        "outcome": report.outcome,
        "seconds": round(report.duration, 2),
        "assertions": [value for name, value in report.user_properties if name == RECORDED],
    }
    if report.failed:
        entry["reason"] = str(report.longrepr)[-4000:]
    elif report.skipped:
        entry["reason"] = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    _tests[report.nodeid] = entry


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    folder = os.environ.get(writer.VARIABLE)
    if not folder or hasattr(session.config, "workerinput") or all(t["outcome"] == "skipped" for t in _tests.values()):
        return
    words = ["python", "-m", "pytest", *map(str, session.config.invocation_params.args)]
    data = writer.report(list(_tests.values()), [shlex.quote(word) for word in words])
    path = writer.write(data, Path(session.config.invocation_params.dir) / folder)
    print(f"\nevidence: {path}", file=sys.stderr)
