"""Helpers for the tests of code patterns: one edit in a text, and an oracle that knows trees only."""

from __future__ import annotations

import ast

from prtoggle.edits.kinds import PatternEdit
from prtoggle.edits.outcome import Found, Missing, Outcome, Several
from prtoggle.edits.pattern import locate, sightings
from prtoggle.edits.scope import Scope, resolve
from prtoggle.edits.text import SourceText
from tests.edits.helpers import made, text_of


def scope_of(source: SourceText, target: str = "") -> Scope:
    found = resolve(source, target)
    assert isinstance(found, Scope), found
    return found


def outcome(src: str | bytes, find: str, put: str = "", target: str = "") -> Outcome:
    source = text_of(src)
    return locate(source, scope_of(source, target), PatternEdit(find, put))


def edit(src: str | bytes, find: str, put: str, target: str = "") -> str:
    """The text after the edit, which must be found."""
    return made(text_of(src), outcome(src, find, put, target))


def notes(src: str, find: str, put: str) -> tuple[str, ...]:
    found = outcome(src, find, put)
    assert isinstance(found, Found), found
    return found.notes


def lines(src: str | bytes, pattern: str, target: str = "") -> tuple[int, ...]:
    source = text_of(src)
    return sightings(source, scope_of(source, target), pattern)


def matches(src: str, pattern: str) -> bool:
    """Whether the pattern matches, once."""
    found = lines(src, pattern)
    assert len(found) <= 1, found
    return bool(found)


def refused(src: str, find: str, put: str = "", target: str = "") -> str:
    """The reason why the edit is not made."""
    found = outcome(src, find, put, target)
    assert isinstance(found, (Missing, Several)), found
    return found.reason


def dump(text: str) -> str:
    return ast.dump(ast.parse(text))
