"""What a package would miss once reverted texts are in force: modules and names that are not there, names that others
still use.

Contract: pure apart from reading the package's files. What was missing before is not counted. It knows names, not
values: an attribute counts as missing only where nothing in the package defines one of its name.

Example::

    lacking(change.pairs, {"engine.core": text}, package)
    # ["engine.core: the older text has `from engine.old import f`, and there is no module engine.old"]
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from prtoggle.authoring.change import Pair
from prtoggle.authoring.classes import base_names, inherited, members, own_calls, texts_of
from prtoggle.authoring.idle import unimported
from prtoggle.authoring.names import bound_at_top, imports, unbound
from prtoggle.edits.text import SourceText
from prtoggle.packages import Package

_DEFINED = re.compile(
    r"\b(?:def|class)\s+(\w+)|\.(\w+)\s*(?::[^=\n]+)?=(?!=)|^\s*(\w+)\s*(?::[^=\n]+)?=(?!=)", re.MULTILINE
)
_ATTRIBUTE = re.compile(r"\.(\w+)\b")


def lacking(pairs: Sequence[Pair], texts: Mapping[str, str], package: Package, added: Iterable[str] = ()) -> list[str]:
    """Every problem, in words; ``texts`` are reverted ones by module. Of the modules that the change ``added``, those
    that nothing else imports any more do not count."""
    fixed = {pair.module: pair.fixed for pair in pairs}
    problems: list[str] = []
    said: set[str] = set()
    for module, text in texts.items():
        source = SourceText(text)
        problems += _asked_in_vain(module, source, fixed[module], texts, package)
        lost = sorted(unbound(source) - unbound(fixed[module]))
        problems += [f"{module}: nothing would bind {name}" for name in lost]
        own = _own_calls(module, fixed[module].tree, source.tree, texts, package)
        problems += [f"{where} uses self.{name}, which would be gone" for name, where in own.items()]
        said.update(own)
    gone = {
        module: bound_at_top(fixed[module].tree.body) - bound_at_top(ast.parse(text).body)
        for module, text in texts.items()
    }
    methods = {
        name for module, text in texts.items() for name in _methods(fixed[module].tree) - _methods(ast.parse(text))
    }
    if any(gone.values()) or methods - said:
        idle = unimported(added, texts, package)
        problems += _still_used(gone, methods - said, texts, package, idle)
    return problems


def _asked_in_vain(
    module: str, source: SourceText, fixed: SourceText, texts: Mapping[str, str], package: Package
) -> Iterator[str]:
    file = package.module_file(module)
    init = file is not None and file.name == "__init__.py"
    before = {(each.module, each.name) for each in imports(fixed, module, init)}
    for each in sorted(imports(source, module, init), key=lambda found: found.line):
        if (each.module, each.name) in before or each.module.partition(".")[0] != package.name:
            continue
        if why := _why_in_vain(each.module, each.name, texts, package):
            what = f"from {each.module} import {each.name}" if each.name else f"import {each.module}"
            yield f"{module}: the older text has `{what}`, and {why}"


def _why_in_vain(module: str, name: str, texts: Mapping[str, str], package: Package) -> str:
    if not package.module_exists(module):
        return f"there is no module {module}"
    if not name or package.module_exists(f"{module}.{name}"):
        return ""
    file = package.module_file(module)
    if file is None and module not in texts:
        return ""
    tree = _tree(texts[module]) if module in texts else _tree_of(file)
    if tree is None:
        return ""
    stars = any(isinstance(each, ast.ImportFrom) and each.names[0].name == "*" for each in ast.walk(tree))
    known = bound_at_top(tree.body)
    return "" if stars or name in known or "__getattr__" in known else f"{module} does not have it"


def _still_used(
    gone: Mapping[str, frozenset[str]],
    methods: set[str],
    texts: Mapping[str, str],
    package: Package,
    idle: frozenset[str],
) -> Iterator[str]:
    """Other modules that use what would be gone; methods that something calls and nothing defines any more."""
    asked = {module: (module.rpartition(".")[2], _any_of(names)) for module, names in gone.items() if names}
    named = _any_of(methods) if methods else None
    there: set[str] = set()
    uses: dict[str, str] = {}
    for module, text in texts_of(package, texts):
        if module in idle:
            continue
        # To parse a whole package takes long, and few of its modules name both a module and what is gone from it.
        if any(leaf in text and names.search(text) for leaf, names in asked.values()):
            yield from _uses(module, text, gone, package)
        if named is None or not named.search(text):
            continue
        there.update(each for found in _DEFINED.findall(text) for each in found if each)
        for use in _ATTRIBUTE.finditer(text):
            if use[1] in methods:
                uses.setdefault(use[1], f"{module}:{text.count(chr(10), 0, use.start()) + 1}")
    for name in sorted(methods - there):
        if name in uses:
            yield f"{uses[name]} uses .{name}, which would be gone"


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(names))) + r")\b")


def _uses(module: str, text: str, gone: Mapping[str, frozenset[str]], package: Package) -> Iterator[str]:
    """Where one module imports what is gone from another, or uses it through that module's name."""
    tree = _tree(text)
    if tree is None:
        return
    file = package.module_file(module)
    init = file is not None and file.name == "__init__.py"
    for each in imports(SourceText(text), module, init):
        if each.name in gone.get(each.module, ()) and not package.module_exists(f"{each.module}.{each.name}"):
            yield f"{module}:{each.line} imports {each.name} of {each.module}, which would be gone"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            whole = ast.unparse(node.value)
            for other, its in gone.items():
                if node.attr in its and whole in (other, other.rpartition(".")[2]) and other != module:
                    yield f"{module}:{node.lineno} uses {whole}.{node.attr}, which would be gone"


def _own_calls(
    module: str, fixed: ast.Module, reverted: ast.Module, texts: Mapping[str, str], package: Package
) -> dict[str, str]:
    """Methods that a class would no longer have, and where its own code still calls them."""
    found: dict[str, str] = {}
    now = {each.name: each for each in ast.walk(reverted) if isinstance(each, ast.ClassDef)}
    for before in ast.walk(fixed):
        after = now.get(before.name) if isinstance(before, ast.ClassDef) else None
        if not isinstance(before, ast.ClassDef) or after is None:
            continue
        lost = members(before) - members(after)
        for name, line in own_calls(after):
            if name in lost and name not in found and not inherited(base_names(after), name, texts, package):
                found[name] = f"{module}:{line}"
    return found


def _methods(tree: ast.Module) -> set[str]:
    """The names of functions in classes."""
    return {
        each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for each in node.body
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def _tree_of(file: Path | None) -> ast.Module | None:
    try:
        return SourceText.decode(file.read_bytes()).tree if file is not None else None
    except (OSError, SyntaxError, ValueError):
        return None
