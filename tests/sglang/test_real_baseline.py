"""What is true of the real modules without prtoggle: as released, and reverted by hand.

The children and the stand-ins are trusted in the other tests of this folder because they tell the two apart here.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.sglang.harness import release, reverted, run_child, unavailable

RELEASES = ("0.5.13.post1", "0.5.14", "0.5.16", "0.5.19", "0.5.23")
WITHOUT_24401 = ("0.5.13.post1",)
CHECKED = ("0.5.19", "0.5.23")  # releases whose registry checks its ZERO slots against a list
HEAD = 4  # live tokens of the smaller batch


def registry(root: Path) -> dict[str, Any]:
    return run_child("child_registry.py", root)


def draft_expand(root: Path, *arguments: str) -> list[dict[str, Any]]:
    if "--compile" in arguments and not any(map(shutil.which, ("g++", "c++", "clang++"))):
        unavailable("no C++ compiler for torch.compile")
    cases: list[dict[str, Any]] = run_child("child_draft_expand.py", root, arguments=arguments)["cases"]
    return cases


def tail(slot: dict[str, Any], when: str) -> list[Any]:
    rows = slot[when] if isinstance(slot[when][0], list) else [slot[when]]
    return [row[HEAD:] for row in rows]


def is_stale(slot: dict[str, Any]) -> bool:
    """Whether the padded tail holds the last batch's values; zeros are the only other answer."""
    stale, zero = tail(slot, "full"), [[0] * len(row) for row in tail(slot, "full")]
    assert tail(slot, "padded") in (stale, zero)
    return tail(slot, "padded") == stale


def live_pages(case: dict[str, Any], columns: int) -> list[list[int]]:
    """The distinct pages of each branch's first ``columns`` slots, by a plain loop; the rest untouched."""
    rows = []
    for slots in case["slots"]:
        pages: list[int] = []
        for slot in slots[:columns]:
            page = slot // case["page_size"]
            if case["page_size"] == 1 or not pages or pages[-1] != page:
                pages.append(page)
        rows.append(pages + [-7] * (case["step"] + 2 - len(pages)))
    return rows


@pytest.mark.parametrize("version", RELEASES)
def test_the_tail_of_positions_is_stale_before_the_fix_and_zero_after(version: str) -> None:
    slots = registry(release(version))["slots"]
    for name in ("positions", "mrope_positions"):
        assert is_stale(slots[name]) == (version in WITHOUT_24401)
    assert is_stale(slots["input_ids"]) and not is_stale(slots["out_cache_loc"])
    assert slots["seq_lens"]["padded"][2:] == [1, 1]
    assert [row[:HEAD] for row in slots["mrope_positions"]["padded"]] == [
        [350, 351, 352, 353],
        [450, 451, 452, 453],
        [550, 551, 552, 553],
    ]


@pytest.mark.parametrize("version", ["0.5.14", "0.5.23"])
@pytest.mark.parametrize("part", ["positions", "mrope-positions"])
def test_each_part_of_24401_taken_out_by_hand_leaves_its_own_tail_stale(
    version: str, part: str, tmp_path: Path
) -> None:
    slots = registry(reverted(release(version), (f"24401/{part}",), tmp_path))["slots"]
    assert is_stale(slots["positions"]) == (part == "positions")
    assert is_stale(slots["mrope_positions"]) == (part == "mrope-positions")


@pytest.mark.parametrize("version", ["0.5.16", *CHECKED])
def test_from_0_5_18_on_the_registry_notices_when_the_policy_alone_is_taken_out(version: str, tmp_path: Path) -> None:
    seen = registry(reverted(release(version), ("24401/positions, policy alone",), tmp_path))
    assert (seen.get("error") == "AssertionError") == (version in CHECKED)
    assert ("INDEX_SEMANTIC_BUFFERS" in seen.get("message", "")) == (version in CHECKED)


