"""One after another, or all at once: where the two readings of a list of edits are not the same, it is said."""

from __future__ import annotations

from prtoggle.edits.outcome import Missing, Several
from prtoggle.edits.sequential import difference, read
from tests.edits.helpers import lines_edit, scope_of, text_of

SOURCE = "def f(x):\n    a = 1\n    b = 2\n    return x\n"


def why(source: str, *edits: dict[str, str]) -> str:
    text = text_of(source)
    return difference(text, scope_of(text, "f"), [lines_edit(**edit) for edit in edits])


def one_after_another(source: str, *edits: dict[str, str]) -> str | Missing | Several:
    text = text_of(source)
    return read(text, scope_of(text, "f"), [lines_edit(**edit) for edit in edits])


def test_edits_of_different_places_read_the_same():
    edits = ({"match": "a = 1", "replacement": "a = 3"}, {"match": "return x", "prepend": "if a:\n    b = 3"})
    assert why(SOURCE, *edits) == ""
    assert one_after_another(SOURCE, *edits) == (
        "def f(x):\n    a = 3\n    b = 2\n    if a:\n        b = 3\n    return x\n"
    )


def test_an_edit_of_what_an_edit_before_it_made_is_a_difference():
    edits = ({"match": "a = 1", "replacement": "a = 3"}, {"match": "a = 3", "replacement": "a = 4"})
    assert why(SOURCE, *edits) == "edit 2 finds its match only in what the edits before it made"
    assert one_after_another(SOURCE, *edits) == SOURCE.replace("a = 1", "a = 4")


def test_a_match_that_an_edit_before_it_takes_away_is_a_difference():
    edits = ({"match": "a = 1\nb = 2", "replacement": "b = 3"}, {"match": "b = 2", "prepend": "c = 1"})
    assert "edit 2 is not in what the edits before it made" in why(SOURCE, *edits)


def test_a_match_that_an_edit_before_it_doubles_is_a_difference():
    edits = ({"match": "a = 1", "append": "b = 2\nc = 3"}, {"match": "b = 2", "replacement": "b = 4"})
    assert "edit 2 stands 2 times" in why(SOURCE, *edits)


def test_two_insertions_at_one_point_have_an_order_in_one_reading_only():
    edits = ({"match": "a = 1", "append": "c = 1"}, {"match": "a = 1", "append": "d = 1"})
    assert "both insert lines at one point" in why(SOURCE, *edits)


def test_contexts_that_overlap_read_the_same():
    edits = (
        {"match": "a = 1\nb = 2", "replacement": "a = 3\nb = 2"},
        {"match": "b = 2\nreturn x", "replacement": "b = 2\nreturn a"},
    )
    assert why(SOURCE, *edits) == ""


def test_edits_that_fail_in_both_readings_have_no_difference():
    assert why(SOURCE, {"match": "nowhere", "replacement": ""}) == ""


def test_pass_in_a_block_left_empty_is_no_difference():
    assert why("def f(x):\n    if x:\n        a = 1\n    return x\n", {"match": "a = 1", "replacement": ""}) == ""


def test_a_replacement_placed_by_the_first_line_is_a_difference_where_that_is_not_the_shallowest():
    source = "def f(x):\n    if x:\n        a = 1\n    return x\n"
    assert "another function" in why(source, {"match": "    a = 1\nreturn x", "replacement": "return 2"})
