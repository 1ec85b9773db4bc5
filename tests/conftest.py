"""What tests of every folder share."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def installed() -> str:
    """The Python that runs the tests, after a look whether prtoggle is installed for it, its ``.pth`` included."""
    ask = "import sys; print([type(finder).__module__ for finder in sys.meta_path][0])"
    env = {**os.environ, "PRTOGGLE_REVERT": "1"}
    done = subprocess.run([sys.executable, "-c", ask], env=env, capture_output=True, text=True, check=False)
    if done.stdout.strip() != "prtoggle.runtime.hook":
        pytest.fail(
            f"prtoggle does not start in {sys.executable}: install it there (pip install -e .), or run the tests with "
            f"`make test`\n{done.stdout}{done.stderr}"
        )
    return sys.executable
