"""Line edits: whole lines, relative indentation, never inside a string, unique."""

from __future__ import annotations

import ast

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prtoggle.edits.outcome import Found, Missing
from tests.edits.helpers import already, edit, missing, outcome, several, text_of

METHOD = """
class C:
    def m(self, x):
        if x:
            y = 1
            z = 2
        return x
""".lstrip()


def test_a_line_is_replaced_at_the_depth_where_it_stands():
    assert edit(METHOD, "C.m", match="y = 1", replacement="y = 10") == METHOD.replace("y = 1", "y = 10")


def test_a_match_of_several_lines_is_relative():
    assert edit(METHOD, "C.m", match="if x:\n    y = 1", replacement="if not x:\n    y = 3") == METHOD.replace(
        "if x:\n            y = 1", "if not x:\n            y = 3"
    )


def test_an_indented_match_and_an_indented_replacement_are_dedented_first():
    assert edit(METHOD, "C.m", match="      y = 1\n      z = 2\n", replacement="\t\ty = 2\n") == METHOD.replace(
        "            y = 1\n            z = 2\n", "            y = 2\n"
    )


def test_a_uniformly_indented_replacement_of_several_lines_keeps_its_shape():
    assert edit(
        METHOD, "C.m", match="return x", replacement="    if y:\n        return y\n    return x"
    ) == METHOD.replace("        return x", "        if y:\n            return y\n        return x")


def test_lines_are_put_before_and_after():
    assert edit(METHOD, "C.m", match="z = 2", prepend="a = 1\nb = 1") == METHOD.replace(
        "            z = 2", "            a = 1\n            b = 1\n            z = 2"
    )
    assert edit(METHOD, "C.m", match="z = 2", append="a = 1") == METHOD.replace("z = 2", "z = 2\n            a = 1")


def test_a_text_appended_to_a_block_goes_to_the_depth_of_its_header():
    assert edit(METHOD, "C.m", match="if x:\n    y = 1\n    z = 2", append="w = 1") == METHOD.replace(
        "z = 2\n", "z = 2\n        w = 1\n"
    )


def test_an_empty_replacement_deletes():
    assert edit(METHOD, "C.m", match="z = 2", replacement="") == METHOD.replace("            z = 2\n", "")


def test_a_line_at_two_depths_is_several():
    source = "def f(x):\n    y = 1\n    if x:\n        y = 1\n    return y\n"
    assert several(outcome(source, "f", match="y = 1", replacement="y = 2")) == (2, 4)


def test_context_tells_two_depths_apart():
    source = "def f(x):\n    y = 1\n    if x:\n        y = 1\n    return y\n"
    assert edit(source, "f", match="if x:\n    y = 1", replacement="if x:\n    y = 2") == source.replace(
        "        y = 1", "        y = 2"
    )


def test_lines_at_other_relative_depths_are_missing_with_that_reason():
    found = missing(outcome(METHOD, "C.m", match="z = 2\nreturn x", replacement=""))
    assert "other relative depths" in found.reason
    assert (found.line, found.nearest) == (5, "            z = 2\n        return x")


def test_a_match_that_begins_deeper_than_it_goes_on_stands():
    assert edit(METHOD, "C.m", match="    z = 2\nreturn x", replacement="    z = 3\nreturn 0") == METHOD.replace(
        "z = 2", "z = 3"
    ).replace("return x", "return 0")


def test_prepended_lines_go_to_the_depth_of_the_first_line_of_the_match():
    assert edit(METHOD, "C.m", match="    z = 2\nreturn x", prepend="w = 0") == METHOD.replace(
        "            z = 2", "            w = 0\n            z = 2"
    )


def test_another_scope_is_not_touched():
    source = "def f():\n    x = 1\ndef g():\n    x = 1\n"
    assert edit(source, "g", match="x = 1", replacement="x = 2") == "def f():\n    x = 1\ndef g():\n    x = 2\n"


