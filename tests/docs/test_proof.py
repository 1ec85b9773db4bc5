"""docs/proof.md is about the fixes and releases that there are; the proofs themselves are run by ``make prove-all``."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from packaging.version import Version

from prtoggle import expected
from prtoggle.caserun import parts_of, written
from prtoggle.realproof import key
from prtoggle.spec import Fix
from prtoggle.yamlfile import load

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("make_proof", ROOT / "scripts" / "make_proof.py")
assert _spec is not None and _spec.loader is not None
make_proof = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_proof)

FIXES = [load(str(file)) for file in sorted((ROOT / "fixes").glob("pr*/revert.yaml"))]
TABLE: dict[str, dict[str, str]] = make_proof.rows_of(make_proof.DOCUMENT.read_text(encoding="utf-8"))


FIRST = "0.5.13"
"""The oldest release of the table; an expectation may be from before it, where a fix is older."""


def rows(fix: Fix) -> list[str]:
    """What ``check --prove`` has a row for: each case, and each part that none takes out."""
    cases = [revert for revert, _ in written(Path(fix.place.file).with_name("real.py")) or [] if revert != "none"]
    covered = {part for revert in cases for part in parts_of(fix, revert)}
    return cases + [f"{fix.id}/{part}" for part in fix.parts if part not in covered]


def test_the_table_has_a_row_for_each_thing_that_a_fix_takes_out_and_no_other() -> None:
    assert set(TABLE) == {row for fix in FIXES for row in rows(fix)}, "stale: make prove-all"


@pytest.mark.parametrize("fix", FIXES, ids=lambda fix: fix.id)
def test_what_the_table_calls_proven_is_what_has_an_expectation(fix: Fix) -> None:
    known = expected.load(Path(fix.place.file).with_name(expected.FILE))
    for row in rows(fix):
        listed = {
            release
            for entry in known
            if entry.revert == key(fix, tuple(parts_of(fix, row)))
            for release in entry.releases
            if Version(release) >= Version(FIRST)
        }
        proven = {release for release, word in TABLE[row].items() if word == "proven"}
        assert proven == listed, f"{row}: stale: make prove-all"


def test_nothing_in_the_table_is_unproven() -> None:
    assert {word for row in TABLE.values() for word in row.values()} <= {"proven", "-", ""}


def test_every_release_has_a_column() -> None:
    releases = {release for fix in FIXES for entry in _known(fix) for release in entry.releases}
    releases = {release for release in releases if Version(release) >= Version(FIRST)}
    for row in TABLE.values():
        assert releases <= set(row), "stale: make prove-all"


def _known(fix: Fix) -> tuple[expected.Expectation, ...]:
    return expected.load(Path(fix.place.file).with_name(expected.FILE))
