"""What is said of a pattern before any source is seen, and where."""

from __future__ import annotations

import pytest

from prtoggle.edits.kinds import PatternEdit
from prtoggle.edits.pattern import Pattern, PatternSyntaxError, check, parse


def problems(find: str, put: str = "", unfixed: str | None = None) -> list[str]:
    return [
        f"{each.field}:{each.line}:{each.column}: {each.what}"
        for each in check(PatternEdit(find, put, () if unfixed is None else (unfixed,)))
    ]


def error(text: str) -> PatternSyntaxError:
    with pytest.raises(PatternSyntaxError) as caught:
        parse(text)
    return caught.value


def place(text: str) -> tuple[int, int]:
    found = error(text)
    return found.line, found.column


@pytest.mark.parametrize(
    "find, put",
    [
        ("f($X)", ""),
        ("f($...X)", "g($...X)"),
        ("f($K=$V)", "f($K=$V, x=$K)"),
        ("$X + $Y", "$Y + $X"),
        ("if $C:\n    $...B", "$...B"),
        ("def f($...P):\n    $...B", "def g($...P):\n    $...B"),
        ("f($...X)", "[$...X]"),
        ("$X = f()", "$X = g()"),
        ("x := 1", "y := 1"),
        ("f'{a}'", "f'{{$}}'"),
        ("'$'", "'$X'"),
        ("f(a)  # $", "f(b)"),
        ("a.$X", "a[$X]"),
        ("{1: 2, $...R}", "{$...R, 1: 2}"),
        ("f(**k, $...R)", "f($...R)"),
        ("f(k=1, $...R)", "f($...R, k=1)"),
    ],
)
def test_a_right_edit_has_no_problems(find: str, put: str) -> None:
    assert problems(find, put) == []


@pytest.mark.parametrize(
    "text, line, column",
    [
        ("$", 1, 1),
        ("f($)", 1, 3),
        ("f(a,\n  $...)", 2, 3),
        ("f($ X)", 1, 3),
        ("f($1)", 1, 3),
        ("f(a$X)", 1, 4),
        ("f($X$Y)", 1, 3),
        ("x = $...X", 1, 5),
        ("a[$...X]", 1, 3),
        ("f(*$...X)", 1, 4),
        ("f(k=$...X)", 1, 5),
        ("def $...F():\n    pass", 1, 5),
        ("import a.$X", 1, 10),
        ("f($LONGNAME, b c)", 1, 14),
        ("a = 1\nb = = 2", 2, 5),
        ("f('a', f'{$X}')", 1, 8),
        ("", 1, 1),
        ("# nothing", 1, 1),
        ("    a = 1\n    b = 2", 1, 5),
    ],
)
def test_what_is_wrong_is_shown_at_its_place(text: str, line: int, column: int) -> None:
    assert place(text) == (line, column)


def test_pythons_message_speaks_of_the_name_and_not_of_what_stands_for_it() -> None:
    assert "hole" not in str(error("$X = 1 = f(")) and "hole" not in str(error("f($X, 1) = $Y"))


def test_hints_say_what_is_possible() -> None:
    assert "whole f-string" in error("f'{$X}'").hint
    assert "$...X a run" in error("f($)").hint
    assert "arguments, elements, parameters or statements" in error("x = $...X").hint


@pytest.mark.parametrize("find", ["$X", "$...X", "($X)", "$X\n$Y", "$...A\n$X"])
def test_a_find_that_matches_everything_is_refused(find: str) -> None:
    assert problems(find) == ["find:1:1: find matches everything"]


def test_unfixed_is_checked_like_find() -> None:
    assert problems("f()", "", "$X") == ["unfixed:1:1: unfixed matches everything"]
    assert problems("f()", "", "g(")[0].startswith("unfixed:1:2: not Python")
    assert problems("f($X)", "g($X)", "h($Y, $Z)") == []


def test_put_may_only_use_what_find_binds() -> None:
    [problem] = check(PatternEdit("f($X)", "g($Y,\n  $Z, $Y)"))[:1]
    assert (problem.what, problem.hint, problem.field) == (
        "put uses $Y, which find does not bind",
        "find binds X",
        "put",
    )
    assert problems("f($X)", "g($Y,\n  $Z, $Y)") == [
        "put:1:3: put uses $Y, which find does not bind",
        "put:2:3: put uses $Z, which find does not bind",
    ]


def test_a_run_is_no_expression_and_an_expression_no_run() -> None:
    assert problems("f($...X)", "g(1 + $X)") == [
        "put:1:7: $X stands for an expression in put, and find binds a run of arguments"
    ]
    assert problems("f($X)", "g($...X)") == [
        "put:1:3: $...X stands for a run of arguments in put, and find binds an expression"
    ]
    assert problems("f($X, g($...X))") == ["find:1:9: $...X is a run of arguments here and an expression before"]
    assert problems("f($...X)", "if a:\n    $...X") == [
        "put:2:5: $...X stands for a run of statements in put, and find binds a run of arguments"
    ]


def test_a_run_of_statements_needs_a_line_of_its_own_in_put() -> None:
    assert problems("if a:\n    $...B", "if b: $...B") == [
        "put:1:7: $...B stands for statements and needs a line of its own"
    ]


def test_two_runs_side_by_side_say_nothing() -> None:
    assert problems("f($...A, $...B)") == [
        "find:1:10: $...A and $...B stand side by side, and nothing says where one ends"
    ]


def test_all_problems_come_at_once() -> None:
    assert [each.field for each in check(PatternEdit("f(", "g(", ("$",)))] == ["find", "put", "unfixed"]


def test_one_expression_or_statements() -> None:
    for text in ("f()", "a + b", "a, b", "(a)", "x := 1", "yield a", "await a", "a\n  .b()", "'text'", "lambda: 1"):
        assert parse(text).is_expression, text
    for text in ("a = 1", "f()\ng()", "return a", "pass", "del a", "if a: b", "$...X", "x: int"):
        assert not parse(text).is_expression, text


def test_names_are_known_with_their_kind() -> None:
    pattern = parse("def $F($...P):\n    $X.$A($...R)\n    $...B")
    assert isinstance(pattern, Pattern)
    assert pattern.names == {
        "F": "name", "P": "parameters", "X": "expression", "A": "name", "R": "arguments", "B": "statements",
    }  # fmt: skip


def test_a_pattern_may_itself_speak_of_marks() -> None:
    assert problems("prtoggle_hole_0_ + $X", "prtoggle_hole_1_ + $X") == []


def test_a_pattern_of_many_runs_is_parsed_at_once() -> None:
    """Each run of arguments could be of three kinds: of thirty of them no list of all combinations is made."""
    text = "\n".join(f"f{number}($...A{number})" for number in range(30))
    assert len(parse(text).holes) == 30
