"""Writes the table of ``docs/proof.md`` from what ``prtoggle check --prove --json`` says.

A test compares its rows and columns with the fixes and releases that there are, and what it calls proven with the
expectations; it runs nothing.

Example::

    prtoggle check --prove --against 'sglang>=0.5.13' --json | python scripts/make_proof.py -
    prtoggle check --prove 27338 --against 'sglang>=0.5.22' --json | python scripts/make_proof.py --keep -

With ``--keep`` the cells that were not run again stay as the table has them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "proof.md"
BEGIN, END = "<!-- table:", "<!-- end of table -->"
WORDS = {"proven": "proven", "not proven": "**NOT**", "could not run": "?", "not in this release": "-"}


def table(cells: Sequence[Mapping[str, Any]]) -> str:
    """A row for each thing that is taken out, a column for each release, and what is not proven below."""
    from packaging.version import Version

    releases = sorted({str(cell["version"]) for cell in cells}, key=Version)
    rows: dict[tuple[int, str], dict[str, str]] = {}
    for cell in cells:
        rows.setdefault((int(cell["fix"]), cell["revert"]), {})[cell["version"]] = WORDS[cell["verdict"]]
    order = sorted(rows, key=lambda row: row[0])
    lines = ["| reverted | " + " | ".join(releases) + " |", "|---" * (len(releases) + 1) + "|"]
    lines += [f"| {row[1]} | " + " | ".join(rows[row].get(each, "") for each in releases) + " |" for row in order]
    proven = sum(cell["verdict"] == "proven" for cell in cells)
    here = sum(cell["verdict"] != "not in this release" for cell in cells)
    before = sum(
        cell["verdict"] == "proven" and "reviewed" not in (cell["tree"] or {}).get("from", "") for cell in cells
    )
    lines += [
        "",
        f"{proven} of {here} proven. The syntax trees of {before} are those of the release before the fix, the",
    ]
    lines[-1] += " others were reviewed. `-`: the release does not have it, or has not all of these parts."
    lines[-1] += " Empty: not run."
    return "\n".join([*lines, *_open(cells)]) + "\n"


def _open(cells: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for cell in cells:
        if cell["verdict"] in ("not proven", "could not run"):
            reasons.setdefault((cell["revert"], cell["verdict"], cell["reason"]), []).append(cell["version"])
    if reasons:
        yield ""
    for (revert, verdict, reason), versions in reasons.items():
        yield f"- {revert}, {', '.join(versions)}: {verdict}: {reason}"


def kept(text: str, cells: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The cells of the table in ``text`` that ``cells`` does not have, as far as a table tells them."""
    verdicts = {word: verdict for verdict, word in WORDS.items()}
    new = {(cell["revert"], cell["version"]) for cell in cells}
    before = text.partition(BEGIN)[2].partition(END)[0]
    for revert, row in rows_of(text).items():
        for version, word in row.items():
            if not word or (revert, version) in new:
                continue
            told = [line for line in before.splitlines() if line.startswith(f"- {revert}, ") and version in line]
            yield {
                "fix": revert.partition("/")[0],
                "revert": revert,
                "version": version,
                "verdict": verdicts[word],
                "reason": told[0].partition(f": {verdicts[word]}: ")[2] if told else "",
                "tree": {"from": "reviewed"},
            }


def rows_of(text: str) -> dict[str, dict[str, str]]:
    """The table in a document's text: what is reverted -> release -> word."""
    lines = [line for line in text.partition(BEGIN)[2].partition(END)[0].splitlines() if line.startswith("| ")]
    header, *rest = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines] or [[]]
    return {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rest}


def written(text: str, made: str) -> str:
    """``text`` with the table in its place."""
    head, begin, rest = text.partition(BEGIN)
    mark, _, rest = rest.partition("\n")
    assert begin and END in rest, f"{DOCUMENT.name} has no place for the table"
    return f"{head}{begin}{mark}\n\n{made}\n{END}{rest.partition(END)[2]}"


def main(argv: Sequence[str]) -> int:
    keep, names = "--keep" in argv, [name for name in argv if name != "--keep"]
    if len(names) != 1:
        print("make_proof.py [--keep] FILE (- is stdin)", file=sys.stderr)
        return 2
    told = json.loads(sys.stdin.read() if names[0] == "-" else Path(names[0]).read_text(encoding="utf-8"))
    text = DOCUMENT.read_text(encoding="utf-8")
    cells = [*told["cells"], *(kept(text, told["cells"]) if keep else ())]
    DOCUMENT.write_text(written(text, table(cells)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
