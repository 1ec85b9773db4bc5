"""Real SGLang on a GPU, both states by the environment variable alone: its registry under a captured graph, its compiled
expand metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gpu.conftest import Record
from tests.sglang.harness import release, start_child
from tests.sglang.test_real_baseline import live_pages

pytestmark = [pytest.mark.gpu, pytest.mark.sglang, pytest.mark.usefixtures("installed")]
HERE = Path(__file__).parent
RELEASES = ("0.5.16", "0.5.23")
VARIABLE = "SGLANG_DEBUG_REVERT_PR"


def child(program: str, version: str, selection: str, cache: Path, *arguments: str, **how: Any) -> dict[str, Any]:
    env = {"PRTOGGLE_CACHE": str(cache), **({} if selection == "none" else {VARIABLE: selection})}
    done = start_child(
        str(HERE / program),
        release(version),
        env=env,
        path=(HERE.parent / "sglang",),
        arguments=arguments,
        timeout=400,
        **how,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert (" reverted in sglang " in done.stderr) == (selection != "none"), done.stderr[-2000:]
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**seen, "stderr": done.stderr}


def shown(seen: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in seen.items() if name not in ("stderr", "file")}


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize(
    ("selection", "positions", "mrope"),
    [
        ("none", "zero", "zero"),
        ("24401", "stale", "stale"),
        ("24401/positions", "stale", "zero"),
        ("24401/mrope-positions", "zero", "stale"),
    ],
)
def test_24401_what_a_captured_graph_reads_in_the_padding_of_the_real_registry(
    version: str, selection: str, positions: str, mrope: str, tmp_path: Path, evidence: Record
) -> None:
    seen = child("child_real_registry.py", version, selection, tmp_path, "cuda", "1000")
    evidence(f"SGLang {version}, {selection}: the padding as captured graphs read it", **shown(seen))
    assert seen["graphs_captured"] == 3 and seen["padded_replays"] > 300
    assert {(size["positions"], size["mrope_positions"]) for size in seen["sizes"]} == {(positions, mrope)}
    for name, expected in (("positions", positions), ("mrope_positions", mrope)):
        stale = seen[f"replays_with_stale_{name}"]
        assert stale == 0 if expected == "zero" else stale > 0.9 * seen["padded_replays"]
    assert seen["replays_with_wrong_real_rows"] == 0


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("selection", ["none", "27360", "27360/assert"])
def test_27360_the_real_compiled_metadata_on_cuda_tensors(
    version: str, selection: str, tmp_path: Path, evidence: Record
) -> None:
    seen = child("child_real_expand.py", version, selection, tmp_path, "walk", "cuda", "--compile")
    *walks, few_pages = seen["cases"]
    told = [
        {
            "page_size": case["page_size"],
            "step": case["step"],
            "error": case.get("error", ""),
            "right": case["page_table"] == live_pages(case, case["step"] + 1),
        }
        for case in walks
    ]
    evidence(
        f"SGLang {version}, {selection}: page tables of all steps, compiled on CUDA",
        cases=told,
        few_pages=few_pages.get("message", "") or few_pages["page_table"],
        compiled_graphs=seen["compiled_graphs"],
    )
    assert (seen["compiled_graphs"] > 0) == (selection != "27360" or any(not case["error"] for case in told[4:]))
    for case, found in zip(walks, told, strict=True):
        narrow = case["page_size"] == 2 and case["step"] < 3
        if selection == "27360" and narrow:
            assert found["error"] == "AssertionError"
            assert case["page_table"] == [[-7] * (case["step"] + 2)] * 6, "nothing was written"
        elif selection == "27360" and case["page_size"] == 2:
            assert found["error"] == "", "as many pages as columns: no check can notice"
        else:
            assert found["right"]
    if selection == "27360":
        assert few_pages["error"] == "AssertionError"
    else:
        assert few_pages["page_table"] == live_pages(few_pages, few_pages["step"] + 1)


@pytest.mark.parametrize("version", RELEASES)
def test_27360_slice_and_assert_end_in_a_device_side_error_in_the_real_compiled_scatter(
    version: str, tmp_path: Path, evidence: Record
) -> None:
    fixed = child("child_real_expand.py", version, "none", tmp_path, "overflow", "cuda", "--compile")
    seen = child("child_real_expand.py", version, "27360/slice+assert", tmp_path, "overflow", "cuda", "--compile")
    (case,) = fixed["cases"]
    message = seen.get("message", "") or seen["cases"][0].get("message", "")
    evidence(
        f"SGLang {version}: five pages for a row of two columns, the real compiled scatter",
        fixed=case["page_table"],
        reverted=message,
        compiled_graphs=seen["compiled_graphs"],
    )
    assert case["page_table"] == live_pages(case, 1) and fixed["compiled_graphs"] > 0
    assert "device-side assert" in message
    assert "out of bounds" in seen["stderr"]
