"""What a revert comes to in the next release, for each way in which the code may have drifted."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.port.helpers import carried, hows, only, refused, same

FIXED = """\
    import math


    def width(batch, topk, limit):
        rows = batch * topk
        rows = math.ceil(rows / 4) * 4
        total = rows * limit
        return total
    """
REVERTED = FIXED.replace("    rows = math.ceil(rows / 4) * 4\n    ", "")
LINE = "rows = math.ceil(rows / 4) * 4\n"


def drift(old: str, new: str, text: str = FIXED) -> str:
    """``text`` with one passage written otherwise; it must be there."""
    assert old in text, old
    return text.replace(old, new)


def test_a_release_that_did_not_change() -> None:
    assert only(carried(FIXED, REVERTED, FIXED)) == dedent(REVERTED)
    assert hows(FIXED, REVERTED, FIXED) == ["same place"]


@pytest.mark.parametrize(
    ("how", "after"),
    [
        ("function renamed", drift("def width(", "def buffer_width(")),
        ("names changed", FIXED.replace("rows", "lines")),
        (
            "wrapped over lines",
            drift("math.ceil(rows / 4) * 4", "(\n            math.ceil(\n                rows / 4\n            )\n            * 4\n        )"),
        ),
        ("reworded", drift("math.ceil(rows / 4) * 4", "math.ceil(rows / 4, exact=True) * 4")),
        ("same place", drift("return total", "log(total)\n        return total")),
        ("same place", drift("rows = batch * topk\n", "print(1)\n        rows = batch * topk + 0\n")),
        ("same place", drift("    def width", "    @cached\n    @checked(1)\n    def width")),
        ("same place", drift("limit):", "limit, *, exact=False):")),
        ("same place", drift("import math\n", "import math\n\n    LIMIT = 3\n    def other():\n        pass\n")),
    ],
)  # fmt: skip
def test_the_statement_is_taken_out_where_it_is_now(how: str, after: str) -> None:
    expected = []
    skipping = False
    for row in dedent(after).splitlines(keepends=True):
        if row.strip().startswith(("rows = math.ceil", "lines = math.ceil", "rows = (")):
            skipping = row.rstrip().endswith("(")
        elif skipping:
            skipping = row != "    )\n"
        else:
            expected.append(row)
    assert only(carried(FIXED, REVERTED, after)) == "".join(expected)
    assert hows(FIXED, REVERTED, after) == [how]


def test_code_that_was_wrapped_in_a_with() -> None:
    after = """\
    import math


    def width(batch, topk, limit):
        with guarded():
            rows = batch * topk
            rows = math.ceil(rows / 4) * 4
            total = rows * limit
        return total
    """
    assert only(carried(FIXED, REVERTED, after)) == dedent(drift(f"            {LINE}", "", after))


def test_a_statement_alone_in_the_if_that_it_was_wrapped_in_leaves_a_pass() -> None:
    after = drift(f"    {LINE}", f"    if topk > 1:\n            {LINE}")
    assert only(carried(FIXED, REVERTED, after)) == dedent(drift(LINE, "pass\n", after))


def test_a_function_that_moved_into_a_class() -> None:
    after = """\
    import math


    class Sizes:
        @staticmethod
        def width(batch, topk, limit):
            rows = batch * topk
            rows = math.ceil(rows / 4) * 4
            total = rows * limit
            return total
    """
    assert only(carried(FIXED, REVERTED, after)) == dedent(drift(f"            {LINE}", "", after))
    assert hows(FIXED, REVERTED, after) == ["moved to another class"]


def test_a_method_that_moved_to_another_class() -> None:
    fixed = "class A:\n    def m(self, x):\n        a = self.start(x)\n        b = self.check(a, x)\n        self.end(b)\n        return a\n\nclass B:\n    pass\n"
    reverted = fixed.replace("        self.end(b)\n", "")
    after = "class A:\n    pass\n\nclass B(A):\n    def m(self, x):\n        a = self.start(x)\n        b = self.check(a, x)\n        self.end(b)\n        return a\n"
    assert only(carried(fixed, reverted, after)) == after.replace("        self.end(b)\n", "")
    assert hows(fixed, reverted, after) == ["moved to another class"]


def test_a_function_that_moved_to_another_module() -> None:
    before = {"p.m": FIXED, "p.other": "x = 1\n"}
    after = {"p.m": "from p.sizes import width\n", "p.other": "x = 1\n", "p.sizes": FIXED}
    assert carried(before, {**before, "p.m": REVERTED}, after) == {"p.sizes": dedent(REVERTED)}
    assert hows(before, {**before, "p.m": REVERTED}, after) == ["moved to another module"]


def test_a_statement_that_moved_in_its_function() -> None:
    after = drift(f"    {LINE}        total = rows * limit\n", f"    total = rows * limit\n        {LINE}")
    assert only(carried(FIXED, REVERTED, after)) == dedent(drift(f"        {LINE}", "", after))


def test_a_body_that_moved_into_a_helper() -> None:
    after = """\
    import math


    def _rows(batch, topk):
        rows = batch * topk
        rows = math.ceil(rows / 4) * 4
        return rows


    def width(batch, topk, limit):
        rows = _rows(batch, topk)
        total = rows * limit
        return total
    """
    assert only(carried(FIXED, REVERTED, after)) == dedent(drift(f"        {LINE}", "", after))
    assert hows(FIXED, REVERTED, after) == ["moved into a helper"]


CALL = "def f(a, b):\n    n = size(a, b, 1)\n    use(n, scale=2, exact=True)\n    return n\n"


@pytest.mark.parametrize(
    ("reverted", "after", "expected"),
    [
        ("size(a, 1)", "size(a, b, 1, c=0)", "size(a, 1, c=0)"),
        ("size(a, b, 0)", "size(a, b, 1, c=0)", "size(a, b, 0, c=0)"),
        ("size(a, b, 1, 2)", "size(a, b, 1, c=0)", "size(a, b, 1, 2, c=0)"),
        ("size(a, b + 1, 1)", "max(size(a, b, 1), 3)", "max(size(a, b + 1, 1), 3)"),
        ("size(a)", "size(\n        a,\n        b,\n        1,\n    )", "size(a)"),
    ],
)  # fmt: skip
def test_arguments_of_a_call_that_got_others(reverted: str, after: str, expected: str) -> None:
    text = only(carried(CALL, CALL.replace("size(a, b, 1)", reverted), CALL.replace("size(a, b, 1)", after)))
    flat = "".join(text.split()).replace(",)", ")")
    assert flat == "".join(CALL.replace("size(a, b, 1)", expected).split())


def test_a_keyword_that_the_revert_takes_out() -> None:
    after = CALL.replace("scale=2, exact=True", "scale=3, exact=True, quiet=q()")
    assert only(carried(CALL, CALL.replace(", exact=True", ""), after)) == after.replace(", exact=True", "")


def test_what_is_put_in_takes_the_indentation_and_the_names_of_its_place() -> None:
    fixed = "def f(a):\n    b = g(a)\n    return b + len(a)\n"
    reverted = "def f(a):\n    b = g(a)\n    if b:\n        b = None  # why\n    return b + len(a)\n"
    after = "class C:\n    def f(self, items):\n        with self.x:\n            b = g(items)\n            return b + len(items)\n"
    text = only(carried(fixed, reverted, after))
    assert text == after.replace(
        "            return", "            if b:\n                b = None  # why\n            return"
    )


def test_strings_over_lines_keep_their_contents() -> None:
    fixed = "def f(a):\n    g(a)\n    return a * 2\n"
    reverted = 'def f(a):\n    g(a)\n    h("""x\n  y\n""")\n    return a * 2\n'
    after = "if 1:\n    def f(a):\n        g(a)\n        return a * 2\n"
    assert (
        only(carried(fixed, reverted, after))
        == 'if 1:\n    def f(a):\n        g(a)\n        h("""x\n  y\n""")\n        return a * 2\n'
    )


def test_line_ends_of_the_other_release_are_kept() -> None:
    after = dedent(FIXED).replace("\n", "\r\n")
    assert only(carried(dedent(FIXED), dedent(REVERTED), after)) == dedent(REVERTED).replace("\n", "\r\n")


def test_of_an_if_whose_words_changed_only_what_was_in_it_goes() -> None:
    fixed = "def f(a, n):\n    x = 4 + n\n    if a.kind is not None and a.size > 1 and n > 1:\n        x = max(x, reserve(a))\n    return x\n"
    reverted = "def f(a, n):\n    x = 4 + n\n    return x\n"
    after = fixed.replace(" and n > 1", "").replace("reserve(a)", "reserve(a) + a.size - 1")
    assert only(carried(fixed, reverted, after)) == after.replace("x = max(x, reserve(a) + a.size - 1)", "pass")


STEP = """\
def f(p, kind, x):
    for i in range(3):
        if kind == "a":
            y = first(x)
        else:
            y = second(x)
        check(y)
        p.pos.add_(1)
    return p
