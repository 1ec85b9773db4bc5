"""docs/guides/other-packages.md and the distribution in examples: installed as the guide says, and every command run."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from prtoggle.releases import cache_folder
from prtoggle.yamlfile import load
from tests.docs.blocks import blocks_of, differences, run_document
from tests.sglang.harness import unavailable

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "guides" / "other-packages.md"
EXAMPLE = ROOT / "examples" / "networkx-prtoggle-fixes"
RELEASES = ("3.3", "3.4", "3.4.1", "3.4.2")
VENV = frozenset({"venv"})


@pytest.fixture(scope="module")
def wheelhouse(wheel: Path) -> Path:
    """A folder with wheels of NetworkX, of hatchling and of what prtoggle needs, kept beside the releases of other tests."""
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    needs = [line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist: ") and "extra ==" not in line]
    wanted = ("hatchling>=1.26", *needs)
    digest = hashlib.sha256(repr((sys.version_info[:2], wanted, RELEASES)).encode()).hexdigest()[:12]
    folder = cache_folder() / f"wheelhouse-{digest}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".wheelhouse-"))
        try:
            _download(aside, *wanted)
            for version in RELEASES:
                _download(aside, "--no-deps", f"networkx=={version}")
            aside.rename(folder)
        except OSError:
            assert folder.is_dir()  # another process was faster
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return folder


def _download(folder: Path, *what: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", str(folder), *what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        unavailable(f"wheels for {DOCUMENT.name} cannot be had: {done.stderr.strip().splitlines()[-1:]}")


@pytest.mark.slow
def test_every_command_of_the_guide_prints_what_it_shows(wheelhouse: Path, wheel: Path, tmp_path: Path) -> None:
    copy = tmp_path / "app" / EXAMPLE.name
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(wheel, copy.parent)
    env = {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheelhouse),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    found = differences(run_document(blocks_of(DOCUMENT), tmp_path, given=VENV, env=env, seconds=600))
    assert not found, "\n\n".join(found)
    shown = [block.file.partition("/")[2] for block in blocks_of(DOCUMENT) if block.file.startswith(EXAMPLE.name)]
    assert len(shown) >= 3
    for file in shown:
        assert (copy / file).read_text() == (EXAMPLE / file).read_text(), f"{file} is not as the guide shows it"


def test_every_fix_of_the_example_loads_and_has_a_scenario() -> None:
    folders = sorted(EXAMPLE.glob("*/pr*"))
    assert len(folders) == 4
    for folder in folders:
        fix = load(str(folder / "revert.yaml"))
        assert fix.project == "networkx/networkx" and fix.packages == ("networkx",)
        assert (folder / "scenario.py").is_file()


def test_the_guide_says_nothing_that_it_does_not_run() -> None:
    assert all(block.needs == VENV for block in blocks_of(DOCUMENT) if block.language == "console")
