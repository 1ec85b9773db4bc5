"""Real SGLang, reverted by the environment variable alone: the real modules run, and behave as a copy reverted by hand does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sglang.harness import release, reverted, run_child, start_child
from tests.sglang.test_real_baseline import is_stale, live_pages

pytestmark = pytest.mark.sglang

RELEASES = ("0.5.14", "0.5.16", "0.5.19", "0.5.23")
VARIABLE = "SGLANG_DEBUG_REVERT_PR"


@pytest.fixture
def cache(tmp_path: Path) -> str:
    return str(tmp_path / "cache")


def observed(
    program: str, root: Path, selection: str | None, cache: str, *, variable: str = VARIABLE, **how: Any
) -> dict[str, Any]:
    env = {"PRTOGGLE_CACHE": cache, **({variable: selection} if selection is not None else {})}
    return run_child(program, root, env=env, **how)


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two children saw the same; where the files lie and how long it took differs between any two runs."""
    aside = ("file", "stderr", "seconds")
    return {k: v for k, v in one.items() if k not in aside} == {k: v for k, v in other.items() if k not in aside}


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize(
    ("selection", "positions", "mrope"),
    [
        ("24401", True, True),
        ("24401/positions", True, False),
        ("24401/mrope-positions", False, True),
        ("none", False, False),
        (None, False, False),
    ],
)
def test_24401_the_real_registry_keeps_the_stale_tail_of_the_parts_taken_out(
    version: str, selection: str | None, positions: bool, mrope: bool, cache: str
) -> None:
    slots = observed(
        "child_registry.py",
        release(version),
        selection,
        cache,
        variable="PRTOGGLE_REVERT" if selection == "none" else VARIABLE,
    )["slots"]
    assert (is_stale(slots["positions"]), is_stale(slots["mrope_positions"])) == (positions, mrope)
    assert is_stale(slots["input_ids"]) and not is_stale(slots["out_cache_loc"])


@pytest.mark.parametrize("version", RELEASES)
def test_24401_is_what_a_copy_reverted_by_hand_is(version: str, cache: str, tmp_path: Path) -> None:
    hand = run_child(
        "child_registry.py", reverted(release(version), ("24401/positions", "24401/mrope-positions"), tmp_path)
    )
    assert same(observed("child_registry.py", release(version), "24401", cache), hand)


def test_24401_the_release_before_the_fix_behaves_as_reverted_and_refuses_the_variable(cache: str) -> None:
    before = release("0.5.13.post1")
    slots = observed("child_registry.py", before, None, cache)["slots"]
    assert is_stale(slots["positions"]) and is_stale(slots["mrope_positions"])
    refused = start_child("child_registry.py", before, env={VARIABLE: "24401", "PRTOGGLE_CACHE": cache})
    assert refused.returncode != 0 or "RevertRefusedError" in refused.stdout
    assert "not in this release (seen)" in refused.stderr + refused.stdout


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("selection", ["27360", "27360/slice", "27360/assert", "27360/slice+assert"])
def test_27360_the_real_metadata_builder_in_both_states_and_both_parts(
    version: str, selection: str, cache: str
) -> None:
    parts = selection.partition("/")[2].split("+") if "/" in selection else ["slice"]
    *walks, silent = observed("child_draft_expand.py", release(version), selection, cache)["cases"]
    for case in walks:
        narrow = case["page_size"] == 2 and case["step"] < 3
        if "slice" not in parts or case["page_size"] == 1:
            assert case["page_table"] == live_pages(case, case["step"] + 1)
        elif "assert" not in parts:
            assert (case.get("error") == "AssertionError") == narrow
        else:
            assert (case.get("error") == "RuntimeError") == narrow
            assert ("out of bounds" in case.get("message", "")) == narrow
    # The last case has few distinct pages: they fit into the row, and only the check can notice.
    if parts == ["assert"]:
        assert silent["page_table"] == live_pages(silent, silent["step"] + 1)
    elif "assert" not in parts:
        assert silent["error"] == "AssertionError"
    else:
        assert silent["page_table"] == live_pages(silent, 5) != live_pages(silent, silent["step"] + 1)


@pytest.mark.parametrize("version", RELEASES)
def test_27360_fixed_with_prtoggle_installed_and_nothing_selected(version: str, cache: str) -> None:
    for case in observed("child_draft_expand.py", release(version), None, cache)["cases"]:
        assert case["page_table"] == live_pages(case, case["step"] + 1)


@pytest.mark.parametrize("version", ["0.5.14", "0.5.23"])
def test_27360_slice_and_assert_are_what_a_copy_reverted_by_hand_is(version: str, cache: str, tmp_path: Path) -> None:
    hand = run_child("child_draft_expand.py", reverted(release(version), ("27360/slice", "27360/assert"), tmp_path))
    assert same(observed("child_draft_expand.py", release(version), "27360/slice+assert", cache), hand)


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("selection", ["27360", "24401,27360", "24401"])
def test_sglangs_own_toggle_neither_raises_nor_applies_twice(version: str, selection: str, cache: str) -> None:
    seen = observed("child_toggle.py", release(version), selection, cache)
    assert [(call["returned"], call["warnings"]) for call in seen["toggle"]] == [(True, [])] * 2
    assert seen["slices"] == (0 if "27360" in selection else 1), "what runs is what you see"
    fired = sum(case.get("error") == "AssertionError" for case in seen["cases"])
    assert (fired > 0) == ("27360" in selection)
    assert seen["stderr"].count("stands down") == 1


def test_sglangs_own_toggle_raises_where_the_variable_changed_since_boot(cache: str) -> None:
    code = (
        "import os, runpy, sys\nos.environ['SGLANG_DEBUG_REVERT_PR'] = '24401'\n"
        "sys.argv = sys.argv[1:]\nsys.path.insert(0, os.path.dirname(sys.argv[0]))\nrunpy.run_path(sys.argv[0], run_name='__main__')"
    )
    import subprocess
    import sys

    from tests.sglang.harness import HERE, child_environment

    done = subprocess.run(
        [sys.executable, "-c", code, str(HERE / "child_toggle.py")],
        env=child_environment(
            (release("0.5.23"),), {VARIABLE: "27360", "PRTOGGLE_CACHE": cache, "TORCHDYNAMO_DISABLE": "1"}
        ),
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert "RuntimeError" in done.stdout and "when this process started" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("version", ["0.5.16", "0.5.23"])
def test_the_release_on_disk_stays_byte_for_byte(version: str, cache: str) -> None:
    root = release(version)
    folders = [root / "sglang/srt/model_executor", root / "sglang/srt/layers/attention"]
    observed("child_registry.py", root, None, cache)
    before = {path: path.read_bytes() for folder in folders for path in folder.rglob("*.py*")}
    observed("child_registry.py", root, "24401", cache)
    observed("child_draft_expand.py", root, "27360", cache)
    after = {path: path.read_bytes() for path in before}
    assert after == before
