"""A live toggle beside captured graphs: they keep what they were captured with, prtoggle says so, and the callback mends it."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

from tests.gpu.conftest import Record
from tests.gpu.harness import run_child

STALE, ZERO = [300, 301, 302, 303], [0, 0, 0, 0]


def as_told(seen: dict[str, Any]) -> bool:
    parts = ["24401/positions", "24401/mrope-positions"]
    assert seen["fixed"] == ZERO
    assert seen["captured before the revert"] == ZERO, "a captured graph's buffers keep their policy"
    assert seen["captured again, reverted"] == STALE
    assert seen["captured reverted, after the restore"] == STALE
    assert seen["captured again, fixed"] == ZERO
    assert any("cuda-graph" in warning for warning in seen["warnings"])
    assert [(sorted(each["reverted"]), sorted(each["restored"])) for each in seen["told"]] == [
        (sorted(parts), []),
        ([], sorted(parts)),
    ]
    assert all(list(each["baked_in"]) == ["cuda-graph"] for each in seen["told"])
    return True


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_on_the_cpu_what_was_built_before_a_live_revert_stays_fixed_until_it_is_built_again() -> None:
    assert as_told(run_child("child_live", "registry", "cpu"))


@pytest.mark.gpu
@pytest.mark.usefixtures("installed")
def test_captured_graphs_stay_as_captured_until_the_callback_captures_them_again(evidence: Record) -> None:
    seen = run_child("child_live", "registry", "cuda")
    evidence("24401, live: the padding of positions, for graphs captured before and after each toggle", **seen)
    assert seen["graphs"] == 1 and as_told(seen)
