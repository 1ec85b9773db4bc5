"""The project's own tree, built and installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDED = (
    "pyproject.toml",
    "prtoggle",
    "docs",
    "fixes",
    "prtoggle_fixes",
    "prtoggle.pth",
    "README.md",
    "LICENSE",
    ".gitignore",
)


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is needed to build, links kept."""
    copy = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in NEEDED:
        source = ROOT / name
        if source.is_symlink():
            (copy / name).symlink_to(source.readlink())
        elif source.is_dir():
            shutil.copytree(source, copy / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy2(source, copy / name)
    return copy


def build(tree: Path, out: Path, *what: str) -> Path:
    """The one file that building makes in ``out``, the wheel where there are two."""
    command = [sys.executable, "-m", "build", "--no-isolation", *what, "--outdir", str(out), str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(iter(out.glob("*.whl"))) if "--sdist" not in what else next(iter(out.glob("*.tar.gz")))


@pytest.fixture(scope="session")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the tree."""
    return build(tree, tmp_path_factory.mktemp("wheel"), "--wheel")


@pytest.fixture(scope="session")
def sdist(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tree, tmp_path_factory.mktemp("sdist"), "--sdist")
