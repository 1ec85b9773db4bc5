"""Where a target stands in a module's source: the definition that a qualified name means, found without importing anything.

Example::

    scope = resolve(SourceText("class C:\\n    def m(self):\\n        pass\\n"), "C.m")
    (scope.first, scope.last) == (2, 3)
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from prtoggle.edits.outcome import Missing, Several
from prtoggle.edits.text import SourceText


@dataclass(frozen=True)
class Scope:
    """A definition, or the whole module (``qualname`` empty). Lines count from 1 and include decorators."""

    qualname: str
    node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    first: int
    last: int


def resolve(source: SourceText, qualname: str) -> Scope | Missing | Several:
    """The scope that ``qualname`` names in ``source``."""
    raise NotImplementedError
