"""``prtoggle prove --device cuda``: the scenarios that the CPU runs, on captured and replayed CUDA graphs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.conftest import Record

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("installed")]
SELECTING = ("PRTOGGLE_REVERT", "SGLANG_DEBUG_REVERT_PR")


FIXES = sorted(path.name[2:7] for path in (Path(__file__).parents[2] / "fixes").glob("pr*_*"))


@pytest.mark.parametrize("fix", FIXES)
def test_every_case_of_every_fix_is_proven_on_the_device(fix: str, evidence: Record) -> None:
    command = ["prtoggle", "prove", fix, "--device", "cuda", "--json", "--jobs", "3"]
    env = {name: value for name, value in os.environ.items() if name not in SELECTING}
    done = subprocess.run(
        [sys.executable, "-m", *command], env=env, capture_output=True, text=True, timeout=900, check=False
    )
    told = json.loads(done.stdout)
    for case in told["cases"]:
        evidence(
            f"{fix} {'fixed' if case['revert'] == 'none' else 'reverted ' + case['revert']}: {case['claim']}",
            verdict=case["verdict"],
            reason=case["reason"],
            in_force=case["in_force"],
            seconds=case["seconds"],
            seen=case["seen"],
        )
    assert {case["revert"]: case["verdict"] for case in told["cases"]} == dict.fromkeys(
        (case["revert"] for case in told["cases"]), "proven"
    )
    assert done.returncode == 0 and told["device"] == "cuda" and len(told["cases"]) >= 2
