"""What is said of the marked tests: a word behind each result with ``-v``, and a section at the end.

Example::

    ============================ fixes taken out ============================
    GUARDS tests/test_core.py::test_cut 27360 (live): IndexError: list index out of range (engine/core.py:7)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

TITLE = "fixes taken out"
_LETTERS = {"passed": ".", "failed": "F"}
_GUARDS = {"guards": "GUARDS", "does not guard": "DOES NOT GUARD", "error": "ERROR", "not checked": "NOT CHECKED"}
_COUNTED = {"guards": "guard", "does not guard": "do not guard", "error": "in error", "not checked": "not checked"}


def status(report: Any) -> tuple[str, str, str] | None:
    """As pytest's own, with what was reverted and how, for ``-v``."""
    if report.when != "call" or report.outcome not in _LETTERS or (report.passed and hasattr(report, "wasxfail")):
        return None
    said = ", ".join(_said(each) for each in report.prtoggle)
    return report.outcome, _LETTERS[report.outcome], f"{report.outcome.upper()} ({said})"


def _said(told: dict[str, Any]) -> str:
    word = told["word"] if told["kind"] == "guards" else "reverted:"
    words = f"{word} {told['selection']}" if told["kind"] == "guards" else f"{told['selection']} reverted"
    return f"{words}, {told['how']}" if told["how"] else words


def show(terminal: pytest.TerminalReporter, reports: Iterable[Any], problems: Iterable[str]) -> None:
    """Write the section."""
    guards: list[tuple[str, dict[str, Any]]] = []
    reverted: list[tuple[str, dict[str, Any]]] = []
    for report in reports:
        for told in report.prtoggle:
            (guards if told["kind"] == "guards" else reverted).append((report.nodeid, told))
    terminal.section(TITLE)
    for problem in problems:
        terminal.line(f"NOT IN FORCE {problem}", red=True, bold=True)
    for word, title in _GUARDS.items():
        for nodeid, told in guards:
            if told["word"] == word:
                _line(terminal, title, nodeid, told, good=word == "guards")
    for nodeid, told in reverted:
        if told["word"] == "never executed":
            _line(terminal, "NEVER EXECUTED", nodeid, told, good=False)
        elif terminal.verbosity > 1 and told["what"]:
            _line(terminal, "IN A CHILD PROCESS", nodeid, told, good=True)
    numbers = {word: sum(told["word"] == word for _, told in guards) for word in _GUARDS}
    said = [f"{number} {_COUNTED[word]}" for word, number in numbers.items() if number]
    for how in ("live", "child process"):
        number = sum(told["how"] == how for _, told in reverted)
        if number:
            said.append(f"{number} reverted {'live' if how == 'live' else 'in a child process'}")
    if said:
        terminal.line(", ".join(said))


def _line(terminal: pytest.TerminalReporter, title: str, nodeid: str, told: dict[str, Any], good: bool) -> None:
    how = f" ({told['how']})" if told["how"] else ""
    if good and terminal.verbosity < 0:
        return
    markup = {"green": True} if good else {"red": True} if title in ("DOES NOT GUARD", "ERROR") else {"yellow": True}
    terminal.write(title, **markup)
    terminal.line(f" {nodeid} {told['selection']}{how}: {told['what'].partition(chr(10))[0]}")
    if terminal.verbosity > 1 and told["why"]:
        terminal.line(f"    in a child process: {told['why']}")
    if terminal.verbosity > 1 and told["text"]:
        for line in told["text"].splitlines():
            terminal.line(f"    {line}")
