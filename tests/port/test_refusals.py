"""When nothing is proposed, and why."""

from __future__ import annotations

from textwrap import dedent

from prtoggle.port import CannotTell, Carried, Revert, Texts, carry
from tests.port.helpers import Made, answer, carried, over, refused

FIXED = """\
def width(batch, topk, limit):
    rows = batch * topk
    rows = align(rows, 4)
    total = rows * limit
    return total
"""
REVERTED = FIXED.replace("    rows = align(rows, 4)\n", "")


def test_a_release_without_the_fix() -> None:
    assert "is not there" in refused(FIXED, REVERTED, REVERTED)


def test_a_release_that_has_already_what_the_revert_puts_in() -> None:
    fixed, reverted = "def f(a):\n    g(a)\n    return h(a)\n", "def f(a):\n    g(a)\n    k(a)\n    return h(a)\n"
    assert "there already" in refused(fixed, reverted, reverted)


def test_a_release_that_says_already_what_the_revert_makes_it_say() -> None:
    assert "already" in refused(FIXED, FIXED.replace("rows, 4", "rows, 8"), FIXED.replace("rows, 4", "rows, 8"))
    assert "already" in refused(FIXED, FIXED.replace("align", "pad"), FIXED.replace("align", "pad"))


def test_a_statement_that_both_sides_change() -> None:
    reason = refused(FIXED, FIXED.replace("rows, 4", "rows, 8"), FIXED.replace("rows, 4", "rows, 16"))
    assert "both the revert and the drift change 4 (now 16)" in reason


def test_a_statement_that_does_something_else_now() -> None:
    assert refused(FIXED, REVERTED, FIXED.replace("align(rows, 4)", "rows + 1"))


def test_a_function_that_is_gone() -> None:
    assert "is gone" in refused(FIXED, REVERTED, "def other():\n    return 1\n")


def test_a_sibling_that_was_there_before_is_not_the_function() -> None:
    sibling = FIXED.replace("def width", "def width_of_one")
    assert "is gone" in refused(FIXED + sibling, REVERTED + sibling, sibling)


def test_two_functions_that_could_be_it() -> None:
    after = FIXED.replace("def width", "def width_a") + FIXED.replace("def width", "def width_b")
    assert "two are like it" in refused(FIXED, REVERTED, after)


def test_a_second_copy_of_the_fixed_code() -> None:
    assert "holds the same fixed code" in refused(FIXED, REVERTED, FIXED + FIXED.replace("def width", "def width_fast"))
    twice = FIXED.replace("    total", "    log(rows)\n    rows = align(rows, 4)\n    total")
    assert "stood 1 times and stands 2 times" in refused(FIXED, REVERTED, twice)


def test_statements_put_where_the_revert_puts_some() -> None:
    fixed, reverted = "def f(a):\n    g(a)\n    return h(a)\n", "def f(a):\n    g(a)\n    a = k(a)\n    return h(a)\n"
    reason = refused(fixed, reverted, fixed.replace("    return", "    a = z(a)\n    return"))
    assert "the drift put statements where the revert puts some" in reason


def test_a_name_that_the_drift_did_away_with() -> None:
    fixed = "def f(a, n):\n    b = n\n    g(a)\n    return h(a)\n"
    reverted = fixed.replace("    return", "    k(a, b)\n    return")
    assert "`b` is a local name" in refused(fixed, reverted, fixed.replace("    b = n\n", ""))


def test_a_name_that_is_still_used() -> None:
    fixed = "def helper():\n    return 1\n\n\ndef f():\n    return helper() + 2\n"
    reverted = "def f():\n    return 0 + 2\n"
    after = fixed + "\n\ndef g():\n    return helper()\n"
    assert "`helper` would be gone" in refused(fixed, reverted, after)
    assert carried(fixed, reverted, fixed + "\n\ndef g():\n    return 1\n")


def test_a_module_that_is_gone_and_one_that_does_not_parse() -> None:
    assert refused({"p.m": FIXED}, {"p.m": REVERTED}, {"p.n": "x = 1\n"})
    assert refused({"p.m": FIXED}, {"p.m": REVERTED}, {"p.m": FIXED + "def (\n"})


def test_a_revert_that_changes_no_syntax() -> None:
    assert "no syntax" in refused(FIXED, FIXED.replace("    rows = batch", "    # rows\n    rows = batch"), FIXED)


def test_a_revert_over_a_row_of_releases_is_the_same_in_one_leap() -> None:
    renamed = FIXED.replace("def width", "def buffer_width")
    reworded = renamed.replace("align(rows, 4)", "align(rows, 4, up=True)")
    found = over(REVERTED, FIXED, renamed, reworded)
    assert isinstance(found, Carried)
    assert found.revert.modules[0].reverted == reworded.replace("    rows = align(rows, 4, up=True)\n", "")
    assert [step.how for step in found.steps] == ["function renamed", "reworded"]


def test_what_one_step_cannot_tell_no_leap_can() -> None:
    found = over(REVERTED, FIXED, REVERTED, FIXED)
    assert isinstance(found, CannotTell)
    assert found.release == "p 2"


def test_a_refusal_says_where() -> None:
    found = answer(FIXED, FIXED.replace("rows, 4", "rows, 8"), FIXED.replace("rows, 4", "rows, 16"))
    assert isinstance(found, CannotTell)
    assert (found.where, found.nearest, found.release) == ("p 1 p.m:width:3", "p.m:3: rows = align(rows, 16)", "p 2")


def test_everything_outside_the_change_is_kept_byte_for_byte() -> None:
    after = (
        dedent(FIXED).replace("    total = ", "    # odd   \n\n    total =  ").replace("\n", "\r\n")
        + "x = '''\n a\n'''"
    )
    one = Made("p 1", FIXED)
    found = carry(Revert("p 1", (Texts("p.m", FIXED, REVERTED),)), one, Made("p 2", after))
    assert isinstance(found, Carried)
    assert found.revert.modules[0].reverted == after.replace("    rows = align(rows, 4)\r\n", "")


def test_an_if_that_the_revert_moves_and_that_grew() -> None:
    fixed = "def f(a):\n    b = g(a)\n    if b is None:\n        return\n    h(b, a)\n"
    reverted = "def f(a):\n    if b is None:\n        return\n    b = g(a)\n    h(b, a)\n"
    after = fixed.replace("        return", "        log(a)\n        return")
    assert refused(fixed, reverted, after)


def test_an_if_that_the_revert_takes_out_and_that_does_more_now() -> None:
    fixed = "def f(a):\n    b = g(a)\n    if b.size > 4:\n        b = cut(b)\n    return b\n"
    reverted = "def f(a):\n    b = g(a)\n    return b\n"
    reason = refused(fixed, reverted, fixed.replace("        b = cut", "        count(b)\n        b = cut"))
    assert "the drift put more into the block" in reason


def test_a_name_that_is_another_one_in_the_changed_statement_alone_is_no_renamed_one() -> None:
    fixed = "def f(a):\n    if not ready():\n        raise E(a)\n    return a\n"
    after = "def other():\n    return ready()\n\n\n" + fixed.replace("ready()", "other()")
    assert refused(fixed, fixed.replace("not ready", "not not ready"), after + "\n\nother()\n")
