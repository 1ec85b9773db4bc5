"""Which edits belong together."""

from __future__ import annotations

from prtoggle.authoring.parts import suspected
from prtoggle.spec import ONLY_PART
from tests.authoring.texts import pair, parts_of, units

TWO = "def f(a):\n    return a + {one}\n\n\ndef g(b):\n    return b * {two}\n"


def test_definitions_that_have_nothing_to_do_with_each_other_are_parts() -> None:
    one = pair(TWO.format(one=1, two=1), TWO.format(one=2, two=2))
    assert units(one) == [["f"], ["g"]]
    assert [(part.name, part.what) for part in parts_of(one)] == [("f", "the change of f"), ("g", "the change of g")]


def test_all_of_one_definition_is_one_part_without_a_name() -> None:
    [part] = parts_of(
        pair(
            "def f(a):\n    a = cut(a)\n    b = 1\n    check(a)\n    return a, b\n",
            "def f(a):\n    b = 1\n    return a, b\n",
        )
    )
    assert part.name == ONLY_PART and len(part.edits) == 2


def test_a_new_helper_belongs_to_its_call_and_not_to_the_rest() -> None:
    fixed = "def f(a):\n    return helper(a)\n\n\ndef g(b):\n    return b * 2\n\n\ndef helper(a):\n    return a\n"
    one = pair(fixed, "def f(a):\n    return a\n\n\ndef g(b):\n    return b\n")
    assert units(one) == [["f", "helper"], ["g"]]


def test_an_import_belongs_to_who_uses_it() -> None:
    fixed = "import os\n\n\ndef f(a):\n    return os.sep\n\n\ndef g(b):\n    return b * 2\n"
    assert units(pair(fixed, "def f(a):\n    return 1\n\n\ndef g(b):\n    return b\n")) == [["os", "f"], ["g"]]


def test_a_new_parameter_belongs_to_who_passes_it_also_in_another_module() -> None:
    core = pair("def step(rows, most):\n    return rows[:most]\n", "def step(rows):\n    return rows\n")
    serve = pair(
        "from engine.core import step\n\n\ndef serve(rows):\n    return step(\n        rows,\n        4,\n    )\n\n\ndef other(x):\n    return x + 1\n",
        "from engine.core import step\n\n\ndef serve(rows):\n    return step(rows)\n\n\ndef other(x):\n    return x\n",
        "engine.serve",
    )
    assert units(core, serve) == [["step", "serve"], ["other"]]


def test_a_new_attribute_belongs_to_who_reads_it() -> None:
    fixed = "class C:\n    def __init__(self):\n        self.n = 1\n        self.room = 4\n\n    def f(self):\n        return self.room\n\n    def g(self):\n        return 2\n"
    older = "class C:\n    def __init__(self):\n        self.n = 1\n\n    def f(self):\n        return 9\n\n    def g(self):\n        return 3\n"
    assert units(pair(fixed, older)) == [["C.__init__", "C.f"], ["C.g"]]


def test_two_definitions_of_one_name_get_names_that_tell_them_apart() -> None:
    code = "class A:\n    def step(self):\n        return {}\n\n\nclass B:\n    def step(self):\n        return {}\n"
    one = pair(code.format(1, 1), code.format(2, 2))
    assert [part.name for part in parts_of(one)] == ["step", "b-step"]


def test_a_part_is_not_called_all() -> None:
    code = "def all(x):\n    return {}\n\n\ndef f(x):\n    return {}\n"
    assert [part.name for part in parts_of(pair(code.format(1, 1), code.format(2, 2)))] == ["core-all", "f"]


def test_a_field_belongs_to_who_fills_it() -> None:
    fields = "class Row:\n    one: int\n    two: int\n\n\ndef make():\n    return Row(1, 2)\n\n\ndef other():\n    return 3\n"
    older = fields.replace("    two: int\n", "").replace("Row(1, 2)", "Row(1)").replace("return 3", "return 4")
    assert units(pair(fields, older)) == [["Row.two", "make"], ["other"]]


