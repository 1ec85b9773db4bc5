"""What the marks of a test ask for, checked.

Example::

    asked = of(item)            # @pytest.mark.guards("27360", raises=IndexError)
    asked.guards[0].selection, asked.guards[0].raises       # ("27360", ("builtins.IndexError",))
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from prtoggle import selection
from prtoggle.errors import UsageError
from prtoggle.pytest_plugin.raised import name_of

_PAGE = "guides/guard-a-fix-with-a-test#what-counts-as-a-guard"


@dataclass(frozen=True)
class Guard:
    """One claim: with ``selection`` taken out, the test fails.

    Attributes:
        raises: full names of exceptions, one of which must end it; none means any.
        match: a pattern that the exception's text must hold, as for ``pytest.raises``.
        child: whether the reverted run is asked to be in a child process.
    """

    selection: str
    raises: tuple[str, ...] = ()
    match: str = ""
    child: bool = False


@dataclass(frozen=True)
class Asked:
    """What one test asks for: to run with ``reverted`` taken out (empty: fixed), or the ``guards`` to be proven."""

    reverted: str = ""
    child: bool = False
    guards: tuple[Guard, ...] = ()


def of(item: pytest.Item) -> Asked:
    """What the marks of ``item`` ask for. Raises UsageError where they are wrong."""
    reverted = list(item.iter_markers("reverted"))
    guards = list(item.iter_markers("guards"))
    if reverted and guards:
        raise UsageError(
            "this test is marked both reverted and guards",
            hint="a guard runs in both states by itself; leave one of the marks out",
            page=_PAGE,
        )
    folder = str(item.config.rootpath)
    for mark in reverted:
        _known(mark, ("child",))
    text = joined([argument for mark in reverted for argument in _arguments(mark)], folder) if reverted else ""
    child = any(bool(mark.kwargs.get("child")) for mark in reverted)
    return Asked(text, child, tuple(dict.fromkeys(_guard(mark, folder) for mark in guards)))


def joined(texts: Iterable[str], folder: str) -> str:
    """Several selections as one, in its canonical text; paths of diffs are relative to ``folder``."""
    choices: list[selection.Choice] = []
    for text in texts:
        parsed = selection.parse(text)
        if parsed.everything:
            return "all"
        choices += parsed.choices
    return str(selection.absolute(selection.Selection(tuple(choices)), folder))


def _guard(mark: pytest.Mark, folder: str) -> Guard:
    _known(mark, ("child", "raises", "match"))
    raises = mark.kwargs.get("raises") or ()
    kinds = raises if isinstance(raises, tuple) else (raises,)
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise UsageError(f"guards: raises={kind!r} is no exception class", page=_PAGE)
    match = mark.kwargs.get("match") or ""
    try:
        re.compile(match)
    except (re.error, TypeError) as error:
        raise UsageError(f"guards: match={match!r} is no pattern: {error}", page=_PAGE) from None
    text = joined(_arguments(mark), folder)
    return Guard(text, tuple(name_of(kind) for kind in kinds), match, bool(mark.kwargs.get("child")))


def _known(mark: pytest.Mark, names: tuple[str, ...]) -> None:
    unknown = sorted(set(mark.kwargs) - set(names))
    if unknown:
        what = f"{mark.name} takes no {', '.join(unknown)}"
        raise UsageError(what, hint=f"it takes {', '.join(names)}", page=_PAGE)


def _arguments(mark: pytest.Mark) -> list[str]:
    return texts(mark.args, mark.name, f"@pytest.mark.{mark.name}")


def texts(given: Iterable[object], name: str, call: str) -> list[str]:
    """What was given to ``call`` as selections, each as text. Raises UsageError where one is none."""
    found = [str(argument) if type(argument) is int else argument for argument in given]
    named = [argument for argument in found if isinstance(argument, str)]
    wrong = [argument for argument in found if not isinstance(argument, str)]
    if not named or wrong:
        what = f"{name} takes what to revert as text, not {wrong[0]!r}" if wrong else f"{name} names nothing"
        raise UsageError(what, hint=f'write {call}("27360") or ("27360/slice")', page=_PAGE)
    for text in named:
        if selection.parse(text, where=name).is_none:
            raise UsageError(f"{name}: nothing is selected", hint="name what to take out: 27360", page=_PAGE)
    return named
