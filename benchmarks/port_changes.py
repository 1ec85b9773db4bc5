"""Real changes between consecutive releases, taken back in the later one and ported to a release in which the code moved on.

Two kinds: a function's own change of release r1 to r2, as a reverse patch at r2; and a small revert out of
:mod:`benchmarks.port_reverts` in a function of r2. Both are ported to r3, where the function changed again. What is right
is asked of somebody else: `git merge-file` on the three definitions, as :func:`ast.unparse` writes them. Where git merges
cleanly its answer is the expected one; where that is what r3 has already, nothing is left to take out, and every proposal
is wrong; where git conflicts, or took only a part for the change, the answer is not known.

Of 60 cases without a known answer, drawn at random over the releases up to 0.5.21 and read by hand, 29 were proposed: all take
out what the change put in, most of them in lines that stand beside, or within, what the later release reworded.

Example::

    cases = change_cases(releases(), count=400)
"""

from __future__ import annotations

import ast
import difflib
import itertools
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.port_case import Case
from benchmarks.port_reverts import REVERTS, reverted
from benchmarks.port_trees import Function, Release, definitions, lines_of, parsed, parses, same, swapped
from benchmarks.port_trees import without_docstring as bare
from prtoggle.edits.text import SourceText
from prtoggle.port.values import Revert, Texts

SEED = 20261129
LARGEST = 16
"""How many lines a change may add and remove, as :func:`ast.unparse` writes them."""
LONGEST = 80_000
"""How many characters a module may have."""
FOLDERS = ("sglang.srt.", "sglang.kernels.", "sglang.lang.")
ALIKE = 0.6
"""How like a function that stands in another place in r3 must be to be taken for the same."""


@dataclass(frozen=True)
class Change:
    """A function of ``newer`` and its reverted form there: the older release's, or a made one."""

    newer: Release
    module: str
    qualname: str
    text: str
    reverted: str
    how: str


