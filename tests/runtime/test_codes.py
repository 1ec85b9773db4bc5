"""Code objects of two texts of one module: paired, or refused by name."""

from __future__ import annotations

import textwrap
import types

import pytest

from prtoggle.runtime.codes import Compiled, fingerprint, meaning
from prtoggle.runtime.matching import Matched, match

NESTED = """
import functools
class A:
    def m(self, key=lambda x: x):
        def inner():
            return [y for y in (lambda: self)()]
        return inner
    @property
    def p(self):
        return 1
@functools.wraps(max)
def f():
    class Local:
        def g(self): pass
    try:
        pass
    finally:
        h = lambda: 2
    return Local, h, (z for z in "z")
"""


def compiled(text: str) -> Compiled:
    return Compiled(textwrap.dedent(text).encode(), "m.py")


def matched(old: str, new: str) -> Matched:
    return match(compiled(old), compiled(new))


def changed(found: Matched) -> dict[str, str]:
    """Qualified name of each function that is to do something else, and what stands against it."""
    return {pair.old.qualname: pair.against for pair in found.pairs if pair.changed and pair.old.function}


def test_every_code_object_has_its_syntax_and_python_s_own_name() -> None:
    names = {scope.qualname for scope in compiled(NESTED).root.walk()}
    wanted = {"A", "A.m", "A.m.<locals>.inner", "A.p", "f", "f.<locals>.Local", "f.<locals>.Local.g"}
    assert wanted <= names
    assert {"A.<lambda>", "f.<locals>.<lambda>", "f.<locals>.<genexpr>"} <= names
    for scope in compiled(NESTED).root.walk():
        node = scope.node
        assert node is not None
        assert getattr(node, "name", scope.code.co_name) == scope.code.co_name
        if hasattr(node, "lineno"):
            decorators = [each.lineno for each in getattr(node, "decorator_list", ())]
            assert scope.code.co_firstlineno == min([node.lineno, *decorators])


def test_a_live_function_is_found_by_its_code_also_from_another_compilation() -> None:
    one = compiled("def f():\n    return (1, 1.0, True, 'a', x in {1, 2})\n")
    namespace: dict[str, types.FunctionType] = {}
    exec(compile(one.text, "m.py", "exec", dont_inherit=True), namespace)
    assert [scope.qualname for scope in one.find(namespace["f"].__code__)] == ["f"]


@pytest.mark.parametrize(
    ("one", "other"), [("1", "True"), ("1", "1.0"), ("0.0", "-0.0"), ("(1,)", "(True,)"), ("'a'", "b'a'")]
)
def test_constants_of_other_types_are_other_code(one: str, other: str) -> None:
    first, second = (compiled(f"def f():\n    return {each}\n").root.children[0].code for each in (one, other))
    assert meaning(first) != meaning(second)


def test_a_function_that_only_moved_does_what_it_did() -> None:
    first, second = (
        compiled(text).root.children[0].code for text in ("def f(): return 1\n", "\n\ndef f(): return 1\n")
    )
    assert meaning(first) == meaning(second)
    assert fingerprint(first) != fingerprint(second)


def test_changed_and_moved_are_told_apart() -> None:
    found = matched("def a(): return 1\ndef b(): return 1\n", "def a():\n    return 2\ndef b(): return 1\n")
    assert found.refusals == []
    assert changed(found) == {"a": ""}
    assert {pair.old.qualname for pair in found.pairs} == {"a", "b"}


def test_the_second_definition_of_a_name_is_not_the_first() -> None:
    text = "def f(): return {}\ndef f(): return {}\n"
    found = matched(text.format(1, 2), text.format(1, 3))
    assert [(pair.changed, pair.new.code.co_consts[-1]) for pair in found.pairs] == [(False, 1), (True, 3)]


