"""Each sentence on patterns in the design, as tests."""

from __future__ import annotations

import ast

import pytest

from prtoggle.edits.kinds import PatternEdit
from prtoggle.edits.outcome import Found, Missing, Several
from prtoggle.edits.pattern import locate
from tests.edits.helpers import text_of
from tests.edits.pattern_helpers import dump, edit, lines, matches, notes, outcome, refused, scope_of


class TestNames:
    def test_a_name_matches_one_expression(self) -> None:
        assert edit("y = f(a + b * 2)\n", "f($X)", "g($X)") == "y = g(a + b * 2)\n"

    @pytest.mark.parametrize(
        "src, find, put, expected",
        [
            ("v = a.old\n", "a.$X", "b.$X", "v = b.old\n"),
            ("def old(x):\n    pass\n", "def $F(x):\n    pass", "def $F(y):\n    pass", "def old(y):\n    pass\n"),
            ("f(k=1)\n", "f($K=1)", "g($K=2)", "g(k=2)\n"),
            ("import os.path as p\n", "import $M as $N", "import $M as q, $N", "import os.path as q, p\n"),
            ("class C:\n    x = 1\n", "class $C:\n    x = 1", "class $C:\n    x = 2", "class C:\n    x = 2\n"),
            ("global a\n", "global $X", "nonlocal $X", "nonlocal a\n"),
            ("lambda a: a\n", "lambda $P: $P", "lambda $P: 0", "lambda a: 0\n"),
        ],
    )
    def test_a_name_matches_one_identifier(self, src: str, find: str, put: str, expected: str) -> None:
        assert edit(src, find, put) == expected

    def test_a_name_of_an_identifier_is_an_expression_elsewhere(self) -> None:
        assert edit("f(k=k)\n", "f($K=$K)", "f($K)") == "f(k)\n"
        assert edit("a.b = b\n", "a.$X = $X", "a['k'] = $X") == "a['k'] = b\n"

    def test_a_name_does_not_match_what_is_unpacked(self) -> None:
        assert not matches("f(*a)\n", "f($X)")
        assert matches("f(*a)\n", "f(*$X)")

    def test_a_name_does_not_match_nothing(self) -> None:
        assert lines("def f():\n    return\n", "return $X") == ()

    def test_a_run_matches_a_contiguous_run_of_arguments(self) -> None:
        assert edit("f(a, b, k=1)\n", "f($...X)", "g($...X)") == "g(a, b, k=1)\n"
        assert edit("f(a, b, k=1)\n", "f(a, $...X)", "g($...X)") == "g(b, k=1)\n"
        assert edit("f(a, b, c)\n", "f($...X, c)", "g($...X)") == "g(a, b)\n"

    def test_a_run_may_match_nothing_and_the_commas_come_out_right(self) -> None:
        for put, expected in [
            ("f($...X)", "f()"),
            ("f(a, $...X)", "f(a)"),
            ("f($...X, a)", "f(a)"),
            ("f(a, $...X, b)", "f(a, b)"),
            ("f(a, $...X,)", "f(a,)"),
            ("f($...X,)", "f()"),
            ("f(a,  # why\n  $...X)", "f(a)"),
            ("(a, $...X)", "(a,)"),
            ("($...X, a)", "(a,)"),
            ("((a), $...X)", "((a),)"),
            ("($...X,)", "()"),
            ("[$...X, a]", "[a]"),
            ("f((a), $...X)", "f((a))"),
            ("f(k=1, $...X)", "f(k=1)"),
            ("f($...X, $...X, $...X)", "f()"),
        ]:
            assert edit("r = call()\n", "call($...X)", put) == f"r = {expected}\n", put
        assert edit("r = {9: 9}\n", "{9: 9, $...X}", "{1: 2, $...X}") == "r = {1: 2}\n"

    def test_a_run_matches_statements(self) -> None:
        src = "def f():\n    with lock:\n        a()\n        b()\n    c()\n"
        assert edit(src, "with lock:\n    $...BODY", "$...BODY") == "def f():\n    a()\n    b()\n    c()\n"

    def test_a_run_matches_elements_parameters_and_dict_entries(self) -> None:
        assert edit("x = [1, 2, 3]\n", "[1, $...X]", "($...X,)") == "x = (2, 3,)\n"
        assert edit("x = {1: 2, **a}\n", "{1: 2, $...X}", "{$...X, 3: 4}") == "x = {**a, 3: 4}\n"
        src = "def f(a: int = 1, *, b, **c) -> int:\n    return 1\n"
        assert edit(src, "def f($...P) -> int:\n    $...B", "def g($...P):\n    $...B") == (
            "def g(a: int = 1, *, b, **c):\n    return 1\n"
        )
        assert edit(src, "def f(a: int = 1, $...P) -> int:\n    $...B", "def f(x, $...P):\n    $...B") == (
            "def f(x, *, b, **c):\n    return 1\n"
        )
        assert edit("g = lambda a, b: a\n", "lambda $...P: a", "lambda $...P: b") == "g = lambda a, b: b\n"

    def test_a_run_of_statements_at_the_end_reaches_to_the_end_of_its_block(self) -> None:
        src = "def f():\n    a()\n    b()\n    c()\n"
        assert edit(src, "b()\n$...REST", "if x:\n    $...REST") == "def f():\n    a()\n    if x:\n        c()\n"

    def test_the_same_name_twice_must_match_the_same(self) -> None:
        assert matches("f(a.b, a . b)\n", "f($X, $X)")
        assert not matches("f(a, b)\n", "f($X, $X)")
        assert not matches("f(1, True)\n", "f($X, $X)")
        assert matches("f(1, 2)\ng(1, (2))\n", "f($...X)\ng($...X)")
        assert not matches("f(1, 2)\ng(1)\n", "f($...X)\ng($...X)")

    def test_a_find_that_parses_as_one_expression_matches_expressions(self) -> None:
        assert lines("x = g(f())\nf()\ny = [f() for _ in z]\n", "f()") == (1, 2, 3)

    def test_any_other_find_matches_statements(self) -> None:
        assert lines("a = 1\nb = 2\nif a:\n    a = 1\n    b = 2\n", "a = 1\nb = 2") == (1, 4)

    def test_matches_that_nest_or_overlap_are_two_matches(self) -> None:
        assert outcome("x = f(f(a))\n", "f($X)", "g($X)") == Several((1, 1))
        assert outcome("a()\na()\na()\n", "a()\na()", "b()\nb()") == Several((1, 2))

    def test_a_place_that_can_be_understood_in_two_ways_is_refused(self) -> None:
        src = "f(1, 0, 2, 0, 3)\n"
        assert "more than one way" in refused(src, "f($...A, 0, $...B)", "g($...A)")
        assert edit(src, "f($...A, 0, $...B)", "g()") == "g()\n"
        assert lines(src, "f($...A, 0, $...B)") == (1,)


