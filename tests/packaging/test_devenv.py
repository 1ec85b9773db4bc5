"""The script behind ``make``: it says what is missing before it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "devenv.py"


def devenv(folder: Path, before: str) -> subprocess.CompletedProcess[str]:
    """Run the script for ``folder/.venv`` in an interpreter in which ``before`` has been run."""
    code = f"{before}\nimport sys, runpy; sys.argv = ['devenv', {str(folder / '.venv')!r}]\n"
    code += f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["ensurepip", "venv"])
def test_a_python_that_cannot_make_environments_is_named_with_the_remedy(tmp_path: Path, module: str) -> None:
    done = devenv(tmp_path, f"import sys; sys.modules[{module!r}] = None")
    assert done.returncode == 1
    assert module in done.stderr and "python3-venv" in done.stderr and "make PYTHON=" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_a_python_that_is_too_old_is_named(tmp_path: Path) -> None:
    done = devenv(tmp_path, "import sys; sys.version_info = (3, 9, 18)")
    assert done.returncode == 1
    assert "3.10 or newer" in done.stderr and "Traceback" not in done.stderr


def test_the_ci_script_can_be_run() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