"""
SPLIT = """\
from p.kernels import third


def f(p, kind, x):
    for i in range(3):
        if kind == "a":
            y = first(x)
            p.pos.add_(1)
        elif kind == "b":
            y = third(x, p.pos)
        else:
            y = second(x)
            p.pos.add_(1)
        check(y)
    return p
"""
KERNEL = """\
@jit
def kernel(x, pos):
    here = tl.load(pos + 1)
    tl.store(pos + 1, here + 1)


def third(x, pos):
    kernel[(1,)](x, pos)
    return x
"""


def test_a_statement_that_moved_into_the_branches_before_it() -> None:
    reverted = STEP.replace("        p.pos.add_(1)\n", "")
    found = carried({"p.m": STEP}, {"p.m": reverted}, {"p.m": SPLIT, "p.kernels": KERNEL})
    expected = SPLIT.replace("            p.pos.add_(1)\n", "")
    assert found == {"p.m": expected.replace("third(x, p.pos)\n", "third(x, p.pos)\n            p.pos.sub_(1)\n")}


def test_a_statement_that_moved_out_of_the_branches_that_held_it() -> None:
    reverted = SPLIT.replace("            p.pos.add_(1)\n", "")
    reverted = reverted.replace("third(x, p.pos)\n", "third(x, p.pos)\n            p.pos.sub_(1)\n")
    found = carried({"p.m": SPLIT, "p.kernels": KERNEL}, {"p.m": reverted, "p.kernels": KERNEL}, {"p.m": STEP})
    assert found == {"p.m": STEP.replace("        p.pos.add_(1)\n", "")}


def test_a_branch_that_is_not_seen_to_do_it_is_refused() -> None:
    reverted = STEP.replace("        p.pos.add_(1)\n", "")
    other = KERNEL.replace("here + 1", "here + 2")
    assert "lacks it" in refused({"p.m": STEP}, {"p.m": reverted}, {"p.m": SPLIT, "p.kernels": other})


def test_an_expression_that_moved_into_a_helper() -> None:
    fixed = "def f(self, a, b):\n    x = make((3, a * b * self.limit))\n    return x\n"
    reverted = fixed.replace("a * b * self", "a * self")
    after = "def _size(a, b, limit):\n    return a * b * limit\n\n\ndef f(self, a, b):\n    x = make((3, _size(a, b, self.limit)))\n    return x\n"
    assert only(carried(fixed, reverted, after)) == after.replace("return a * b * limit", "return a * limit")
    assert hows(fixed, reverted, after) == ["expression moved into a helper"]
    assert "is not in line 6" in refused(fixed, reverted, after.replace("a * b * limit", "a + b * limit"))
    assert "is not in line 6" in refused(fixed, reverted, after + "\n\ny = _size(1, 2, 3)\n")


GUARDED = "def f(a, n):\n    x = g(a)\n    if n > 1:\n        # note\n        x = h(\n            x)\n        k(x)\n    return x\n"
BARE = "def f(a, n):\n    x = g(a)\n    # note\n    x = h(\n        x)\n    k(x)\n    return x\n"


def test_a_guard_that_the_revert_takes_away_from_around_statements_that_drifted() -> None:
    after = GUARDED.replace("k(x)", "k(x, n)")
    assert only(carried(GUARDED, BARE, after)) == BARE.replace("k(x)", "k(x, n)")


def test_a_guard_that_the_revert_puts_around_statements_that_drifted() -> None:
    bare, guarded = (text.replace("    # note\n", "").replace("    # note\n", "") for text in (BARE, GUARDED))
    guarded = guarded.replace("        x = h", "    x = h") if "            x = h" in guarded else guarded
    after = bare.replace("k(x)", "k(x, n)")
    assert same(only(carried(bare, guarded, after)), guarded.replace("k(x)", "k(x, n)"))


def test_a_function_that_may_return_before_it_does_it_is_refused() -> None:
    reverted = STEP.replace("        p.pos.add_(1)\n", "")
    hasty = KERNEL.replace("    kernel[", "    if x:\n        return x\n    kernel[")
    guarded = KERNEL.replace("    tl.store", "    if here:\n        tl.store")
    masked = KERNEL.replace("here + 1)", "here + 1, mask=x)")
    for kernel in (hasty, guarded, masked):
        assert "lacks it" in refused({"p.m": STEP}, {"p.m": reverted}, {"p.m": SPLIT, "p.kernels": kernel})
    empty = hasty.replace("if x:", "if x == 0:")
    assert carried({"p.m": STEP}, {"p.m": reverted}, {"p.m": SPLIT, "p.kernels": empty})


def test_an_assignment_that_got_an_annotation() -> None:
    after = CALL.replace("n = size", "n: int = size")
    reverted = CALL.replace("size(a, b, 1)", "size(a, 1)")
    assert only(carried(CALL, reverted, after)) == after.replace("size(a, b, 1)", "size(a, 1)")
    assert only(carried(after, after.replace("size(a, b, 1)", "size(a, 1)"), CALL)) == reverted
