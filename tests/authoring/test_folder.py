"""The folder's files: whole or not at all, and never over anything."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from prtoggle.authoring.folder import guard, keep, place, scenario, slug
from prtoggle.errors import RefusedError, UsageError

FILES = {"revert.yaml": "a: 1\n", "scenario.py": "x = 1\n"}


def test_all_files_are_there_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "fixes" / "pr1_x"
    assert keep(folder, FILES) == (folder / "revert.yaml", folder / "scenario.py")
    assert sorted(each.name for each in folder.parent.iterdir()) == ["pr1_x"]
    assert {each.name: each.read_text() for each in folder.iterdir()} == FILES


@pytest.mark.parametrize("content", [(), ("mine",)], ids=["empty", "with a file"])
def test_what_is_there_stays(tmp_path: Path, content: tuple[str, ...]) -> None:
    folder = tmp_path / "pr1_x"
    folder.mkdir()
    for name in content:
        (folder / name).write_text("mine")
    with pytest.raises(RefusedError, match="is there already"):
        keep(folder, FILES)
    assert sorted(each.name for each in folder.iterdir()) == sorted(content)
    assert [each.name for each in tmp_path.iterdir()] == ["pr1_x"]


def test_nothing_is_left_where_a_file_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="cannot be written"):
        keep(tmp_path / "pr1_x", {**FILES, "no/such/folder": ""})
    assert list(tmp_path.iterdir()) == []


def test_what_a_kill_leaves_behind_is_not_taken_for_a_fix(tmp_path: Path) -> None:
    writer = (
        "import os, sys, pathlib, prtoggle.authoring.folder as folder\n"
        "folder.os.rename = lambda *_: os.kill(os.getpid(), 9)\n"
        "folder.keep(pathlib.Path(sys.argv[1]), {'revert.yaml': 'no: fix'})\n"
    )
    done = subprocess.run([sys.executable, "-c", writer, str(tmp_path / "pr1_x")], check=False)
    assert done.returncode == -9 and [each.name for each in tmp_path.rglob("revert.yaml")] == ["revert.yaml"]
    assert list(tmp_path.glob("*/revert.yaml")) == []
    keep(tmp_path / "pr1_x", FILES)
    assert [each.parent.name for each in tmp_path.glob("*/revert.yaml")] == ["pr1_x"]


def test_a_number_that_has_a_folder_is_refused_whatever_its_title(tmp_path: Path) -> None:
    (tmp_path / "pr101_other").mkdir()
    with pytest.raises(RefusedError, match="pr101_other is there already"):
        place(tmp_path, "101", "cut")
    assert place(tmp_path, "10", "cut") == tmp_path / "pr10_cut"
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is no folder"):
        place(tmp_path / "file", "10", "cut")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("[Fix] Cut the batch to what fits", "cut_batch_what_fits"),
        ("[Bugfix]", "bugfix"),
        ("日本語", "change"),
        ("Prevent `NaN` logits; fa3 EAGLE draft decode (topk > 1)", "prevent_nan_logits_fa3_eagle_draft"),
        ("x" * 90, "x" * 40),
    ],
)
def test_a_few_words_of_the_title_name_the_folder(title: str, name: str) -> None:
    assert slug(title) == name


NASTY = 'a "quoted" \\ """title""" {with} braces'


def test_the_skeletons_are_python_and_say_that_they_are_not_written(tmp_path: Path) -> None:
    for text in (scenario("101", NASTY), guard("101", NASTY)):
        assert ast.get_docstring(ast.parse(text))
    file = tmp_path / "scenario.py"
    file.write_text(scenario("101", NASTY))
    made = runpy.run_path(str(file))
    assert [case.revert for case in made["CASES"]] == ["none", "101"]
    with pytest.raises(NotImplementedError, match="101"):
        made["observe"]("cpu")


def test_of_two_for_one_number_at_once_one_is_written_and_the_other_is_told(tmp_path: Path) -> None:
    # Both have been through `place` before either of them writes.
    titles = [f"title {number}" for number in range(8)]
    folders = [place(tmp_path / "fixes", "101", title) for title in titles]
    writer = (
        "import sys, pathlib\n"
        "from prtoggle.authoring.folder import keep\n"
        "from prtoggle.errors import RefusedError\n"
        "sys.stdin.read()\n"
        "try:\n"
        "    keep(pathlib.Path(sys.argv[1]), {'revert.yaml': sys.argv[1]})\n"
        "except RefusedError as error:\n"
        "    sys.exit(str(error).splitlines()[0])\n"
    )
    every = [
        subprocess.Popen([sys.executable, "-c", writer, str(each)], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for each in folders
    ]
    for each in every:
        assert each.stdin is not None
        each.stdin.close()
        each.stdin = None
    said = [each.communicate()[1].decode() for each in every]
    (winner,) = (tmp_path / "fixes").iterdir()
    assert [each.returncode for each in every].count(0) == 1
    assert [folder for folder, each in zip(folders, every, strict=True) if each.returncode == 0] == [winner]
    assert all(f"{winner} is there already" in words for words in said if words)


def test_another_number_that_begins_alike_is_another(tmp_path: Path) -> None:
    (tmp_path / "pr1012_other").mkdir()
    assert keep(place(tmp_path, "101", "cut"), FILES)
