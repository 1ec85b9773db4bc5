"""Dependencies point one way: the module map of docs/architecture.md is complete, and every import keeps to it.

Imports are read off the syntax trees, those inside functions too; what stands under ``if TYPE_CHECKING`` is not run and does
not count.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "prtoggle"
MAP = ROOT / "docs" / "architecture.md"

STEP_UP = ("runtime.resolve", "runtime.resolver")
"""The one import against the order: what a target's process does where it can start no Python to resolve in."""

THIRD_PARTY = {
    "click": {"cli"},
    "rich": {"cli.bisectview", "cli.render", "cli.sidebyside"},
    "yaml": {"yamlfile.nodes"},
    "unidiff": {"diffs"},
    "packaging": {
        "against",
        "authoring.holders",
        "authoring.ranges",
        "cli.releasematrix",
        "expected",
        "packages",
        "proposal.asked",
        "proposal.bases",
        "proposal.ranges",
        "releases",
        "subjects",
        "verdict",
        "versionrange",
    },
    "torch": {"scenario_runner"},
    "pytest": {"pytest_plugin"},
    "_pytest": {"pytest_plugin.protocol"},
}
"""Who may import what is not in the standard library; a package's name stands for all its modules too."""

SHOWN_EXAMPLES = {"against", "cli", "cli.check", "cli.diff", "cli.new", "cli.port", "cli.run", "cli.show", "yamlfile"}
"""Modules whose texts for people (help, hints) use SGLang as their example."""


@dataclass(frozen=True)
class Import:
    """One name that a module imports; ``inside`` a function or at its top."""

    name: str
    inside: bool


NOT_OURS = {"bisect"}
"""Modules of the standard library that one of ours is called after: ours are imported by their full names."""


def module_name(path: Path) -> str:
    """``runtime.boot``; ``prtoggle`` for the package itself."""
    pieces = list(path.relative_to(PACKAGE).with_suffix("").parts)
    if pieces[-1] == "__init__":
        pieces.pop()
    return ".".join(pieces) or "prtoggle"


FILES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}


def imports(name: str) -> Iterator[Import]:
    """What module ``name`` imports; modules of prtoggle by their short names."""

    def walk(node: ast.AST, inside: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for other in child.orelse:
                    yield from walk(other, inside)
            elif isinstance(child, ast.Import):
                names = [alias.name for alias in child.names if alias.name not in NOT_OURS]
                yield from (Import(short(name), inside) for name in names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{name}: relative imports are not used here"
                for alias in child.names if child.module not in NOT_OURS else ():
                    both = short(f"{child.module}.{alias.name}")
                    yield Import(both if both in FILES else short(child.module or ""), inside)
            else:
                function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from walk(child, inside or function)

    yield from walk(TREES[name], False)


def short(name: str) -> str:
    return name.removeprefix("prtoggle.")


def layers() -> list[list[str]]:
    """The modules of each layer, in the order of the map."""
    text = MAP.read_text(encoding="utf-8").partition("## Module map")[2].partition("\n## ")[0]
    found = []
    for section in text.split("\n### ")[1:]:
        cells = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
        found.append([name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)])
    return found


LAYERS = layers()
LAYER_OF = {name: number for number, names in enumerate(LAYERS) for name in names}


def own(name: str) -> set[str]:
    return {each.name for each in imports(name) if each.name in FILES}


def foreign(name: str) -> set[str]:
    """Top-level names outside the standard library and prtoggle."""
    tops = {each.name.partition(".")[0] for each in imports(name) if each.name not in FILES}
    return {top for top in tops if top not in sys.stdlib_module_names and top != "prtoggle"}


def test_the_map_names_every_module_once() -> None:
    named = [name for names in LAYERS for name in names]
    assert sorted(named) == sorted(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_module_imports_its_own_layer_and_those_below_it(name: str) -> None:
    wrong = {other for other in own(name) if LAYER_OF[other] > LAYER_OF[name] and (name, other) != STEP_UP}
    assert wrong == set()


@pytest.mark.parametrize("name", FILES)
def test_a_module_imports_only_what_it_may_of_other_distributions(name: str) -> None:
    def allowed(top: str) -> bool:
        return any(name == holder or name.startswith(f"{holder}.") for holder in THIRD_PARTY.get(top, ()))

    assert {top for top in foreign(name) if not allowed(top)} == set()


def test_the_step_up_is_taken_inside_a_function_alone() -> None:
    name, other = STEP_UP
    assert [each.inside for each in imports(name) if each.name == other] == [True]
    assert [n for n in FILES if other in own(n) and n != name] == []


def test_what_boot_can_reach_is_the_layer_of_the_targets_processes_and_the_standard_library() -> None:
    reached, left = set(), ["runtime.boot", "integrations.sglang"]
    while left:
        name = left.pop()
        if name not in reached:
            reached.add(name)
            left += [other for other in own(name) if (name, other) != STEP_UP]
    layer = {name for names in LAYERS if "runtime.boot" in names for name in names}
    assert reached - layer <= {"errors", "value", "prtoggle", "lineshift", "wholefile"}
    assert layer - reached <= {"runtime"}
    assert [name for name in reached if foreign(name)] == []


def test_edits_import_nothing_of_the_rest() -> None:
    for name in FILES:
        if name.partition(".")[0] == "edits":
            assert {other for other in own(name) if other.partition(".")[0] != "edits"} == set()


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    # A module's package is imported before it, and what it takes from there is there by then.
    at_top = {
        name: {e.name for e in imports(name) if e.name in FILES and not e.inside and not name.startswith(f"{e.name}.")}
        for name in FILES
    }
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            for other in sorted(at_top[name]):
                visit(other, (*path, name))
            done.add(name)

    for name in FILES:
        visit(name, ())


# SGLang's name. The rule: outside prtoggle/integrations no identifier has it, and no string that a program could compare, look up
# or open. What is left are docstrings, and texts that people read: sentences, in the modules of SHOWN_EXAMPLES.


def docstrings(tree: ast.AST) -> set[int]:
    """Identities of the string nodes that are docstrings: of a definition, or behind an assignment."""
    return {
        id(child.value)
        for node in ast.walk(tree)
        if isinstance(getattr(node, "body", None), list)
        for child in node.body
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
    }


def identifiers(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        for field in ("id", "attr", "name", "arg", "asname", "module"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                found.add(value)
    return found


OUTSIDE = [name for name in FILES if name.partition(".")[0] != "integrations"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_identifier_outside_the_integrations_has_sglangs_name(name: str) -> None:
    assert {word for word in identifiers(TREES[name]) if "sglang" in word.lower()} == set()


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_string_with_sglangs_name_is_a_docstring_or_a_sentence_shown_to_people(name: str) -> None:
    told = docstrings(TREES[name])
    strings = [
        node.value
        for node in ast.walk(TREES[name])
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
    ]
    with_name = [text for text in strings if "sglang" in text.lower()]
    assert [text for text in with_name if " " not in text.strip()] == []
    assert not with_name or name in SHOWN_EXAMPLES


def test_every_exception_is_one() -> None:
    for name in SHOWN_EXAMPLES:
        assert "sglang" in FILES[name].read_text(encoding="utf-8").lower()
    for top, names in THIRD_PARTY.items():
        for name in names:
            assert any(top in foreign(each) for each in FILES if each == name or each.startswith(f"{name}."))
