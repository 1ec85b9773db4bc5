"""Which files hold fixes, in the order of their sources."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from prtoggle.runtime.sources import BadSource, FixFile, bundled_folder, find, fix_files, folder_number, read


def fixes(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "revert.yaml").write_text("")
    return folder


def others(files: tuple[FixFile, ...]) -> list[FixFile]:
    return [file for file in files if file.kind != "bundled"]


def test_sources_come_in_order_and_folders_in_each_by_name(tmp_path: Path) -> None:
    one, two, three = (fixes(tmp_path / name, "pr2_b", "pr1_a") for name in ("one", "two", "three"))
    info = tmp_path / "site" / "d-1.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text("[prtoggle.fixes]\na = theirs\n")
    fixes(tmp_path / "site" / "theirs", "pr9_z")
    environ = {"PRTOGGLE_PATH": f"{two}{os.pathsep}{os.pathsep} {os.pathsep}{three}"}
    files = fix_files(dirs=[one], environ=environ, sys_path=[str(tmp_path / "site")])
    assert others(files) == [
        FixFile("dir", str(one), str(one / "pr1_a" / "revert.yaml")),
        FixFile("dir", str(one), str(one / "pr2_b" / "revert.yaml")),
        FixFile("path", str(two), str(two / "pr1_a" / "revert.yaml")),
        FixFile("path", str(two), str(two / "pr2_b" / "revert.yaml")),
        FixFile("path", str(three), str(three / "pr1_a" / "revert.yaml")),
        FixFile("path", str(three), str(three / "pr2_b" / "revert.yaml")),
        FixFile("entry-point", "d", str(tmp_path / "site" / "theirs" / "pr9_z" / "revert.yaml")),
    ]
    kinds = [file.kind for file in files]
    assert kinds == sorted(kinds, key=["dir", "path", "bundled", "entry-point"].index)


def test_the_bundled_folder_is_found_by_path() -> None:
    numbers = {file.number for file in fix_files(environ={}, sys_path=[]) if file.kind == "bundled"}
    assert numbers >= {"24401"}
    assert all(file.path.startswith(bundled_folder()) for file in fix_files(environ={}, sys_path=[]))


def test_a_fix_folder_may_be_named_itself(tmp_path: Path) -> None:
    fixes(tmp_path, "pr7_x")
    files = others(fix_files(dirs=[tmp_path / "pr7_x"], environ={}, sys_path=[]))
    assert [file.path for file in files] == [str(tmp_path / "pr7_x" / "revert.yaml")]
    assert [file.number for file in files] == ["7"]


def test_a_folder_that_two_sources_share_counts_for_the_first(tmp_path: Path) -> None:
    fixes(tmp_path / "real", "pr7_x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    environ = {"PRTOGGLE_PATH": str(tmp_path / "real")}
    files = others(fix_files(dirs=[tmp_path / "link"], environ=environ, sys_path=[]))
    assert [file.kind for file in files] == ["dir"]
    again = fix_files(dirs=[bundled_folder()], environ={}, sys_path=[])
    assert {file.kind for file in again} == {"dir"}


def test_relative_folders_are_taken_from_the_current_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fixes(tmp_path / "mine", "pr7_x")
    monkeypatch.chdir(tmp_path)
    files = others(fix_files(dirs=["mine"], environ={}, sys_path=[]))
    assert [file.where for file in files] == [str(tmp_path / "mine")]


def test_folders_without_a_reverse_patch_and_loose_files_are_passed_over(tmp_path: Path) -> None:
    fixes(tmp_path, "pr7_x")
    (tmp_path / "pr8_empty").mkdir()
    (tmp_path / "README.md").write_text("")
    assert len(others(fix_files(dirs=[tmp_path], environ={}, sys_path=[]))) == 1


def test_a_source_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    info = tmp_path / "site" / "d-1.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text("[prtoggle.fixes]\na = gone\nb =\n")
    environ = {"PRTOGGLE_PATH": str(tmp_path / "file")}
    found = find(dirs=[tmp_path / "none"], environ=environ, sys_path=[str(tmp_path / "site")])
    assert found.bad == (
        BadSource("dir", str(tmp_path / "none"), "no folder of fixes: No such file or directory"),
        BadSource("path", str(tmp_path / "file"), "no folder of fixes: Not a directory"),
        BadSource("entry-point", "d", "the package gone that it names for prtoggle.fixes is not installed"),
        BadSource("entry-point", "d", "its entry point b names no package for prtoggle.fixes"),
    )


@pytest.mark.parametrize(
    ("folder", "number"),
    [
        ("pr27360_fa3", "27360"),
        ("pr7_x_y", "7"),
        ("pr027_x", ""),
        ("pr7", ""),
        ("pr7_", ""),
        ("pr_x", ""),
        ("PR7_x", ""),
        ("7_x", ""),
        ("pr٧_x", ""),
    ],
)
def test_the_number_stands_in_the_folders_name(folder: str, number: str) -> None:
    assert folder_number(f"/somewhere/{folder}/revert.yaml") == number


@pytest.mark.parametrize("size", [0, 1, 4096, 1 << 20])
def test_all_of_a_file_is_read(tmp_path: Path, size: int) -> None:
    (tmp_path / "file").write_bytes(b"x" * size)
    assert read(tmp_path / "file") == b"x" * size


@pytest.mark.parametrize("said", [-7, 7])
def test_a_file_that_shrinks_or_grows_meanwhile_is_read_as_it_is_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: int
) -> None:
    """Its size was asked for a moment before."""
    (tmp_path / "file").write_bytes(b"x" * 100)
    fstat = os.fstat

    def before(handle: int) -> os.stat_result:
        found = list(fstat(handle))
        found[6] += said
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", before)
    assert read(tmp_path / "file") == b"x" * 100