class TestSyntax:
    @pytest.mark.parametrize(
        "src, pattern",
        [
            ("f( a ,\n  b )", "f(a, b)"),
            ("f(a, # why\n  b)", "f(a, b)"),
            ("f('a')", 'f("a")'),
            ("f('''a''')", 'f("a")'),
            ("f((a))", "f(a)"),
            ("f(a, b,)", "f(a, b)"),
            ("x = (a +\n     b)", "x = a + b"),
            ("x = a + \\\n  b", "x = a + b"),
            ("f('a' 'b')", "f('ab')"),
            ("f('ab')", "f('a' 'b')"),
            ("f(u'a')", "f('a')"),
            ("f(0x10, 1_000)", "f(16, 1000)"),
            ("if a: b()", "if a:\n    b()"),
            ("if a:\n\tb()", "if a:\n    b()"),
            ("x = a[(1, 2)]", "x = a[1, 2]"),
            ("for (i, j) in k: pass", "for i, j in k:\n    pass"),
            ("f(f'{a}' 'b')", "f(f'{a}b')"),
        ],
    )
    def test_layout_comments_quotes_parentheses_and_trailing_commas_do_not_matter(self, src: str, pattern: str) -> None:
        assert matches(src + "\n", pattern)

    def test_load_and_store_are_not_told_apart(self) -> None:
        assert lines("a.b = 1\nc = a.b\ndel a.b\nfor a.b in c: pass\n", "a.b") == (1, 2, 3, 4)

    @pytest.mark.parametrize("one", ["1", "True", "1.0", "1j", "'1'", "b'1'", "0.0", "-0.0", "...", "None"])
    @pytest.mark.parametrize("other", ["1", "True", "1.0", "1j", "'1'", "b'1'", "0.0", "-0.0", "...", "None"])
    def test_constants_compare_by_type(self, one: str, other: str) -> None:
        assert matches(f"f({one})\n", f"f({other})") == (one == other)

    def test_positional_arguments_compare_in_order(self) -> None:
        assert not matches("f(a, b)\n", "f(b, a)")

    def test_keyword_arguments_compare_in_any_order(self) -> None:
        assert matches("f(x, a=1, b=2)\n", "f(x, b=2, a=1)")
        assert not matches("f(a=1, b=2)\n", "f(a=1)")
        assert not matches("f(a=1, b=2)\n", "f(a=2, b=1)")
        assert matches("class C(B, m=1, n=2): pass\n", "class C(B, n=2, m=1):\n    pass")

    def test_the_order_of_keywords_and_unpacking_has_a_meaning(self) -> None:
        assert not matches("f(a=1, **k)\n", "f(**k, a=1)")
        assert matches("f(a=1, **k, b=2, c=3)\n", "f(a=1, **k, c=3, b=2)")
        assert not matches("f(**j, **k)\n", "f(**k, **j)")
        assert matches("f(**k, a=1)\n", "f($...R, a=1)")
        assert not matches("f(a=1, **k)\n", "f($...R, a=1)")

    def test_a_run_beside_keywords_is_contiguous(self) -> None:
        assert edit("f(x, y=1, k=2)\n", "f($...R, k=2)", "f($...R)") == "f(x, y=1)\n"
        assert edit("f(k=2, y=1)\n", "f($...R, k=2)", "f($...R)") == "f(y=1)\n"
        assert not matches("f(x, k=2, y=1)\n", "f($...R, k=2)")
        assert edit("f(x, k=2, y=1)\n", "f(x, $...R, k=2)", "f(x, $...R)") == "f(x, y=1)\n"

    def test_a_definition_without_decorators_does_not_match_one_with(self) -> None:
        assert not matches("@d\ndef f(): pass\n", "def f():\n    pass")
        assert matches("@d\ndef f(): pass\n", "@$D\ndef f():\n    pass")

    def test_comparisons_chains_and_conditionals_compare_as_trees(self) -> None:
        assert not matches("x = a < b < c\n", "a < b")
        assert not matches("x = a and b and c\n", "a and b")
        assert matches("x = (a if b else c)\n", "$A if $B else $C")
        assert matches("x = [i async for i in y if i]\n", "[$I async for $I in y if $I]")
        assert matches("if (n := f()) > 1: pass\n", "n := f()")
        assert matches("x = yield 1\n", "yield $X")
        assert matches("async def f():\n    await g()\n", "await g()")

    def test_match_statements(self) -> None:
        src = "match x:\n    case [1, *rest]:\n        a()\n    case C(k=y):\n        b()\n"
        assert edit(
            src, "match x:\n    case [1, *$R]:\n        $...A\n    case C(k=$Y):\n        $...B", "f($R, $Y)"
        ) == ("f(rest, y)\n")