def test_a_match_outside_the_target_says_where_it_stands():
    found = missing(outcome("def f():\n    x = 1\ndef g():\n    y = 1\n", "g", match="x = 1", replacement=""))
    assert "it stands in f" in found.reason and found.line == 2


def test_decorators_belong_to_the_target():
    assert edit("@a\n@b\ndef f(): pass\n", "f", match="@b", replacement="") == "@a\ndef f(): pass\n"


def test_a_match_within_a_statement_of_several_lines_is_a_text_edit():
    source = "f(\n    a,\n    b,\n)\n"
    assert edit(source, match="b,", replacement="c,") == "f(\n    a,\n    c,\n)\n"


def test_text_inside_a_string_literal_is_no_place():
    source = 'def f():\n    """\n    x = 1\n    """\n    x = 1\n'
    assert edit(source, "f", match="x = 1", replacement="x = 2") == source[:-6] + "x = 2\n"
    found = missing(outcome('def f():\n    """\n    x = 1\n    """\n', "f", match="x = 1", replacement=""))
    assert "inside a string literal" in found.reason and found.line == 3


def test_a_place_that_ends_within_a_string_is_none():
    found = missing(outcome('x = """\na\n"""\n', match='x = """', replacement=""))
    assert "inside a string literal" in found.reason


def test_a_multi_line_string_within_the_match_compares_byte_for_byte():
    source = 'class C:\n    def m(self):\n        x = """\n  a\n"""\n        return x\n'
    assert edit(source, "C.m", match='x = """\n  a\n"""\nreturn x', replacement="return 1") == (
        "class C:\n    def m(self):\n        return 1\n"
    )
    found = missing(outcome(source, "C.m", match='x = """\n    a\n"""', replacement=""))
    assert "byte for byte" in found.reason and found.line == 3


def test_white_space_at_the_end_of_a_line_counts_within_a_string_only():
    source = 'x = """  \na  \n"""  \ny = 1  \n'
    assert edit(source, match='x = """  \na  \n"""\ny = 1', replacement="") == ""
    assert "byte for byte" in missing(outcome(source, match='x = """\na  \n"""\ny = 1', replacement="")).reason
    assert "byte for byte" in missing(outcome(source, match='x = """  \na\n"""\ny = 1', replacement="")).reason


@pytest.mark.parametrize(
    "string", ['"""\n  a\n\n      b\n"""', 'f"""\n  {a}\n"""', "'a\\\n  b'", '("""\n a""" + b"""\n c""")']
)
def test_strings_in_the_replacement_are_kept_byte_for_byte(string):
    source = "class C:\n    def m(self):\n        x = 1\n        return x\n"
    result = edit(source, "C.m", match="x = 1", replacement=f"if a:\n    x = {string}")
    assert result == source.replace("x = 1", f"if a:\n            x = {string}")


def test_strings_in_a_torn_replacement_are_kept_too():
    source = "def f():\n    g(\n        a,\n    )\n"
    result = edit(source, "f", match="    a,\n)", replacement='    """\na\n""",\n)')
    assert result == 'def f():\n    g(\n        """\na\n""",\n    )\n'


def test_lines_that_stay_are_not_replaced():
    found = outcome(METHOD, "C.m", match="if x:\n    y = 1\n    z = 2", replacement="if x:\n    y = 3\n    z = 2")
    assert isinstance(found, Found) and [r.new for r in found.replacements] == ["            y = 3\n"]
    assert found.line == 4


def test_blank_lines_compare_as_blank():
    source = "def f():\n    x = 1\n   \t \n    y = 2\n"
    assert edit(source, "f", match="x = 1\n\ny = 2", replacement="z = 3") == "def f():\n    z = 3\n"


def test_blank_lines_around_match_and_replacement_do_not_count():
    assert edit("x = 1\ny = 2\n", match="\n  \nx = 1\n\n", replacement="\nx = 3\n\n") == "x = 3\ny = 2\n"


