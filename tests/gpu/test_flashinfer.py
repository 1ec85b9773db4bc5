"""Real flashinfer on a GPU, fed from the real registry: what its verify plan reads, and what reads positions.

What is reproduced of 24401's report and what is not is written in docs/evidence.md; these are its figures.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.gpu.conftest import Record
from tests.gpu.harness import sanitizer
from tests.gpu.test_sanitizer import summary
from tests.sglang.harness import child_environment, release

pytestmark = [pytest.mark.gpu, pytest.mark.sglang, pytest.mark.usefixtures("installed")]
HERE = Path(__file__).parent
FIXED, BEFORE = "0.5.16", "0.5.13.post1"


def child(what: str, version: str, selection: str, cache: Path, *, memcheck: bool = False) -> dict[str, Any]:
    """What the program saw; with ``memcheck``, under it, and what it said."""
    import subprocess
    import sys

    if find_spec("flashinfer") is None:
        pytest.skip("flashinfer is not installed (pip install flashinfer-python)")
    before = (
        [sanitizer(), "--tool", "memcheck", "--target-processes", "application-only", "--print-limit", "20"]
        if memcheck
        else []
    )
    settings = {
        "PRTOGGLE_CACHE": str(cache),
        **({} if selection == "none" else {"SGLANG_DEBUG_REVERT_PR": selection}),
        **({"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"} if memcheck else {}),
    }
    done = subprocess.run(
        [*before, sys.executable, str(HERE / "child_flashinfer.py"), what],
        env=child_environment((release(version), HERE.parent / "sglang"), settings),
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, done.stdout[-1500:] + done.stderr[-4000:]
    assert (" reverted in sglang " in done.stderr) == (selection != "none"), done.stderr[-2000:]
    seen: dict[str, Any] = json.loads(lines[-1])
    return {**seen, **({"memcheck": summary(done.stdout + done.stderr)} if memcheck else {})}


def test_the_verify_plan_is_given_the_same_in_both_states_and_the_real_rows_come_out_the_same(
    tmp_path: Path, evidence: Record
) -> None:
    fixed = child("verify", FIXED, "none", tmp_path)
    seen = child("verify", FIXED, "24401", tmp_path)
    evidence(
        f"flashinfer's verify plan fed from SGLang {FIXED}'s registry: positions are not among what it is given",
        fixed=fixed,
        reverted=seen,
    )
    assert fixed["error"] == seen["error"] == "", "24401's symptom is not reproduced through this path"
    assert not any(fixed["positions_tail"]) and any(seen["positions_tail"])
    assert fixed["plan_given"] == seen["plan_given"]
    assert fixed["real_rows"] == seen["real_rows"] and fixed["real_rows_finite"]
    # What does read positions in the padding is the rotary embedding, in the graph.
    assert not fixed["padded_rows_rotated"] and seen["padded_rows_rotated"]


def test_the_rotary_kernel_reads_outside_of_a_table_that_is_shorter_than_a_stale_position(
    tmp_path: Path, evidence: Record
) -> None:
    fixed = child("rope", FIXED, "none", tmp_path, memcheck=True)
    seen = child("rope", FIXED, "24401", tmp_path, memcheck=True)
    evidence(
        "flashinfer's rotary kernel on the padded batch, its table shorter than the last replay's positions: memcheck",
        fixed=fixed,
        reverted=seen,
        reverted_without_memcheck=child("rope", FIXED, "24401", tmp_path),
    )
    assert fixed["memcheck"]["errors"] == 0 and fixed["furthest"] < fixed["rows"]
    assert seen["memcheck"]["errors"] > 0
    assert any("read" in kind for kind in seen["memcheck"]["kinds"])


def test_before_0_5_14_the_plan_reads_past_a_mask_that_is_not_padded(tmp_path: Path, evidence: Record) -> None:
    """A change of its own, not part of 24401: it came in the same release, and the plan does read this."""
    before = child("mask", BEFORE, "none", tmp_path, memcheck=True)
    after = child("mask", FIXED, "24401", tmp_path, memcheck=True)
    evidence(
        f"the custom mask of a padded batch in flashinfer's plan, memcheck: SGLang {BEFORE} as released, and {FIXED} "
        "with 24401 reverted",
        before=before,
        after=after,
    )
    assert before["plan_given"]["mask_numel"] < before["plan_given"]["mask_numel_wanted"]
    assert before["memcheck"]["errors"] > 0
    assert after["plan_given"]["mask_numel"] == after["plan_given"]["mask_numel_wanted"]
    assert after["memcheck"]["errors"] == 0


def test_a_mask_that_ends_where_its_memory_does_is_tried_without_memcheck(tmp_path: Path, evidence: Record) -> None:
    seen = child("mask-edge", FIXED, "none", tmp_path)
    evidence("packing a mask that fills its memory as if it were longer, without memcheck: the error, if any", **seen)
    assert seen["error"] == "" or "illegal memory access" in seen["message"]
