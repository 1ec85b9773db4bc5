"""What is printed as a diff, ``git apply`` takes, and it makes exactly the bytes that were meant."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prtoggle.unified import unified

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is the reader that is tested against")


def git_apply(diff: bytes, files: dict[str, bytes], folder: Path) -> dict[str, bytes]:
    """The files after ``git apply`` of the diff, in a folder that is no repository."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": str(folder)}
    env = {**os.environ, **alone}
    done = subprocess.run(["git", "apply", "-"], input=diff, cwd=folder, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode() + diff.decode("latin-1")
    return {name: (folder / name).read_bytes() for name in files}


MANY = "".join(f"line {n}\n" for n in range(60))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("a = 1\n", "a = 2\n", id="one line"),
        pytest.param("a = 1\nb = 2\n", "b = 2\n", id="the first line goes"),
        pytest.param("a = 1\nb = 2\n", "a = 1\n", id="the last line goes"),
        pytest.param("a = 1\r\nb = 2\r\nc = 3\r\n", "a = 1\r\nc = 3\r\n", id="carriage returns"),
        pytest.param("a = 1\nb = 2\r\n", "a = 2\nb = 2\r\n", id="mixed line ends"),
        pytest.param("a = 1\nb = 2", "a = 2\nb = 2", id="no final line end"),
        pytest.param("a = 1\nb = 2", "a = 1\nb = 3", id="no final line end, last line changed"),
        pytest.param("a = 1\nb = 2\n", "a = 1\nb = 2", id="the final line end goes"),
        pytest.param("a = 1", "a = 1\nb = 2\n", id="a final line end comes"),
        pytest.param("", "a = 1\n", id="from nothing"),
        pytest.param("a = 1\n", "", id="to nothing"),
        pytest.param(MANY, MANY.replace("line 7\n", "").replace("line 50\n", "x\ny\n"), id="two hunks"),
        pytest.param("a\n" * 9 + "b\n" + "a\n" * 9, "a\n" * 19, id="among lines that are all alike"),
        pytest.param("a\n" * 9 + "b\n" + "a\n" * 9, "a\n" * 17, id="among lines that are all alike, and one goes"),
        pytest.param("a\n" * 19, "a\n" * 9 + "b\n" + "a\n" * 9, id="into lines that are all alike"),
        pytest.param("x\x0cy\u2028z\rw\nq\n", "x\x0cy\u2028z\rw\n", id="form feed, U+2028 and a lone carriage return"),
    ],
)
def test_git_makes_the_bytes_that_were_meant(before: str, after: str, tmp_path: Path) -> None:
    diff = unified("pkg/mod.py", before.encode(), after.encode())
    assert git_apply(diff, {"pkg/mod.py": before.encode()}, tmp_path) == {"pkg/mod.py": after.encode()}


ODD = ["pkg/möd.py", "pkg/with space.py", 'pkg/quo"te.py', "pkg/back\\slash.py", "pkg/日本.py", "pkg/tab\t.py"]


@pytest.mark.parametrize("name", ODD)
def test_git_finds_files_of_odd_names(name: str, tmp_path: Path) -> None:
    assert git_apply(unified(name, b"a\n", b"b\n"), {name: b"a\n"}, tmp_path) == {name: b"b\n"}


def test_bytes_that_are_no_utf_8_come_through(tmp_path: Path) -> None:
    before, after = "# coding: latin-1\nx = 'é'\ny = 'ü'\n".encode("latin-1"), b"# coding: latin-1\nx = '\xe9'\n"
    assert git_apply(unified("m.py", before, after), {"m.py": before}, tmp_path) == {"m.py": after}


def test_equal_texts_have_no_diff() -> None:
    assert unified("m.py", b"a\n", b"a\n") == b""


def test_a_change_far_into_a_long_file_is_one_hunk_with_three_lines_of_context() -> None:
    diff = unified("m.py", MANY.encode(), MANY.replace("line 30\n", "").encode())
    assert b"@@ -28,7 +28,6 @@\n" in diff
    assert diff.count(b"@@ -") == 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(["a", "b", "c\r", ""]), max_size=14),
    st.lists(st.sampled_from(["a", "b", "d", ""]), max_size=14),
)
def test_any_two_texts(old: list[str], new: list[str]) -> None:
    before, after = "\n".join(old).encode(), "\n".join(new).encode()
    if before == after:
        return
    with tempfile.TemporaryDirectory() as folder:
        assert git_apply(unified("m.py", before, after), {"m.py": before}, Path(folder)) == {"m.py": after}
