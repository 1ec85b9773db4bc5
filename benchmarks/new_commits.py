"""How many real changes `prtoggle new` takes out exactly: definitions that changed between two releases of well-known packages.

python -m benchmarks.new_commits [--sample N] [--all] [--case TEXT]

Each sampled definition is made with `new --between OLD NEW --only PATH::NAME`, written, loaded as any other file, and planned
against the newer release. It is *right* where the module's syntax tree is then the newer one with the older definition in it, which
is made here in another way (the node put in the tree), and nothing else differs; imports and helpers that the older definition needs
and the newer module has no more may come along, and in other modules those of its imports that are gone from there, beside all that
the newer one has. Whole releases, as one commit in a git repository, are made with `--commit`: each
changed module must have the older tree, or its definitions are named as left.

Example::

    case = cases(PAIRS)[0]
    judge(case).verdict      # "right", "refused" or "wrong"
"""

from __future__ import annotations

import argparse
import ast
import random
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import page
from benchmarks.measure import Row
from benchmarks.port_trees import definitions, same, swapped
from prtoggle.authoring.asked import Asked, answer
from prtoggle.authoring.folder import keep
from prtoggle.edits.text import SourceText
from prtoggle.errors import PrtoggleError
from prtoggle.packages import Package, locate
from prtoggle.plan import decisions
from prtoggle.proposal.carrying import plan_of
from prtoggle.releases import Index
from prtoggle.sources import Sources
from prtoggle.trees import changed, pieces
from prtoggle.yamlfile import load

SEED = 20261130
SAMPLE = 50
PAIRS = (
    ("requests", "requests", "2.31.0", "2.32.2"),
    ("requests", "requests", "2.32.3", "2.32.4"),
    ("urllib3", "urllib3", "2.1.0", "2.2.0"),
    ("urllib3", "urllib3", "2.2.3", "2.3.0"),
    ("click", "click", "8.1.7", "8.1.8"),
    ("click", "click", "8.2.0", "8.2.1"),
    ("packaging", "packaging", "23.2", "24.0"),
    ("packaging", "packaging", "24.1", "24.2"),
    ("jinja2", "jinja2", "3.1.3", "3.1.4"),
    ("jinja2", "jinja2", "3.1.4", "3.1.5"),
    ("rich", "rich", "13.7.0", "13.7.1"),
    ("rich", "rich", "13.8.1", "13.9.1"),
    ("httpx", "httpx", "0.25.2", "0.26.0"),
    ("httpx", "httpx", "0.27.2", "0.28.0"),
    ("attrs", "attr", "23.1.0", "23.2.0"),
    ("attrs", "attr", "24.1.0", "24.2.0"),
    ("flask", "flask", "2.3.3", "3.0.0"),
    ("flask", "flask", "3.0.3", "3.1.0"),
    ("werkzeug", "werkzeug", "3.0.1", "3.0.2"),
    ("werkzeug", "werkzeug", "3.0.6", "3.1.0"),
    ("pluggy", "pluggy", "1.2.0", "1.3.0"),
    ("pluggy", "pluggy", "1.3.0", "1.4.0"),
    ("anyio", "anyio", "4.2.0", "4.3.0"),
    ("starlette", "starlette", "0.36.3", "0.37.0"),
)
"""Distribution, package, older and newer release."""
WHOLE = tuple(pair for pair in PAIRS if pair[0] in ("requests", "urllib3", "click", "packaging", "jinja2", "pluggy"))
"""Those that are made as whole commits, too: up to dozens of definitions each."""


@dataclass(frozen=True)
class Case:
    """One definition that both releases have and that differs."""

    distribution: str
    package: str
    older: str
    newer: str
    path: str
    qualname: str

    @property
    def name(self) -> str:
        return f"{self.distribution} {self.older} -> {self.newer} {self.path}::{self.qualname}"


@dataclass(frozen=True)
class Outcome:
    """What came out, and why where it is not right."""

    case: Case
    verdict: str
    reason: str = ""
    kinds: tuple[str, ...] = ()
    seen_before: bool = False
    seconds: float = 0.0


def cases(pairs: Sequence[tuple[str, str, str, str]] = PAIRS) -> list[Case]:
    """Every function and method that changed between the releases of a pair."""
    found = []
    for distribution, package, older, newer in pairs:
        before, after = (_package(distribution, package, version) for version in (older, newer))
        for path, texts in _both(before, after):
            was, now = (definitions(ast.parse(text)) for text in texts)
            found += [
                Case(distribution, package, older, newer, path, name)
                for name in now
                if name in was and not same(was[name], now[name])
            ]
    return found


def _package(distribution: str, package: str, version: str) -> Package:
    found = locate(package, [str(Index().fetch(distribution, version))])
    assert found is not None, (distribution, version)
    return found


