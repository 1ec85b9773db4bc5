"""What starts in a process with a selection: little, and nothing that a target does not need yet."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prtoggle import selection
from prtoggle.errors import PrtoggleError
from prtoggle.runtime import boot


def parses(text: str) -> bool:
    try:
        selection.parse(text)
    except PrtoggleError:
        return False
    return True


@given(st.text("012789/,abcz-+ #A²é\n", max_size=20) | st.from_regex(r"[0-9]{1,14}(/[a-z-]{0,5})?(,[0-9/a-z]{1,4})?"))
def test_what_is_taken_for_plain_can_be_parsed(text: str) -> None:
    assert parses(text) or not boot._plain(text)


@pytest.mark.parametrize("text", ["27360", "27360,24401", "27360/slice", "27360/all,24401/positions"])
def test_the_usual_selections_are_plain(text: str) -> None:
    assert boot._plain(text)


@pytest.mark.parametrize(
    "text", ["", "none", "all", "0", "027360", "1234567890123", "27360/", "27360/A", "7,", "7 ", "²"]
)
def test_what_is_in_doubt_is_not(text: str) -> None:
    assert not boot._plain(text)


LOADED = (
    "import atexit, sys\n"
    "atexit.register(lambda: print(*(name for name in sys.modules if name.startswith('prtoggle.'))))\n"
    "from prtoggle.runtime import boot\n"
    "boot.boot()\n"
)


def loaded(value: str, folder: Path) -> set[str]:
    """What of prtoggle a process with this selection has loaded when it ends, no target imported."""
    env = {name: text for name, text in os.environ.items() if not name.startswith(("PRTOGGLE_", "SGLANG_"))}
    command = [sys.executable, "-S", "-c", f"import sys; sys.path = {sys.path!r}; {LOADED}"]
    env |= {"PRTOGGLE_REVERT": value, "PRTOGGLE_CACHE": str(folder)}
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_plain_selection_loads_neither_the_grammar_nor_what_looks_back_at_a_plan(tmp_path: Path) -> None:
    names = loaded("27360/slice", tmp_path)
    assert "prtoggle.runtime.hook" in names
    assert not names & {"prtoggle.selection", "prtoggle.errors", "prtoggle.runtime.lookback"}


def test_one_in_doubt_loads_the_grammar(tmp_path: Path) -> None:
    assert "prtoggle.selection" in loaded("27360/slice+assert", tmp_path)


@pytest.mark.parametrize("broken", ["packagelines.py", "sources.py"])
def test_a_boot_that_cannot_tell_which_packages_are_meant_says_what_is_not_in_force(
    tmp_path: Path, broken: str
) -> None:
    """Half of an installation is gone: no package can be refused by name, and that is never silent."""
    shutil.copytree(Path(boot.__file__).parents[1], tmp_path / "prtoggle", symlinks=True)
    (tmp_path / "prtoggle" / "runtime" / broken).unlink()
    code = "from prtoggle.runtime import boot; boot.boot(); import json"
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PRTOGGLE_REVERT": "7"}
    done = subprocess.run([sys.executable, "-S", "-c", code], env=env, capture_output=True, text=True, cwd=tmp_path)
    assert "boot failed: " in done.stderr and "PRTOGGLE_REVERT=7" in done.stderr and "is not in force" in done.stderr