def test_an_empty_match_or_an_empty_insertion_is_missing():
    assert missing(outcome("x = 1\n", match=" \n", replacement="y")).reason == "the match is empty"
    assert missing(outcome("x = 1\n", match="x = 1", append="")).reason == "there is nothing to append"


def test_an_insertion_that_stands_beside_its_match_is_there_already():
    assert already(outcome("a = 1\nx = 1\nb = 1\n", match="x = 1", prepend="a = 1")) == 1
    assert already(outcome("a = 1\nx = 1\nb = 1\n", match="x = 1", append="b = 1")) == 3
    assert isinstance(outcome("a = 1\nx = 1\nb = 1\n", match="x = 1", append="a = 1"), Found)


def test_an_insertion_at_another_depth_is_not_there_already():
    source = "if a:\n    x = 1\ny = 1\n"
    assert isinstance(outcome(source, match="x = 1", append="y = 1"), Found)


def test_a_replacement_equal_to_its_match_is_there_already():
    assert already(outcome("x = 1\n", match="x = 1", replacement="x = 1")) == 1


def test_a_missing_match_whose_replacement_stands_says_so():
    found = missing(outcome("x = 1\ny = 2\n", match="y = 1", replacement="y = 2"))
    assert "its replacement stands at line 2" in found.reason and found.line == 2


def test_a_missing_match_names_the_nearest_lines():
    found = missing(outcome(METHOD, "C.m", match="if x:\n    y = 1 + 1\n    z = 2", replacement=""))
    assert found.line == 3 and found.nearest.startswith("        if x:\n            y = 1\n")


def test_a_match_unlike_anything_has_no_nearest():
    found = missing(outcome(METHOD, "C.m", match="while True: print(qqq)", replacement=""))
    assert (found.nearest, found.line) == ("", 0)


def test_tabs_stay_tabs():
    source = "def f(x):\n\tif x:\n\t\ty = 1\n\treturn y\n"
    assert edit(source, "f", match="if x:\n\ty = 1", replacement="if x:\n\ty = 2\n\tz = 3") == source.replace(
        "y = 1", "y = 2\n\t\tz = 3"
    )


def test_an_edit_written_with_spaces_fits_a_file_written_with_tabs():
    source = "def f(x):\n\tif x:\n\t\ty = 1\n\treturn y\n"
    assert edit(source, "f", match="if x:\n    y = 1", replacement="for y in x:\n    if y:\n        pass") == (
        "def f(x):\n\tfor y in x:\n\t\tif y:\n\t\t\tpass\n\treturn y\n"
    )
    found = missing(outcome(source, "f", match="y = 1\n    return y", replacement=""))
    assert "other relative depths" in found.reason


@pytest.mark.parametrize("char", ["\u2028", "\x85", "\x0b", "\x1c", "\u00a0"])
def test_characters_that_end_no_line_in_python_end_none_here(char):
    source = f"def f():\n    a = 'x{char}y'\n    # c{char}d\n    b = 1\n    return a\n"
    assert edit(source, "f", match="b = 1", replacement="b = 2") == source.replace("b = 1", "b = 2")
    assert edit(source, "f", match=f"# c{char}d\nb = 1", replacement="b = 2") == source.replace(
        f"    # c{char}d\n    b = 1", "    b = 2"
    )


def test_form_feeds_start_the_count_of_indentation_anew():
    source = "def f():\n    x = 1\n\f\ndef g():\n \f    x = 1\n    y = 2\n"
    assert edit(source, "g", match="x = 1\ny = 2", replacement="y = 3") == source.replace(
        " \f    x = 1\n    y = 2", "    y = 3"
    )


def test_line_ends_of_the_file_are_kept():
    source = "def f():\r\n    x = 1\r\n    y = 2\r\n"
    assert edit(source, "f", match="x = 1\ny = 2", replacement="a\nb") == "def f():\r\n    a\r\n    b\r\n"
    assert edit(source, "f", match="x = 1\r\n", append="a\r\n") == "def f():\r\n    x = 1\r\n    a\r\n    y = 2\r\n"


