"""Many replacements at once: conflicts, blocks left empty, line ends, and whether the result compiles."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prtoggle.edits.combine import Conflict, combine, verify
from prtoggle.edits.outcome import Replacement
from prtoggle.edits.text import SourceText


def at(source: str, old: str, new: str, owner: str = "a") -> tuple[str, Replacement]:
    start = source.index(old)
    return owner, Replacement(start, start + len(old), new)


def before(source: str, mark: str, new: str, owner: str = "a") -> tuple[str, Replacement]:
    start = source.index(mark)
    return owner, Replacement(start, start, new)


def deleted(source: str, *olds: str) -> str:
    """The text without these pieces; what is left must compile."""
    return changed(source, *(at(source, old, "", owner=old) for old in olds))


def changed(source: str, *named: tuple[str, Replacement]) -> str:
    text = SourceText(source)
    result = combine(text, named)
    assert isinstance(result, str), result
    error = verify(text, result)
    assert error is None, (error, result)
    return result


def conflict(source: str, *named: tuple[str, Replacement]) -> Conflict:
    result = combine(SourceText(source), named)
    assert isinstance(result, Conflict), result
    return result


THREE = "a = 1\nb = 2\nc = 3\n"


def test_replacements_in_any_order_refer_to_the_original():
    edits = [at(THREE, "c = 3\n", "z\n"), at(THREE, "a = 1\n", ""), before(THREE, "c", "y\n")]
    assert changed(THREE, *edits) == changed(THREE, *reversed(edits)) == "b = 2\ny\nz\n"


def test_overlapping_replacements_conflict_and_name_both_owners():
    found = conflict(THREE, at(THREE, "a = 1\nb = 2\n", "x", "27360/slice"), at(THREE, "b = 2\nc = 3\n", "y", "24401"))
    assert (found.first, found.second, found.line) == ("27360/slice", "24401", 2)


def test_two_insertions_at_one_point_conflict_even_where_they_are_equal():
    found = conflict(THREE, before(THREE, "b", "x\n", "one"), before(THREE, "b", "x\n", "two"))
    assert (found.first, found.second, found.reason) == ("one", "two", "both insert lines at one point")


def test_an_insertion_inside_a_replaced_range_conflicts_and_at_its_border_does_not():
    wide = at(THREE, "b = 2\n", "z\n", "wide")
    assert conflict(THREE, wide, ("in", Replacement(8, 8, "x"))).reason == "one inserts where the other replaces"
    assert changed(THREE, wide, before(THREE, "b", "x\n"), before(THREE, "c", "y\n")) == "a = 1\nx\nz\ny\nc = 3\n"


def test_one_replacement_asked_for_twice_is_made_once_and_different_ones_conflict():
    assert changed(THREE, at(THREE, "b = 2\n", "z\n", "one"), at(THREE, "b = 2\n", "z\n", "two")) == "a = 1\nz\nc = 3\n"
    assert conflict(THREE, at(THREE, "b = 2\n", "z\n", "one"), at(THREE, "b = 2\n", "y\n", "two")).line == 2


def test_nothing_to_do_changes_nothing():
    assert combine(SourceText("x"), []) == "x"


@pytest.mark.parametrize(
    ("header", "tail"),
    [
        ("if a:", ""), ("if a:  # note: this", ""), ("while a:", ""), ("for a in b:", ""),
        ("def f(x: int = {1: 2}):", ""), ("async def f():", ""), ("class C:", ""), ("@d\nclass C(B):", ""),
        ("with a as b:", ""), ("if a[':']:", ""),
        ("if a:", "else:\n    x = 2\n"), ("if a:", "elif b:\n    x = 2\n"), ("try:", "finally:\n    x = 2\n"),
        ("try:", "except E:\n    x = 2\n"), ("if a:\n    x = 2\nelse:  # c", ""), ("if a:\n    x = 2\nelif b:", ""),
        ("try:\n    x = 2\nexcept E as e:", ""), ("try:\n    x = 2\nfinally:", ""),
        ("try:\n    x = 2\nexcept E:\n    y = 1\nelse:", "finally:\n    z = 1\n"),
        ("for a in b:\n    x = 2\nelse:", ""),
        ("while a:\n    x = 2\nelse:", ""), ("if (a and\n        b):", ""), ("def f(\n    x,\n):", ""),
    ],
)  # fmt: skip
def test_a_block_that_loses_its_only_statement_gets_pass(header, tail):
    assert (
        deleted(f"{header}\n    gone = 1\n{tail}end = 1\n", "    gone = 1\n") == f"{header}\n    pass\n{tail}end = 1\n"
    )


def test_a_case_that_loses_its_only_statement_gets_pass():
    source = "match a:\n    case {'b': 1} if c:\n        gone = 1\n    case _:\n        x = 1\n"
    assert deleted(source, "        gone = 1\n") == source.replace("gone = 1", "pass")


def test_a_block_emptied_by_several_replacements_gets_one_pass():
    source = "if a:\n    x = 1\n    # kept\n    y = (\n        1)\n"
    assert deleted(source, "    x = 1\n", "    y = (\n        1)\n") == "if a:\n    pass\n    # kept\n"


def test_a_block_that_keeps_a_statement_gets_no_pass():
    assert deleted("if a:\n    x = 1\n    y = 1\n", "    x = 1\n") == "if a:\n    y = 1\n"


def test_a_block_that_gets_a_statement_gets_no_pass():
    source = "if a:\n    x = 1\nb = 1\n"
    gone = at(source, "    x = 1\n", "", "gone")
    assert changed(source, gone, before(source, "b", "    y = 1\n", "new")) == "if a:\n    y = 1\nb = 1\n"
    assert changed(source, gone, before(source, "    x", "    y = 1\n", "new")) == "if a:\n    y = 1\nb = 1\n"
    assert changed(source, at(source, "    x = 1\n", "    y = 1\n")) == "if a:\n    y = 1\nb = 1\n"


def test_a_statement_put_behind_the_emptied_block_is_not_in_it():
    source = "if a:\n    x = 1\nb = 1\n"
    gone = at(source, "    x = 1\n", "", "gone")
    assert changed(source, gone, before(source, "b", "y = 1\n", "new")) == "if a:\n    pass\ny = 1\nb = 1\n"
    assert changed(source, at(source, "    x = 1\nb = 1\n", "y = 1\n")) == "if a:\n    pass\ny = 1\n"


def test_code_that_comes_to_stand_in_the_block_from_another_one_is_in_it():
    assert deleted("def f():\n    x = 1\ndef g():\n    y = 1\n", "    x = 1\ndef g():\n") == "def f():\n    y = 1\n"
    source = "if a:\n    # c\n    x = 1\nwhile b:\n    z = 1\n    y = 1\n"
    assert deleted(source, "    x = 1\nwhile b:\n    z = 1\n") == "if a:\n    # c\n    y = 1\n"


def test_a_comment_in_place_of_the_only_statement_gets_pass():
    source = "if a:\n    x = 1\n"
    assert changed(source, at(source, "    x = 1\n", "    # gone\n")) == "if a:\n    pass\n    # gone\n"


def test_a_deleted_header_takes_its_block_along():
    assert deleted("if a:\n    x = 1\nb = 1\n", "if a:\n    x = 1\n") == "b = 1\n"
    assert deleted("if a:\n    x = 1\nb = 1\n", "if a:\n", "    x = 1\n") == "b = 1\n"
    assert deleted("if a:\n    x = 1\nelse:\n    y = 1\n", "else:\n    y = 1\n") == "if a:\n    x = 1\n"
    assert deleted("if a:\n    x = 1\nelif b:\n    y = 1\n", "elif b:\n    y = 1\n") == "if a:\n    x = 1\n"
    assert deleted("try:\n    x = 1\nexcept E:\n    y = 1\nfinally:\n    z = 1\n", "except E:\n    y = 1\n") == (
        "try:\n    x = 1\nfinally:\n    z = 1\n"
    )


def test_a_block_and_the_else_behind_it_deleted_together():
    assert deleted("if a:\n    x = 1\nelse:\n    y = 1\n", "    x = 1\nelse:\n    y = 1\n") == "if a:\n    pass\n"


def test_a_changed_header_keeps_its_emptied_block():
    source = "if a:\n    x = 1\n"
    assert changed(source, at(source, "if a:\n", "if b:  # c\n", "one"), at(source, "    x = 1\n", "", "two")) == (
        "if b:  # c\n    pass\n"
    )
    assert changed(source, at(source, "a", "b", "one"), at(source, "    x = 1\n", "", "two")) == "if b:\n    pass\n"


def test_only_the_innermost_emptied_block_gets_pass():
    assert deleted("def f():\n    if a:\n        x = 1\n", "        x = 1\n") == "def f():\n    if a:\n        pass\n"
    assert deleted("def f():\n    if a:\n        x = 1\n", "    if a:\n        x = 1\n") == "def f():\n    pass\n"


def test_a_decorated_definition_that_is_all_of_a_block():
    assert (
        deleted("class C:\n    @d\n    def m(self): pass\n", "    @d\n    def m(self): pass\n")
        == "class C:\n    pass\n"
    )


def test_a_deleted_node_without_its_line_leaves_pass_in_its_place():
    assert deleted("if a:\n    x = 1  # note\n", "x = 1") == "if a:\n    pass  # note\n"
    assert deleted("if a: x = 1\nb\n", "x = 1") == "if a: pass\nb\n"
    assert deleted("if a: x = 1\nb\n", " x = 1") == "if a: pass\nb\n"
    assert deleted("if a: x = 1\nb\n", " x = 1\n") == "if a: pass\nb\n"
    assert deleted("if a:\n    x = 1\nb\n", "\n    x = 1") == "if a:\n    pass\nb\n"


def test_a_docstring_that_is_all_of_a_body_leaves_pass():
    assert deleted(
        'def f():\n    """Doc.\n\n    # no comment\n    """\n', '    """Doc.\n\n    # no comment\n    """\n'
    ) == ("def f():\n    pass\n")


