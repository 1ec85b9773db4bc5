"""``prtoggle bisect`` on GPUs: the fix behind a CUDA error is found, and trials of one time have devices of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.gpu.conftest import Record
from tests.gpu.harness import CLEARED, ROOT

AMONG = "10892/all,24401/positions,24401/mrope-positions,26972"


def bisect(folder: Path, device: str, *options: str) -> dict[str, Any]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(CLEARED)}
    command = [sys.executable, "-m", "prtoggle", "bisect", "--among", AMONG, "--json", "--timeout", "200"]
    command += ["--log", str(folder / "bisect.jsonl"), *options, "--", sys.executable]
    done = subprocess.run(
        [*command, "-m", "tests.gpu.child_bisected", device],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_the_part_that_stale_positions_come_from_is_found(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    told = bisect(tmp_path, "cpu")
    assert [culprit["parts"] for culprit in told["culprits"]] == [["24401/positions"]]
    assert told["aside"] == []


@pytest.mark.gpu
@pytest.mark.usefixtures("installed")
def test_the_part_behind_a_cuda_error_is_found_and_each_trial_has_its_own_devices(
    tmp_path: Path, evidence: Record
) -> None:
    import torch

    count = torch.cuda.device_count()
    told = bisect(tmp_path, "cuda", "--match", "CUDA error", "--jobs", str(count))
    trials = [
        {
            "reverted": trial["reverted"],
            "kind": trial["kind"],
            "gpus": trial["gpus"],
            "device": Path(trial["folder"], "stdout").read_text().split()[1:3],
        }
        for trial in told["trials"]
    ]
    found = [culprit["parts"] for culprit in told["culprits"]]
    evidence("bisect: which part a CUDA error comes from", culprits=found, trials=trials, devices=count)
    assert found == [["24401/positions"]]
    # A trial that was given a GPU saw that one alone, and never two trials' GPUs are one device.
    given = {(tuple(trial["gpus"]), trial["device"][0]) for trial in trials if trial["gpus"]}
    assert len({device for _, device in given}) == len(given) == (count if count > 1 else 0)
    assert {trial["device"][1] for trial in trials} == {"1"}