def test_mixed_line_ends_stay_mixed_and_new_lines_get_the_commonest():
    source = "a = 1\r\nb = 2\nc = 3\r\nd = 4\re = 5\r\n"
    assert edit(source, match="b = 2", append="x\ny") == "a = 1\r\nb = 2\nx\r\ny\r\nc = 3\r\nd = 4\re = 5\r\n"


def test_a_file_without_final_line_end_stays_without():
    assert edit("a = 1\nb = 2", match="b = 2", replacement="c = 3") == "a = 1\nc = 3"
    assert edit("a = 1\nb = 2", match="b = 2", append="c = 3") == "a = 1\nb = 2\nc = 3"
    assert edit("a = 1\nb = 2", match="b = 2", prepend="c = 3") == "a = 1\nc = 3\nb = 2"
    assert edit("a = 1\nb = 2", match="b = 2", replacement="") == "a = 1"


def test_bom_and_latin_1_files_are_written_back_as_they_were():
    for data in ("\ufeffx = 'é'\ny = 1\n".encode(), "# -*- coding: latin-1 -*-\nx = 'é'\ny = 1\n".encode("latin-1")):
        source = text_of(data)
        result = edit(data, match="y = 1", replacement="y = 'ü'")
        expected = data.replace(b"y = 1", "y = 'ü'".encode(source.encoding))
        assert source.encode(result) == expected


# A random program, a random window of it, against a second, simple way to make the same edit.


@st.composite
def programs(draw: st.DrawFn, depth: int = 0) -> list[tuple[str, bool]]:
    """Lines, each with whether it begins inside a string."""
    out: list[tuple[str, bool]] = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["stmt", "stmt", "if", "def", "string", "blank", "call"])) if depth < 3 else "stmt"
        name = draw(st.sampled_from("abcdef"))
        if kind == "stmt":
            out.append((f"{name} = {draw(st.integers(0, 5))}", False))
        elif kind == "blank":
            out += [("", False), (f"{name} = 0", False)]
        elif kind == "call":
            out += [(line, False) for line in (f"{name}(", "    1,", "    2,", ")")]
        elif kind == "string":
            out += [(f'{name} = """', False), (f"  {name}", True), ('"""', True)]
        else:
            out.append((f"if {name}:" if kind == "if" else f"def {name}():", False))
            out += [
                (line if inside or not line else "    " + line, inside) for line, inside in draw(programs(depth + 1))
            ]
    return out


@settings(deadline=None)
@given(programs(), st.data())
def test_a_window_of_a_random_program_is_replaced_as_by_hand(program, data):
    text = "".join(line + "\n" for line, _ in program)
    ast.parse(text)
    start = data.draw(st.integers(0, len(program) - 1))
    end = data.draw(st.integers(start + 1, min(len(program), start + 4)))
    window = program[start:end]
    assume(window[0][0] and window[-1][0])
    torn = window[0][1] or (end < len(program) and program[end][1])
    margin = min((len(line) - len(line.lstrip()) for line, inside in window if line and not inside), default=0)
    first = len(window[0][0]) - len(window[0][0].lstrip())
    assume(window[0][1] or margin == first)  # a window that leaves its block may empty it, which is combine's business
    match = "\n".join(line if inside else line[margin:] for line, inside in window)
    found = outcome(text, match=match, replacement="NEW(\n  1)")
    if torn:
        assert isinstance(found, Missing) or text.count(window[0][0]) > 1
    elif isinstance(found, Found):
        before, after = ("".join(line + "\n" for line, _ in part) for part in (program[:start], program[end:]))
        new = f"{' ' * margin}NEW(\n{' ' * margin}  1)\n"
        assert edit(text, match=match, replacement="NEW(\n  1)") == before + new + after
    else:
        lines = several(found)
        assert start + 1 in lines and len(lines) > 1
