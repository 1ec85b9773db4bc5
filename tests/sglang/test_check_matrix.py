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
    "10892/draft": dict.fromkeys(RELEASES, APPLIES),
    "10892/draft-extend": dict.fromkeys(RELEASES, APPLIES),
    "25015/advance": dict.fromkeys(RELEASES, APPLIES),
    "25015/restore": dict.fromkeys(RELEASES, APPLIES),
    "26329/fix": {BEFORE: SEEN, **dict.fromkeys(RELEASES, APPLIES)},
    "26972/headroom": {BEFORE: BY_VERSION, **dict.fromkeys(RELEASES, APPLIES)},
    "26972/assert": {BEFORE: SEEN, **dict.fromkeys(RELEASES, APPLIES)},
    "26972/reserve": {BEFORE: BY_VERSION, **dict.fromkeys(RELEASES, APPLIES)},
    "27114/topk-offset": {BEFORE: SEEN, **dict.fromkeys(RELEASES, APPLIES)},
    "27114/config-fields": {
        BEFORE: SEEN,
        **dict.fromkeys(RELEASES, DECLARED),
        **dict.fromkeys((*FIRST, "0.5.14"), APPLIES),
    },
    "27338/width": {BEFORE: SEEN, **dict.fromkeys(RELEASES, APPLIES)},
    "27338/assert": {BEFORE: SEEN, **dict.fromkeys(RELEASES, APPLIES)},
    "27460/width": {BEFORE: SEEN, **dict.fromkeys(RELEASES, APPLIES)},
    "27460/assert": {BEFORE: SEEN, **dict.fromkeys(RELEASES, APPLIES)},
}
BELOW = {
    ("10892", "0.5.2"),
    ("24401", "0.5.13.post1"),
    ("25015", "0.5.11"),
    *((fix, BEFORE) for fix in ("26329", "26972", "27114", "27338", "27360", "27460")),
}
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
    looked_at = {*RELEASES, *(version for _, version in BELOW)}
    report["cells"] = [cell for cell in report["cells"] if cell["version"] in looked_at]
    return report


def table(report: dict[str, Any], origin: str) -> dict[str, dict[str, str]]:
    """Part -> version -> verdict, of one kind of source, in the releases of the tables."""
    found: dict[str, dict[str, str]] = {}
    for cell in report["cells"]:
        if cell["origin"]["kind"] == origin and cell["version"] in (BEFORE, *RELEASES):
            row = cell["fix"] if origin == "registry" else f"{cell['fix']}/{cell['part']}"
            assert cell["version"] not in found.setdefault(row, {}), "one cell a part and release"
            found[row][cell["version"]] = cell["verdict"]
    return found


def test_every_fix_has_the_true_verdict_for_every_part_and_release_and_nothing_is_rotten(
    everything: dict[str, Any],
) -> None:
    assert table(everything, "bundled") == EXPECTED
    assert all(cell["healthy"] for cell in everything["cells"] if cell["origin"]["kind"] == "bundled")
    assert everything["exit_code"] == 0, "SGLang's own dead toggles are not used: ours apply there"


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


def test_where_sglangs_own_is_dead_ours_is_used(everything: dict[str, Any]) -> None:
    dead = [cell for cell in everything["cells"] if cell["verdict"] == ROT]
    assert len(dead) == 28
    assert all(cell["origin"]["kind"] == "registry" and cell["instead"].startswith("bundled") for cell in dead)
    here = {(cell["fix"], cell["version"]): cell for cell in everything["cells"] if cell["origin"]["kind"] == "bundled"}
    assert all(here[cell["fix"], cell["version"]]["verdict"] in (APPLIES, DECLARED) for cell in dead)


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
    for part in PLAIN:
        verdict = EXPECTED[part].get(version, BY_VERSION)
        assert stands(part, root) is (verdict == APPLIES), (part, version)


def stands(part: str, root: Path) -> bool:
    """Whether the part's code stands in the release, once, read as plain text."""
    files, definition, wanted = PLAIN[part]
    file = next((root / name for name in files if (root / name).is_file()), None)
    if file is None:
        return False
    text = file.read_text(encoding="utf-8")
    if definition:
        head = re.search(rf"^( *)(?:def|class) {definition}\b", text, re.MULTILINE)
        if head is None:
            return False
        end = re.compile(rf"^ {{0,{len(head[1])}}}(?:def|class|@)", re.MULTILINE).search(text, head.end())
        text = text[head.start() : end.start() if end else None]
    return len(re.findall(wanted, text)) == 1


def _slot(name: str) -> str:
    """A slot of that name with the policy ZERO; the call's arguments hold parentheses one deep."""
    return rf'GraphSlot\(\s*"{name}",(?:[^()]|\([^()]*\))*?padding_policy=PaddingPolicy\.ZERO'


SPECULATIVE, ATTENTION, MEMORY = "sglang/srt/speculative/", "sglang/srt/layers/attention/", "sglang/srt/mem_cache/"
SIZES = (MEMORY + "allocation_sizing.py", MEMORY + "common.py")
IN_GRAPH_STATE = r"def init_cuda_graph_state\((?:.|\n)*?\bdraft_kv_indices_buffer_width\("
PLAIN: dict[str, tuple[tuple[str, ...], str, str]] = {
    "24401/positions": ((REGISTRY,), "build_decode_registry", _slot("positions")),
    "24401/mrope-positions": ((REGISTRY,), "build_decode_registry", _slot("mrope_positions")),
    "27360/slice": ((BACKEND,), "_apply_cuda_graph_metadata", r"\n +cache_loc = cache_loc\[:, :decode_length\]\n"),
    "27360/assert": ((BACKEND,), "_apply_cuda_graph_metadata", r"\n +assert_buffer_fits\(\s+cache_loc\.shape\[1\],"),
    "27360/empty-batch-pad": ((BACKEND,), "draft_decode_set_expand_metadata", r"\bpad\("),
    "26329/fix": (
        (SPECULATIVE + "eagle_utils.py",),
        "_eagle_prefill_tail_tokens",
        r"\n +if next_prompt_token is not None:\n",
    ),
    "26972/headroom": (SIZES, "get_req_to_token_extra_context_len", r"\n +extra = max\("),
    "26972/reserve": (SIZES, "get_alloc_len_per_decode", r"return max\(num_new_pages_per_topk"),
    "27338/width": (
        (ATTENTION + "flashinfer_backend.py",),
        "FlashInferMultiStepDraftBackend",
        IN_GRAPH_STATE,
    ),
    "27338/assert": (
        (ATTENTION + "flashinfer_backend.py",),
        "FlashInferMultiStepDraftBackend",
        r"\bassert_buffer_fits\(\s*required_kv_indices_len",
    ),
    "27460/width": (
        (ATTENTION + "flashinfer_mla_backend.py",),
        "FlashInferMLAMultiStepDraftBackend",
        IN_GRAPH_STATE,
    ),
    "27460/assert": (
        (ATTENTION + "flashinfer_mla_backend.py",),
        "FlashInferMLAMultiStepDraftBackend",
        r"\bassert_buffer_fits\(\s*required_kv_indices_len",
    ),
}
"""Part -> the file (the first of these that is there), the function or class in it, and the text that makes the part."""
