"""What was asked of ``new``, from the sources to a folder's files that were tried.

Contract: nothing is written but by :func:`prtoggle.authoring.folder.keep`. An answer is only given where the file loads
and takes the change out of the package that it was made from, part by part and all together.

Example::

    answer(Asked("101", commit="HEAD", repo=Path(".")), Index()).files["revert.yaml"]
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prtoggle import installed
from prtoggle.authoring import folder
from prtoggle.authoring.between import between
from prtoggle.authoring.change import REFUSED, STAYS, Change, Left, Pair
from prtoggle.authoring.commit import of_commit
from prtoggle.authoring.holders import label_of, named, one, with_one_of
from prtoggle.authoring.lacking import lacking
from prtoggle.authoring.parts import Part, doubt, parts, texts
from prtoggle.authoring.ranges import is_earlier, proposed
from prtoggle.authoring.takenback import Diff, packages_of, taken_back
from prtoggle.authoring.trying import Seen, Tried, proven, tried
from prtoggle.authoring.written import edits
from prtoggle.authoring.yamldoc import Ranges, document
from prtoggle.check import Subject
from prtoggle.difffix import module_of
from prtoggle.edits.text import SourceText
from prtoggle.errors import MalformedError, RefusedError
from prtoggle.packages import Package
from prtoggle.proposal.writing import Unwritable
from prtoggle.releases import Index
from prtoggle.spec import ONLY_PART, Fix, Origin
from prtoggle.verdict import Verdict
from prtoggle.yamlfile import loads

_PAGE = "guides/write-a-reverse-patch#3-let-it-be-written"
_ROOTS = frozenset({"src", "python", "lib"})
_STAYS = "guides/write-a-reverse-patch#what-cannot-be-taken-out"
"""Where it is said what stays."""


@dataclass(frozen=True)
class Asked:
    """What was typed: exactly one of ``commit``, ``diff`` (its text and name) and ``releases`` (older, newer)."""

    number: str
    commit: str = ""
    repo: Path = Path()
    diff: tuple[str, str] | None = None
    releases: tuple[str, str] | None = None
    only: tuple[str, ...] = ()
    package: str | None = None
    against: tuple[str, ...] = ()
    title: str = ""
    out: Path = Path("fixes")


@dataclass(frozen=True)
class Answer:
    """A new fix.

    Attributes:
        folder: where its files are to lie; ``files`` are their texts by name.
        fix: what the YAML loads as.
        home: what every part gives where it was made from; ``tried`` what it meets elsewhere.
        notes: what a person should know; ``todo`` what is left to do.
    """

    number: str
    title: str
    change: Change
    parts: tuple[Part, ...]
    ranges: Ranges
    fix: Fix
    folder: Path
    files: Mapping[str, str]
    home: tuple[Seen, ...]
    tried: Tried
    notes: tuple[str, ...]
    todo: tuple[str, ...]


def answer(asked: Asked, index: Index, *, dry: bool = False) -> Answer:
    """A new fix for what was asked; ``dry``: it is not to be written, so that what is there does not matter.

    Raises:
        UsageError: what was typed names nothing, or several things.
        RefusedError: nothing of the change can be taken out at run time, or not so that it can be relied on.
        InconclusiveError: a release that the texts are from could not be had.
    """
    with tempfile.TemporaryDirectory(prefix="prtoggle-new-") as scratch:
        change, more = _change(asked, index, Path(scratch))
        change, found = _parts(change, hint="name what it needs too: --only PATH::NAME" if asked.only else "")
        untitled = _title(found, change)
        title = asked.title or change.told.title or untitled
        where = (
            asked.out / f"pr{asked.number}_{folder.slug(title)}"
            if dry
            else folder.place(asked.out, asked.number, title)
        )
        subjects = _subjects(asked, change.home, more, index)
        draft = _loaded(asked.number, title, change, found, Ranges(), where)
        first = (*proven(draft, change), *tried(draft, change, subjects).seen)
        ranges = proposed(change.home.name, first)
        fix = _loaded(asked.number, title, change, found, ranges, where)
        home, met = proven(fix, change), tried(fix, change, subjects)
        if asked.releases:
            met = replace(met, seen=tuple(_older(each, change.older) for each in met.seen))
    files = {
        "revert.yaml": document(asked.number, title, change, found, ranges, where / "revert.yaml"),
        "scenario.py": folder.scenario(asked.number, title),
        f"test_pr{asked.number}.py": folder.guard(asked.number, title),
    }
    notes, todo = (
        _notes(asked, change, found, more),
        _todo(asked.number, change, found, ranges, titled=title != untitled),
    )
    return Answer(asked.number, title, change, found, ranges, fix, where, files, home, met, notes, todo)


def _change(asked: Asked, index: Index, scratch: Path) -> tuple[Change, tuple[Package, ...]]:
    """The change, and packages beside its own that are worth a look."""
    if asked.commit:
        return of_commit(asked.repo, asked.commit, scratch, only=asked.package), ()
    if asked.releases:
        older, newer = (one(text, asked.package, index) for text in asked.releases)
        return between(newer, older, only=asked.only), (older,)
    assert asked.diff is not None
    return _of_diff(asked, index), ()


def _of_diff(asked: Asked, index: Index) -> Change:
    assert asked.diff is not None
    text, name = asked.diff
    diff = Diff.read(text, name)
    names = (asked.package,) if asked.package else tuple(sorted(packages_of(diff), key=_ROOTS.__contains__))
    best: MalformedError | None = None
    for package in with_one_of(asked.against, names, index):
        if not any(_there(path, package) for path in diff.paths):
            continue
        if package.file is None and package.name in _ROOTS and package.name != asked.package:
            continue  # the folder that packages lie in, seen from where the command runs
        try:
            return taken_back(diff, package, label_of(package))
        except MalformedError as error:
            if best is None or len(error.problems) < len(best.problems):
                best = error
    if best is not None:
        raise best
    name = "the diff on stdin" if name == "-" else name
    shown = ", ".join(diff.paths[:3]) + (f" and {len(diff.paths) - 3} more" if len(diff.paths) > 3 else "")
    if not names:
        raise RefusedError(
            f"{name} changes {shown}: no module of a package, so nothing can be taken out at run time", page=_STAYS
        )
    raise RefusedError(
        f"{name} changes {shown}, and no package of that is installed here",
        hint="--against names a release, a wheel or a folder that has the change; --package the package",
        page=_PAGE,
    )


def _there(path: str, package: Package) -> bool:
    module = module_of(path, package)
    return module is not None and package.module_file(module) is not None


def _parts(change: Change, hint: str = "") -> tuple[Change, tuple[Part, ...]]:
    """The parts that can be taken out, and the change without the rest, which is named in ``left``.

    Raises:
        RefusedError: nothing is left.
    """
    while True:
        if not change.pairs:
            raise _nothing(change, hint)
        try:
            made = {pair.module: edits(pair) for pair in change.pairs}
        except Unwritable as problem:
            raise RefusedError(f"{change.came}: no edits could be written for it: {problem}", page=_PAGE) from None
        found = parts(change.pairs, made)
        broken = [(part, why) for part in found if (why := _lacking(change, (part,)))]
        together = _lacking(change, found)
        if not broken and not together:
            return change, found
        if not together:  # what one part lacks another one brings
            every = tuple(each for part in found for each in part.edits)
            return change, (Part(ONLY_PART, "", every),)
        broken = broken or [(part, together) for part in found]
        change = _without(change, found, broken)


def _lacking(change: Change, its: Sequence[Part]) -> list[str]:
    made = texts(change.pairs, [each for part in its for each in part.edits])
    return (
        ["its edits cannot be made together"]
        if made is None
        else lacking(change.pairs, made, change.home, _added(change))
    )


def _added(change: Change) -> list[str]:
    named = [module_of(left.path, change.home) for left in change.left if left.kind == STAYS]
    return [each for each in named if each is not None and change.home.module_file(each) is not None]


def _without(change: Change, found: Sequence[Part], broken: Sequence[tuple[Part, list[str]]]) -> Change:
    """The change without the parts that are ``broken``."""
    gone = [part for part, _ in broken]
    kept = [each for part in found if part not in gone for each in part.edits]
    left = []
    for part, why in broken:
        units = dict.fromkeys(f"{module}:{unit}" for module, unit in part.units)
        left.append(Left(", ".join(units), REFUSED, "; ".join(why)))
    made = texts(change.pairs, kept) or {}
    pairs = [
        Pair(pair.module, pair.fixed, SourceText(made[pair.module], pair.fixed.encoding, pair.fixed.bom))
        for pair in change.pairs
        if pair.module in made
    ]
    return replace(change, pairs=tuple(pairs), left=(*change.left, *left))


def _nothing(change: Change, hint: str) -> RefusedError:
    problems = [
        RefusedError(f"{left.path} cannot be taken out at run time: {left.why}", hint=hint, page=_STAYS)
        for left in change.left
        if left.kind == REFUSED
    ]
    if problems:
        return problems[0] if len(problems) == 1 else MalformedError(tuple(problems), page=_STAYS)
    shown = "; ".join(f"{left.path}: {left.why}" for left in change.left[:5]) or "no file differs"
    return RefusedError(f"nothing of {change.came} can be taken out at run time", hint=shown, page=_STAYS)


def _subjects(asked: Asked, home: Package, more: Sequence[Package], index: Index) -> list[Subject]:
    """What is installed and what is named, without the package that the fix was made from."""
    found = [*more]
    here = installed.find(home.name)
    if here is not None:
        found.append(here)
    subjects = [Subject(each.name, label_of(each), each.version, each, None) for each in found]
    subjects += named(asked.against, home.name, index)
    unique: dict[str, Subject] = {}
    for subject in subjects:
        key = subject.package.where if subject.package is not None else subject.label
        if key != home.where:
            unique.setdefault(key, subject)
    return list(unique.values())


def _loaded(number: str, title: str, change: Change, found: Sequence[Part], ranges: Ranges, where: Path) -> Fix:
    text = document(number, title, change, found, ranges, where / "revert.yaml")
    try:
        return loads(text, str(where / "revert.yaml"), id=number, origin=Origin("dir", str(where.parent)))
    except MalformedError as problem:
        raise RefusedError(
            f"what was written does not load: {problem.problems[0].said}",
            hint="write the reverse patch by hand",
            page=_PAGE,
        ) from None


def _older(seen: Seen, label: str) -> Seen:
    """What is seen in the release that the older text is from: it need not be told by its text."""
    if seen.release != label or seen.verdict != Verdict.ROT.value:
        return seen
    return replace(seen, verdict="without it", healthy=True, reason="no pattern tells (unfixed)", nearest="", hint="")


def _title(found: Sequence[Part], change: Change) -> str:
    units = list(dict.fromkeys(unit for part in found for _, unit in part.units))
    if len(units) > 3:
        return f"the changes from {change.came}"
    return f"the change of {', '.join(units)}"


def _notes(asked: Asked, change: Change, found: Sequence[Part], more: Sequence[Package]) -> tuple[str, ...]:
    notes = []
    for older in more:
        if is_earlier(change.home, older):
            notes.append(
                f"{change.home.label} is the earlier release, and is taken for the one that has the change: "
                "--between names the one without it first"
            )
    if change.told.number and change.told.number != asked.number:
        notes.append(f"{change.came} says that it is #{change.told.number}, not #{asked.number}")
    if asked.releases and not asked.only:
        notes.append("of releases only the Python files are looked at")
    if doubted := doubt(change.pairs, found):
        notes.append(f"parts to be tried each alone: {doubted}")
    return tuple(notes)


def _todo(number: str, change: Change, found: Sequence[Part], ranges: Ranges, *, titled: bool) -> tuple[str, ...]:
    todo = [] if titled else ["title: say what the fix is"]
    todo.append("symptom: say what is seen where the fix is missing")
    if len(found) > 1:
        todo.append("parts: say what each does, and which ones a bare number takes out (default)")
    if not ranges.contains:
        todo.append(f"contains: say which releases of {change.home.name} hold the fix")
    todo.append("scenario.py: show the symptom, and its absence")
    todo.append(f"test_pr{number}.py: guard the fix")
    return tuple(todo)
