"""One case of the measurement: a revert in one release, the trees up to the goal, and what is known of the answer.

Example::

    outcome = judge(case)
    outcome.verdict            # "right", "same meaning", "refused", "wrong", "unknown" or "crashed"
"""

from __future__ import annotations

import ast
import difflib
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.port_trees import parsed, same
from prtoggle.port.values import CannotTell, Carried, Revert, Tree


@dataclass(frozen=True)
class Case:
    """What is to be ported, and the answer.

    Attributes:
        name: unique, says where it comes from.
        kind: the row of the table that it counts in.
        expected: module -> what gives its reverted tree in the goal; empty where nothing can be carried, so that every proposal
            is wrong; None where the answer is not known.
        note: for a person who looks at a miss.
    """

    name: str
    kind: str
    revert: Revert
    trees: tuple[Tree, ...]
    expected: Mapping[str, Callable[[], ast.Module]] | None
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """What came of a case."""

    case: Case
    verdict: str
    seconds: float
    reason: str = ""
    how: tuple[str, ...] = ()
    diff: str = field(default="", repr=False)

    @property
    def bad(self) -> bool:
        """Whether this must never be."""
        return self.verdict in ("wrong", "crashed")


def judge(case: Case) -> Outcome:
    """Port, and hold the answer against what is known."""
    from prtoggle.port import port

    start = time.perf_counter()
    try:
        answer = port(case.revert, case.trees)
    except Exception:
        return Outcome(case, "crashed", time.perf_counter() - start, traceback.format_exc(limit=-4))
    took = time.perf_counter() - start
    if isinstance(answer, CannotTell):
        where = f" ({answer.where}; nearest {answer.nearest}; in {answer.release})"
        return Outcome(case, "refused", took, answer.reason + where)
    verdict, reason = _verdict(case, answer)
    how = tuple(f"{step.before} -> {step.after}: {step.how}: {step.why}" for step in answer.steps)
    return Outcome(case, verdict, took, reason, how, "" if verdict == "right" else _diff(case, answer))


def _verdict(case: Case, answer: Carried) -> tuple[str, str]:
    goal = case.trees[-1]
    for texts in answer.revert.modules:
        if texts.fixed != goal.text(texts.module):
            return "wrong", f"{texts.module}: what is called fixed is not the text of {goal.label}"
        try:
            parsed(texts.reverted)
        except (SyntaxError, ValueError) as error:
            return "wrong", f"{texts.module} does not parse: {error}"
    proposed = {
        texts.module: parsed(texts.reverted)
        for texts in answer.revert.modules
        if not same(parsed(texts.fixed), parsed(texts.reverted))
    }
    if case.expected is None:
        return "unknown", "a proposal, where the answer is not known"
    if not case.expected:
        return "wrong", "a proposal, where the goal does not hold the change"
    if set(proposed) != set(case.expected):
        return "wrong", f"changes {sorted(proposed)}, and should change {sorted(case.expected)}"
    expected = {name: make() for name, make in case.expected.items()}
    if all(same(tree, expected[name]) for name, tree in proposed.items()):
        return "right", ""
    if all(same(plain(tree), plain(expected[name])) for name, tree in proposed.items()):
        return "same meaning", "the same but for statements that do nothing"
    return "wrong", "another tree"


def plain(tree: ast.Module) -> ast.Module:
    """``tree`` without statements that do nothing: a `pass` that need not be, an `if` of which nothing is left.

    The test of such an `if` may look at names, attributes and constants, and call functions without arguments.
    """
    return _Plain().visit(ast.parse(ast.unparse(tree)))  # type: ignore[no-any-return]


class _Plain(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                kept = [statement for statement in block if not _idle(statement)]
                setattr(node, name, kept or ([ast.Pass()] if block and name == "body" else []))
        return node


def _idle(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        quiet = not any(
            isinstance(each, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)
            or (isinstance(each, ast.Call) and bool(each.args or each.keywords))
            for each in ast.walk(node.test)
        )
        return quiet and not node.orelse and all(isinstance(each, ast.Pass) for each in node.body)
    return isinstance(node, ast.Pass)


def _diff(case: Case, answer: Carried) -> str:
    """What was proposed against the truth; against the fixed text where the truth is not known."""
    pieces = []
    known = {name: make() for name, make in (case.expected or {}).items()}
    proposed = {texts.module: texts for texts in answer.revert.modules}
    for name in sorted({*proposed, *known}):
        fixed = case.trees[-1].text(name) or ""
        mine = proposed[name].reverted if name in proposed else fixed
        try:
            after = ast.unparse(parsed(mine))
        except (SyntaxError, ValueError):
            after = mine
        for title, before in (("the fixed text", parsed(fixed)), ("the truth", known.get(name))):
            if before is not None:
                pieces.append(f"proposed in {name}, against {title}:\n" + _unified(ast.unparse(before), after))
    return "\n".join(pieces)


def _unified(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "known", "proposed", lineterm="", n=4)
    return "\n".join(lines)


def tally(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Verdict -> how many."""
    counts: dict[str, int] = {}
    for outcome in outcomes:
        counts[outcome.verdict] = counts.get(outcome.verdict, 0) + 1
    return counts
