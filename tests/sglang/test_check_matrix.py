"""``prtoggle check`` over every release of SGLang from 0.5.13 to 0.5.23: exactly what is true there.

What is true was read in the releases' sources; :func:`stands` reads it again, by regular expressions over the plain
text, which share nothing with the way prtoggle finds a place.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prtoggle.releases import fetch
from tests.sglang.harness import BACKEND, REGISTRY, unavailable

pytestmark = [pytest.mark.sglang, pytest.mark.slow]

BEFORE, FIRST = "0.5.12.post1", ("0.5.13", "0.5.13.post1")
SINCE = (
    "0.5.14",
    "0.5.15",
    "0.5.15.post1",
    "0.5.16",
    "0.5.17",
    "0.5.18",
    "0.5.19",
    "0.5.20",
    "0.5.21",
    "0.5.22",
    "0.5.23",
)
RELEASES = (*FIRST, *SINCE)

APPLIES, ROT = "applies", "rot"
SEEN, DECLARED, BY_VERSION = (f"not in this release ({how})" for how in ("seen", "declared", "by version"))

EXPECTED: dict[str, dict[str, str]] = {
    "24401/positions": {**dict.fromkeys(FIRST, SEEN), **dict.fromkeys(SINCE, APPLIES)},
    "24401/mrope-positions": {**dict.fromkeys(FIRST, SEEN), **dict.fromkeys(SINCE, APPLIES)},
    "27360/slice": {BEFORE: BY_VERSION, **dict.fromkeys(RELEASES, APPLIES)},
    "27360/assert": {BEFORE: BY_VERSION, **dict.fromkeys(RELEASES, APPLIES)},
    "27360/empty-batch-pad": {BEFORE: BY_VERSION, **dict.fromkeys(RELEASES, DECLARED)},
}
BELOW = {("24401", "0.5.13.post1"), ("27360", BEFORE)}
"""Fix and the release just below the lower bound of its ``contains``."""

OWN: dict[str, tuple[str, ...]] = {  # SGLang's own toggles: the releases that they do not apply to
    "25015": (),
    "26329": (),
    "26972": ("0.5.16", "0.5.17"),
    "27338": RELEASES,
    "27360": (),
    "27460": RELEASES,
}


@pytest.fixture(scope="module")
def everything() -> dict[str, Any]:
    """The report on all fixes, SGLang's own among them."""
    return checked()


