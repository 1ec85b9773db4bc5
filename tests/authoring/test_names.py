"""Names that nothing binds; what statements bind; what a module asks of others."""

from __future__ import annotations

import ast

import pytest

from prtoggle.authoring.names import Import, bound_at_top, imports, unbound
from tests.authoring.texts import text


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def f():\n    return helper(1)\n", {"helper"}),
        ("def f():\n    return helper(1)\ndef helper(x):\n    return x\n", set()),
        ("def f(a):\n    return [b for b in a if c]\n", {"c"}),
        ("def f():\n    global g\n    g = 1\ndef h():\n    return g\n", set()),
        ("from x import *\ny = z\n", set()),
        ("class C:\n    a = 1\n    def m(self):\n        return a\n", {"a"}),
        ("try:\n    import a\nexcept ImportError:\n    a = None\nx = a, len, __name__\n", set()),
        ("def f():\n    import os\n    return os\nx = os\n", {"os"}),
    ],
)
def test_names_that_nothing_binds(code: str, names: set[str]) -> None:
    assert unbound(text(code)) == names


def test_what_statements_bind_where_they_stand() -> None:
    code = "import a.b, c as d\nif x:\n    y = [z for z in w]\ndef f():\n    inner = 1\nclass C: pass\nwith g() as h: pass\n"
    assert bound_at_top(ast.parse(code).body) >= {"a", "d", "y", "f", "C", "h"}
    assert not bound_at_top(ast.parse(code).body) & {"inner", "b", "c", "x", "w"}


def test_relative_imports_are_made_absolute() -> None:
    code = text("from .a import b\nfrom ..c import d\nfrom . import e\nimport f.g\n")
    found = {(each.module, each.name) for each in imports(code, "p.q.r", False)}
    assert found == {("p.q.a", "b"), ("p.c", "d"), ("p.q", "e"), ("f.g", "")}
    assert Import("p.q.r.a", "b", 1) in imports(code, "p.q.r", True)