class TestDeleting:
    def test_an_empty_put_deletes_whole_lines(self) -> None:
        src = "a()\n# above\nb(1,\n  2)  # behind\n# below\nc()\n"
        assert edit(src, "b($...X)", "") == "a()\n# above\n# below\nc()\n"
        assert edit(src, "b(1, 2)\nc()", "") == "a()\n# above\n"

    def test_an_empty_put_is_legal_only_where_a_whole_statement_matched(self) -> None:
        assert "only a part of a statement" in refused("x = f()\n", "f()")
        assert edit("a()\n(f())\n", "f()", "") == "a()\n"

    def test_a_put_of_statements_too(self) -> None:
        assert "only a part of a statement" in refused("x = f()\n", "f()", "a = 1")
        assert edit("f()\n", "f()", "a = 1\nb = 2") == "a = 1\nb = 2\n"

    def test_a_block_left_empty_gets_pass(self) -> None:
        assert edit("def f():\n    a = 1\n", "a = 1", "") == "def f():\n    pass\n"
        assert edit("if x:\n    a()\nelse:\n    b()\n", "b()", "") == "if x:\n    a()\nelse:\n    pass\n"
        assert edit("try:\n    a()\nfinally:\n    b()\n", "a()", "") == "try:\n    pass\nfinally:\n    b()\n"
        assert edit("a = 1\n", "a = 1", "") == ""

    def test_a_block_of_put_left_empty_gets_pass(self) -> None:
        src = "if x:\n    first()\n"
        assert edit(src, "if x:\n    first()\n    $...B", "if y:\n    $...B") == "if y:\n    pass\n"
        assert edit(src, "if x:\n    first()\n    $...B", "if y:\n    $...B\nelse:\n    $...B") == (
            "if y:\n    pass\nelse:\n    pass\n"
        )
        assert edit(src, "if x:\n    first()\n    $...B", "if y:\n    $...B\n    z()") == "if y:\n    z()\n"

    def test_a_put_that_is_only_an_empty_run_deletes(self) -> None:
        assert edit("a()\nif x:\n    b()\n", "if x:\n    b()\n    $...B", "$...B") == "a()\n"
        assert (
            edit("def f():\n    with a:\n        b()\n", "with a:\n    b()\n    $...B", "$...B")
            == "def f():\n    pass\n"
        )

    def test_a_deleted_definition_takes_its_decorators_along(self) -> None:
        src = "x = 1\n@a  # one\n@b(\n  2)\ndef f():\n    pass\ny = 2\n"
        assert edit(src, "@$A\n@$B\ndef f():\n    $...B1", "") == "x = 1\ny = 2\n"
        assert edit(src, "@$A\n@$B\ndef f():\n    $...B1", "z = 1") == "x = 1\nz = 1\ny = 2\n"
        assert edit("class C:\n    @p\n    async def f(self): pass\n", "@p\nasync def f(self):\n    pass", "") == (
            "class C:\n    pass\n"
        )

    def test_the_target_itself_can_be_deleted(self) -> None:
        src = "class C:\n    @p\n    def f(self):\n        return 1\n"
        assert edit(src, "@p\ndef f(self):\n    $...B", "", target="C.f") == "class C:\n    pass\n"

    def test_the_last_line_without_a_line_end(self) -> None:
        assert edit("a()\nb()", "b()", "").rstrip("\n") == "a()"

    def test_trailing_semicolon(self) -> None:
        assert edit("a = 1;\nb = 2\n", "a = 1", "") == "b = 2\n"
        assert edit("a = 1;  # c\nb = 2\n", "a = 1", "a = 2") == "a = 2;  # c\nb = 2\n"


