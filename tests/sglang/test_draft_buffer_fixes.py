"""26972, 27338 and 27460 in every release from 0.5.13 to 0.5.21: each part applies, and what it leaves reads as reverted.

SGLang's own toggles for these are dead in all of them, and in 0.5.16 and 0.5.17.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prtoggle.releases import fetch
from tests.sglang.harness import unavailable

pytestmark = [pytest.mark.sglang, pytest.mark.slow]

BEFORE = "0.5.12.post1"
RELEASES = (
    "0.5.13",
    "0.5.13.post1",
    "0.5.14",
    "0.5.15",
    "0.5.15.post1",
    "0.5.16",
    "0.5.17",
    "0.5.18",
    "0.5.19",
    "0.5.20",
    "0.5.21",
)
SEEN, BY_VERSION = "not in this release (seen)", "not in this release (by version)"
PARTS = {
    "26972/headroom": BY_VERSION,
    "26972/assert": SEEN,
    "26972/reserve": BY_VERSION,
    "27338/width": SEEN,
    "27338/assert": SEEN,
    "27460/width": SEEN,
    "27460/assert": SEEN,
}
"""Part -> its verdict one release before the fix."""
FIXES = ("26972", "27338", "27460")


def prtoggle(*arguments: str) -> str:
    mine = ("SGLANG_", "PRTOGGLE_REVERT", "PRTOGGLE_PATH")
    env = {name: value for name, value in os.environ.items() if not name.startswith(mine)}
    done = subprocess.run(
        [sys.executable, "-m", "prtoggle", *arguments],
        env=env,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 4:
        unavailable(done.stderr.strip().splitlines()[-1])
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def verdicts(against: str) -> dict[tuple[str, str], str]:
    """(Part, version) -> verdict, of the fixes that come with prtoggle."""
    cells: list[dict[str, Any]] = json.loads(prtoggle("check", *FIXES, "--against", against, "--json"))["cells"]
    return {
        (f"{cell['fix']}/{cell['part']}", cell["version"]): cell["verdict"]
        for cell in cells
        if cell["origin"]["kind"] == "bundled"
    }


def test_every_part_applies_to_every_release_and_not_to_the_one_before() -> None:
    wanted = {(part, version): "applies" for part in PARTS for version in RELEASES}
    wanted |= {(part, BEFORE): verdict for part, verdict in PARTS.items()}
    assert verdicts("sglang>=0.5.13,<0.5.22") == wanted


@pytest.mark.parametrize("version", ["0.5.13", "0.5.15", "0.5.16", "0.5.17", "0.5.19", "0.5.21"])
def test_a_tree_from_which_all_parts_were_taken_reads_as_already_reverted(version: str, tmp_path: Path) -> None:
    try:
        original = fetch("sglang", version)
    except Exception as problem:
        unavailable(str(problem))
    copy = tmp_path / version
    for path in ("layers/attention", "mem_cache", "speculative"):
        shutil.copytree(original / "sglang/srt" / path, copy / "sglang/srt" / path, copy_function=shutil.copyfile)
    shutil.copyfile(original / "sglang/__init__.py", copy / "sglang/__init__.py")
    for metadata in original.glob("*.dist-info"):
        shutil.copytree(metadata, copy / metadata.name, copy_function=shutil.copyfile)
    diff = prtoggle("diff", ",".join(f"{fix}/all" for fix in FIXES), "--against", str(copy))
    # A repository of its own: inside another one git apply would skip paths that it does not hold.
    subprocess.run(["git", "init", "--quiet"], cwd=copy, check=True)
    subprocess.run(["git", "apply", "-"], input=diff, text=True, cwd=copy, check=True)
    assert verdicts(str(copy)) == {(part, version): "already reverted" for part in PARTS}
