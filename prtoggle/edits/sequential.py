"""How a list of line edits reads when each is applied to the result of the one before, as SGLang's patcher does it.

prtoggle finds all edits in the original text. Where the two readings give different functions, or only the other one
gives a function at all, the plan refuses: :func:`difference` says why. Matches and texts are compared and placed by the
rules of :mod:`prtoggle.edits.lines` in both readings, so that only the order of things can make them differ; one
thing is SGLang's own: a replacement goes to the indentation of the match's *first* line.

Example::

    edits = [LinesEdit("x = 1", "replace", "x = 2"), LinesEdit("x = 2", "replace", "x = 3")]
    difference(SourceText("def f():\\n    x = 1\\n"), scope, edits)
    == "edit 2 finds its match only in what the edits before it made"
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from prtoggle.edits.combine import Conflict, combine
from prtoggle.edits.kinds import LinesEdit
from prtoggle.edits.lines import fit, locate, written
from prtoggle.edits.outcome import Already, Found, Missing, Replacement, Several
from prtoggle.edits.rows import fragment_rows, source_rows, split
from prtoggle.edits.scope import Scope
from prtoggle.edits.text import SourceText


def read(source: SourceText, scope: Scope, edits: Sequence[LinesEdit]) -> str | Missing | Several:
    """The lines of ``scope``, with ``\\n`` as line end, after one edit after another; or why one of them fails."""
    rows = source_rows(source, scope.first, scope.last)
    for number, edit in enumerate(edits, 1):
        match = fragment_rows(edit.match)
        fits, near = fit(rows, match) if match else ([], [])
        if len(fits) > 1:
            lines = tuple(scope.first + found.start for found in fits)
            return Several(lines, f"edit {number} stands {len(fits)} times in what the edits before it made")
        if not fits:
            why = f": {near[0].reason}" if near else ""
            return Missing(f"edit {number} is not in what the edits before it made{why}")
        found = fits[0]
        if edit.action == "replace":
            rows[found.start : found.end] = written(rows, replace(found, base=found.first), edit)
        else:
            at = found.start if edit.action == "prepend" else found.end
            rows[at:at] = written(rows, found, edit)
    return "".join(row.text + "\n" for row in rows)


def difference(source: SourceText, scope: Scope, edits: Sequence[LinesEdit]) -> str:
    """Why the two readings of ``edits`` are not the same; empty where they are, or where both fail."""
    after = read(source, scope, edits)
    named: list[tuple[str, Replacement]] = []
    failed = ""
    for number, edit in enumerate(edits, 1):
        outcome = locate(source, scope, edit)
        if isinstance(outcome, Found):
            named += [(f"edit {number}", replacement) for replacement in outcome.replacements]
        elif isinstance(outcome, Missing | Several):
            failed = failed or f"edit {number} finds its match only in what the edits before it made"
        elif isinstance(outcome, Already) and edit.action != "replace":
            failed = failed or f"edit {number} stands in the text already, and would be made a second time"
    if not isinstance(after, str):
        return "" if failed else f"one after another, {after.reason}"
    if failed:
        return failed
    together = combine(source, named)
    if isinstance(together, Conflict):
        return f"{together.first} and {together.second} touch the same text: {together.reason}"
    whole = _with_scope(source, scope, after)
    return "" if _same(whole, together) else "one after another, the edits give another function than all at once"


def _with_scope(source: SourceText, scope: Scope, text: str) -> str:
    start, end = source.starts[scope.first - 1], source.starts[scope.last]
    return source.text[:start] + text + source.text[end:]


def _same(one: str, other: str) -> bool:
    """Equal as code, or equal line by line but for the ``pass`` that a block left empty was given."""
    if _code_lines(one) == _code_lines(other):
        return True
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except (SyntaxError, ValueError):
        return False


def _code_lines(text: str) -> list[str]:
    return [line.rstrip() for line in split(text) if line.strip() not in ("", "pass")]
