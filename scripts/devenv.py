"""Makes a virtual environment with prtoggle (editable) and what its development needs, or leaves a fresh one alone.

It is stale, and brought up to date, when pyproject.toml, the constraints, a requirements file of the tests, the extras
asked for or the Python differ from those it was made from. Standard library only: it runs before anything is installed.

Example::

    python scripts/devenv.py .venv --extras dev,torch
    python scripts/devenv.py .venv-3.12 --extras dev --without-requirements
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints-dev.txt"
# What tests need beyond the extras; each folder of tests may have such a file.
REQUIREMENTS = tuple(sorted(ROOT.glob("tests/*/requirements.txt")))
OLDEST = (3, 10)


def fingerprint(extras: str, requirements: tuple[Path, ...]) -> str:
    """One line that changes with whatever the environment is made from."""
    digest = hashlib.sha256()
    for part in (sys.version, sys.executable, str(ROOT), extras):
        digest.update(part.encode() + b"\0")
    for path in (ROOT / "pyproject.toml", ROOT / "prtoggle.pth", CONSTRAINTS, *requirements):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest() + "\n"


def runs(python: Path) -> bool:
    """Whether the environment's Python is of this version and still starts: where it came from may be gone."""
    try:
        done = subprocess.run(
            [str(python), "-c", "import sys; print(*sys.version_info[:3])"], capture_output=True, text=True, check=False
        )
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.split() == [str(number) for number in sys.version_info[:3]]


def make(venv: Path) -> None:
    """A new, empty environment in ``venv``, in place of what was there."""
    try:
        import ensurepip  # noqa: F401
        import venv as _venv  # noqa: F401
    except ImportError as error:
        raise SystemExit(
            f"{sys.executable} cannot make virtual environments: it has no module {error.name!r}.\n"
            "Install it (on Debian and Ubuntu: apt-get install python3-venv), "
            "or name another Python: make PYTHON=/path/to/python3"
        ) from None
    shutil.rmtree(venv, ignore_errors=True)
    print(f"making {venv.name} with Python {sys.version.split()[0]}", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)


def install(venv: Path, extras: str, requirements: tuple[Path, ...]) -> None:
    """Prtoggle, editable, with ``extras`` and ``requirements``, under the constraints."""
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    constrained = [*pip, "--constraint", str(CONSTRAINTS)]
    # The build backend first, from the constraints: an isolated build would take whatever is newest that day.
    subprocess.run([*constrained, "hatchling"], check=True)
    wanted = ["--no-build-isolation", "--editable", f"{ROOT}[{extras}]"]
    for path in requirements:
        wanted += ["--requirement", str(path)]
    names = ", ".join([extras, *(str(path.relative_to(ROOT)) for path in requirements)])
    print(f"installing into {venv.name}: {names}", file=sys.stderr, flush=True)
    subprocess.run([*constrained, *wanted], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("venv", type=Path)
    parser.add_argument("--extras", default="dev")
    parser.add_argument("--without-requirements", action="store_true", help="leave tests/*/requirements.txt out")
    asked = parser.parse_args()
    if sys.version_info < OLDEST:
        raise SystemExit(f"prtoggle needs Python 3.10 or newer; {sys.executable} is {sys.version.split()[0]}")
    requirements = () if asked.without_requirements else REQUIREMENTS
    stamp = asked.venv / ".made-from"
    wanted = fingerprint(asked.extras, requirements)
    if not runs(asked.venv / "bin" / "python"):
        make(asked.venv.resolve())
    elif stamp.is_file() and stamp.read_text(encoding="ascii") == wanted:
        return 0
    stamp.unlink(missing_ok=True)
    try:
        install(asked.venv.resolve(), asked.extras, requirements)
    except subprocess.CalledProcessError as error:
        print(f"{asked.venv}: installing failed; the next `make` tries again", file=sys.stderr)
        return error.returncode
    stamp.write_text(wanted, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
