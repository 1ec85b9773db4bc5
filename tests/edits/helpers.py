"""Small helpers: make one edit in a text, and read what the locator said."""

from __future__ import annotations

from typing import Any

from prtoggle.edits import lines, preamble, udiff
from prtoggle.edits.combine import Conflict, combine, verify
from prtoggle.edits.kinds import DiffEdit, Hunk, LinesEdit, PreambleEdit
from prtoggle.edits.outcome import Already, Found, Missing, Outcome, Several
from prtoggle.edits.scope import Scope, resolve
from prtoggle.edits.text import SourceText


def scope_of(source: SourceText, target: str) -> Scope:
    found = resolve(source, target)
    assert isinstance(found, Scope), found
    return found


def outcome(src: str | bytes, target: str = "", **edit: str) -> Outcome:
    """What the locator says: ``match=`` with ``replacement=``, ``prepend=`` or ``append=``; or ``preamble=``."""
    source = src if isinstance(src, SourceText) else text_of(src)
    scope = scope_of(source, target)
    if "preamble" in edit:
        return preamble.locate(source, scope, PreambleEdit(edit["preamble"]))
    return lines.locate(source, scope, lines_edit(**edit))


def lines_edit(match: str, **how: str) -> LinesEdit:
    ((action, text),) = how.items() or (("replacement", ""),)
    names: dict[str, Any] = {"replacement": "replace"}
    return LinesEdit(match, names.get(action, action), text)


def edit(src: str | bytes, target: str = "", **how: str) -> str:
    """The text after one edit, which must be found."""
    source = text_of(src)
    return made(source, outcome(src, target, **how))


def patched(src: str, *hunks: tuple[str, str]) -> str:
    source = text_of(src)
    return made(source, hunks_outcome(src, *hunks))


def hunks_outcome(src: str, *hunks: tuple[str, str], target: str | None = None) -> Outcome:
    """Hunks given as (old, new), each a text of lines."""
    source = text_of(src)
    given = tuple(
        Hunk(tuple(old.split("\n")) if old else (), tuple(new.split("\n")) if new else ()) for old, new in hunks
    )
    return udiff.locate(source, None if target is None else scope_of(source, target), DiffEdit(given))


def made(source: SourceText, found: Outcome) -> str:
    assert isinstance(found, Found), found
    result = combine(source, [("fix", replacement) for replacement in found.replacements])
    assert not isinstance(result, Conflict), result
    return result


def text_of(src: str | bytes) -> SourceText:
    return SourceText.decode(src) if isinstance(src, bytes) else SourceText(src)


def missing(found: Outcome) -> Missing:
    assert isinstance(found, Missing), found
    return found


def several(found: Outcome) -> tuple[int, ...]:
    assert isinstance(found, Several), found
    return found.lines


def already(found: Outcome) -> int:
    assert isinstance(found, Already), found
    return found.line


def compiles(source: SourceText, text: str) -> bool:
    return verify(source, text) is None
