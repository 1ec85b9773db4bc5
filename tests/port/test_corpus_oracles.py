"""What the measurement of port relies on: verdicts, git's merge, drifts that change both texts alike."""

from __future__ import annotations

import ast
import random
import shutil

import pytest

import prtoggle.port
from benchmarks.drifts import DRIFTS, GONE, State, drifted
from benchmarks.port_case import Case, judge, plain
from benchmarks.port_changes import merge
from benchmarks.port_reverts import REVERTS, reverted
from benchmarks.port_trees import Texts, definitions, parsed, same
from prtoggle.port.values import CannotTell, Carried, Revert
from prtoggle.port.values import Texts as Pair

PROGRAM = '''import os


class Runner:
    """Runs."""

    enabled = True

    def other(self):
        return [1, 2, 3]

    def step(self, batch, size=4):
        """One step of a batch."""
        self.count = 0
        # how many there are
        total = len(batch) + size - 1
        if total > 3 and self.enabled:
            self.log("long", total=total)
        for item in batch:
            item.prepare(total, stream=self)
            self.count += item.width * 2
        limit = min(total, self.count)
        if limit == 0:
            return None
        self.finish(limit, flush=True)
        return os.fspath(str(limit))


def helper(values, scale=2):
    """Scales."""
    first = values[0] * scale
    rest = [value for value in values[1:]]
    if len(rest) >= 3:
        rest = rest[:3]
    note(first, rest, quiet=True)
    return first + sum(rest)
'''
OTHER = "def unrelated():\n    return 0\n"


def state(qualname: str, how: str, seed: int) -> State | None:
    other = reverted(PROGRAM, qualname, how, random.Random(seed))
    return other and State({"pkg.a": (PROGRAM, other), "pkg.b": (OTHER, OTHER)}, "pkg.a", qualname)


def answered(monkeypatch: pytest.MonkeyPatch, answer: object, expected: dict[str, str] | None) -> str:
    def port(revert: Revert, trees: tuple[Texts, ...]) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(prtoggle.port, "port", port)
    goal = Texts("pkg 2", {"pkg.a": "x = 1\ny = 2\n"})
    known = None if expected is None else {name: lambda text=text: parsed(text) for name, text in expected.items()}
    return judge(Case("one", "drift: some", Revert("pkg 1", ()), (goal,), known)).verdict


def carried(reverted: str, fixed: str = "x = 1\ny = 2\n") -> Carried:
    return Carried(Revert("pkg 2", (Pair("pkg.a", fixed, reverted),)), ())


@pytest.mark.parametrize(
    ("answer", "expected", "verdict"),
    [
        (carried("x = 1\n"), {"pkg.a": "x   =   1"}, "right"),
        (carried("x = 1\npass\n"), {"pkg.a": "x = 1\n"}, "same meaning"),
        (carried("x = 1\nif a.b > 1:\n    pass\n"), {"pkg.a": "x = 1\n"}, "same meaning"),
        (carried("x = 1\nif f(a):\n    pass\n"), {"pkg.a": "x = 1\n"}, "wrong"),
        (carried("x = True\n"), {"pkg.a": "x = 1\n"}, "wrong"),
        (carried("x = 1\n"), {"pkg.b": "x = 1\n"}, "wrong"),
        (carried("x = 1\n"), {}, "wrong"),
        (carried("x = 1\n", fixed="x = 1\ny = 3\n"), {"pkg.a": "x = 1\n"}, "wrong"),
        (carried("x = = 1\n"), {"pkg.a": "x = 1\n"}, "wrong"),
        (carried("x = 1\n"), None, "unknown"),
        (ValueError("no answer at all"), {}, "crashed"),
        (CannotTell("gone", "", "", "pkg 2"), {"pkg.a": "x = 1\n"}, "refused"),
    ],
)
def test_an_answer_is_held_against_what_is_known(monkeypatch, answer, expected, verdict):
    assert answered(monkeypatch, answer, expected) == verdict


def test_an_idle_if_means_nothing_and_one_with_an_else_does():
    assert same(plain(parsed("def f():\n    if a:\n        pass\n    g()\n")), parsed("def f():\n    g()\n"))
    kept = parsed("def f():\n    if a:\n        pass\n    else:\n        g()\n")
    assert same(plain(kept), kept)


def function(text: str) -> ast.FunctionDef:
    node = parsed(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


@pytest.mark.skipif(not shutil.which("git"), reason="git says what is right")
def test_git_merges_what_does_not_touch_and_nothing_else():
    base = "def f():\n    a = 1\n    b = 2\n    c = 3\n    d = 4\n    e = 5\n"
    ours, theirs = base.replace("a = 1", "a = 0"), base.replace("e = 5", "e = 6")
    merged = merge(function(base), function(ours), function(theirs))
    assert merged is not None and same(merged, function(ours.replace("e = 5", "e = 6")))
    assert merge(function(base), function(ours), function(base.replace("a = 1", "a = 9"))) is None
    already = merge(function(base), function(ours), function(ours))
    assert already is not None and same(already, function(ours))


@pytest.mark.parametrize("how", REVERTS)
def test_a_small_revert_changes_the_function_and_nothing_else(how):
    made = 0
    for seed in range(10):
        for qualname in ("Runner.step", "helper"):
            now = state(qualname, how, seed)
            if now is None:
                continue
            made += 1
            before, after = definitions(parsed(now.fixed)), definitions(parsed(now.reverted))
            assert before.keys() == after.keys()
            assert [name for name in before if not same(before[name], after[name])] == [qualname]
    assert made


@pytest.mark.parametrize("how", [*DRIFTS, *GONE])
def test_a_drift_is_made_to_the_fixed_and_to_the_reverted_text_alike(how):
    made = 0
    for seed in range(12):
        for qualname in ("Runner.step", "helper"):
            chance = random.Random(seed)
            now = state(qualname, chance.choice(list(REVERTS)), seed)
            after = now and drifted(now, how, chance)
            if now is None or after is None:
                continue
            made += 1
            differ = [name for name, texts in after.modules.items() if texts[0] != texts[1]]
            if how in GONE:
                assert differ == []
                continue
            assert differ == [after.home]
            fixed, other = (definitions(parsed(text)) for text in after.modules[after.home])
            changed = {name for name in fixed if name not in other or not same(fixed[name], other[name])}
            assert changed == {after.qualname}
            assert after.modules != now.modules
    assert made