class TestNever:
    def test_an_if_never_matches_an_elif(self) -> None:
        src = "if a:\n    x()\nelif b:\n    y()\n"
        assert lines(src, "if b:\n    y()") == ()
        assert "elif" in refused(src, "if b:\n    y()", "")
        assert lines("if a:\n    x()\nelse:\n    if b:\n        y()\n", "if b:\n    y()") == (4,)

    def test_an_elif_and_an_if_in_an_else_are_two_things(self) -> None:
        elif_, nested = "if a:\n    x()\nelif b:\n    y()\n", "if a:\n    x()\nelse:\n    if b:\n        y()\n"
        for src in (elif_, nested):
            for pattern in (elif_, nested):
                assert matches(src, pattern) == (src == pattern)
        assert not matches(elif_, "if a:\n    x()\nelse:\n    $...E")
        assert matches(nested, "if a:\n    x()\nelse:\n    $...E")

    @pytest.mark.parametrize("src", ["a = 1; b = 2\n", "b = 2; a = 1\n", "if x: a = 1\n", "if x: \\\n  a = 1\n"])
    def test_a_statement_pattern_never_matches_one_of_several_on_one_line(self, src: str) -> None:
        assert lines(src, "a = 1") == ()
        assert "shares its line" in refused(src, "a = 1")

    def test_a_backslash_that_ends_a_comment_joins_nothing(self) -> None:
        src = "if x:\n    b()  # \\\n    a = 1\n"
        assert edit(src, "a = 1", "a = 2") == "if x:\n    b()  # \\\n    a = 2\n"

    def test_statements_with_a_semicolon_and_a_continuation(self) -> None:
        assert lines("a = 1; \\\nb = 2\n", "b = 2") == ()
        assert lines("a = 1; \\\nb = 2\n", "a = 1") == ()

    def test_an_expression_on_a_shared_line_is_still_an_expression(self) -> None:
        assert edit("a(); b()\n", "a()", "c()") == "c(); b()\n"
        assert "shares its line" in refused("a(); b()\n", "a()")
        assert "shares its line" in refused("if x: a()\n", "a()", "b = 1")

    def test_nothing_matches_inside_an_f_string(self) -> None:
        assert lines("x = f'{a} {f(a)}'\n", "f(a)") == ()
        assert lines("x = f'{a:{a}}'\ny = a\n", "a") == (2,)

    def test_a_whole_f_string_can_be_matched(self) -> None:
        assert edit("x = f'{ a } b'\n", 'f"{a} b"', "c") == "x = c\n"
        assert edit("g(f'{a}')\n", "g($X)", "h($X)") == "h(f'{a}')\n"

    def test_a_dollar_in_a_string_is_a_dollar_sign(self) -> None:
        assert matches("f('$X')\n", "f('$X')")
        assert not matches("f('a')\n", "f('$X')")
        assert edit("f(a)\n", "f($X)", "g('$X', $X)") == "g('$X', a)\n"
        assert matches("f('''\n$X''', a)\n", "f('''\n$X''', $Y)  # $Z")

    def test_the_wrong_scope(self) -> None:
        src = "def f():\n    a = 1\ndef g():\n    a = 1\n"
        assert edit(src, "a = 1", "a = 2", target="g") == "def f():\n    a = 1\ndef g():\n    a = 2\n"


