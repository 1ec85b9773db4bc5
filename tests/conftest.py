"""What tests of every folder share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest


@pytest.fixture(scope="session", autouse=True)
def ordinary_signals() -> None:
    """Children start as from a shell, also where the tests themselves run in the background (nohup ignores some signals)."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)


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