OTHER = "\n\ndef other(x):\n    return x + {}\n"


def tied(fixed: str, older: str) -> list[list[str]]:
    """The parts of a change beside another definition's, which is to stay a part of its own."""
    return units(pair(fixed + OTHER.format(1), older + OTHER.format(2)))


def test_who_unpacks_belongs_to_who_returns_more() -> None:
    fixed = "def f(a):\n    return a, 1\n\n\ndef g(a):\n    b, _ = f(a)\n    return b\n"
    older = fixed.replace("return a, 1", "return a").replace("b, _ =", "b =")
    assert tied(fixed, older) == [["f", "g"], ["other"]]


def test_who_uses_a_returned_value_otherwise_belongs_to_it_where_the_call_is_as_it_was() -> None:
    fixed = "def f(a):\n    return a, 1\n\n\ndef g(a):\n    b = f(a)\n    return b[0]\n"
    older = fixed.replace("return a, 1", "return a").replace("b[0]", "b")
    assert tied(fixed, older) == [["f", "g"], ["other"]]


def test_who_reads_a_property_belongs_to_it_where_it_was_a_method() -> None:
    fixed = (
        "class C:\n    @property\n    def size(self):\n        return 1\n\n\ndef g(c):\n"
        "    if c.size > 2:\n        return 1\n    return 2\n"
    )
    older = fixed.replace("    @property\n", "").replace("c.size", "c.size()")
    assert tied(fixed, older) == [["C.size", "g"], ["other"]]


def test_what_super_is_given_belongs_to_what_it_asks() -> None:
    fixed = (
        "class A:\n    def __init__(self, n, m):\n        self.n = n\n\n\nclass B(A):\n    pass\n\n\nclass C(B):\n"
        "    def __init__(self, n, m):\n        super().__init__(n, m)\n"
    )
    older = fixed.replace("class A:\n    def __init__(self, n, m)", "class A:\n    def __init__(self, n)")
    older = older.replace("super().__init__(n, m)", "super().__init__(n)")
    assert tied(fixed, older) == [["A.__init__", "C.__init__"], ["other"]]


def test_overrides_that_ask_otherwise_belong_together() -> None:
    fixed = (
        "class A:\n    def f(self, n, m):\n        return n\n\n\nclass B:\n    def f(self, n, m):\n        return m\n"
    )
    assert tied(fixed, fixed.replace("(self, n, m)", "(self, m, n)")) == [["A.f", "B.f"], ["other"]]


def test_a_changed_call_of_a_changed_definition_belongs_to_it() -> None:
    fixed = "def f(a):\n    return a * 2\n\n\ndef g(a):\n    return f(a) / 2\n"
    assert tied(fixed, fixed.replace("a * 2", "a").replace(" / 2", "")) == [["f", "g"], ["other"]]


def test_who_merely_calls_what_changed_is_a_part_of_its_own_and_suspected() -> None:
    fixed = "def f(a):\n    return a * 2\n\n\ndef g(a):\n    b = f(a)\n    return b + 1\n"
    older = fixed.replace("a * 2", "a").replace("b + 1", "b")
    both = pair(fixed + OTHER.format(1), older + OTHER.format(2))
    assert units(both) == [["f"], ["g"], ["other"]]
    assert suspected([both], parts_of(both)) == (("f", "g"),)


def test_who_reads_an_attribute_may_need_who_sets_it() -> None:
    fixed = "class C:\n    def f(self):\n        self.n = [1]\n\n    def g(self):\n        return self.n[0]\n"
    both = pair(fixed, fixed.replace("[1]", "1").replace("n[0]", "n"))
    assert units(both) == [["C.f"], ["C.g"]]
    assert suspected([both], parts_of(both)) == (("f", "g"),)