def checked(*selection: str, against: str = "sglang>=0.5.13") -> dict[str, Any]:
    """What ``prtoggle check SELECTION --against 'sglang>=0.5.13' --json`` says of the releases that this test knows."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SGLANG_", "PRTOGGLE_REVERT"))}
    env.pop("PRTOGGLE_PATH", None)
    done = subprocess.run(
        [sys.executable, "-m", "prtoggle", "check", *selection, "--against", against, "--json"],
        env=env,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 4:
        unavailable(done.stderr.strip().splitlines()[-1])
    assert done.returncode in (0, 1), done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == report["exit_code"]
    report["cells"] = [cell for cell in report["cells"] if cell["version"] in (BEFORE, *RELEASES)]
    return report


def table(report: dict[str, Any], origin: str) -> dict[str, dict[str, str]]:
    """Part -> version -> verdict, of one kind of source."""
    found: dict[str, dict[str, str]] = {}
    for cell in report["cells"]:
        if cell["origin"]["kind"] == origin:
            row = cell["fix"] if origin == "registry" else f"{cell['fix']}/{cell['part']}"
            assert cell["version"] not in found.setdefault(row, {}), "one cell a part and release"
            found[row][cell["version"]] = cell["verdict"]
    return found


def test_the_two_fixes_have_the_true_verdict_for_every_part_and_release() -> None:
    report = checked("24401", "27360")
    assert table(report, "bundled") == EXPECTED
    assert all(cell["healthy"] for cell in report["cells"])


def test_the_release_below_contains_is_looked_at(everything: dict[str, Any]) -> None:
    below = {(cell["fix"], cell["version"]) for cell in everything["cells"] if cell["below_contains"]}
    assert below == BELOW


def test_of_78_toggles_that_sglang_ships_50_apply_to_their_own_release(everything: dict[str, Any]) -> None:
    own = table(everything, "registry")
    assert own == {
        number: {version: ROT if version in rotten else APPLIES for version in RELEASES}
        for number, rotten in OWN.items()
    }
    verdicts = [verdict for row in own.values() for verdict in row.values()]
    assert (len(verdicts), verdicts.count(APPLIES), verdicts.count(ROT)) == (78, 50, 28)


def test_each_rotten_toggle_says_where_it_is_written_and_what_it_did_not_find(everything: dict[str, Any]) -> None:
    for cell in everything["cells"]:
        if cell["verdict"] == ROT:
            line = Path(cell["place"]["file"]).read_text(encoding="utf-8").splitlines()[cell["place"]["line"] - 1]
            assert "match:" in line
            assert "is not in" in cell["reason"]


def test_the_same_fix_is_out_of_place_one_release_below_its_real_bound(tmp_path: Path) -> None:
    """A bound of 24401 that is one release too high, and one too low, is found out."""
    source = Path(__file__).parents[2] / "fixes" / "pr24401_positions_zero_padding" / "revert.yaml"
    for bound, verdict in (("0.5.15", "contains is wrong"), ("0.5.13", "already reverted")):
        folder = tmp_path / bound / "pr24401_x"
        folder.mkdir(parents=True)
        text = source.read_text(encoding="utf-8")
        assert "sglang: '>=0.5.14'" in text
        (folder / "revert.yaml").write_text(text.replace("sglang: '>=0.5.14'", f"sglang: '>={bound}'"))
        report = checked("24401/positions", "--fixes", str(tmp_path / bound))
        wrong = {cell["version"] for cell in report["cells"] if cell["verdict"] == verdict}
        assert wrong == ({"0.5.14"} if bound == "0.5.15" else set(FIRST)), bound
        assert report["exit_code"] == 1


@pytest.mark.parametrize("version", [BEFORE, *RELEASES])
def test_the_table_is_what_the_sources_say(version: str) -> None:
    try:
        root = fetch("sglang", version)
    except Exception as problem:  # the test above says why
        unavailable(str(problem))
    for part in EXPECTED:
        verdict = EXPECTED[part].get(version, BY_VERSION)
        assert stands(part, root) is (verdict == APPLIES), (part, version)


def stands(part: str, root: Path) -> bool:
    """Whether the part's code stands in the release, once, read as plain text."""
    file, function, wanted = {
        "24401/positions": (REGISTRY, "build_decode_registry", _slot("positions")),
        "24401/mrope-positions": (REGISTRY, "build_decode_registry", _slot("mrope_positions")),
        "27360/slice": (BACKEND, "_apply_cuda_graph_metadata", r"\n +cache_loc = cache_loc\[:, :decode_length\]\n"),
        "27360/assert": (BACKEND, "_apply_cuda_graph_metadata", r"\n +assert_buffer_fits\(\s+cache_loc\.shape\[1\],"),
        "27360/empty-batch-pad": (BACKEND, "draft_decode_set_expand_metadata", r"\bpad\("),
    }[part]
    if not (root / file).is_file():
        return False
    text = (root / file).read_text(encoding="utf-8")
    head = re.search(rf"^( *)def {function}\(", text, re.MULTILINE)
    if head is None:
        return False
    end = re.compile(rf"^ {{0,{len(head[1])}}}(?:def|class|@)", re.MULTILINE).search(text, head.end())
    return len(re.findall(wanted, text[head.start() : end.start() if end else None])) == 1


def _slot(name: str) -> str:
    """A slot of that name with the policy ZERO; the call's arguments hold parentheses one deep."""
    return rf'GraphSlot\(\s*"{name}",(?:[^()]|\([^()]*\))*?padding_policy=PaddingPolicy\.ZERO'
