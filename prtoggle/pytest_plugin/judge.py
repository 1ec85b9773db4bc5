"""Whether a reverted run shows that a test guards a fix: only a failure of the test itself does.

Example::

    verdict = judge(Guard("27360"), reports, how="live", root="/app")
    verdict.word, verdict.what      # ("guards", "IndexError: list index out of range (engine/core.py:7)")
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from prtoggle.pytest_plugin import raised
from prtoggle.pytest_plugin.marks import Guard

GUARDS = "guards"
DOES_NOT = "does not guard"
ERROR = "error"
UNCHECKED = "not checked"


@dataclass(frozen=True)
class Verdict:
    """What became of one claim.

    Attributes:
        word: ``guards``, ``does not guard``, ``error`` (it could not be told) or ``not checked``.
        what: one line: how the reverted run failed, or why it is not one.
        text: the whole failure of the reverted run, where there is one.
        why: in a child process, why not live.
    """

    selection: str
    word: str
    what: str
    how: str = ""
    text: str = ""
    why: str = ""


def judge(guard: Guard, reports: Sequence[pytest.TestReport], how: str, root: str) -> Verdict:
    """The verdict on the reports of one reverted run."""
    name = guard.selection

    def said(word: str, what: str, text: str = "") -> Verdict:
        return Verdict(name, word, what, how, text)

    call = call_of(reports)
    if call is None:
        first = next((report for report in reports if not report.passed), None)
        if first is not None and first.skipped:
            return said(DOES_NOT, f"with {name} reverted it was skipped: {reason(first)}")
        if first is not None:
            what = f"with {name} reverted its {first.when} failed, before the test ran: {raised.short(first, root)}"
            return said(DOES_NOT, what, first.longreprtext)
        return said(ERROR, f"with {name} reverted it did not run")
    if call.skipped:
        word = "failed as xfail expects" if hasattr(call, "wasxfail") else f"was skipped: {reason(call)}"
        return said(DOES_NOT, f"with {name} reverted it {word}")
    if call.passed:  # a unittest passes although its subtests fail
        call = next((report for report in reports if report.failed and report.when == "call"), call)
    if call.passed:
        last = next((report for report in reports if report.failed), None)
        if last is not None:
            what = f"it passes with {name} reverted, and fails in its {last.when}: {raised.short(last, root)}"
            return said(DOES_NOT, what, last.longreprtext)
        return said(DOES_NOT, f"it passes with {name} reverted")
    short = raised.short(call, root)
    wrong = _other(guard, call)
    if wrong:
        return said(DOES_NOT, f"with {name} reverted it failed otherwise: {wrong}, but {short}", call.longreprtext)
    return said(GUARDS, short, call.longreprtext)


def call_of(reports: Sequence[pytest.TestReport]) -> pytest.TestReport | None:
    """The report of the test itself, not of its setup, its teardown or a subtest."""
    return next((report for report in reports if report.when == "call" and type(report) is pytest.TestReport), None)


def passed(reports: Sequence[pytest.TestReport]) -> bool:
    """Whether a run passed, all its phases."""
    return call_of(reports) is not None and all(report.passed for report in reports)


def reason(report: pytest.TestReport) -> str:
    """Why a test was skipped."""
    longrepr = report.longrepr
    return str(longrepr[2] if isinstance(longrepr, (tuple, list)) else longrepr).removeprefix("Skipped: ")


def _other(guard: Guard, call: pytest.TestReport) -> str:
    """What was expected instead of how the call failed; empty where it failed as it should."""
    known = raised.of(call)
    kinds = known.get("kinds") or [f"builtins.{raised.first_line(call).partition(':')[0]}"]  # a subtest has no more
    if guard.raises and not set(guard.raises) & set(kinds):
        return f"{' or '.join(each.rpartition('.')[2] for each in guard.raises)} was expected"
    if guard.match and not re.search(guard.match, known.get("text", call.longreprtext)):
        return f"a text that matches {guard.match!r} was expected"
    return ""
