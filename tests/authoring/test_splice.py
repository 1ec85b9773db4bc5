"""Definitions of an older text in a newer one."""

from __future__ import annotations

import ast

import pytest

from prtoggle.authoring.splice import Unspliced, spliced
from tests.authoring.texts import text

NEW = """\
    import os


    class C:
        def a(self):
            return os.sep

        def b(self):
            return 2


    def f():
        return helper(1)


    def helper(x):
        return x
    """
OLD = """\
    import os
    import warnings

    LIMIT = 3


    class C:
        @property
        def a(self):
            return warnings

        def gone(self):
            return 9

        def b(self):
            return LIMIT


    def f():
        return 1
    """


def result(*names: str) -> str:
    return ast.unparse(spliced(text(NEW), text(OLD), names).text.tree)


def test_only_the_named_definition_is_the_older_one_with_its_decorators_and_what_it_needs() -> None:
    found = spliced(text(NEW), text(OLD), ["C.a"])
    assert found.needed == ("import warnings",)
    assert "@property\n    def a(self):\n        return warnings" in found.text.text
    assert "return 2" in found.text.text and "helper(1)" in found.text.text


def test_a_constant_comes_along_too() -> None:
    assert "LIMIT = 3" in result("C.b") and "return LIMIT" in result("C.b")


def test_one_that_the_newer_text_does_not_have_is_put_where_it_was() -> None:
    found = result("C.gone")
    assert found.index("def a") < found.index("def gone") < found.index("def b")


def test_one_that_the_older_text_does_not_have_is_taken_out_with_who_uses_it_alone() -> None:
    with pytest.raises(Unspliced, match="helper would be gone"):
        result("helper")
    assert "helper" not in result("helper", "f")


def test_what_neither_has_is_said_with_the_nearest() -> None:
    with pytest.raises(Unspliced) as caught:
        result("C.goner")
    assert caught.value.nearest == "C.gone"


def test_a_class_that_loses_its_last_method_keeps_a_pass() -> None:
    found = spliced(text("class C:\n    def a(self):\n        return 1\n"), text("class C:\n    x = 1\n"), ["C.a"])
    assert ast.unparse(found.text.tree) == "class C:\n    pass"


def test_line_ends_and_a_missing_last_one_stay() -> None:
    found = spliced(text("x = 1\r\ndef f():\r\n    return 2"), text("def f():\n    return 1\n"), ["f"])
    assert found.text.text == "x = 1\r\ndef f():\r\n    return 1"
