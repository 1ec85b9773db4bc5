"""``check --prove`` over the oldest, a middle and a late release: what docs/proof.md says of all is true of these."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prtoggle.trees import digest, pieces
from tests.docs.test_proof import FIXES, TABLE, _known
from tests.sglang.harness import child_environment, release, unavailable

pytestmark = [pytest.mark.sglang, pytest.mark.slow]

RELEASES = ("0.5.13", "0.5.16", "0.5.21")
ROOT = Path(__file__).resolve().parents[2]
WORDS = {"proven": "proven", "not in this release": "-"}


@pytest.mark.parametrize("number", [fix.id for fix in FIXES])
def test_each_fix_is_proven_where_the_table_says_so(number: str) -> None:
    for version in RELEASES:
        release(version)
    against = [word for version in RELEASES for word in ("--against", f"sglang=={version}")]
    done = subprocess.run(
        [sys.executable, "-m", "prtoggle", "check", "--prove", number, *against, "--json"],
        env=child_environment((), {}),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.stdout, done.stderr
    cells: list[dict[str, Any]] = json.loads(done.stdout)["cells"]
    if any(cell["verdict"] == "could not run" and "not installed" in cell["reason"] for cell in cells):
        unavailable(next(cell["reason"] for cell in cells if cell["verdict"] == "could not run"))
    assert done.returncode == 0, [cell["reason"] for cell in cells]
    for cell in cells:
        assert TABLE[cell["revert"]][cell["version"]] == WORDS[cell["verdict"]]


def test_an_expectation_from_a_release_before_the_fix_is_that_release_s_own_definition() -> None:
    entries = [entry for fix in FIXES for entry in _known(fix) if entry.source != "reviewed"]
    for entry in entries:
        file = release(entry.source) / (entry.module.replace(".", "/") + ".py")
        assert digest(pieces(file.read_bytes()).get(entry.definition, ())) == entry.tree, entry