def test_pass_has_the_indentation_and_the_line_end_of_the_file():
    assert deleted("if a:\r\n\tx = 1\r\n", "\tx = 1\r\n") == "if a:\r\n\tpass\r\n"


def test_the_final_line_end_stays_as_it_was():
    assert deleted("if a:\n    x = 1", "    x = 1") == "if a:\n    pass"
    assert changed("a = 1", ("a", Replacement(5, 5, "b = 1\n"))) == "a = 1\nb = 1"
    assert changed("a = 1\n", ("a", Replacement(6, 6, "b = 1\n"))) == "a = 1\nb = 1\n"
    assert changed("a\nb", ("a", Replacement(2, 3, "c\n")), ("b", Replacement(3, 3, "d\n"))) == "a\nc\nd"
    assert changed("", ("a", Replacement(0, 0, "b = 1\n"))) == "b = 1\n"
    assert changed("a\r\nb", ("a", Replacement(3, 4, ""))) == "a"


def test_a_result_that_does_not_compile_is_named():
    source = SourceText("match a:\n    case 1:\n        x = 1\n")
    result = combine(source, [at(source.text, "    case 1:\n        x = 1\n", "")])
    assert isinstance(result, str) and isinstance(verify(source, result), SyntaxError)


def test_verify_compiles_what_would_be_written():
    future = SourceText("x = 1\n")
    assert verify(future, "def f() -> undefined_name: pass\n") is None
    assert "from __future__" in str(verify(future, "x = 1\nfrom __future__ import annotations\n"))
    assert "null" in str(verify(future, "x = '\0'\n"))
    latin = SourceText.decode("# coding: latin-1\nx = 'é'\n".encode("latin-1"))
    assert verify(latin, latin.text) is None
    assert "cannot be written in the file's encoding" in str(verify(latin, "# coding: latin-1\nx = '\u2028'\n"))
    bom = SourceText.decode("\ufeffx = 'é'\n".encode())
    assert verify(bom, bom.text) is None