class TestKeeping:
    def test_text_outside_is_kept_byte_for_byte(self) -> None:
        src = "é = [ 1,2 ]  # ü\r\nif_ = f( a )   ;\r\n\r\n\x0cx=1  "
        assert edit(src, "f(a)", "g") == src.replace("f( a )", "g")

    def test_bound_text_keeps_its_comments(self) -> None:
        src = "f(\n    a,  # one\n    b,\n)\n"
        assert edit(src, "f($...X)", "g($...X)") == "g(a,  # one\n    b)\n"
        assert notes(src, "f($...X)", "g($...X)") == ()

    def test_comments_elsewhere_in_a_replaced_node_are_lost_and_said(self) -> None:
        src = "f(\n    a,  # one\n    b,  # two\n)  # three\n"
        assert notes(src, "f(a, $X)", "f($X)") == ("comment lost at line 2: # one", "comment lost at line 3: # two")
        assert notes("a()\nb()  # gone\n", "b()", "") == ("comment lost at line 2: # gone",)
        assert notes("a()\nb()  # stays\n", "b()", "c()") == ()
        assert notes("f('# no', a)\n", "f($X, a)", "g()") == ()

    def test_bound_statements_keep_their_comments(self) -> None:
        src = "if x:\n    # why\n    a()  # one\n\n    # and\n    b()  # two\nc()\n"
        assert edit(src, "if x:\n    $...B", "$...B") == "# why\na()  # one\n\n# and\nb()  # two\nc()\n"
        assert notes(src, "if x:\n    $...B", "$...B") == ()

    def test_bound_statements_keep_comments_at_the_end_of_their_block(self) -> None:
        src = "if x:\n    a()\n\n    # end\nelse:\n    b()\n    # stays\nc()\n"
        assert edit(src, "if x:\n    $...A\nelse:\n    $...B", "$...B\n$...A") == (
            "b()\na()\n\n# end\n    # stays\nc()\n"
        )
        assert edit("if x:  # of if\n\n    # one\n\n    # two\n\n    a()\n", "if x:\n    $...A", "$...A") == (
            "# one\n\n# two\n\na()\n"
        )
        src = "if x:\n    a()\n    # of b\n    b()\n"
        assert edit(src, "if x:\n    $...A\n    b()", "$...A") == "a()\n"
        assert notes(src, "if x:\n    $...A\n    b()", "$...A") == ("comment lost at line 3: # of b",)

    def test_comments_outside_of_the_match_are_not_copied(self) -> None:
        src = "def f():\n    # stays\n    a()\n    b()  # stays too\n"
        assert (
            edit(src, "$...A\nb()", "$...A\nc()", target="f")
            == "def f():\n    # stays\n    a()\n    c()  # stays too\n"
        )

    def test_bound_statements_are_indented_anew_but_not_inside_strings(self) -> None:
        src = 'def f():\n    if x:\n        a = """\n        one\n    two"""\n        g(a,\n          1)\n'
        assert edit(src, "if x:\n    $...B", "$...B") == (
            'def f():\n    a = """\n        one\n    two"""\n    g(a,\n      1)\n'
        )
        assert edit(src, "if x:\n    $...B", "if y:\n    try:\n        $...B\n    finally:\n        z()") == (
            'def f():\n    if y:\n        try:\n            a = """\n        one\n    two"""\n            g(a,\n'
            "              1)\n        finally:\n            z()\n"
        )

    @pytest.mark.parametrize(
        "src, find, put, expected",
        [
            ("x = f(a + b)\n", "f($X)", "$X * 2", "x = (a + b) * 2\n"),
            ("x = f(a * b)\n", "f($X)", "$X + 2", "x = a * b + 2\n"),
            ("x = f(a)\n", "f($X)", "$X * 2", "x = a * 2\n"),
            ("x = f(a) ** 2\n", "f($X)", "-$X", "x = (-a) ** 2\n"),
            ("x = f(a) * 2\n", "f($X)", "$X + 1", "x = (a + 1) * 2\n"),
            ("x = f(a).b\n", "f($X)", "$X or c", "x = (a or c).b\n"),
            ("x = f(1)\n", "f($X)", "$X.real", "x = (1).real\n"),
            ("x = f(lambda: 1)\n", "f($X)", "$X or 2", "x = (lambda: 1) or 2\n"),
            ("x = f((yield))\n", "f($X)", "g($X)", "x = g((yield))\n"),
            ("x = f((y := 1))\n", "f($X)", "$X", "x = (y := 1)\n"),
            ("x = f((1, 2))\n", "f($X)", "$X", "x = (1, 2)\n"),
            ("for x in 1, 2: pass\n", "1, 2", "3, 4", "for x in 3, 4: pass\n"),
            ("x = g(f(a), 1)\n", "f($X)", "$X, 2", "x = g((a, 2), 1)\n"),
            ("x = a < f(b)\n", "f($X)", "$X < c", "x = a < (b < c)\n"),
            ("x = a if f(b) else c\n", "f($X)", "$X if d else e", "x = a if (b if d else e) else c\n"),
            ("x = not f(a)\n", "f($X)", "not $X", "x = not not a\n"),
            ("x = [*f(a)]\n", "f($X)", "$X or b", "x = [*(a or b)]\n"),
            ("x = f(i for i in y)\n", "f($X)", "g($X, 1)", "x = g((i for i in y), 1)\n"),
            ("x = f(i for i in y)\n", "($I for $I in y)", "y", "x = f(y)\n"),
            ("return_ = f(a)\n", "f($X)", "(yield)", "return_ = yield\n"),
            ("assert f(a), m\n", "f($X)", "$X, 1", "assert (a, 1), m\n"),
            ("x = a[f(i)]\n", "f($X)", "$X, 1", "x = a[i, 1]\n"),
            ("x = a[1:2]\n", "a[$I]", "b[$I]", "x = b[1:2]\n"),
            ("x = f(await_)\n", "f($X)", "[*$X, 1]", "x = [*await_, 1]\n"),
            ("if x == f(1): pass\n", "x == f($X)", "z := $X", "if (z := 1): pass\n"),
        ],
    )
    def test_parentheses_come_where_precedence_asks_for_them(
        self, src: str, find: str, put: str, expected: str
    ) -> None:
        result = edit(src, find, put)
        assert dump(result) == dump(expected)
        assert result == expected

    def test_text_over_several_lines_is_parenthesised_where_it_loses_its_brackets(self) -> None:
        assert edit("x = f(a +\n      b)\n", "f($X)", "$X") == "x = (a +\n      b)\n"
        assert edit("x = f(a +  # why\n      b)\n", "x = f($X)", "x = $X") == "x = (a +  # why\n      b)\n"
        assert edit("x = f(a)\n", "f($X)", "$X\n.b") == "x = (a\n.b)\n"

    def test_put_takes_the_indentation_of_the_file(self) -> None:
        assert edit("def f():\n\ta()\n", "a()", "if x:\n    if y:\n        b()\nc = 1") == (
            "def f():\n\tif x:\n\t\tif y:\n\t\t\tb()\n\tc = 1\n"
        )
        assert edit("class C:\n  def f():\n    a()\n", "a()", "if x:\n        b()") == (
            "class C:\n  def f():\n    if x:\n      b()\n"
        )

    def test_the_lines_of_a_string_in_put_are_not_indented(self) -> None:
        assert edit("def f():\n    a()\n", "a()", 'b = """\nx\n  y"""\nc()') == (
            'def f():\n    b = """\nx\n  y"""\n    c()\n'
        )

    def test_put_keeps_its_comments_and_continuation_lines(self) -> None:
        put = "# why\nif x:\n    # deep\n    b(1,\n      2)  # end\n# last"
        assert edit("def f():\n    a()\n", "a()", put + "\nd = 1") == (
            "def f():\n    # why\n    if x:\n        # deep\n        b(1,\n          2)  # end\n    # last\n    d = 1\n"
        )

    def test_crlf(self) -> None:
        src = b"def f():\r\n    if x:\r\n        a(1,\r\n          2)\r\n        b()\r\n"
        assert edit(src, "if x:\n    $...B", "$...B\nc()") == (
            "def f():\r\n    a(1,\r\n      2)\r\n    b()\r\n    c()\r\n"
        )
        assert edit(b"x = f(a +\r\n   b)\r\n", "f($X)", "g($X)") == "x = g(a +\r\n   b)\r\n"

    def test_columns_behind_letters_that_are_not_ascii(self) -> None:
        assert edit("é = 'ü𝄞'; x = f(ö)\n", "f($X)", "g($X, '→')") == "é = 'ü𝄞'; x = g(ö, '→')\n"

    def test_identifiers_are_compared_as_python_does(self) -> None:
        assert matches("ﬁ = 1\n", "fi = 1")

    def test_u2028_is_no_line_end(self) -> None:
        src = "def f():\n    if x:\n        s = 'a\u2028b'\n        t = '''\u2028\n\x0c'''\n"
        assert edit(src, "if x:\n    $...B", "$...B") == "def f():\n    s = 'a\u2028b'\n    t = '''\u2028\n\x0c'''\n"


