"""Writes ``expected.json`` beside the reverse patches: what syntax tree each definition must have once parts are out.

Shows, for each combination of parts that a case of ``real.py`` takes out and each distinct tree, the releases that have
it, where the expectation comes from, and the diff that the reverse patch makes there, for review. The expectation comes
from the release just below ``contains`` where the reverted definition is that release's own; else from whoever reads
the diff. A change that was shown already, of the same lines in another release, is not shown again. Releases that are
listed already are compared, and what differs is said. Writes nothing unless asked.

Example::

    python scripts/expect.py 27360 --against 'sglang>=0.5.13,<0.5.22'            # shows; exit 1 if something is new
    python scripts/expect.py 27360 --against 'sglang>=0.5.13,<0.5.22' --write    # what was reviewed
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from prtoggle import expected  # noqa: E402
from prtoggle.check import Subject  # noqa: E402
from prtoggle.cli.context import parse_all  # noqa: E402
from prtoggle.errors import PrtoggleError  # noqa: E402
from prtoggle.expected import REVIEWED, Expectation  # noqa: E402
from prtoggle.library import Library  # noqa: E402
from prtoggle.realproof import Wanted, key, survey  # noqa: E402
from prtoggle.releases import Index  # noqa: E402
from prtoggle.revertdiff import revert_diff  # noqa: E402
from prtoggle.selection import Selection  # noqa: E402
from prtoggle.subjects import named  # noqa: E402
from prtoggle.trees import digest, pieces  # noqa: E402


@dataclass(frozen=True)
class Seen:
    """One reverted definition in one release, and the diff that made it."""

    entry: Expectation
    diff: str


def seen(wanted: Wanted, below: Subject | None) -> Iterator[Seen]:
    """What a cell's plan makes of each definition that it changes."""
    assert wanted.plan is not None
    diff = revert_diff(wanted.plan).decode("utf-8", "replace")
    revert = key(wanted.cell.fix, wanted.cell.parts)
    for (module, definition), tree in expected.trees_of(wanted.plan).items():
        source = below.version if below is not None and _tree_in(below, module, definition) == tree else REVIEWED
        yield Seen(Expectation(revert, module, definition, tree, (wanted.cell.version,), source), diff)


def _tree_in(subject: Subject, module: str, definition: str) -> str:
    assert subject.package is not None
    file = subject.package.module_file(module)
    return digest(pieces(file.read_bytes()).get(definition, ())) if file is not None else ""


def grouped(found: Sequence[Seen]) -> dict[Expectation, list[Seen]]:
    """The distinct expectations, each with its releases in order, and what was seen of it."""
    groups: dict[Expectation, list[Seen]] = {}
    for each in found:
        groups.setdefault(replace(each.entry, releases=()), []).append(each)
    return {
        replace(entry, releases=tuple(release for one in each for release in one.entry.releases)): each
        for entry, each in groups.items()
    }


def merged(known: Sequence[Expectation], new: Sequence[Expectation]) -> tuple[Expectation, ...]:
    """``known`` without what ``new`` says of the same reverts and releases, and ``new``; releases in their order."""
    from packaging.version import Version

    anew = {(entry.revert, release) for entry in new for release in entry.releases}
    table: dict[Expectation, set[str]] = {}
    for entry in known:
        kept = {release for release in entry.releases if (entry.revert, release) not in anew}
        table.setdefault(replace(entry, releases=()), set()).update(kept)
    for entry in new:
        table.setdefault(replace(entry, releases=()), set()).update(entry.releases)
    entries = [
        replace(entry, releases=tuple(sorted(releases, key=Version))) for entry, releases in table.items() if releases
    ]
    return tuple(
        sorted(entries, key=lambda entry: (entry.revert, entry.module, entry.definition, Version(entry.releases[0])))
    )


def show(entry: Expectation, of: Sequence[Seen], known: Sequence[Expectation], shown: dict[str, str]) -> bool:
    """Print one expectation; whether something of it is not in ``known``. ``shown``: changes, and where they stood."""
    new = [release for release in entry.releases if not _listed(known, entry, release)]
    state = f"NEW or different in {', '.join(new)}" if new else "as written"
    print(f"\n{entry.revert}  {entry.module}.{entry.definition}  {entry.tree}")
    print(f"  from {entry.source}; {', '.join(entry.releases)}: {state}")
    if new and entry.source == REVIEWED:
        for each in (each for each in of if each.entry.releases[0] in new):
            change = re.sub(r"^@@ .*$", "@@", each.diff, flags=re.MULTILINE)
            (release,) = each.entry.releases
            if change in shown:
                print(f"  in {release}: the lines changed, and those around them, as in {shown[change]}")
                continue
            shown[change] = f"{entry.revert} {release}"
            print(f"  in {release}, for review:")
            print("    " + each.diff.rstrip().replace("\n", "\n    "))
    return bool(new)


def _listed(known: Sequence[Expectation], entry: Expectation, release: str) -> bool:
    return any(release in each.releases and replace(each, releases=()) == replace(entry, releases=()) for each in known)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("selections", nargs="*", metavar="SELECTION")
    parser.add_argument("--against", action="append", required=True, metavar="REQ")
    parser.add_argument("--fixes", action="append", default=[], type=Path, metavar="DIR")
    parser.add_argument("--write", action="store_true", help="write what is shown: it was reviewed")
    given = parser.parse_args(argv)
    try:
        return expect(parse_all(given.selections), given.against, given.fixes, given.write)
    except PrtoggleError as error:
        print(error, file=sys.stderr)
        return error.exit_code


def expect(selection: Selection, against: Sequence[str], dirs: Sequence[Path], write: bool) -> int:
    """Show, and write where asked; 1 where something is new or different and not written."""
    library = Library(dirs)
    subjects = named(against, library, Index(), selection)
    below = {number: subject for subject in subjects for number in subject.below if subject.package is not None}
    found: dict[Path, list[Seen]] = {}
    for wanted in survey(subjects, selection):
        if wanted.plan is not None:
            path = Path(wanted.cell.fix.place.file).with_name(expected.FILE)
            found.setdefault(path, []).extend(seen(wanted, below.get(wanted.cell.fix.id)))
        elif wanted.cell.reason and wanted.cell.verdict == "not proven":
            print(f"{wanted.cell.name} in {wanted.cell.release}: {wanted.cell.reason}", file=sys.stderr)
    changed, shown = False, dict[str, str]()
    for path, each in found.items():
        known = expected.load(path)
        groups = grouped(each)
        new = [show(entry, of, known, shown) for entry, of in groups.items()]
        changed = changed or any(new)
        if write and any(new):
            path.write_text(expected.dump(merged(known, tuple(groups))), encoding="utf-8")
            print(f"\nwritten: {path.parent.name}/{path.name}")
    return 1 if changed and not write else 0


if __name__ == "__main__":
    sys.exit(main())
