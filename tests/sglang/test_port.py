"""``prtoggle port`` on real releases: a fix that knows old releases only is ported, written, healthy, and reverts what the variant does
that a person wrote."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from prtoggle.packages import Package, locate
from prtoggle.plan import decisions
from prtoggle.port.equal import alike_texts
from prtoggle.proposal.bases import applying
from prtoggle.proposal.carrying import plan_of, revert, same_trees
from prtoggle.releases import cache_folder, fetch
from prtoggle.sources import Sources
from prtoggle.versionrange import common
from prtoggle.yamlfile import load
from tests.sglang.harness import release

pytestmark = [pytest.mark.sglang, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


def command(*words: str, fixes: Path) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PRTOGGLE_", "SGLANG_"))}
    env["PRTOGGLE_CACHE"] = str(cache_folder())
    run = [sys.executable, "-m", "prtoggle", *words, "--fixes", str(fixes)]
    return subprocess.run(run, env=env, cwd=fixes, capture_output=True, text=True, check=False)


def folder_of(number: str) -> Path:
    found = sorted((ROOT / "fixes").glob(f"pr{number}_*"))
    if not found:
        pytest.skip(f"no fix {number} here")
    return found[0]


def narrowed(number: str, version: str, into: Path) -> Path:
    """A copy of the fix whose variants end below ``version``; those from there on are for no release."""
    file = folder_of(number) / "revert.yaml"
    copy = into / file.parent.name / "revert.yaml"
    copy.parent.mkdir(parents=True)
    text = file.read_text(encoding="utf-8")
    for at, variant in enumerate(load(file).variants):
        if variant.package == "sglang":
            left = f"{variant.versions},<{version}"
            left = left if common(left) else f"==0.0.{at + 1}"
            text = text.replace(f"versions: '{variant.versions}'\n", f"versions: '{left}'\n", 1)
    copy.write_text(text, encoding="utf-8")
    return copy


@pytest.mark.parametrize(
    ("number", "version"),
    [
        ("27360", "0.5.17"),  # the same text fits
        ("25015", "0.5.16"),  # the advance moved into each way to choose a token
        ("26972", "0.5.16"),  # moved to another module
        ("24401", "0.5.16"),
    ],
)
def test_what_is_ported_is_what_a_person_wrote(number: str, version: str, tmp_path: Path) -> None:
    file = narrowed(number, version, tmp_path)
    goal = Sources(_package(version))
    theirs = load(folder_of(number) / "revert.yaml")
    parts = applying(decisions(theirs, goal))
    assert parts and not applying(decisions(load(file), goal))
    ran = command(
        "port", number, "--to", f"sglang=={version}", "--via", "sglang>=0.5.13,<0.5.21", "--write", fixes=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    ours = load(file)
    assert applying(decisions(ours, goal)) == parts
    proposed, written = revert(plan_of(ours, parts, goal)), revert(plan_of(theirs, parts, goal))
    if number == "26972":  # the person took out the `if` of the size check, too, which port leaves empty
        assert alike_texts(proposed.modules, written.modules)
    else:
        assert same_trees(proposed, written)
    for against in (f"sglang=={version}", "sglang==0.5.14"):
        checked = command("check", number, "--against", against, "--json", fixes=tmp_path)
        assert checked.returncode == 0, checked.stdout


def test_a_toggle_of_sglang_that_is_dead_is_ported_from_where_it_lives(tmp_path: Path) -> None:
    via = ("--via", "sglang>=0.5.13,<0.5.21")
    ran = command("port", "26972", "--source", "registry", "--to", "sglang==0.5.16", *via, fixes=tmp_path)
    assert ran.returncode == 0, ran.stderr
    (file := tmp_path / "pr26972_x" / "revert.yaml").parent.mkdir()
    file.write_text(ran.stdout)
    fix = load(file)
    assert fix.variants[0].versions == ">=0.5.16,<0.5.18"
    for version in ("0.5.16", "0.5.17"):
        [module] = plan_of(fix, tuple(fix.parts), Sources(_package(version))).modules
        before, after = (re.sub(r"\s+", "", data.decode()) for data in (module.original, module.reverted))
        gone = "extra=max(extra,get_alloc_reserve_per_decode(server_args)+server_args.page_size-1,)"
        assert before.count(gone) == 1 and before.replace(gone, "pass") == after


def _package(version: str) -> Package:
    release(version)  # skips where it cannot be had
    found = locate("sglang", [str(fetch("sglang", version))])
    assert found is not None
    return found
