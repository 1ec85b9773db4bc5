"""What a run of the GPU tests saw, written down by the tests themselves: one JSON file a run.

Contract: with the variable PRTOGGLE_EVIDENCE naming a folder, a test session that ran at least one test marked ``gpu``
leaves one file there: command, commit, a digest of the sources that ran, date, GPU, driver, versions, and for each test
its outcome and what it recorded (``claim`` and figures). Without the variable nothing is written. A test's claims are
written down before they are judged, so that a failure's figures are kept too.

Example::

    PRTOGGLE_EVIDENCE=docs/evidence python -m pytest tests/gpu
    python -m tests.gpu.evidence            # the digest of this checkout's sources
"""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

VARIABLE = "PRTOGGLE_EVIDENCE"
COMMIT = "PRTOGGLE_EVIDENCE_COMMIT"
"""The commit, where the tests run from a copy without ``.git``."""
ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("fixes", "prtoggle", "tests/fixes", "tests/gpu", "tests/sglang")
PACKAGES = ("prtoggle", "torch", "triton", "pytest", "flashinfer-python")


def tree_digest(root: Path = ROOT) -> str:
    """SHA-256 over the names and contents of the Python and YAML files that a GPU test can run."""
    total = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".py", ".yaml") and "__pycache__" not in path.parts:
                total.update(path.relative_to(root).as_posix().encode() + b"\0")
                total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def ask(*command: str) -> str:
    """The first line that a program prints, or nothing where it is absent or fails."""
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else ""


def commit() -> str:
    """The commit of this checkout, or what the variable says; marked where sources differ from it."""
    if named := os.environ.get(COMMIT):
        return named
    found = ask("git", "rev-parse", "HEAD") or "unknown"
    return found + (" with uncommitted changes" if ask("git", "status", "--porcelain", "--", *SOURCES) else "")


def gpu() -> dict[str, Any]:
    """The first device as torch sees it, and the driver as nvidia-smi names it; empty without torch or a device."""
    try:
        import torch
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    properties = torch.cuda.get_device_properties(0)
    return {
        "name": properties.name,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "memory_gib": round(properties.total_memory / 2**30, 1),
        "driver": ask("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
        "cuda": torch.version.cuda,
    }


def versions(names: Iterable[str] = PACKAGES) -> dict[str, str]:
    """The installed ones among ``names``, and Python."""
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def report(
    tests: Sequence[Mapping[str, Any]], command: Sequence[str], *, about: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The whole of one run; ``about`` replaces what is asked of the machine (for tests)."""
    asked = (
        about
        if about is not None
        else {
            "commit": commit(),
            "sources": tree_digest(),
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "gpu": gpu(),
            "versions": versions(),
        }
    )
    outcomes = [str(test["outcome"]) for test in tests]
    return {
        "command": " ".join(command),
        **asked,
        "outcomes": {name: outcomes.count(name) for name in dict.fromkeys(outcomes)},
        "tests": list(tests),
    }


def file_name(data: Mapping[str, Any]) -> str:
    """``2026-11-29T19-40-01-nvidia-h200.json``, from the report."""
    when = str(data["date"])[:19].replace(":", "-")
    device = "-".join(str(data["gpu"].get("name", "no gpu")).lower().split())
    return f"{when}-{device}.json"


def write(data: Mapping[str, Any], folder: Path) -> Path:
    """Write the report into ``folder``, whole or not at all, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file_name(data)
    aside = path.with_suffix(".tmp")
    aside.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(aside, path)
    return path


if __name__ == "__main__":
    print(tree_digest())
    sys.exit(0)
