"""Ranges of versions, against trying every version of a grid."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from prtoggle.versionrange import common, is_bounded_above, is_specifier

GRID = [f"{a}.{b}{end}" for a in range(3) for b in range(4) for end in ("", ".0.1", ".post0", ".post1", "rc1", ".1")]
BOUNDS = st.sampled_from([f"{a}.{b}{end}" for a in range(3) for b in range(4) for end in ("", ".post1", "rc1")])
CLAUSES = st.one_of(
    st.builds("{}{}".format, st.sampled_from([">=", "<=", ">", "<", "==", "!=", "~="]), BOUNDS),
    st.builds("{}{}.{}.*".format, st.sampled_from(["==", "!="]), st.integers(0, 2), st.integers(0, 3)),
    st.builds("{}{}.*".format, st.sampled_from(["==", "!="]), st.integers(0, 2)),
)
SPECIFIERS = st.lists(CLAUSES, max_size=3).map(",".join)


@given(SPECIFIERS, SPECIFIERS)
def test_a_common_version_is_found_where_the_grid_has_one(first: str, second: str) -> None:
    found = common(first, second)
    for text in (first, second):
        assert not found or SpecifierSet(text).contains(found, prereleases=True)
    both = SpecifierSet(first) & SpecifierSet(second)
    in_grid = [version for version in GRID if both.contains(version, prereleases=True)]
    assert found or not in_grid


@pytest.mark.parametrize(
    ("first", "second", "version"),
    [
        (">=0.5.13,<0.5.16", ">=0.5.15", "0.5.15"),
        ("<0.5.14", ">=0.5.14", ""),
        ("<=0.5.14", ">=0.5.14", "0.5.14"),
        ("==0.5.*", ">=0.6", ""),
        (">=2,<1", "", ""),
        ("!=0.5.*,>=0.5,<0.6", "", ""),
        ("~=0.5.13", "==0.6", ""),
        (">0.5.13", "<0.6", "0.5.14"),
    ],
)
def test_ranges_as_people_write_them(first: str, second: str, version: str) -> None:
    assert common(first, second) == version == common(second, first)


def test_everything_has_something_in_common() -> None:
    assert common("", "")


@pytest.mark.parametrize("text", ["<1", ">=0.5,<=1", "==1", "==1.*", "~=1.4", "===weird"])
def test_bounded_above(text: str) -> None:
    assert is_bounded_above(text)


@pytest.mark.parametrize("text", ["", ">=1", ">1", "!=1", ">=1,!=1.5.*"])
def test_not_bounded_above(text: str) -> None:
    assert not is_bounded_above(text)


def test_what_is_a_specifier() -> None:
    assert is_specifier(">=0.5.13, <0.6") and is_specifier("")
    assert not is_specifier("0.5.13") and not is_specifier(">>1") and not is_specifier(">=1 <2")