@st.composite
def programs(draw: st.DrawFn, depth: int = 0) -> list[str]:
    out: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["s", "if", "ifelse", "try", "def", "with", "elif", "match"])) if depth < 3 else "s"
        shape = {
            "s": ["x = 1"], "if": ["if a:", None], "ifelse": ["if a:", None, "else:", None], "with": ["with a:", None],
            "try": ["try:", None, "except E:", None, "else:", None, "finally:", None], "def": ["@d", "def f():", None],
            "elif": ["if a:", None, "elif b:", None], "match": ["match a:", "    case 1:", 8],
        }[kind]  # fmt: skip
        for part in shape:
            if isinstance(part, str):
                out.append(part)
            else:
                out += [" " * (part or 4) + line for line in draw(programs(depth + 1))]
    return out


@settings(deadline=None)
@given(programs(), st.data())
def test_deleting_any_statements_of_a_random_program_leaves_one_that_compiles(program, data):
    source = SourceText("\n".join(program) + "\n")
    statements = [node for node in ast.walk(source.tree) if isinstance(node, ast.stmt)]
    statements = [s for s in statements if not (isinstance(s, ast.If) and source.line(s.lineno).strip() == "elif b:")]
    chosen: list[ast.stmt] = []
    for node in data.draw(st.lists(st.sampled_from(statements), max_size=6, unique_by=id)) if statements else []:
        inside = [n for n in ast.walk(node) if n in chosen] or [c for c in chosen if node in ast.walk(c)]
        if not inside:
            chosen.append(node)
    named = []
    for node in chosen:
        first = node.lineno - len(getattr(node, "decorator_list", ()))
        named.append(("x", Replacement(source.starts[first - 1], source.starts[node.end_lineno or 0], "")))
    result = combine(source, named)
    assert isinstance(result, str) and verify(source, result) is None, result
    kept = _without(source.tree, chosen)
    assert ast.dump(ast.parse(result)) == ast.dump(kept)


def _without(tree: ast.Module, chosen: list[ast.stmt]) -> ast.Module:
    """The oracle: the tree with these statements taken out, and Pass where a list is left empty."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and any(statement in chosen for statement in block):
                left = [statement for statement in block if statement not in chosen]
                setattr(node, field, left or ([] if isinstance(node, ast.Module) else [ast.Pass()]))
    return tree
