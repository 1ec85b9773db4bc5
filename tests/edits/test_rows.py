"""Which lines begin inside a string literal, in modules and in torn fragments."""

from __future__ import annotations

import ast
import sysconfig
import tokenize
from pathlib import Path

import pytest

from prtoggle.edits import rows
from prtoggle.edits.rows import Row, fragment_rows, indent_of, margin_of, placed, source_rows, tabbed
from prtoggle.edits.text import SourceText

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
SAMPLE = [path for path in sorted(LIBRARY.glob("[a-z]*.py"))[::4] if path.stat().st_size < 80_000]


def inside(text: str) -> list[bool]:
    return [row.inside for row in fragment_rows(text)]


def test_lines_of_a_multi_line_string_begin_inside_it():
    assert inside('x = """\na\n"""\ny') == [False, True, True, False]
    assert inside("x = rb'''\n# a\n''' + '''\n'''") == [False, True, True, True]
    assert inside("x = 'a\\\nb'\ny") == [False, True, False]
    assert inside('f"""\n{a}\n"""') == [False, True, True]


def test_quotes_in_comments_and_strings_open_nothing():
    assert inside("# '''\nx = 1\n\"'''\"\ny") == [False] * 4
    assert inside("x = '\"\"\"'\ny = \"'''\"\nz") == [False] * 3


@pytest.mark.parametrize("torn", ["{}\n)", "    )\n  {}\n", "f(\n{}", "      deep\n  {}\nshallow", "{}\n]}}"])
def test_strings_are_seen_in_fragments_that_no_tokenizer_takes(torn):
    text = torn.format('x = """\na\n"""')
    assert sum(inside(text)) == 2


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.name)
def test_the_scanner_for_fragments_agrees_with_the_tokenizer(path, monkeypatch):
    source = SourceText.decode(path.read_bytes())
    lines = tuple(line.rstrip("\r\n") for line in source.lines)
    exact = rows._flags.__wrapped__(lines)

    def fail(*_: object) -> None:
        raise tokenize.TokenError("as for a torn fragment")

    monkeypatch.setattr(tokenize, "generate_tokens", fail)
    assert rows._flags.__wrapped__(lines) == exact


@pytest.mark.parametrize("path", SAMPLE[::3], ids=lambda path: path.name)
def test_indenting_all_code_and_no_string_leaves_every_string_of_a_module_as_it_was(path):
    source = SourceText.decode(path.read_bytes())
    shifted = placed(source_rows(source, 1, len(source.lines)), "      ")
    text = "if True:\n" + "".join(row.text + "\n" for row in shifted)
    before = [n.value for n in ast.walk(source.tree) if isinstance(n, ast.Constant)]
    after = [n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant)]
    assert after[1:] == before


def test_a_scope_s_rows_are_those_of_the_module():
    source = SourceText('x = """\n"""\ndef f():\n    """\n  d\n    """\n    return 1\n')
    assert source_rows(source, 3, 7) == source_rows(source, 1, 7)[2:]


def test_indentation_is_white_space_after_the_last_form_feed():
    assert (indent_of("    x"), indent_of("\f  x"), indent_of("  \f\tx"), indent_of("\u00a0x")) == (
        "    ",
        "  ",
        "\t",
        "",
    )


def test_the_margin_does_not_look_at_strings_and_blank_lines():
    assert margin_of(fragment_rows('    x = """\n  a\n"""\n\n      y')) == "    "
    assert margin_of([]) == ""


def test_most_lines_decide_whether_a_text_is_indented_by_tabs():
    assert tabbed([Row("a:"), Row("\tb"), Row("\tc"), Row("    d")])
    assert not tabbed([Row("a:"), Row("    d")]) and not tabbed([Row("a")])
