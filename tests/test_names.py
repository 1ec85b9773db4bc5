"""Nothing knows SGLang's name but one integration; all else learns of it from there.

What is code counts: identifiers, and strings that a program could act on or say. Docstrings and comments are not code. What a
person reads as an example counts neither: in ``prtoggle/cli``, a command's help and the examples below it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "prtoggle"
KNOWS = PACKAGE / "integrations" / "sglang.py"
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != KNOWS]
NAME = "sglang"
READ_IN_HELP = frozenset({"help", "short_help", "epilog"})
"""Keywords of click whose values are read by a person."""


def in_code(source: str, *, cli: bool = False) -> list[tuple[int, str]]:
    """Line and text of each place in the code of ``source`` that has the name."""
    tree = ast.parse(source)
    read = set(_read_by_a_person(tree, cli=cli))
    return sorted(
        (getattr(node, "lineno", 0), text)
        for node in ast.walk(tree)
        if node not in read
        for text in _texts(node)
        if NAME in text.lower()
    )


def _texts(node: ast.AST) -> Iterator[str]:
    """The identifiers and the string that one node holds."""
    for _, value in ast.iter_fields(node):
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str | bytes):
                yield each if isinstance(each, str) else each.decode("latin-1")


def _read_by_a_person(tree: ast.AST, *, cli: bool) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:  # docstrings, those below attributes too
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    yield statement.value
        if cli and isinstance(node, ast.keyword) and node.arg in READ_IN_HELP:
            yield from ast.walk(node.value)
        if cli and isinstance(node, ast.Assign) and [*map(ast.unparse, node.targets)] in (["_EPILOG"], ["COMMANDS"]):
            yield from ast.walk(node.value)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_does_not_know_the_name_of_sglang(module: Path) -> None:
    assert in_code(module.read_text(encoding="utf-8"), cli=module.is_relative_to(PACKAGE / "cli")) == []


def test_the_integration_knows_it() -> None:
    assert in_code(KNOWS.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "source",
    [
        "import sglang",
        "from prtoggle.integrations import sglang",
        "import x.sglang.y as z",
        "def f(sglang): ...",
        "def f_sglang(): ...",
        "class SGLang: ...",
        "f(sglang=1)",
        "a.sglang",
        "a = 'sglang'",
        "a = f'{b} of SGLang'",
        "a = b'SGLANG_DEBUG_REVERT_PR'",
        "def f():\n    global SGLANG",
        "match a:\n    case {'b': sglang}: ...",
        "f('an example: sglang==0.5.16')",
        "f(help='sglang')",
        "_EPILOG = 'sglang'",
    ],
)
def test_the_name_is_found_in_code(source: str) -> None:
    assert in_code(source)


@pytest.mark.parametrize(
    "source", ['"""sglang"""', "def f():\n    'sglang'", "class C:\n    a: int\n    'of sglang'", "a = 1  # sglang"]
)
def test_docstrings_and_comments_are_not_code(source: str) -> None:
    assert in_code(source) == []


@pytest.mark.parametrize("source", ["f(help='for SGLang')", "_EPILOG = 'sglang'", "f(epilog='sglang' + '')"])
def test_the_help_of_a_command_is_not_code(source: str) -> None:
    assert in_code(source, cli=True) == []
