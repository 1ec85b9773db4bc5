"""A package's own registry is read from its source; what cannot be read is a problem at its place."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from prtoggle.edits.kinds import LinesEdit
from prtoggle.integrations.sglang import INTEGRATION
from prtoggle.registry import Registry, read, registry_file
from prtoggle.spec import ONLY_PART, Origin

ONE = '''
import os
boom = 1 / 0  # running this would fail
_ONE = """
patches:
  - target: sglang.a.f
    edits:
      - match: x
"""
_PR_FIX_REVERT_YAML: dict[int, str] = {
    7: _ONE,
    8: "patches: [{target: sglang.b, edits: [{match: y, append: z}]}]",
}

def use():
    return _PR_FIX_REVERT_YAML[7]
'''


def registry(source: str) -> Registry:
    return read(source.encode(), name="toggle.py", integration=INTEGRATION)


def problems(source: str) -> list[tuple[str, str]]:
    """The number, and the text with its place, of each problem."""
    return [(each.number, each.error.said) for each in registry(source).problems]


def test_constants_and_names_of_constants_are_read_in_order() -> None:
    found = registry(ONE)
    assert found.problems == ()
    assert [fix.id for fix in found.fixes] == ["7", "8"]
    first = found.fixes[0]
    assert (first.project, first.origin) == ("sgl-project/sglang", Origin("registry", "sglang"))
    assert (tuple(first.parts), first.default_parts) == ((ONLY_PART,), (ONLY_PART,))
    (variant,) = first.variants
    assert (variant.package, variant.versions, variant.sequential) == ("sglang", "", True)
    assert variant.patches[0].edits[0].kind == LinesEdit("x", "replace", "")


def test_places_are_those_of_the_file() -> None:
    place = registry(ONE).fixes[0].variants[0].patches[0].edits[0].place
    assert (str(place), ONE.splitlines()[place.line - 1]) == ("toggle.py:8:9", "      - match: x")


def test_without_an_annotation_too() -> None:
    assert [fix.id for fix in registry(ONE.replace(": dict[int, str] =", " =")).fixes] == ["7", "8"]


def test_entries_added_one_by_one_count_and_later_ones_replace_earlier_ones() -> None:
    more = '_PR_FIX_REVERT_YAML[9] = _PR_FIX_REVERT_YAML[7] = "patches: [{target: sglang.c, edits: [{match: q}]}]"\n'
    found = registry(ONE + more)
    targets = {fix.id: fix.variants[0].patches[0].target for fix in found.fixes}
    assert targets == {"7": "sglang.c", "8": "sglang.b", "9": "sglang.c"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            '8: "',
            '8: f"{boom}" + "',
            [("8", "toggle.py:12:8: the text of 8 is not a string constant of this module, *")],
        ),
        ("7: _ONE", "7: _TWO", [("7", "toggle.py:11:8: the text of 7 is not a string constant of this module, *")]),
        ("def use", "_ONE += ''\ndef use", [("7", "toggle.py:11:8: the text of 7 is not a string *")]),
        ("def use", "if os: _ONE = ''\ndef use", [("7", "toggle.py:11:8: the text of 7 is not a string *")]),
        ("7: _ONE", "boom: _ONE", [("", "toggle.py:11:5: a key that is not a PR number, expected a plain number")]),
        ("7: _ONE", "True: _ONE", [("", "toggle.py:11:5: a key that is not a PR number, expected a plain number")]),
        ("7: _ONE", "**other", [("", "toggle.py:11:7: a key that is not a PR number, expected a plain number")]),
        (
            "def use",
            "_PR_FIX_REVERT_YAML.update(more)\ndef use",
            [("", "toggle.py:15:1: _PR_FIX_REVERT_YAML is used here in a way that cannot be followed *")],
        ),
        (
            "_PR_FIX_REVERT_YAML: dict[int, str] = {",
            "_PR_FIX_REVERT_YAML = os and {",
            [("", "toggle.py:10:1: _PR_FIX_REVERT_YAML is not a dictionary that can be read *")],
        ),
        ("_PR_FIX_REVERT_YAML: ", "_OTHER: ", [("", "toggle.py: no dictionary called _PR_FIX_REVERT_YAML, *")]),
        (
            "      - match: x",
            "      - mach: x",
            [("7", "toggle.py:8:9: unknown field 'mach', *"), ("7", "toggle.py:8:9: the edit has no field 'match', *")],
        ),
        ("target: sglang.b", "target: vllm.b", [("8", "toggle.py:12:*: 'target' is 'vllm.b', *")]),
        ("import os", "import (", [("", "toggle.py:2:*: not Python: *")]),
    ],
)
def test_what_cannot_be_read_is_a_problem_at_its_place(old: str, new: str, expected: list[tuple[str, str]]) -> None:
    assert ONE.count(old) == 1
    source = ONE.replace(old, new)
    found = problems(source)
    lines = [(number, line) for number, text in found for line in text.splitlines() if line.startswith("toggle.py")]
    assert len(lines) == len(expected), lines
    for (number, line), (wanted, text) in zip(lines, expected, strict=True):
        assert number == wanted
        pieces = text.split("*")
        assert line.startswith(pieces[0]) and all(piece in line for piece in pieces)


def test_one_bad_entry_leaves_the_others() -> None:
    assert [fix.id for fix in registry(ONE.replace("- match: x", "- mach: x")).fixes] == ["8"]


def test_where_lines_are_escaped_the_place_is_that_of_the_text() -> None:
    source = '_PR_FIX_REVERT_YAML = {\n  7: "patches:\\n- target: sglang.a\\n  edits: []\\n"}\n'
    assert problems(source) == [("7", "toggle.py:2: 'edits' is an empty list, expected edits")]


def test_bytes_that_are_not_text_are_a_problem() -> None:
    found = read(b"x = '\xff'\n", name="toggle.py", integration=INTEGRATION)
    assert len(found.problems) == 1 and found.fixes == ()
    assert "not Python" in str(found.problems[0].error)


def test_the_file_is_found_from_the_packages_folder() -> None:
    file = registry_file(INTEGRATION, Path("/site/sglang"))
    assert file == Path("/site/sglang/srt/debug_utils/pr_fix_toggle.py")


def test_nothing_of_the_module_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    source = dedent(f"open({str(mark)!r}, 'w')\n") + ONE
    assert len(registry(source).fixes) == 2
    assert not mark.exists()
