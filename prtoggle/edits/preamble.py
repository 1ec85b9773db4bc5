"""Lines put at the start of a function's body, after its docstring.

Refused where there is no line to put them on: a body on the line of its ``def``, or a statement behind the docstring on
the docstring's own line.

Example::

    locate(SourceText("def f(x):  # note\\n    return x\\n"), scope, PreambleEdit("import a"))
    == Found((Replacement(18, 18, "    import a\\n"),), line=2)
"""

from __future__ import annotations

import ast

from prtoggle.edits.kinds import PreambleEdit
from prtoggle.edits.outcome import Already, Found, Missing, Outcome, Replacement
from prtoggle.edits.rows import BLANK, fragment_rows, indent_of, placed, source_rows, tabbed, unit_of
from prtoggle.edits.scope import Scope, first_line
from prtoggle.edits.text import SourceText


def locate(source: SourceText, scope: Scope, edit: PreambleEdit) -> Outcome:
    """Where the preamble goes in the function ``scope``."""
    text = fragment_rows(edit.text)
    if not text:
        return Missing("the preamble is empty")
    node = scope.node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return Missing(f"a preamble needs a function, and {scope.qualname or 'the target'} is none", line=scope.first)
    first = node.body[0]
    if not _begins_its_line(source, first):
        return Missing(
            f"the body of {scope.qualname} stands on the line of its def", source.line(first.lineno), first.lineno
        )
    if ast.get_docstring(node, clean=False) is None:
        line = first_line(source, first)
    elif len(node.body) == 1:
        line = (first.end_lineno or first.lineno) + 1
    elif _begins_its_line(source, node.body[1]):
        line = first_line(source, node.body[1])
    else:
        line = node.body[1].lineno
        return Missing(f"a statement stands behind the docstring of {scope.qualname}", source.line(line), line)
    rows = source_rows(source, scope.first, scope.last)
    new = placed(text, indent_of(source.line(first_line(source, first))), unit_of(text) if tabbed(rows) else 0)
    at = line - scope.first
    if [(row.text.rstrip(BLANK), row.inside) for row in rows[at : at + len(new)]] == [
        (row.text.rstrip(BLANK), row.inside) for row in new
    ]:
        return Already(line, "the preamble stands there already")
    offset = source.starts[line - 1]
    return Found((Replacement(offset, offset, "".join(row.text + "\n" for row in new)),), line)


def _begins_its_line(source: SourceText, node: ast.stmt) -> bool:
    line = first_line(source, node)
    start = source.offset(node.lineno, node.col_offset) if line == node.lineno else None
    return start is None or not source.text[source.starts[line - 1] : start].strip(BLANK)
