"""The examples in docs/patterns.md are true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from prtoggle.edits.kinds import PatternEdit
from prtoggle.edits.pattern import check
from tests.edits.pattern_helpers import edit

DOC = Path(__file__).parents[2] / "docs" / "patterns.md"
KEYS = ("find", "put", "before", "after")
EXAMPLES = re.findall(r"^```example\n(.*?)^```$", DOC.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def parts(text: str) -> dict[str, str]:
    """``key: rest of the line``, or ``key: |`` and indented lines."""
    found = {}
    for key, line, block in re.findall(r"^(\w+): (?:\|\n((?:  .*\n|\n)+)|(.*)\n)", text, re.MULTILINE):
        found[key] = re.sub(r"^  ", "", line, flags=re.MULTILINE) if line else block + "\n"
    assert tuple(found) == KEYS, found
    return found


def test_the_doc_has_examples() -> None:
    assert len(EXAMPLES) == DOC.read_text(encoding="utf-8").count("```example") >= 8


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_of_the_doc_is_true(text: str) -> None:
    example = parts(text)
    put = "" if example["put"].strip() == "''" else example["put"]
    assert check(PatternEdit(example["find"], put)) == ()
    assert edit(example["before"], example["find"], put) == example["after"]


def test_the_first_block_is_yaml_and_a_right_edit() -> None:
    [block] = re.findall(r"^```yaml\n(.*?)^```$", DOC.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    fields = yaml.safe_load(block)
    assert check(PatternEdit(**fields)) == ()
    assert edit("cache = cache[ :, : width ]  # cut\n", **fields) == ""


@pytest.mark.parametrize(
    "find, put",
    [
        ("f'{$X}'", ""),
        ("import a.$X", ""),
        ("a[$...X]", ""),
        ("$X", ""),
        ("f($...A, $...B)", ""),
        ("@$...D\ndef f(): pass", ""),
        ("with $...W:\n    pass", ""),
        ("if a:\n    $...B", "if b: $...B"),
    ],
)
def test_what_the_doc_says_cannot_be_written_is_refused(find: str, put: str) -> None:
    assert check(PatternEdit(find, put))
