"""A source text knows its lines as Python does, and is written back byte for byte."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prtoggle.edits.text import SourceText

FILES = [
    b"",
    b"x = 1",
    b"x = 1\r\ny = 2\rz = 3\n",
    b"\xef\xbb\xbfx = '\xc3\xa9'\n",
    b"\xef\xbb\xbf# coding: utf-8\nx = 1\n",
    b"# coding: latin-1\nx = '\xe9'\n",
    b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n",
    "x = 'a\u2028b\x85c\x0cd'\n".encode(),
]


@pytest.mark.parametrize("data", FILES)
def test_bytes_come_back_as_they_were(data):
    source = SourceText.decode(data)
    assert source.encode(source.text) == data
    assert "".join(source.lines) == source.text
    assert ast.dump(source.tree) == ast.dump(ast.parse(data))


def test_a_file_that_python_does_not_decode_raises_as_python_does():
    with pytest.raises(UnicodeDecodeError):
        SourceText.decode(b"x = 1\n" * 3 + b"\xff")
    with pytest.raises(SyntaxError):
        SourceText.decode(b"# coding: nonsense\n")


def test_only_line_feeds_and_carriage_returns_end_a_line():
    source = SourceText("a\x0cb\u2028c\r\nd\re\n\nf")
    assert source.lines == ("a\x0cb\u2028c\r\n", "d\r", "e\n", "\n", "f")
    assert source.line(1) == "a\x0cb\u2028c" and source.line(4) == "" and source.line(9) == ""


def test_the_line_end_is_the_one_used_most():
    assert SourceText("a\r\nb\r\nc\n").newline == "\r\n"
    assert SourceText("a\nb\nc\r\n").newline == "\n"
    assert SourceText("a\rb\r").newline == "\r"
    assert SourceText("a").newline == "\n"
    assert SourceText("a\r\n").with_newlines("b\nc\n") == "b\r\nc\r\n"


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a = 1", "é = 'ü€😀'", "", "# x\u2028y", "b = ('z',", "  2)"]), max_size=8), st.data())
def test_offsets_and_lines_are_each_other_s_inverse(lines, data):
    ends = [data.draw(st.sampled_from(["\n", "\r\n", "\r"])) for _ in lines]
    source = SourceText("".join(line + end for line, end in zip(lines, ends, strict=True)))
    for number in range(1, len(source.lines) + 1):
        start = source.starts[number - 1]
        assert source.line_of(start) == number
        line = source.line(number)
        for column in range(len(line) + 1):
            assert source.offset(number, len(line[:column].encode())) == start + column


def test_a_node_s_span_is_its_text():
    source = SourceText("é = 'ü'; b = f(\n    'é', c)\n")
    names = [source.text[slice(*source.span(node))] for node in source.tree.body]
    assert names == ["é = 'ü'", "b = f(\n    'é', c)"]


def test_lines_are_counted_as_python_counts_them():
    source = SourceText("a = 1\r\nb = 'x\u2028y\x0c\x85'\rc = 3\n\x0c\nd = 4\r\r\ne = 5")
    assert [source.line(node.lineno)[0] for node in source.tree.body] == ["a", "b", "c", "d", "e"]
