"""The last guard: an edited text has the tree that was meant, whole or looked at in its definition alone."""

from __future__ import annotations

import ast

import pytest

from prtoggle.edits.pattern_guard import objection
from prtoggle.edits.text import SourceText

SOURCE = """\
class C:
    def one(self):
        return 1

    if True:
        @property
        def two(self):
            text = '''
    def not_code
'''
            return 2

        three = 3


def four():
    return 4
"""


def objected(old: str, new: str, meant: str) -> str:
    """What the guard says of ``new`` in place of ``old``, where the value of ``old``'s statement is meant as ``meant``."""
    source = SourceText.decode(SOURCE.encode())
    start = SOURCE.index(old)
    span = (start, start + len(old))
    line = source.line_of(start)
    node = next(n for n in ast.walk(source.tree) if isinstance(n, ast.Return) and n.lineno == line)
    swaps = {id(node.value): ast.parse(meant, mode="eval").body}
    return objection(source, SOURCE.replace(old, new), swaps, span)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_what_was_meant_is_fine_wherever_it_stands(number: int) -> None:
    assert objected(f"return {number}", "return five(\n5)", "five(5)") == ""


@pytest.mark.parametrize("number", [1, 2, 4])
@pytest.mark.parametrize(
    "new",
    [
        "return 6",
        "return 5\n            pass",
        "return 5\nelse:\n    pass",
        "return 5\nx = 1",
        "return 5 \\",
        "return (5",
        "return 5 if",
        "return 5; x",
        "return '''5",
    ],
)
def test_what_was_not_meant_is_objected_to(number: int, new: str) -> None:
    assert objected(f"return {number}", new, "5") != ""