class TestGuard:
    def test_a_binding_where_nothing_of_its_kind_can_stand_is_refused(self) -> None:
        assert "guard" in refused("f(a + b)\n", "f($X)", "g.$X")
        assert "guard" in refused("f(k=1)\n", "f($...X)", "[$...X]")
        assert "positional argument follows keyword" in refused("f(a)\n", "f($...X)", "g(k=1, $...X)")
        assert "guard" in refused("a[1:2]\n", "a[$X]", "f($X)")
        assert "guard" in refused("x[a] = 1\n", "x[$A]", "f($A)")
        assert "guard" in refused("x = {9}\n", "{9, $...X}", "{$...X}")

    def test_a_refusal_names_the_place(self) -> None:
        found = outcome("a()\nf(a + b)\n", "f($X)", "g.$X")
        assert isinstance(found, Missing) and (found.line, found.nearest) == (2, "f(a + b)")


class TestMissing:
    def test_the_nearest_candidate_is_shown_with_its_line(self) -> None:
        src = "import os\n\ndef f(cache):\n    other = 1\n    cache = cache[:, : n + 1]\n    return cache\n"
        found = outcome(src, "cache = cache[:$N]")
        assert isinstance(found, Missing)
        assert (found.nearest, found.line) == ("cache = cache[:, : n + 1]", 5)

    def test_an_expression_has_its_nearest_expression(self) -> None:
        src = "x = [Slot('a', one, padding=Z),\n     Slot('b', one, padding=Z)]\n"
        found = outcome(src, "Slot('b', $...R, padding=ZERO)", "1")
        assert isinstance(found, Missing)
        assert (found.nearest, found.line) == ("Slot('b', one, padding=Z)", 2)

    def test_nothing_near_says_nothing(self) -> None:
        found = outcome("x = 1\n", "completely(different, thing)", "")
        assert isinstance(found, Missing) and (found.nearest, found.line) == ("", 0)

    @pytest.mark.parametrize("src", ["", "\n", "# a comment"])
    def test_in_an_empty_file_nothing_is_near(self, src: str) -> None:
        found = outcome(src, "x = f(1)", "")
        assert isinstance(found, Missing) and (found.nearest, found.line) == ("", 0)

    def test_the_nearest_candidate_is_in_scope(self) -> None:
        src = "def f():\n    return g(1, 2)\n\ndef h():\n    return 5\n"
        found = outcome(src, "g(1, 3)", "0", target="h")
        assert isinstance(found, Missing) and found.line == 0

    def test_the_line_of_a_found_place_is_its_first_line(self) -> None:
        src = "a()\n@d\ndef f():\n    pass\n"
        found = outcome(src, "@d\ndef f():\n    pass", "")
        assert isinstance(found, Found) and found.line == 2


