"""Expectations: compared only in the releases that they list, and nothing else is taken for one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from prtoggle.errors import MalformedError
from prtoggle.expected import AS_EXPECTED, UNEXPECTED, UNKNOWN, Expectation, compare, dump, load

ONE = Expectation("7/slice", "engine.core", "Runner.step", "aa", ("1.2", "1.10"), "1.1")
OTHER = Expectation("7/slice", "engine.core", "LIMIT", "bb", ("1.2", "1.10"), "reviewed")
TREES = {("engine.core", "Runner.step"): "aa", ("engine.core", "LIMIT"): "bb"}


def test_the_trees_of_a_listed_release_are_as_expected_and_it_is_said_where_from() -> None:
    found = compare((ONE, OTHER), "7/slice", "1.10", TREES)
    assert (found.state, found.source) == (AS_EXPECTED, "1.1, reviewed")


@pytest.mark.parametrize(
    "trees",
    [
        {**TREES, ("engine.core", "LIMIT"): "cc"},
        {("engine.core", "Runner.step"): "aa"},
        {**TREES, ("engine.core", "more"): "dd"},
    ],
    ids=["another tree", "one too few", "one too many"],
)
def test_anything_else_is_unexpected_and_named(trees: dict[tuple[str, str], str]) -> None:
    found = compare((ONE, OTHER), "7/slice", "1.2", trees)
    assert found.state == UNEXPECTED
    assert "engine.core." in found.reason and "Runner.step" not in found.reason


def test_a_release_that_is_not_listed_has_no_expectation_whatever_its_trees_are() -> None:
    same = compare((ONE, OTHER), "7/slice", "1.11", TREES)
    assert same.state == UNKNOWN
    assert same.reason == "no expectation yet for 1.11; the nearest is 1.10, and this has the same syntax tree"
    changed = compare((ONE, OTHER), "7/slice", "1.3", {**TREES, ("engine.core", "LIMIT"): "cc"})
    assert changed.state == UNKNOWN
    assert "the nearest is 1.2, and this differs from it in engine.core.LIMIT" in changed.reason


def test_other_parts_have_expectations_of_their_own() -> None:
    assert compare((ONE, OTHER), "7/slice+assert", "1.2", TREES).state == UNKNOWN


def test_a_file_reads_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "expected.json"
    assert load(file) == ()
    file.write_text(dump((ONE, replace(OTHER, tree="gone"))))
    assert load(file) == (ONE, replace(OTHER, tree="gone"))


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "expected.json"
    file.write_text('{"trees": [{"revert": "7"}]}')
    with pytest.raises(MalformedError, match=r"expected\.json"):
        load(file)
