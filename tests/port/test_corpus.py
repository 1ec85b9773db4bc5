"""A small fixed sample of what `python -m benchmarks.port` measures: nothing is wrong, and enough is right."""

from __future__ import annotations

import shutil

import pytest

from benchmarks.port import miss, sampled
from benchmarks.port_case import Case, Outcome, judge
from benchmarks.port_changes import change_cases
from benchmarks.port_synthetic import synthetic_cases
from benchmarks.port_toggles import toggle_pairs
from benchmarks.port_trees import Release, releases
from prtoggle.errors import InconclusiveError

pytestmark = pytest.mark.sglang

RELEASES = "sglang>=0.5.13,<=0.5.21"


@pytest.fixture(scope="module")
def trees() -> tuple[Release, ...]:
    try:
        return releases(RELEASES)
    except InconclusiveError as error:
        pytest.skip(f"releases of SGLang cannot be had: {error}")


def outcomes(cases: list[Case]) -> list[Outcome]:
    found = [judge(case) for case in cases]
    wrong = [miss(outcome, diffs=True) for outcome in found if outcome.bad]
    assert not wrong, "\n\n".join(wrong)
    return found


def right(found: list[Outcome]) -> int:
    return sum(outcome.verdict in ("right", "same meaning") for outcome in found)


def test_toggles_of_sglang_are_ported_rightly_or_refused(trees):
    pairs = toggle_pairs(trees)
    assert len(pairs) == 462 and sum(pair.stands for pair in pairs) == 330
    cases = sampled([pair.case for pair in pairs if pair.case is not None], 6)
    found = outcomes(cases)
    assert right(found) >= TOGGLES_RIGHT


def test_small_reverts_are_carried_over_mechanical_drifts_or_refused(trees):
    cases = synthetic_cases(trees[:4], 41)
    found = outcomes(cases)
    hopeless = [outcome for outcome in found if not outcome.case.expected]
    assert len(hopeless) >= 4
    assert right(found) >= DRIFTS_RIGHT


@pytest.mark.skipif(not shutil.which("git"), reason="git says what is right")
def test_real_changes_are_taken_back_in_later_releases_as_git_merges_them(trees):
    found = outcomes(change_cases(trees[:4], 24))
    known = [outcome for outcome in found if outcome.case.expected]
    assert len(known) >= 8
    assert right(found) >= CHANGES_RIGHT


TOGGLES_RIGHT, DRIFTS_RIGHT, CHANGES_RIGHT = 5, 28, 10
"""What the sample had when it was last looked at (6 of 6, 32 of 41, 12 of 24), less a little."""
