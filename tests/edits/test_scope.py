"""Names in a source text find the definition that they mean, or say why not."""

from __future__ import annotations

import textwrap

from hypothesis import given, settings
from hypothesis import strategies as st

from prtoggle.edits.outcome import Missing, Several
from prtoggle.edits.scope import Scope, definitions, enclosing, resolve, split_target
from prtoggle.edits.text import SourceText


def text(source: str) -> SourceText:
    return SourceText(textwrap.dedent(source).lstrip("\n"))


def lines(source: str, name: str) -> tuple[int, int]:
    found = resolve(text(source), name)
    assert isinstance(found, Scope), found
    return found.first, found.last


def several(source: str, name: str) -> tuple[int, ...]:
    found = resolve(text(source), name)
    assert isinstance(found, Several), found
    return found.lines


def missing(source: str, name: str) -> Missing:
    found = resolve(text(source), name)
    assert isinstance(found, Missing), found
    return found


PROPERTY = """
class C:
    @property
    def p(self):
        return 1

    @p.setter
    def p(self, value):
        pass

    @p.deleter
    def p(self):
        pass
"""

OVERLOADS = """
from typing import overload
@overload
def f(x: int) -> int: ...
@overload
def f(x: str) -> str: ...
def f(x):
    return x
"""

TWICE = """
if True:
    def f():
        return 1
else:
    def f():
        return 2
"""


def test_a_function_is_found_with_its_decorators():
    assert lines("@a\n@b(1)\ndef f():\n    pass\n", "f") == (1, 4)


def test_a_decorator_whose_at_sign_stands_on_a_line_of_its_own_belongs_to_it():
    assert lines("x = 1\n@(\n  a\n)\ndef f():\n    pass\n", "f") == (2, 6)


def test_methods_of_every_sort_are_found():
    source = """
    class C:
        def a(self): pass
        @staticmethod
        def b(): pass
        @classmethod
        def c(cls): pass
        async def d(self): pass
    """
    assert [lines(source, f"C.{name}") for name in "abcd"] == [(2, 2), (3, 4), (5, 6), (7, 7)]


def test_a_property_is_its_getter_unless_the_name_says_otherwise():
    assert lines(PROPERTY, "C.p") == lines(PROPERTY, "C.p@getter") == (2, 4)
    assert lines(PROPERTY, "C.p@setter") == (6, 8)
    assert lines(PROPERTY, "C.p@deleter") == (10, 12)


def test_a_cached_property_is_a_getter_and_has_no_setter():
    source = "class C:\n    @cached_property\n    def p(self): pass\n"
    assert lines(source, "C.p@getter") == (2, 3)
    assert missing(source, "C.p@setter").reason == "C.p has no setter"


def test_a_plain_function_has_no_getter():
    assert "has no getter" in missing("def f(): pass\n", "f@getter").reason


def test_an_overridden_setter_of_a_base_class_stands_alone():
    assert lines("class C(B):\n    @B.p.setter\n    def p(self, v): pass\n", "C.p") == (2, 3)


def test_nested_functions_are_found_with_and_without_locals():
    source = "def outer():\n    def inner():\n        pass\n    return inner\n"
    assert lines(source, "outer.inner") == lines(source, "outer.<locals>.inner") == (2, 3)


def test_a_class_and_the_module_are_scopes():
    source = "x = 1\nclass C:\n    y = 2\n"
    assert lines(source, "C") == (2, 3)
    assert lines(source, "") == (1, 3)
    assert lines("", "") == (1, 1)


def test_definitions_under_compound_statements_belong_to_the_scope_around_them():
    source = """
    if a:
        def in_if(): pass
    elif b:
        def in_elif(): pass
    else:
        def in_else(): pass
    try:
        def in_try(): pass
    except E:
        def in_except(): pass
    else:
        def in_try_else(): pass
    finally:
        def in_finally(): pass
    with a:
        def in_with(): pass
    for a in b:
        def in_for(): pass
    while a:
        def in_while(): pass
    match a:
        case 1:
            def in_case(): pass
    """
    names = " ".join(name for name, _ in definitions(text(source)))
    assert names == "in_if in_elif in_else in_try in_except in_try_else in_finally in_with in_for in_while in_case"
    assert all(lines(source, name)[0] == line for name, line in definitions(text(source)))


def test_two_definitions_of_one_name_are_several_until_the_name_says_which():
    assert several(TWICE, "f") == (2, 5)
    assert lines(TWICE, "f#1") == (2, 3)
    assert lines(TWICE, "f#2") == (5, 6)
    assert "only 2 definitions" in missing(TWICE, "f#3").reason
    assert "only one definition" in missing("def f(): pass\n", "f#2").reason


