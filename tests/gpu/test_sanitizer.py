"""compute-sanitizer's memcheck on fix 27360: the write out of bounds, also where nothing else sees it."""

from __future__ import annotations

import re

import pytest

from tests.gpu.conftest import Record
from tests.gpu.harness import Ended, sanitizer, start

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("installed")]
# Every tensor an allocation of its own, so that its end is an end; torch compiles in the process that is watched.
ENV = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}


def memcheck(scatter: str, state: str) -> Ended:
    before = [sanitizer(), "--tool", "memcheck", "--target-processes", "application-only", "--print-limit", "20"]
    return start("child_27360", "alone", "cuda", scatter, reverted=state, env=ENV, before=before, timeout=500)


def summary(text: str) -> dict[str, object]:
    """What memcheck said: how many errors, and of which kinds."""
    found = re.search(r"ERROR SUMMARY: (\d+) error", text)
    kinds = re.findall(r"Invalid (__\w+__ \w+ of size \d+ bytes)", text)
    where = re.findall(r"========= +at (?:void )?([\w:~]+)", text)
    return {
        "errors": int(found.group(1)) if found else None,
        "kinds": sorted(set(kinds)),
        "kernels": sorted(set(where)),
    }


@pytest.mark.parametrize("scatter", ["triton", "compiled"])
def test_memcheck_reports_the_write_when_reverted_and_nothing_when_fixed(scatter: str, evidence: Record) -> None:
    without = start("child_27360", "alone", "cuda", scatter, reverted="27360/slice+assert")
    fixed, ended = memcheck(scatter, "none"), memcheck(scatter, "27360/slice+assert")
    clean, seen = summary(fixed.stdout + fixed.stderr), summary(ended.stdout + ended.stderr)
    evidence(
        f"27360/slice+assert, {scatter}{' without index checks' if scatter == 'compiled' else ''}: memcheck",
        fixed=clean,
        reverted=seen,
        reverted_without_memcheck=without.seen,
    )
    assert without.seen is not None and without.seen["error"] == "", "without the sanitizer nothing is noticed"
    assert clean["errors"] == 0
    assert isinstance(seen["errors"], int) and seen["errors"] > 0
    assert any("write" in kind for kind in seen["kinds"])  # type: ignore[attr-defined]