def test_an_edit_that_cannot_be_parsed_raises() -> None:
    source = text_of("x = 1\n")
    with pytest.raises(ValueError, match="not Python"):
        locate(source, scope_of(source), PatternEdit("f(", ""))


def test_the_source_tree_is_not_changed() -> None:
    source = text_of("def f(a, *b):\n    x = g(a, k=1)\n")
    before = ast.dump(source.tree, include_attributes=True)
    locate(
        source, scope_of(source), PatternEdit("def f($...P):\n    x = g($...A)", "def h($...P):\n    y = g($...A, z=2)")
    )
    assert ast.dump(source.tree, include_attributes=True) == before


class TestHardCases:
    def test_text_inside_a_string_or_a_comment_is_no_code(self) -> None:
        src = "x = 'a = 1'\n# a = 1\ndef f():\n    '''a = 1'''\n    a = 1\n"
        assert edit(src, "a = 1", "a = 2").endswith("    a = 2\n")

    def test_the_same_line_at_two_depths_is_found_twice(self) -> None:
        assert outcome("if x:\n    a = 1\na = 1\n", "a = 1") == Several((2, 3))

    def test_statements_at_other_relative_depths_do_not_match(self) -> None:
        assert lines("if x:\n    a()\n    b()\n", "if x:\n    a()\nb()") == ()
        assert lines("if x:\n    a()\nb()\n", "if x:\n    a()\nb()") == (1,)

    def test_string_at_column_zero_in_a_method(self) -> None:
        src = "class C:\n    def m(self):\n        s = '''\ntext\n'''\n        a(s)\n"
        assert edit(src, "a(s)", "if x:\n    a(s)") == src.replace("        a(s)", "        if x:\n            a(s)")
        assert edit(src, "def m(self):\n    $...B", "def m(self, x):\n    with x:\n        $...B") == (
            "class C:\n    def m(self, x):\n        with x:\n            s = '''\ntext\n'''\n            a(s)\n"
        )

    def test_a_comment_behind_a_header_stays_out_of_the_way(self) -> None:
        src = "def f(x):  # note\n    a()\n"
        assert edit(src, "a()", "b()\nc()") == "def f(x):  # note\n    b()\n    c()\n"

    def test_a_lone_carriage_return_ends_a_line(self) -> None:
        assert edit(b"a()\rb()\r", "b()", "c()\nd()") == "a()\rc()\rd()\r"

    def test_a_default_an_annotation_a_base_a_decorator_can_be_changed(self) -> None:
        src = "@d(1)\ndef f(a: int = 2) -> str:\n    pass\n"
        assert edit(src, "d($X)", "e($X)").startswith("@e(1)")
        assert edit(src, "int", "float").count("a: float = 2") == 1
        assert edit(src, "2", "3").count("a: int = 3") == 1
        assert edit("class C(A, B): pass\n", "class C(A, $...B):\n    $...S", "class C($...B):\n    $...S") == (
            "class C(B):\n    pass\n"
        )
