"""Which versions are proposed, of what was seen."""

from __future__ import annotations

import pytest

from prtoggle.authoring.ranges import proposed
from prtoggle.authoring.trying import Seen
from prtoggle.verdict import Verdict

WORDS = {"+": Verdict.APPLIES, "-": Verdict.NOT_SEEN, "?": Verdict.ROT, "h": Verdict.HALF}


def seen(text: str) -> list[Seen]:
    """``1.2- 1.3+ 1.4+-`` : a release, and what its parts meet."""
    found = []
    for each in text.split():
        version = each.rstrip("+-?h")
        for number, sign in enumerate(each[len(version) :]):
            found.append(Seen(f"engine {version}", version, f"p{number}", WORDS[sign].value, True, ""))
    return found


@pytest.mark.parametrize(
    ("text", "contains", "versions"),
    [
        ("1.3+", ">=1.3", ""),
        ("1.2- 1.3+ 1.4+", ">=1.3", ""),
        ("1.2? 1.3+", ">=1.3", ""),
        ("1.3+ 1.4?", ">=1.3", ">=1.3,<1.4"),
        ("1.2- 1.3+ 1.4? 1.5?", ">=1.3", ">=1.2,<1.4"),
        ("1.3+ 1.4? 1.5+ 1.10?", ">=1.3", ">=1.3,!=1.4,<1.10"),
        ("1.3++ 1.4+-", "", ""),
        ("1.3+ 1.4-", "", ""),
        ("1.2?", "", ""),
        ("", "", ""),
    ],
)
def test_ranges_are_those_that_were_seen(text: str, contains: str, versions: str) -> None:
    found = proposed("engine", seen(text))
    assert (found.contains, found.versions) == (contains, versions)


def test_it_says_what_was_looked_at() -> None:
    assert proposed("engine", seen("1.2- 1.3+ 1.4+")).seen == "Looked at engine 1.3, 1.4: with it; 1.2: without it."
    assert "Nothing below 1.3 was looked at" in proposed("engine", seen("1.3+")).seen


def test_a_version_that_is_not_believed_says_nothing() -> None:
    assert proposed("engine", [Seen("engine at commit 1", "", "fix", "applies", True, "")]).contains == ""
