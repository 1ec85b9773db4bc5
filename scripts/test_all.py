"""Runs the core's tests, those without torch, SGLang or a GPU, on every Python from 3.10 to 3.13 that is found.

Slow ones are among them: a thousand toggles under eight threads, thousands of modules made at random, servers that are
toggled from outside.

A Python is looked for on PATH (``python3.12``) and among pyenv's versions. One that is not there is named and passed
over; at least one must be. What follows ``--`` goes to pytest.

Example::

    python scripts/test_all.py
    python scripts/test_all.py --only 3.10,3.13 -- -k udiff
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
# Folders of tests that need torch, a GPU or SGLang's releases.
BEYOND_THE_CORE = ("tests/fixes", "tests/gpu", "tests/sglang")


def works(python: str, version: str) -> bool:
    """Whether ``python`` starts and is of this version: a shim of pyenv may exist and lead nowhere."""
    code = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.strip() == version


def patch_number(path: Path) -> int:
    found = re.fullmatch(r"\d+\.\d+\.(\d+)", path.parents[1].name)
    return int(found.group(1)) if found else -1


def find(version: str) -> str | None:
    """A Python of this version, or None."""
    candidates = [name for name in (shutil.which(f"python{version}"), shutil.which("python3")) if name]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    installed = pyenv.glob(f"versions/{version}.*/bin/python{version}")
    candidates += [str(path) for path in sorted(installed, key=patch_number, reverse=True)]
    return next((each for each in candidates if works(each, version)), None)


def test(version: str, python: str, pytest_args: list[str]) -> int:
    """The exit code of the core's tests on this Python."""
    venv = ROOT / f".venv-{version}"
    made = subprocess.run(
        [python, str(ROOT / "scripts" / "devenv.py"), str(venv), "--extras", "dev", "--without-requirements"],
        check=False,
    )
    if made.returncode:
        return made.returncode
    command = [str(venv / "bin" / "python"), "-m", "pytest", "-q", "-m", "not gpu and not sglang"]
    command += [f"--ignore={folder}" for folder in BEYOND_THE_CORE if (ROOT / folder).exists()]
    return subprocess.run([*command, *pytest_args], cwd=ROOT, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default=",".join(VERSIONS), help="versions, separated by commas")
    parser.add_argument("pytest_args", nargs="*")
    asked = parser.parse_args()
    outcome: dict[str, str] = {}
    for version in asked.only.split(","):
        python = find(version)
        if python is None:
            outcome[version] = "not found here"
            continue
        print(f"== Python {version}: {python}", flush=True)
        code = test(version, python, asked.pytest_args)
        outcome[version] = "passed" if code == 0 else f"FAILED (exit code {code})"
    for version, said in outcome.items():
        print(f"Python {version}: {said}")
    failed = any(said.startswith("FAILED") for said in outcome.values())
    return 1 if failed or "passed" not in outcome.values() else 0


if __name__ == "__main__":
    sys.exit(main())
