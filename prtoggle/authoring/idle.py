"""Modules that a change added and that nothing imports once it is out: what they use is not missed.

Contract: pure apart from reading the package's files. In doubt a module is in use: where its name stands in a string,
and where the package loads what lies in a folder.

Example::

    unimported(["engine.late"], {"engine.core": text}, package)      # frozenset({"engine.late"})
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from prtoggle.authoring.classes import texts_of
from prtoggle.packages import Package

_LOADS = re.compile(r"\b(?:iter_modules|walk_packages|listdir|scandir|glob|rglob|iterdir)\b")


def unimported(added: Iterable[str], texts: Mapping[str, str], package: Package) -> frozenset[str]:
    """Those of ``added`` that no other module reaches, where ``texts`` are in force."""
    pending = frozenset(added)
    if not pending:
        return pending
    leaves = {each.rpartition(".")[2] for each in pending}
    said: dict[str, frozenset[str]] = {}
    for module, text in texts_of(package, texts):
        if module not in pending and _LOADS.search(text) and "import" in text and "importlib" in text:
            return frozenset()
        if any(leaf in text for leaf in leaves):
            said[module] = _said(text)
    live: set[str] = set()
    more = True
    while more:
        reached = {name for module, names in said.items() if module not in pending - live for name in names}
        # A module is loaded with the packages that it is in.
        found = {each for each in pending if _reached(each, reached) or any(m.startswith(f"{each}.") for m in live)}
        more = bool(found - live)
        live |= found
    return pending - live


def _reached(module: str, names: Iterable[str]) -> bool:
    return module.rpartition(".")[2] in names


def _said(text: str) -> frozenset[str]:
    """Every name that is imported, the pieces of a module's, and every string that could name one."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return frozenset(re.findall(r"\w+", text))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update(piece for alias in node.names for piece in alias.name.split("."))
            found.update((getattr(node, "module", None) or "").split("."))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            found.update(re.findall(r"\w+", node.value))
    return frozenset(found)