def test_several_says_how_to_write_each():
    found = resolve(text(TWICE), "f")
    assert isinstance(found, Several) and "f#1 (line 2), f#2 (line 5)" in found.reason


def test_an_ambiguous_class_makes_its_methods_ambiguous():
    source = "class C:\n    def m(self): pass\nclass C:\n    def n(self): pass\n"
    assert several(source, "C.m") == (1, 3)
    assert lines(source, "C#1.m#1") == (2, 2)
    assert "no definition of 'm' in C#2" in missing(source, "C#2.m").reason


def test_the_number_counts_within_the_role():
    source = text(PROPERTY).text + "    @property\n    def p(self): pass\n    @p.setter\n    def p(self, v): pass\n"
    assert several(source, "C.p") == (3, 14)
    assert lines(source, "C.p#2") == (13, 14)
    assert lines(source, "C.p#2@setter") == (15, 16)


def test_of_overloads_and_one_implementation_the_implementation_is_meant():
    assert lines(OVERLOADS, "f") == (6, 7)
    assert lines(OVERLOADS, "f#1") == (2, 3)


def test_overloads_with_two_implementations_are_several():
    assert several(text(OVERLOADS).text + "def f(x): pass\n", "f") == (3, 5, 6, 8)


def test_a_missing_name_names_the_nearest():
    found = missing("class C:\n    def method(self): pass\n", "C.methd")
    assert (found.nearest, found.line) == ("C.method", 2)


def test_a_missing_method_names_the_class_that_has_it():
    found = missing("class C: pass\nclass D:\n    def m(self): pass\n", "C.m")
    assert (found.nearest, found.line) == ("D.m", 3)
    assert "D.m (line 3)" in found.reason


def test_a_name_that_is_assigned_or_imported_says_so():
    assert "it is assigned at line 1" in missing("f = lambda: 1\n", "f").reason
    assert "it is imported at line 2" in missing("try:\n    from a import b as f\nexcept E: pass\n", "f").reason


def test_a_file_that_does_not_parse_is_missing_with_the_error():
    found = missing("def f(:\n", "f")
    assert "does not parse" in found.reason and found.line == 1


def test_a_malformed_name_is_missing():
    assert "is no name" in missing("def f(): pass\n", "f#0").reason
    assert "is no name" in missing("def f(): pass\n", "f@writer").reason
    assert "is no name" in missing("def f(): pass\n", "f..g").reason


def test_the_innermost_definition_around_a_line():
    source = text("class C:\n    def m(self):\n        x = 1\ny = 2\n")
    assert [enclosing(source, line) for line in (1, 2, 3, 4)] == ["C", "C.m", "C.m", ""]


def test_targets_split_at_the_longest_module():
    exists = {"pkg", "pkg.mod", "pkg.mod.sub"}.__contains__
    assert split_target("pkg.mod.C.m", exists) == ("pkg.mod", "C.m")
    assert split_target("pkg.mod.sub", exists) == ("pkg.mod.sub", "")
    assert split_target("pkg.mod.f#2.<locals>.g@setter", exists) == ("pkg.mod", "f#2.<locals>.g@setter")
    assert split_target("pkg.mod:sub.f", exists) == ("pkg.mod", "sub.f")
    assert split_target("other.mod.f", exists) == ("", "other.mod.f")


@st.composite
def programs(draw: st.DrawFn, depth: int = 0) -> list[str]:
    out: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["x = 1", "def {}(self):", "class {}:", "@overload", "@p", "@p.setter", "if x:"]))
        name = draw(st.sampled_from("fgp"))
        if kind == "x = 1" or depth == 3:
            out.append("x = 1")
            continue
        if kind.startswith("@"):
            out.append(kind.replace("@p", f"@{name}") if kind == "@p.setter" else kind.replace("@p", "@property"))
            kind = "def {}(self):"
        out.append(kind.format(name))
        out += ["    " + line for line in draw(programs(depth + 1))]
    return out


@settings(deadline=None)
@given(programs())
def test_every_listed_name_resolves_to_its_own_definition(program):
    source = SourceText("\n".join(program) + "\n")
    listed = definitions(source)
    assert len({name for name, _ in listed}) == len(listed)
    for name, line in listed:
        found = resolve(source, name)
        assert isinstance(found, Scope) and getattr(found.node, "lineno") == line, name  # noqa: B009
