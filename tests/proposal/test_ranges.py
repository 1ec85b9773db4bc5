"""Which versions the new variant is for, and what is left to the old one."""

from __future__ import annotations

import pytest

from prtoggle.proposal.ranges import Ranges, split, widened
from prtoggle.versionrange import common


@pytest.mark.parametrize(
    ("old", "version", "works", "others", "new", "left"),
    [
        (">=1.0", "1.4", ["1.0", "1.3"], [], ">=1.4", ">=1.0,<1.4"),
        ("", "1.4", ["1.0"], [], ">=1.4", "<1.4"),
        (">=1.0,<2", "1.4", ["1.0"], [">=2"], ">=1.4,<2", ">=1.0,<1.4"),
        (">=1.0,!=1.2", "1.4", ["1.0"], [], ">=1.4", ">=1.0,!=1.2,<1.4"),
        (">=1.0", "1.4", ["1.0", "1.5"], [], "==1.4", ">=1.0,!=1.4"),  # works on both sides
        (">=1.0", "1.0", ["1.5"], [], "==1.0", ">=1.0,!=1.0"),
        (">=1.0,<1.4", "1.4", ["1.3"], [], ">=1.4", None),
        (">=1.0,<1.4", "1.5", ["1.3"], [">=1.8"], ">=1.5,<1.8", None),
        (">=1.4", "1.2", ["1.4"], [], ">=1.2,<1.4", None),
        (">=1.4", "1.2", ["1.4"], ["==1.3.*"], "==1.2", None),
    ],
)
def test_the_new_variant_gets_what_nobody_has(
    old: str, version: str, works: list[str], others: list[str], new: str, left: str | None
) -> None:
    ranges = split(old, version, works=works, others=others)
    assert ranges == Ranges(new, left)
    assert not any(common(ranges.new, each) for each in [old if left is None else left, *others])


@pytest.mark.parametrize(
    ("old", "version", "others", "new"),
    [
        (">=1.0,<1.4", "1.6", [], ">=1.0"),
        (">=1.0,<1.4", "1.6", [">=2"], ">=1.0,<2"),
        (">=1.0,<1.4", "1.6", [">=1.4,<1.5"], None),
        (">=1.4", "1.2", [], ">=1.2"),
        (">=1.4,<2", "1.2", ["<1.1"], ">=1.2,<2"),
        ("==1.4", "1.5", [], None),
    ],
)
def test_a_variant_is_widened_up_to_the_next_one(old: str, version: str, others: list[str], new: str | None) -> None:
    assert widened(old, version, others=others) == new