def test_an_inner_function_that_goes_does_not_lend_its_place_to_the_next() -> None:
    old = "def f():\n    a = lambda: 1\n    b = lambda: 2\n    return a, b\n"
    found = matched(old, "def f():\n    b = lambda: 2\n    return b\n")
    assert [scope.code.co_consts[-1] for scope in found.gone] == [1]
    assert [pair.new.code.co_consts[-1] for pair in found.pairs if pair.old.qualname.endswith("<lambda>")] == [2]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("X = 1\n", "X = 2\n", "line 1: 'X = 1' ran at import, and would have been 'X = 2'"),
        ("class C:\n    x = 1\n", "class C:\n    x = 2\n", "line 2 of C: 'x = 1' ran at import"),
        (
            "class C:\n    class D:\n        x = 1\n",
            "class C:\n    class D:\n        x = 2\n",
            "line 3 of C.D: 'x = 1'",
        ),
        ("def f(): pass\n", "import os\ndef f(): pass\n", "'import os' would have run at import, and did not"),
        (
            "def f(): pass\ndef g(): pass\n",
            "def f(): pass\n",
            "line 2: 'def g' ran at import, and would not have been there",
        ),
        ("@a\ndef f(): pass\n", "@b\ndef f(): pass\n", "line 2: 'def f' ran at import"),
        ("class C:\n    'one'\n", "class C:\n    'two'\n", "of C: \"'one'\" ran at import"),
        ("X = [i for i in 'a']\n", "X = [i for i in 'b']\n", "line 1"),
    ],
)
def test_what_runs_at_import_is_refused_by_line(old: str, new: str, said: str) -> None:
    found = matched(old, new)
    assert any(said in reason for reason in found.refusals), found.refusals


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "class C:\n    def f(self): pass\n",
            "class C:\n    def f(self): super()\n",
            "other names from around it: __class__",
        ),
        ("def f(): return 1\n", "def f(): yield 1\n", "another kind of function"),
        ("def f(): return 1\n", "async def f(): return 1\n", "ran at import"),
        ("@a\ndef f(x=1): pass\n", "@a\ndef f(x=2): pass\n", "@a may have looked at"),
        ("@a\ndef f(x): pass\n", "@a\ndef f(y): pass\n", "its parameters change, which @a"),
        ("@m.a(1)\ndef f():\n    'one'\n", "@m.a(1)\ndef f():\n    'two'\n", "its docstring changes, which @a"),
        ("@staticmethod\ndef f(x=1): pass\n", "@staticmethod\ndef f(x=2): pass\n", ""),
        ("@lru_cache\ndef f(x): pass\n", "@lru_cache\ndef f(y): pass\n", ""),
    ],
)
def test_what_stands_against_a_function_is_said(old: str, new: str, said: str) -> None:
    found = matched(old, new)
    reasons = [*found.refusals, *changed(found).values()]
    assert any(said in reason for reason in reasons) if said else reasons == [""]


@pytest.mark.parametrize(
    ("before", "after"), [("", "@a"), ("@a", ""), ("@a(1)", "@a(2)"), ("@a\n    @b", "@b\n    @a")]
)
def test_other_decorators_stand_against_an_inner_function_that_is_alive(before: str, after: str) -> None:
    text = "def f():\n    {}\n    def g(): return 1\n    return g\n"
    said = changed(matched(text.format(before), text.format(after)))
    assert said["f.<locals>.g"] == "its decorators change, and those of one that is alive ran when it was made"


def test_a_changed_default_alone_is_a_change() -> None:
    assert changed(matched("def f(x=1): pass\n", "def f(x=2): pass\n")) == {"f": ""}
    assert changed(matched("def f(x: int): pass\n", "def f(x: str): pass\n")) == {"f": ""}


def test_equal_functions_on_one_line_are_told_apart_or_refused() -> None:
    found = matched("T = [lambda: 1, lambda: 1]\n", "T = [lambda: 1, lambda: 2]\n")
    if found.refusals:  # Python 3.10 and 3.12.1 make one code object of both
        assert "cannot be told apart" in found.refusals[0]
    else:
        assert [pair.changed for pair in found.pairs] == [False, True]


def test_the_body_of_a_class_made_by_a_call_is_named() -> None:
    text = "def f():\n    class C:\n        x = {}\n        def m(self): pass\n    return C\n"
    found = matched(text.format(1), text.format(2))
    assert found.classes == ["f.<locals>.C"] and [scope.qualname for scope in found.gone] == ["f.<locals>.C.m"]
    assert found.refusals == []
