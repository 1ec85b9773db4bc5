"""Releases of SGLang as trees that a reverse patch is ported over, with what the ground truth needs of them.

Texts and syntax trees are kept, so that hundreds of cases over the same releases read each file once.

Example::

    old, new = releases("sglang>=0.5.15,<=0.5.16")
    definitions(parsed(new.text("sglang.srt.speculative.eagle_utils")))     # {"organize_draft_results": <FunctionDef>}
"""

from __future__ import annotations

import ast
import copy
import gc
import warnings
from collections.abc import Iterable, Mapping
from functools import cache, cached_property, lru_cache
from pathlib import Path

from prtoggle.edits.text import SourceText
from prtoggle.packages import Package, locate
from prtoggle.releases import Index, parse_against

# Syntax trees are hundreds of thousands of objects that stay; looking through them again and again would be most of the time.
gc.set_threshold(1_000_000, 50, 1_000)

PACKAGE = "sglang"
RELEASES = "sglang>=0.5.13"

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Release:
    """One release on disk; satisfies :class:`prtoggle.port.values.Tree`."""

    def __init__(self, version: str, root: Path) -> None:
        package = locate(PACKAGE, [str(root)])
        assert package is not None, root
        self.version, self.root = version, root
        self.package: Package = package
        self.label = f"{PACKAGE} {version}"
        self._texts: dict[str, str | None] = {}

    def text(self, module: str) -> str | None:
        """The text of ``module``; None where there is no source that parses."""
        if module not in self._texts:
            self._texts[module] = self._read(module)
        return self._texts[module]

    def _read(self, module: str) -> str | None:
        file = self.package.module_file(module)
        try:
            return SourceText.decode(file.read_bytes()).text if file else None
        except (SyntaxError, ValueError, OSError):
            return None

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Module name -> its file."""
        found = {}
        for path in sorted((self.root / PACKAGE).rglob("*.py")):
            pieces = path.relative_to(self.root).with_suffix("").parts
            pieces = pieces[:-1] if pieces[-1] == "__init__" else pieces
            if all(piece.isidentifier() for piece in pieces):
                found[".".join(pieces)] = path
        return found

    def modules(self) -> Iterable[str]:
        """All module names."""
        return tuple(self.files)

    @cache  # noqa: B019  (releases live as long as the run)
    def mentioning(self, word: str) -> tuple[str, ...]:
        """The modules whose text holds ``word``."""
        return tuple(name for name in self.files if word in (self.text(name) or ""))


class Texts:
    """A tree that is made of texts; satisfies :class:`prtoggle.port.values.Tree`."""

    def __init__(self, label: str, texts: Mapping[str, str]) -> None:
        self.label = label
        self._texts = dict(texts)

    def text(self, module: str) -> str | None:
        return self._texts.get(module)

    def modules(self) -> Iterable[str]:
        return tuple(self._texts)


@cache
def releases(requirement: str = RELEASES) -> tuple[Release, ...]:
    """The releases in the range, oldest first, fetched where they are not on disk."""
    index, wanted = Index(), parse_against(requirement)
    return tuple(Release(version, index.fetch(PACKAGE, version)) for version in index.releases(wanted))  # type: ignore[arg-type]


@lru_cache(maxsize=256)
def parsed(text: str) -> ast.Module:
    """The syntax tree of ``text``. Shared: whoever changes it copies it first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def parses(text: str) -> bool:
    """Whether ``text`` is Python."""
    try:
        parsed(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def definitions(tree: ast.Module) -> dict[str, Function]:
    """Functions at the top and methods of classes there, by qualified name; names that are bound twice are left out."""
    found: dict[str, list[Function]] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, Function):
                found.setdefault(prefix + node.name, []).append(node)
            elif isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")

    visit(tree.body, "")
    return {name: nodes[0] for name, nodes in found.items() if len(nodes) == 1}


def lines_of(node: Function) -> tuple[int, int]:
    """First and last line of a definition, its decorators included, from 1."""
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return first, node.end_lineno or node.lineno


def without_docstring(node: Function) -> Function:
    """A copy of ``node`` without its docstring."""
    new = copy.copy(node)
    if ast.get_docstring(node, clean=False) is not None:
        new.body = node.body[1:] or [ast.Pass()]
    return new


def swapped(tree: ast.Module, old: Function, new: Function) -> ast.Module:
    """``tree`` with the definition ``old`` (a node of it) replaced; shares the rest."""

    def visit(node: ast.Module | ast.ClassDef) -> ast.Module | ast.ClassDef:
        twin = copy.copy(node)
        twin.body = [
            new if child is old else visit(child) if isinstance(child, ast.ClassDef) else child for child in node.body
        ]
        return twin

    found = visit(tree)
    assert isinstance(found, ast.Module)
    return found


def same(one: ast.AST, other: ast.AST) -> bool:
    """Whether two trees say the same: positions, and load and store, apart."""
    pending: list[tuple[object, object]] = [(one, other)]
    while pending:
        left, right = pending.pop()
        if left is right:
            continue
        if type(left) is not type(right):
            return False
        if isinstance(left, ast.AST):
            if not isinstance(left, ast.expr_context):
                pending.extend(
                    (getattr(left, name, None), getattr(right, name, None))
                    for name in left._fields
                    if name not in ("kind", "type_comment")
                )
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pending.extend(zip(left, right, strict=True))
        elif left != right:
            return False
    return True
