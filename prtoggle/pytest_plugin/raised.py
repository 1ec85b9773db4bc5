"""How a phase of a test ended, as plain values on its report, so that it can be judged where the exception is not: in
another process.

Example::

    raised.note(report, call.excinfo)
    report.prtoggle_raised        # {"kinds": ["builtins.IndexError", ...], "text": "list index out of range"}
"""

from __future__ import annotations

import os
from typing import Any

import pytest

LONGEST = 200
_ASSERT = "AssertionError: assert "


def name_of(kind: type[BaseException]) -> str:
    """The full name of an exception class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def note(report: pytest.TestReport, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Keep the exception's classes and text on ``report``."""
    try:
        text = str(excinfo.value)
    except Exception:  # an exception that cannot say what it is
        text = ""
    kinds = [name_of(kind) for kind in excinfo.type.__mro__ if issubclass(kind, BaseException)]
    setattr(report, "prtoggle_raised", {"kinds": kinds, "text": text})  # noqa: B010 - no attribute of pytest's


def of(report: pytest.TestReport) -> dict[str, Any]:
    """What :func:`note` kept; empty where there was no exception."""
    return getattr(report, "prtoggle_raised", None) or {}


def short(report: pytest.TestReport, root: str) -> str:
    """The exception's first line, and the place where it was raised."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        place = os.path.relpath(crash.path, root) if os.path.isabs(crash.path) else crash.path
        place = crash.path if place.startswith("..") else place
        return f"{first_line(report)} ({place}:{crash.lineno})"
    return first_line(report)


def first_line(report: pytest.TestReport) -> str:
    """The first line of how it failed: ``IndexError: list index out of range``."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else report.longreprtext
    if crash is None and "doctest" in (of(report).get("kinds") or [""])[0].lower():
        text = text.strip().rpartition("\n")[2]  # the place; the example comes before
    return _first(text)


def _first(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if line.startswith(_ASSERT):  # pytest leaves the name out of some, by how long they are and whether it runs in CI
        line = line.removeprefix("AssertionError: ")
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."
