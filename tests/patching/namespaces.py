"""A mount namespace of one's own: what is mounted there nobody else sees, and it is gone with the process.

Example::

    said = inside(f"mount --bind {site} {site} && mount -o remount,bind,ro {site}", "print(project.revert('7'))", root)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_CHECKOUT = Path(__file__).resolve().parents[2]

_PROJECT = """\
import os, sys
from pathlib import Path
from prtoggle.errors import RefusedError
from prtoggle.patching.findings import findings
from tests.patching.project import *
project = Project.__new__(Project)
project.root = Path({root!r})
project.site, project.fixes = project.root / "site", project.root / "fixes"
def refused(command):
    try: command()
    except RefusedError as error: return str(error)
    raise AssertionError("it was not refused")
"""


def permitted(*mounts: str) -> None:
    """Skip the test where such mounts cannot be made here."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("mount namespaces are for Linux")
    for mount in mounts or ("true",):
        tried = subprocess.run(_command(mount), capture_output=True, check=False)
        if tried.returncode:
            pytest.skip(f"not permitted here: {mount}")


def inside(mounts: str, script: str, root: Path) -> str:
    """What ``script`` prints, in which ``project`` is the one at ``root``, once ``mounts`` (a shell's) are made."""
    code = _PROJECT.format(root=str(root)) + script
    done = subprocess.run(
        _command(f'{mounts} && exec "$0" -c "$1"', sys.executable, code),
        cwd=_CHECKOUT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shell(script: str) -> str:
    """What a shell prints there."""
    done = subprocess.run(_command(f"set -e; {script}"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _command(script: str, *arguments: str) -> list[str]:
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, *arguments]
