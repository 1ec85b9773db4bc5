"""Runs a test that has one of the marks, in the states that it asks for, and reports it as one test.

No fixture lives through a change of state: before a marked test and after each of its runs everything is torn down,
of every scope. Live where that can be had, else in a child process; which one it was, and why, is on the report.

Example::

    run(item)         # None where pytest is to run it as ever
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from prtoggle.errors import PrtoggleError, UsageError
from prtoggle.pytest_plugin import SESSION, child, childrun, is_marked, judge, live, marks, timelimit
from prtoggle.pytest_plugin.judge import Verdict
from prtoggle.pytest_plugin.marks import Asked, Guard

LIVE = "live"
CHILD = "child process"


@dataclass(frozen=True)
class Run:
    """One run of a test in a state that is not the session's.

    Attributes:
        how: ``live`` or ``child process``; ``why`` it was not live.
        problem: what kept it from running in that state.
    """

    reports: tuple[pytest.TestReport, ...]
    how: str
    why: str = ""
    problem: str = ""
    executed: bool | None = None
    imported: bool = True
    seconds: float = 0.0


def run(item: pytest.Item) -> bool | None:
    """Run ``item`` where a mark says how."""
    if child.running() or not is_marked(item) or item.config.getoption("setuponly", False):
        return None  # --setup-only and --setup-plan call no test
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    try:
        _nothing_set_up(item)
        reports = _reports(item)
    except (Exception, pytest.fail.Exception) as error:  # the latter: a time limit that another plugin keeps
        what = traceback.format_exc() if isinstance(error, Exception) else str(error)
        reports = _error(item, f"this test could not be run: {what}")
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _reports(item: pytest.Item) -> Sequence[pytest.TestReport]:
    try:
        asked = marks.of(item)
    except UsageError as error:
        return _error(item, str(error))
    base = _base(item)
    if asked.reverted:
        return _reverted(item, asked, base)
    if base != "none":
        reports = runtestprotocol(item, log=False, nextitem=None)
        what = f"{base} is reverted in the whole session"
        _tell(reports, "guards", [Verdict(guard.selection, judge.UNCHECKED, what) for guard in asked.guards])
        return reports
    return _guarding(item, asked.guards)


def _base(item: pytest.Item) -> str:
    held = item.config.stash.get(SESSION, None)
    return str(held.selection) if held is not None else "none"


def _reverted(item: pytest.Item, asked: Asked, base: str) -> Sequence[pytest.TestReport]:
    try:
        ran = _run(item, asked.reverted, base, asked.child, _as_ever(item), warn=True)
    except UsageError as error:
        return _error(item, str(error))
    if ran.problem:
        return _error(item, f"this test is to run with {asked.reverted} reverted, and could not: {ran.problem}")
    what = ran.why
    if ran.executed is False:
        what = "the reverted code was never executed" if ran.imported else "nothing that it changes was ever imported"
    word = "never executed" if ran.executed is False else "reverted"
    _tell(ran.reports, "reverted", [Verdict(asked.reverted, word, what, ran.how)])
    return ran.reports


def _guarding(item: pytest.Item, guards: tuple[Guard, ...]) -> Sequence[pytest.TestReport]:
    """Fixed; then, for each guard, reverted, and where that fails fixed once more, in the same way: so that a test
    which cannot be run twice, or in a child process, is not taken for a guard."""
    fixed = runtestprotocol(item, log=False, nextitem=None)
    if not judge.passed(fixed):
        return fixed
    verdicts = []
    for guard in guards:
        try:
            verdict = _prove(item, guard, fixed)
        except UsageError as error:
            return _error(item, str(error))
        if verdict.word == judge.ERROR:
            return _error(item, verdict.what + (f"\n{verdict.text}" if verdict.text else ""), "guards", verdict)
        verdicts.append(verdict)
    call = judge.call_of(fixed)
    assert call is not None
    for verdict in verdicts:
        if verdict.text:
            call.sections.append((f"with {verdict.selection} reverted ({verdict.how})", verdict.text))
    wrong = [verdict for verdict in verdicts if verdict.word != judge.GUARDS]
    if wrong:
        call.outcome = "failed"
        lines = [f"this test does not guard {each.selection} ({each.how}): {each.what}" for each in wrong]
        call.longrepr = "\n".join(lines)
    _tell(fixed, "guards", verdicts)
    return fixed


def _prove(item: pytest.Item, guard: Guard, fixed: Sequence[pytest.TestReport]) -> Verdict:
    root = str(item.config.rootpath)
    alone = guard.child or _reports_by_itself(item)
    ran = _run(item, guard.selection, "none", alone, lambda: _phases(item))
    if ran.problem:
        return Verdict(guard.selection, judge.ERROR, f"{guard.selection} could not be reverted: {ran.problem}", ran.how)
    verdict = replace(judge.judge(guard, ran.reports, ran.how, root), why=ran.why)
    call = judge.call_of(fixed)
    if call is not None:
        call.duration += ran.seconds
    if verdict.word == judge.GUARDS:
        if ran.executed is False:
            why = "but the reverted code was never executed" if ran.imported else "but nothing of it was imported"
            return replace(verdict, word=judge.DOES_NOT, what=f"it fails there, {why}: {verdict.what}", text="")
        again = _phases(item) if ran.how == LIVE else _fixed_in_a_child(item)
        if not judge.passed(again):
            bad = next((report for report in again if not report.passed), None)
            where = "a second time" if ran.how == LIVE else "in a child process"
            text = bad.longreprtext if bad is not None else ""
            what = f"whether it guards {guard.selection} cannot be told: run fixed {where}, it does not pass"
            return Verdict(guard.selection, judge.ERROR, what, ran.how, text)
    elif ran.how == LIVE and verdict.what.startswith("it passes"):
        # Says why: what is set live has no marks. And what lives since before, a forkserver or a value of the test
        # module, is reverted there.
        fresh = childrun.run(item, guard.selection)
        if not fresh.problem and not fresh.refused:
            ran = Run((), ran.how, executed=fresh.executed, imported=fresh.imported)
            told = judge.judge(guard, fresh.reports, CHILD, root)
            if told.word == judge.GUARDS and fresh.executed is not False and judge.passed(_fixed_in_a_child(item)):
                return replace(told, why="live it passes")
    if verdict.word == judge.DOES_NOT and ran.executed is False:
        why = "the reverted code was never executed" if ran.imported else "nothing that it changes was ever imported"
        return replace(verdict, what=f"{verdict.what}; {why}")
    return verdict


def _fixed_in_a_child(item: pytest.Item) -> Sequence[pytest.TestReport]:
    return childrun.run(item, "none").reports


def _run(
    item: pytest.Item,
    text: str,
    base: str,
    alone: bool,
    runner: Callable[[], Sequence[pytest.TestReport]],
    *,
    warn: bool = False,
) -> Run:
    """Run the test with ``text`` taken out beside ``base``. Raises UsageError where nobody knows ``text``."""
    why = "asked for"
    if not alone:
        try:
            state = live.enter(text, base)
        except UsageError:
            raise
        except PrtoggleError as error:
            why = error.what
        else:
            try:
                reports = tuple(runner())
            finally:
                _leave(item, state)
            return Run(reports, LIVE, seconds=sum(report.duration for report in reports))
    both = text if base == "none" else marks.joined([base, text], str(item.config.rootpath))
    ran = childrun.run(item, both, warn=warn)
    problem = ran.problem
    if ran.refused:
        problem = "\n".join(ran.refused)
    return Run(ran.reports, CHILD, why, problem, ran.executed, ran.imported, ran.seconds)


def _leave(item: pytest.Item, state: live.State) -> None:
    try:
        state.leave()
    except PrtoggleError as error:
        # Whatever runs from here on would run in a state that nobody asked for.
        item.session.shouldfail = f"prtoggle could not put {', '.join(state.parts)} back after {item.nodeid}: {error}"


def _as_ever(item: pytest.Item) -> Callable[[], Sequence[pytest.TestReport]]:
    return lambda: runtestprotocol(item, log=False, nextitem=None)


def _nothing_set_up(item: pytest.Item) -> None:
    """Where another plugin ran the test before this one, and left fixtures of wider scope set up for it."""
    state: Any = getattr(item.session, "_setupstate", None)
    if getattr(state, "stack", None):
        state.teardown_exact(None)


def _phases(item: pytest.Item) -> list[pytest.TestReport]:
    """Setup, test and teardown once more, with nobody told of a failure, which is what is expected: no debugger."""
    held: Any = item
    timelimit.restart(item)
    if isinstance(item, pytest.Function) and item.cls is not None:
        for name in ("_instance", "_obj"):  # a run has an instance of the test class to itself
            item.__dict__.pop(name, None)
    if hasattr(held, "_request"):  # as pytest's own runner does where an item is run again
        held._initrequest()

    def phase(when: Any, hook: Callable[..., object], **more: object) -> pytest.TestReport:
        call = pytest.CallInfo.from_call(
            lambda: hook(item=item, **more), when=when, reraise=(pytest.exit.Exception, KeyboardInterrupt)
        )
        report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
        return report

    try:
        with warnings.catch_warnings(record=True):  # as in a child process: the session has those of the fixed run
            reports = [phase("setup", item.ihook.pytest_runtest_setup)]
            if reports[0].passed:
                reports.append(phase("call", item.ihook.pytest_runtest_call))
            reports.append(phase("teardown", item.ihook.pytest_runtest_teardown, nextitem=None))
    finally:
        if hasattr(held, "_request"):
            held._request = False
            held.funcargs = None
        _forget_exception()
    return reports


def _forget_exception() -> None:
    """What pytest keeps of a failure for a debugger holds frames, and with them suspended generators of the old
    code."""
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)


def _reports_by_itself(item: pytest.Item) -> bool:
    """Whether the test may report failures past its own report, which are expected when it runs reverted: subtests."""
    from _pytest.unittest import TestCaseFunction

    return isinstance(item, TestCaseFunction) or "subtests" in getattr(item, "fixturenames", ())


def _tell(reports: Sequence[pytest.TestReport], kind: str, verdicts: list[Verdict]) -> None:
    """Put on the report of the test what became of it: plain values, which go from worker to controller."""
    report = judge.call_of(reports) or next((each for each in reports if not each.passed), None)
    if report is None:
        return
    told = [{"kind": kind, **vars(verdict)} for verdict in verdicts]
    setattr(report, "prtoggle", told)  # noqa: B010 - no attribute of pytest's
    properties = [(f"prtoggle {kind}", f"{v.selection}: {v.word}" + (f" ({v.how})" if v.how else "")) for v in verdicts]
    for each in reports[reports.index(report) :]:  # JUnit's XML takes those of the last
        each.user_properties += properties


def _error(item: pytest.Item, text: str, kind: str = "", verdict: Verdict | None = None) -> list[pytest.TestReport]:
    """The reports of a test that could not be run as it is marked: an error, as where its setup fails."""

    def fail() -> None:
        raise pytest.fail.Exception(f"prtoggle: {text}", pytrace=False) from None

    setup = pytest.CallInfo.from_call(fail, when="setup")
    teardown = pytest.CallInfo.from_call(lambda: None, when="teardown")
    reports = [pytest.TestReport.from_item_and_call(item, call) for call in (setup, teardown)]
    if verdict is not None:
        _tell(reports, kind, [verdict])
    return reports
