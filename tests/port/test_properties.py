"""A random function, a random revert, a random drift that has nothing to do with it: carried, the revert drifts; else it is refused."""

from __future__ import annotations

import ast
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from prtoggle.port import CannotTell, Carried, Revert, Texts, carry
from tests.port.helpers import Made

NAMES = ("alpha", "beta", "gamma", "delta")
CALLS = ("load", "store", "check", "scale", "merge")


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2) -> str:
    kinds = ["name", "number", "attribute"] + ["call", "sum", "compare"] * (depth > 0)
    kind = draw(st.sampled_from(kinds))
    if kind == "name":
        return draw(st.sampled_from(NAMES))
    if kind == "number":
        return str(draw(st.integers(0, 9)))
    if kind == "attribute":
        return f"{draw(st.sampled_from(NAMES))}.{draw(st.sampled_from(CALLS))}"
    inner = [draw(expressions(depth - 1)) for _ in range(draw(st.integers(1, 3)))]
    if kind == "call":
        return f"{draw(st.sampled_from(CALLS))}({', '.join(inner)})"
    sign = draw(st.sampled_from(["+", "*", "-"] if kind == "sum" else ["<", "==", ">"]))
    return f"({inner[0]} {sign} {inner[-1]})"


@st.composite
def statements(draw: st.DrawFn, depth: int = 2) -> list[str]:
    kind = draw(st.sampled_from(["assign", "assign", "call", "augment"] + ["if", "for", "with", "else"] * (depth > 0)))
    if kind == "assign":
        return [f"{draw(st.sampled_from(NAMES))} = {draw(expressions())}"]
    if kind == "augment":
        return [f"{draw(st.sampled_from(NAMES))} += {draw(expressions())}"]
    if kind == "call":
        return [f"{draw(st.sampled_from(CALLS))}({draw(expressions())})"]
    head = {
        "if": f"if {draw(expressions())}:",
        "else": f"if {draw(expressions())}:",
        "for": f"for {draw(st.sampled_from(NAMES))} in {draw(expressions())}:",
        "with": f"with {draw(st.sampled_from(CALLS))}({draw(expressions(0))}):",
    }[kind]
    block = draw(blocks(depth - 1))
    rest = ["else:", *block] if kind == "else" else []
    return [head, *draw(blocks(depth - 1)), *rest]


@st.composite
def blocks(draw: st.DrawFn, depth: int = 1, least: int = 1) -> list[str]:
    rows: list[str] = []
    for _ in range(draw(st.integers(least, 4))):
        rows += draw(statements(depth))
    return ["    " + row for row in rows]


@st.composite
def functions(draw: st.DrawFn) -> str:
    rows = draw(blocks(2, least=3))
    return "\n".join([f"def target({', '.join(NAMES)}):", *rows, f"    return {draw(expressions(1))}"]) + "\n"


def _blocks(tree: ast.AST) -> list[list[ast.stmt]]:
    found = []
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block and not isinstance(node, ast.Module):
                found.append(block)
    return found


@st.composite
def reverts(draw: st.DrawFn) -> Callable[[str], str | None]:
    """What is done to a function's text, at a place that is counted from its start; None where nothing can be."""
    kind = draw(st.sampled_from(["out", "out", "in", "constant", "argument", "unwrap"]))
    which, added, text = draw(st.integers(0, 10**6)), draw(statements(0)), draw(expressions(1))

    def revert(fixed: str) -> str | None:
        tree = ast.parse(fixed)
        places = [(block, at) for block in _blocks(tree) for at in range(len(block))]
        block, at = places[which % len(places)]
        if kind == "out":
            if isinstance(block[at], ast.Return):
                return None
            del block[at]
            if not block:
                block.append(ast.Pass())
        elif kind == "in":
            block.insert(at, ast.parse(added[0]).body[0])
        elif kind == "unwrap":
            node = block[at]
            if not isinstance(node, ast.If) or node.orelse:
                return None
            block[at : at + 1] = node.body
        else:
            wanted = ast.Constant if kind == "constant" else ast.Call
            nodes = [node for node in ast.walk(tree) if isinstance(node, wanted)]
            if not nodes:
                return None
            node = nodes[which % len(nodes)]
            if isinstance(node, ast.Constant):
                node.value = 77
            else:
                node.args.append(ast.parse(text, mode="eval").body)
        return ast.unparse(tree) + "\n"

    return revert


def _wrapped(text: str) -> str:
    head, *rows = text.splitlines()
    return "\n".join([head, "    with guarded():", *("    " + row for row in rows)]) + "\n"


def _renamed(text: str) -> str:
    return text.replace("gamma", "gamma_rows")


def _in_a_class(text: str) -> str:
    return "class Holder:\n" + "".join("    " + row + "\n" for row in text.splitlines())


def _longer(text: str) -> str:
    head, *rows = text.splitlines()
    return "\n".join([head, "    first_of_all(delta)", "    second_of_all(alpha)", *rows]) + "\n"


def _reformatted(text: str) -> str:
    return text.replace(", ", ",\n            ").replace("return (", "return (  # why\n        ")


DRIFTS: dict[str, Callable[[str], str]] = {
    "another name": lambda text: text.replace("def target(", "def goal("),
    "a name renamed": _renamed,
    "wrapped": _wrapped,
    "in a class": _in_a_class,
    "statements before": _longer,
    "a parameter more": lambda text: text.replace("delta):", "delta, *, epsilon=None):", 1),
    "a decorator": lambda text: "@cached\n" + text,
    "other functions": lambda text: "def one():\n    pass\n\n\n" + text + "\n\ndef other():\n    return 3\n",
    "another attribute": lambda text: text.replace(".load", ".load_all"),
    "laid out otherwise": _reformatted,
}


def tree_of(text: str) -> str:
    return ast.dump(ast.parse(text))


@settings(max_examples=150, deadline=None)
@given(functions(), reverts(), st.lists(st.sampled_from(sorted(DRIFTS)), min_size=1, max_size=3, unique=True))
def test_carried_is_drifted_or_it_is_refused(
    fixed: str, revert: Callable[[str], str | None], drifts: list[str]
) -> None:
    reverted = revert(fixed)
    if reverted is None or tree_of(fixed) == tree_of(reverted):
        return
    after, expected = fixed, reverted
    order = [drift for drift in drifts if drift not in ("wrapped", "in a class")]
    for drift in [*order, *(drift for drift in drifts if drift not in order)]:
        after, expected = DRIFTS[drift](after), DRIFTS[drift](expected)
    answer = carry(Revert("p 1", (Texts("p.m", fixed, reverted),)), Made("p 1", fixed), Made("p 2", after))
    if isinstance(answer, CannotTell):
        return
    assert tree_of(answer.revert.modules[0].reverted) == tree_of(expected)


@settings(max_examples=60, deadline=None)
@given(functions(), reverts())
def test_over_no_drift_it_is_the_revert(fixed: str, revert: Callable[[str], str | None]) -> None:
    reverted = revert(fixed)
    if reverted is None or tree_of(fixed) == tree_of(reverted):
        return
    answer = carry(Revert("p 1", (Texts("p.m", fixed, reverted),)), Made("p 1", fixed), Made("p 2", fixed))
    if isinstance(answer, Carried):
        assert tree_of(answer.revert.modules[0].reverted) == tree_of(reverted)
