"""A preamble lands at the start of the body, after the docstring, or is refused."""

from __future__ import annotations

import pytest

from prtoggle.edits.outcome import Found
from tests.edits.helpers import already, edit, missing, outcome


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(x):\n    return x\n", "def f(x):\n    import a\n    return x\n"),
        ("def f(x):  # note\n    return x\n", "def f(x):  # note\n    import a\n    return x\n"),
        ("def f(x):  # note:\n    if x:\n        y\n", "def f(x):  # note:\n    import a\n    if x:\n        y\n"),
        ('def f(x):\n    """Doc."""\n    return x\n', 'def f(x):\n    """Doc."""\n    import a\n    return x\n'),
        ('def f(x):\n    """Doc:\n    """  # c\n\n    return x\n',
            'def f(x):\n    """Doc:\n    """  # c\n\n    import a\n    return x\n'),
        ('def f(x):\n    """Doc."""', 'def f(x):\n    """Doc."""\n    import a'),
        ("def f(\n    x={1: 2},\n) -> a[b:c]:\n    return x\n",
            "def f(\n    x={1: 2},\n) -> a[b:c]:\n    import a\n    return x\n"),
        ("def f(x):\n    @d\n    def g(): pass\n", "def f(x):\n    import a\n    @d\n    def g(): pass\n"),
        ("async def f(x):\n\treturn x\n", "async def f(x):\n\timport a\n\treturn x\n"),
        ("@d\ndef f(x):\r\n    return x\r\n", "@d\ndef f(x):\r\n    import a\r\n    return x\r\n"),
    ],
)  # fmt: skip
def test_a_preamble_goes_to_the_start_of_the_body(source, expected):
    assert edit(source, "f", preamble="import a\n") == expected


def test_a_preamble_of_several_lines_is_indented_and_its_strings_are_not():
    assert edit("class C:\n    def f(self):\n        pass\n", "C.f", preamble='  if a:\n      b = """\n  c"""\n') == (
        'class C:\n    def f(self):\n        if a:\n            b = """\n  c"""\n        pass\n'
    )


def test_a_body_on_the_line_of_its_def_is_refused():
    found = missing(outcome("def f(x): return x\n", "f", preamble="import a"))
    assert "stands on the line of its def" in found.reason and found.line == 1


def test_a_statement_behind_the_docstring_on_its_line_is_refused():
    assert (
        "behind the docstring" in missing(outcome("def f(x):\n    'doc'; return x\n", "f", preamble="import a")).reason
    )


def test_a_class_and_a_module_have_no_preamble():
    assert "needs a function" in missing(outcome("class C:\n    x = 1\n", "C", preamble="import a")).reason
    assert "needs a function" in missing(outcome("x = 1\n", preamble="import a")).reason


def test_an_empty_preamble_is_missing_and_one_that_stands_is_there_already():
    assert missing(outcome("def f():\n    pass\n", "f", preamble="\n")).reason == "the preamble is empty"
    assert isinstance(outcome("def f():\n    pass\n", "f", preamble="import a"), Found)
    assert already(outcome("def f():\n    'doc'\n    import a\n    pass\n", "f", preamble="import a")) == 3
