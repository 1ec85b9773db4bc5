"""Classes of a package: what they define, call on themselves, and inherit, as far as their names tell.

Contract: pure apart from reading the package's files. A base class that is not in the package could define anything.

Example::

    inherited(["Base"], "close", {}, package)       # whether some class Base of the package, or a base of it, has it
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from prtoggle.authoring.change import module_name
from prtoggle.edits.text import SourceText
from prtoggle.packages import Package

_NOTHING = frozenset({"object", "ABC", "Generic", "Protocol"})


def members(node: ast.ClassDef) -> set[str]:
    """What a class binds: methods and names in its body, and attributes that its methods set on ``self``."""
    found: set[str] = set()
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(each.name)
        else:
            names = (name for name in ast.walk(each) if isinstance(name, ast.Name))
            found.update(name.id for name in names if isinstance(name.ctx, ast.Store))
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store) and _is_self(inner.value):
            found.add(inner.attr)
    return found


def own_calls(node: ast.AST) -> Iterator[tuple[str, int]]:
    """The attributes that code reads of ``self``, ``cls`` and ``super()``, and their lines."""
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load) and _is_self(each.value):
            yield each.attr, each.lineno


def _is_self(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def base_names(node: ast.ClassDef) -> list[str]:
    """The last names of a class's bases."""
    bases = [each.value if isinstance(each, ast.Subscript) else each for each in node.bases]
    return [each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in bases]


def inherited(bases: Iterable[str], name: str, texts: Mapping[str, str], package: Package) -> bool:
    """Whether a class with these bases has ``name`` from them; also where that cannot be told."""
    pending, seen = [each for each in bases if each not in _NOTHING], set(_NOTHING)
    while pending:
        base = pending.pop()
        seen.add(base)
        found = list(_classes(base, texts, package))
        if not found or any(name in members(each) or "__getattr__" in members(each) for each in found):
            return True
        pending += [more for each in found for more in base_names(each) if more not in seen]
    return False


def _classes(name: str, texts: Mapping[str, str], package: Package) -> Iterator[ast.ClassDef]:
    header = re.compile(rf"^\s*class\s+{re.escape(name)}\b", re.MULTILINE)
    for _, text in texts_of(package, texts):
        if name not in text or not header.search(text):
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        yield from (each for each in ast.walk(tree) if isinstance(each, ast.ClassDef) and each.name == name)


def texts_of(package: Package, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Every module of the package with the text that it has, or would have: that of ``texts``."""
    files = {package.name: package.file} if package.file else {}
    for location in package.locations:
        for path in sorted(location.rglob("*.py")):
            name = module_name(package.name, path.relative_to(location).as_posix())
            if name:
                files.setdefault(name, path)
    for module, file in files.items():
        if module in texts:
            yield module, texts[module]
            continue
        try:
            assert file is not None
            yield module, SourceText.decode(file.read_bytes()).text
        except (OSError, SyntaxError, ValueError):
            continue