def _both(before: Package, after: Package) -> Iterator[tuple[str, tuple[str, str]]]:
    """Path and both texts of each module that is in both."""
    root = after.locations[0]
    for file in sorted(root.rglob("*.py")):
        other = before.locations[0] / file.relative_to(root)
        if other.is_file() and other.read_bytes() != file.read_bytes():
            texts = tuple(SourceText.decode(each.read_bytes()).text for each in (other, file))
            yield f"{after.name}/{file.relative_to(root).as_posix()}", (texts[0], texts[1])


def judge(case: Case) -> Outcome:
    """Make it, and look at what it gives."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        asked = Asked(
            "101",
            releases=(f"{case.distribution}=={case.older}", f"{case.distribution}=={case.newer}"),
            only=(f"{case.path}::{case.qualname}",),
            package=case.package,
            out=Path(folder),
        )
        try:
            found = answer(asked, Index())
        except PrtoggleError as error:
            return Outcome(case, "refused", str(error), seconds=time.perf_counter() - start)
        written = keep(found.folder, found.files)
        fix = load(written[0])
        newer = _package(case.distribution, case.package, case.newer)
        plan = plan_of(fix, tuple(fix.parts), Sources(newer))
        wrong = _wrong(case, {module.name: module.reverted for module in plan.modules})
        kinds = tuple(type(edit.kind).__name__ for patch in fix.variants[0].patches for edit in patch.edits)
        older = decisions(fix, Sources(_package(case.distribution, case.package, case.older)))
        seen = all("seen" in decision.verdict.value for decision in older.values())
    return Outcome(case, "wrong" if wrong else "right", wrong, kinds, seen, time.perf_counter() - start)


def _wrong(case: Case, reverted: dict[str, bytes]) -> str:
    """Why the reverted package is not the newer one with the older definition; empty where it is."""
    before, after = (_package(case.distribution, case.package, each) for each in (case.older, case.newer))
    texts = dict(_both(before, after))[case.path]
    module = case.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if module not in reverted:
        return f"changes {', '.join(reverted) or 'nothing'}"
    for path, (was_there, is_there) in _both(before, after):
        other = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if other in reverted and other != module and (why := _more(reverted[other], is_there, was_there)):
            return f"{other}: {why}"
    old, new = (ast.parse(text) for text in texts)
    expected = swapped(new, definitions(new)[case.qualname], definitions(old)[case.qualname])
    got = SourceText.decode(reverted[module]).text
    if same(ast.parse(got), expected):
        return ""
    wanted, is_, was = (
        pieces(ast.unparse(ast.fix_missing_locations(expected))),
        pieces(ast.unparse(ast.parse(got))),
        pieces(texts[0]),
    )
    for name in {*wanted, *is_}:
        if wanted.get(name) != is_.get(name):
            came = set(is_.get(name, ())) - set(wanted.get(name, ()))
            if set(wanted.get(name, ())) - set(is_.get(name, ())) or not (
                came <= set(was.get(name, ())) or name == "<body>"
            ):
                return f"{name} is neither the newer nor the older one"
    return ""


def _more(got: bytes, new: str, old: str) -> str:
    """Why a module that a helper was put back into is not the newer one with statements of the older one, and nothing else."""
    has, wants = ([ast.dump(each) for each in ast.parse(text).body] for text in (SourceText.decode(got).text, new))
    older = {ast.dump(each) for each in ast.parse(old).body}
    came = [each for each in has if each not in wants]
    if [each for each in has if each in wants] != wants:
        return "what the newer one has is not as it was"
    strange = [each for each in came if each not in older and not each.startswith("ImportFrom(")]
    return f"neither text has {strange[0][:80]}" if strange else ""


@dataclass(frozen=True)
class Whole:
    """A whole release made as one commit: definitions that came out as they were, were left by name, or are wrong."""

    name: str
    right: int
    left: int
    wrong: int
    refused: str = ""


def whole(pair: tuple[str, str, str, str]) -> Whole:
    """Both releases as two commits, the second one taken out."""
    distribution, package, older, newer = pair
    name = f"{distribution} {older} -> {newer}"
    before, after = (_package(distribution, package, version) for version in (older, newer))
    with tempfile.TemporaryDirectory() as folder:
        repo = Path(folder, "repo")
        commits(repo, package, (before, after))
        total = sum(len(changed(*_ordered(texts))) for _, texts in _both(before, after))
        try:
            found = answer(Asked("101", commit="HEAD", repo=repo, package=package, out=Path(folder, "fixes")), Index())
        except PrtoggleError as error:
            return Whole(name, 0, total, 0, str(error))
        fix = load(keep(found.folder, found.files)[0])
        plan = plan_of(fix, tuple(fix.parts), Sources(after))
        reverted = {module.name: SourceText.decode(module.reverted).text for module in plan.modules}
        right = left = wrong = 0
        named = " ".join(each.path for each in found.change.left)
        for path, (old, new) in _both(before, after):
            module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            got = reverted.get(module, new)
            differing = set(changed(old, got))
            for each in changed(new, old):
                if each not in differing:
                    right += 1
                elif f"{module}:" in named or path in named:
                    left += 1
                else:
                    wrong += 1
            wrong += len(set(changed(new, got)) - set(changed(new, old)))
    return Whole(name, right, left, wrong)


def _ordered(texts: tuple[str, str]) -> tuple[str, str]:
    return texts[1], texts[0]


def commits(repo: Path, package: str, copies: Sequence[Package]) -> None:
    """A git repository with one commit for each copy of a package, in ``src``."""
    repo.mkdir(parents=True)
    _git(repo, "init", "-q")
    for copy in copies:
        target = repo / "src" / package
        if target.is_dir():
            subprocess.run(["rm", "-rf", str(target)], check=True)
        target.mkdir(parents=True)
        for file in copy.locations[0].rglob("*.py"):
            there = target / file.relative_to(copy.locations[0])
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(file.read_bytes())
        _git(repo, "add", "-A")
        _git(repo, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", f"{copy.label} (#101)")


def _git(repo: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "core.autocrlf=false", *words], cwd=repo, check=True, capture_output=True)


def sampled(count: int = SAMPLE) -> list[Case]:
    """The same ``count`` cases each time."""
    found = cases()
    return random.Random(SEED).sample(found, min(count, len(found)))


def reason_of(outcome: Outcome) -> str:
    """A refusal without its names."""
    text = outcome.reason.splitlines()[0]
    known = {
        "the older text has": "the older text imports what another module has no more",
        "the older text uses": "the older text calls a method that is gone",
        "would be gone": "the rest still uses what would be gone",
        "no edits could be written": "no edits could be written",
    }
    return next((reason for words, reason in known.items() if words in text), text)


def rows(count: int = SAMPLE) -> list[Row]:
    outcomes = [judge(case) for case in sampled(count)]
    right, wrong = (sum(each.verdict == verdict for each in outcomes) for verdict in ("right", "wrong"))
    refused = Counter(reason_of(each) for each in outcomes if each.verdict == "refused")
    kinds = Counter(kind for each in outcomes for kind in each.kinds)
    seen = sum(each.seen_before for each in outcomes if each.verdict == "right")
    why = "; ".join(f"{reason}: {number}" for reason, number in refused.items())
    wholes = [whole(pair) for pair in WHOLE]
    total, bad = sum(each.right + each.left + each.wrong for each in wholes), sum(each.wrong for each in wholes)
    good = sum(each.right for each in wholes)
    return [
        Row(
            f"`new --between --only`, {len(outcomes)} of {len(cases())} definitions that changed in {len(PAIRS)} pairs of releases, seed {SEED}",
            "most right, none wrong",
            f"right in {right}, refused {sum(refused.values())}, wrong {wrong}",
            not wrong and right >= 0.9 * len(outcomes),
            f"{why or 'nothing refused'}; edits: {kinds['PatternEdit']} patterns, {kinds['LinesEdit']} of lines, {kinds['DiffEdit']} diffs; "
            f"{seen} tell the older release by its text",
        ),
        Row(
            f"`new --commit`, {len(WHOLE)} of the pairs as whole commits, {total} definitions",
            "most right, none wrong",
            f"right in {good} ({good / total:.1%}), left by name {total - good - bad}, wrong {bad}",
            not bad,
        ),
    ]


def section() -> str:
    """The section of docs/benchmarks.md."""
    return page.table(rows())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=SAMPLE, help="how many definitions")
    parser.add_argument("--case", default="", help="only cases whose name holds this text")
    parser.add_argument("--all", action="store_true", help="list what is right too")
    parser.add_argument("--whole", action="store_true", help="whole releases as commits instead")
    options = parser.parse_args()
    if options.whole:
        for pair in WHOLE:
            if options.case in " ".join(pair):
                print(whole(pair), flush=True)
        return
    found = [case for case in (cases() if options.case else sampled(options.sample)) if options.case in case.name]
    outcomes = []
    for case in found:
        outcomes.append(judge(case))
        each = outcomes[-1]
        if options.all or each.verdict != "right":
            print(f"{each.verdict:8} {each.seconds:.1f} s {case.name} {each.kinds} {each.reason}", flush=True)
    print(Counter(each.verdict for each in outcomes), Counter(kind for each in outcomes for kind in each.kinds))
    print("seen in the older release:", sum(each.seen_before for each in outcomes))


if __name__ == "__main__":
    main()
