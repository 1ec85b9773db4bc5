"""prtoggle.edits is text to text: it imports the standard library and itself, nothing else, and reads no file."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import prtoggle.edits

MODULES = sorted(Path(prtoggle.edits.__file__).parent.glob("*.py"))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_of_edits_imports_the_standard_library_and_edits_only(path):
    foreign = {
        name
        for name in imported(path)
        if name.partition(".")[0] not in sys.stdlib_module_names and not name.startswith("prtoggle.edits.")
    }
    assert foreign == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_of_edits_opens_nothing_and_imports_nothing_by_name(path):
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "__import__", "exec", "eval"}
    assert not {name.partition(".")[0] for name in imported(path)} & {"os", "pathlib", "importlib", "subprocess"}


def test_importing_all_of_edits_loads_no_other_module_of_prtoggle():
    names = ["prtoggle.edits." + path.stem for path in MODULES if path.stem != "__init__"]
    code = f"import sys, {', '.join(names)}; print(*[m for m in sys.modules if m.startswith('prtoggle')])"
    root = Path(prtoggle.edits.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert {name for name in done.stdout.split() if not name.startswith("prtoggle.edits")} == {"prtoggle"}