@pytest.mark.parametrize("version", RELEASES)
def test_released_draft_expand_metadata_holds_the_live_pages_and_nothing_more(version: str) -> None:
    cases = draft_expand(release(version))
    assert {(case["page_size"], case["step"]) for case in cases} == {(p, s) for p in (1, 2) for s in range(4)}
    for case in cases:
        assert "error" not in case and case["bound"]
        assert case["page_table"] == live_pages(case, case["step"] + 1)
        if case["page_size"] == 2:
            assert case["prefix_seqlens"] == [8, 14]
            assert case["cache_seqlens"] == [case["step"] + 1 + rest for rest in (1, 1, 1, 0, 0, 0)]


@pytest.mark.parametrize("version", ["0.5.14", "0.5.23"])
def test_without_the_slice_the_size_check_fires_wherever_the_table_is_too_narrow(version: str, tmp_path: Path) -> None:
    for case in draft_expand(reverted(release(version), ("27360/slice",), tmp_path)):
        narrow = case["page_size"] == 2 and case["step"] < 3
        assert (case.get("error") == "AssertionError") == narrow
        assert ("draft expand page_table" in case.get("message", "")) == narrow


@pytest.mark.parametrize("arguments", [(), pytest.param(("--compile",), id="compiled")])
@pytest.mark.parametrize("version", ["0.5.14", "0.5.23"])
def test_without_slice_and_check_too_many_pages_are_scattered(
    version: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    cases = draft_expand(reverted(release(version), ("27360/slice", "27360/assert"), tmp_path), *arguments)
    *walks, silent = [case for case in cases if case["page_size"] == 2]
    for case in walks:
        assert (case.get("error") == "RuntimeError") == (case["step"] < 3), "on the CPU the scatter is bounds-checked"
        assert ("out of bounds" in case.get("message", "")) == (case["step"] < 3)
    assert "error" not in silent
    assert silent["page_table"] == live_pages(silent, 5) != live_pages(silent, silent["step"] + 1)


def test_compiled_metadata_is_that_of_the_plain_function() -> None:
    plain, compiled = (draft_expand(release("0.5.23"), *words) for words in ((), ("--compile",)))
    assert compiled == plain


@pytest.mark.parametrize("version", ["0.5.13.post1", "0.5.23"])
class TestTheToggleThatSGLangShips:
    def toggled(self, version: str, value: str) -> dict[str, Any]:
        return run_child("child_toggle.py", release(version), arguments=(value,))

    def test_takes_the_slice_out_once_and_cannot_be_called_again(self, version: str) -> None:
        seen = self.toggled(version, "27360")
        first, second = seen["toggle"]
        assert first["returned"] and not second["returned"]
        assert seen["slices"] == 0
        assert sum(case.get("error") == "AssertionError" for case in seen["cases"]) == 4

    def test_raises_for_a_number_that_it_does_not_know(self, version: str) -> None:
        seen = self.toggled(version, "24401")
        assert [call.get("error") for call in seen["toggle"]] == ["NotImplementedError"] * 2
        assert seen["slices"] == 1

    def test_ignores_a_list_with_a_warning(self, version: str) -> None:
        seen = self.toggled(version, "27360,24401")
        assert all(call["returned"] and "not a valid integer" in call["warnings"][0] for call in seen["toggle"])
        assert seen["slices"] == 1


def test_a_copy_reverted_by_hand_leaves_the_release_alone(tmp_path: Path) -> None:
    original = release("0.5.23")
    before = {path: path.stat().st_mtime_ns for path in original.rglob("*.py")}
    copy = reverted(original, ("24401/positions", "27360/slice"), tmp_path)
    assert {path: path.stat().st_mtime_ns for path in original.rglob("*.py")} == before
    changed = {
        str(path.relative_to(copy))
        for path in copy.rglob("*.py")
        if not path.is_symlink() and path.is_relative_to(copy)
    }
    assert {Path(name).name for name in changed} == {
        "cuda_graph_buffer_registry.py",
        "flashattention_backend.py",
        "input_buffers.py",
    }
