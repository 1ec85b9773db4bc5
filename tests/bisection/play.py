"""Bisections without processes: the steps against a rule that says what each trial shows.

Example::

    end = play("f1 and (f2 or f3)", 4)
    culprits(end) == {("1", "2"), ("1", "3")}
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace

from prtoggle.bisection import steps
from prtoggle.bisection.trials import Trials, selection_of
from prtoggle.bisection.values import Candidate, Settings, State, TrialRecord, Wanted

Rule = Callable[[frozenset[str], Wanted, int], "str | float | TrialRecord"]


def candidates(count: int, parts: int = 1) -> tuple[Candidate, ...]:
    """``1`` to ``count``, each with so many parts: ``1/a``, ``1/b``."""
    if parts == 1:
        return tuple(Candidate(str(n), (str(n),)) for n in range(1, count + 1))
    return tuple(Candidate(str(n), tuple(f"{n}/{letter}" for letter in "abcdef"[:parts])) for n in range(1, count + 1))


def fails(expression: str) -> Rule:
    """Bad where ``expression`` over f1, f2 (fixes whole) or f1a (a part) is true of what is reverted."""

    class Names(dict[str, bool]):
        def __init__(self, parts: frozenset[str]) -> None:
            self.parts = parts

        def __missing__(self, name: str) -> bool:
            number = name[1:].rstrip("abcdef")
            letter = name[1 + len(number) :]
            return (f"{number}/{letter}" if letter else number) in self.parts

    code = compile(expression, "expression", "eval")
    return lambda parts, wanted, number: "bad" if eval(code, {"__builtins__": {}}, Names(parts)) else "good"


def play(
    rule: Rule | str,
    those: int | tuple[Candidate, ...] = 4,
    *,
    records: Iterable[TrialRecord] = (),
    most: int = 2000,
    width: int = 1,
    **more: object,
) -> State:
    """Run to the end; of what is asked for at a time the last ends first, so that the order is not the one asked."""
    rule = fails(rule) if isinstance(rule, str) else rule
    those = candidates(those) if isinstance(those, int) else those
    more.setdefault("trace", False)
    settings = replace(Settings(("command",)), jobs=width, **more)  # type: ignore[arg-type]
    parts = Trials(those, ()).parts
    done = list(records)
    running: list[Wanted] = []
    for _ in range(most):
        state = steps.state(settings, those, done, [each.reverted for each in running])
        if state.answer is not None:
            return state
        running += state.wanted
        assert len(running) <= width
        assert running, "nothing is asked for, and there is no answer"
        wanted = running.pop()
        number = len(done) + 1
        said = rule(parts(wanted.reverted), wanted, number)
        record = TrialRecord(number, wanted.phase, wanted.reverted, selection_of(wanted.reverted), "good")
        if isinstance(said, TrialRecord):
            record = replace(
                said, number=number, phase=wanted.phase, reverted=wanted.reverted, selection=record.selection
            )
        elif isinstance(said, str):
            record = replace(record, kind=said, why="" if said in ("good", "bad") else f"it was {said}\n  hint: h")
        else:
            record = replace(record, kind="measured", metric=said)
        done.append(record)
    raise AssertionError(f"no answer after {most} trials: {state}")


def culprits(state: State) -> set[tuple[str, ...]]:
    assert state.answer is not None
    return {each.fixes for each in state.answer.culprits}


def parts_of(state: State) -> set[tuple[str, ...]]:
    assert state.answer is not None
    return {each.parts for each in state.answer.culprits}


def minimal_sets(bad: Callable[[frozenset[str]], bool], names: Iterable[str]) -> set[tuple[str, ...]]:
    """All minimal sets by trying every set."""
    found: list[frozenset[str]] = []
    names = sorted(names)
    for size in range(1, len(names) + 1):
        for each in map(frozenset, itertools.combinations(names, size)):
            if bad(each) and not any(smaller <= each for smaller in found):
                found.append(each)
    return {tuple(sorted(each)) for each in found}