def change_cases(trees: Sequence[Release], count: int, seed: int = SEED) -> list[Case]:
    """Up to ``count`` cases: half real changes, half small reverts, spread evenly over the releases."""
    cases: list[Case] = []
    steps = list(itertools.pairwise(trees))[:-1]
    each = -(-count // max(2 * len(steps), 1))
    for number, (older, newer) in enumerate(steps):
        later = trees[number + 2 :]
        made = [*_take(_real(older, newer, seed), trees, newer, later, each, seed)]
        made += [*_take(_small(newer, later, seed), trees, newer, later, 2 * each - len(made), seed)]
        cases += made
    return cases[:count]


def _take(
    changes: Iterator[Change], trees: Sequence[Release], newer: Release, later: Sequence[Release], count: int, seed: int
) -> Iterator[Case]:
    taken = 0
    for change in changes:
        if taken == count:
            return
        chance = random.Random(f"{seed} {newer.version} {change.module} {change.qualname}")
        # Mostly the first release in which the function is not what it was; sometimes a far one.
        order = list(later) if chance.random() < 0.7 else chance.sample(list(later), len(later))
        for goal in order:
            case = _case(change, goal, trees)
            if case is not None:
                taken += 1
                yield case
                break


def _real(older: Release, newer: Release, seed: int) -> Iterator[Change]:
    """Functions that changed a little from one release to the next, in an order that is chance and always the same."""
    chance = random.Random(f"{seed} {newer.version}")
    for module in _shuffled(newer, chance):
        before, after = older.text(module), newer.text(module)
        if not before or not after or before == after or len(after) > LONGEST or not (parses(before) and parses(after)):
            continue
        was, now = definitions(parsed(before)), definitions(parsed(after))
        usable = [name for name in now if name in was and not same(bare(was[name]), bare(now[name]))]
        for name in chance.sample(usable, min(2, len(usable))):
            if _size(was[name], now[name]) > LARGEST or ast.get_docstring(was[name]) != ast.get_docstring(now[name]):
                continue
            text = _with(after, now[name], before, was[name])
            if text is not None:
                yield Change(newer, module, name, after, text, f"as in {older.version}")


def _small(newer: Release, later: Sequence[Release], seed: int) -> Iterator[Change]:
    """Small reverts of functions that are not the same in some later release."""
    chance = random.Random(f"{seed} small {newer.version}")
    for module in _shuffled(newer, chance):
        text = newer.text(module)
        if not text or len(text) > LONGEST or all(tree.text(module) == text for tree in later) or not parses(text):
            continue
        now, then = definitions(parsed(text)), [definitions(parsed(t.text(module) or "")) for t in later[:3]]
        usable = [
            name
            for name, node in now.items()
            if len(node.body) > 2 and any(name not in each or not same(bare(each[name]), bare(node)) for each in then)
        ]
        for name in chance.sample(usable, min(2, len(usable))):
            how = chance.choice(list(REVERTS))
            other = reverted(text, name, how, chance)
            if other is not None:
                yield Change(newer, module, name, text, other, how)


def _shuffled(release: Release, chance: random.Random) -> list[str]:
    names = [name for name in release.modules() if name.startswith(FOLDERS)]
    return chance.sample(names, len(names))


def _size(one: Function, other: Function) -> int:
    lines = difflib.unified_diff(ast.unparse(bare(one)).splitlines(), ast.unparse(bare(other)).splitlines(), n=0)
    return sum(line[0] in "+-" and line[:3] not in ("+++", "---") for line in lines)


def _with(text: str, old: Function, other_text: str, new: Function) -> str | None:
    """``text`` with the lines of one definition replaced by those of another."""
    here, there = SourceText(text), SourceText(other_text)
    (first, last), (start, end) = lines_of(old), lines_of(new)
    result = "".join((*here.lines[: first - 1], *there.lines[start - 1 : end], *here.lines[last:]))
    if not parses(result):
        return None
    found = definitions(parsed(result))
    names = {name for name, node in found.items() if same(node, new)}
    return result if names else None


def _case(change: Change, goal: Release, trees: Sequence[Release]) -> Case | None:
    base = definitions(parsed(change.text))[change.qualname]
    ours = definitions(parsed(change.reverted))[change.qualname]
    found = _there(change, base, goal)
    theirs = found[1] if found else None
    if theirs is not None and found is not None and found[0] == change.module and same(bare(base), bare(theirs)):
        return None  # nothing to find out
    name = f"{change.newer.version} {change.module}:{change.qualname}, {change.how} -> {goal.version}"
    revert = Revert(change.newer.label, (Texts(change.module, change.text, change.reverted),))
    way = tuple(trees[trees.index(change.newer) : trees.index(goal) + 1])
    what = "real change" if change.how.startswith("as in") else "small revert"
    if found is None or theirs is None:
        return Case(name, f"change: {what}, function not found", revert, way, None)
    module, _ = found
    moved = ", moved" if module != change.module else ""
    merged = merge(base, ours, theirs)
    if merged is None:
        return Case(name, f"change: {what}{moved}, git conflicts", revert, way, None)
    if not _whole(base, ours, theirs, merged):
        return Case(name, f"change: {what}{moved}, git conflicts", revert, way, None, "git took a part for done")
    if same(merged, theirs):
        return Case(name, f"change: {what}{moved}, nothing left", revert, way, {})
    expected = partial(_merged, goal, module, theirs.lineno, merged)
    return Case(name, f"change: {what}{moved}", revert, way, {module: expected})


def _whole(base: Function, ours: Function, theirs: Function, merged: Function) -> bool:
    """Whether git made all of the change, or found nothing of it left.

    What moved is for git deleted on one side and new; where the other side deletes it too, it merges cleanly, and wrongly.
    """
    wanted, made = _lines(base, ours), _lines(theirs, merged)
    if made == wanted:
        return True
    there = {line.strip() for line in ast.unparse(theirs).splitlines()}
    return not made[0] and not made[1] and not there & set(wanted[0])


def _lines(before: Function, after: Function) -> tuple[list[str], list[str]]:
    """The lines that go and the lines that come, without indentation, in no order."""
    old, new = (Counter(line.strip() for line in ast.unparse(node).splitlines()) for node in (before, after))
    return sorted((old - new).elements()), sorted((new - old).elements())


def _merged(goal: Release, module: str, line: int, merged: Function) -> ast.Module:
    tree = parsed(goal.text(module) or "")
    theirs = next(node for node in definitions(tree).values() if node.lineno == line)
    return swapped(tree, theirs, merged)


def _there(change: Change, base: Function, goal: Release) -> tuple[str, Function] | None:
    """The module and the definition of the function in a later release, where its name alone finds it."""
    text = goal.text(change.module)
    if text is not None and parses(text):
        found = definitions(parsed(text))
        if change.qualname in found:
            return change.module, found[change.qualname]
    name = change.qualname.rpartition(".")[2]
    if name.startswith("__"):
        return None
    written, near = ast.unparse(bare(base)).splitlines(), []
    for module in goal.mentioning(f"def {name}("):
        there = goal.text(module) or ""
        if not parses(there):
            continue
        for qualname, node in definitions(parsed(there)).items():
            old = change.newer.text(module) or ""
            if qualname.rpartition(".")[2] == name and f"def {name}(" not in (old if module != change.module else ""):
                ratio = difflib.SequenceMatcher(None, written, ast.unparse(bare(node)).splitlines(), False).ratio()
                if ratio >= ALIKE:
                    near.append((module, node))
    return near[0] if len(near) == 1 else None


def merge(base: Function, ours: Function, theirs: Function) -> Function | None:
    """What git makes of three definitions; None where it conflicts, or where its result is not Python."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, node in (("ours", ours), ("base", base), ("theirs", theirs)):
            file = Path(folder, name)
            file.write_text(ast.unparse(node) + "\n", encoding="utf-8", errors="surrogatepass")
            files.append(str(file))
        done = subprocess.run(["git", "merge-file", "-p", "-q", *files], capture_output=True, check=False)
    if done.returncode:
        return None
    try:
        tree = ast.parse(done.stdout.decode("utf-8", errors="surrogatepass"))
    except SyntaxError:
        return None
    (node,) = tree.body if len(tree.body) == 1 else (None,)
    return node if isinstance(node, Function) else None
