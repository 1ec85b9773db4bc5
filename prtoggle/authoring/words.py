"""The names by which edits belong to each other.

Contract: pure. Names are compared as they are written: two things of one name count as one, so that rather too much
belongs together than too little.

Example::

    one, other = all_words(pairs, [("engine.core", "f", made), ("engine.core", "helper", its)])
    one.needs(other)        # True: both name what the change brought, ``helper``
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from prtoggle.authoring.change import Pair
from prtoggle.authoring.names import identifiers
from prtoggle.authoring.written import Made
from prtoggle.edits.scope import Scope, resolve
from prtoggle.edits.text import SourceText

_WORD = re.compile(r"[^\W\d]\w*")
_SPECIAL = re.compile(r"__\w+__")


@dataclass(frozen=True)
class Words:
    """What an edit's text names.

    Attributes:
        own: what the change brought or took away.
        used: other definitions that changed and that one of both texts alone names; those whose parameters changed
            wherever they are named.
        called: what its own definition is called.
        every: all of them.
    """

    own: frozenset[str]
    used: frozenset[str]
    called: str
    every: frozenset[str]

    def needs(self, other: Words) -> bool:
        """Whether the two belong together."""
        return bool(self.own & other.own) or self.called in other.used or other.called in self.used


def all_words(pairs: Sequence[Pair], edits: Sequence[tuple[str, str, Made]]) -> list[Words]:
    """For each edit, given with its module and definition, what it names."""
    by_module = {pair.module: pair for pair in pairs}
    brought = {}
    for pair in pairs:
        now, before = identifiers(pair.fixed.tree), identifiers(pair.reverted.tree)
        brought[pair.module] = (now - before, before - now)
    changed = {called(unit) for _, unit, _ in edits}
    asked = {called(unit) for module, unit, _ in edits if asks_otherwise(by_module[module], unit)}
    filled = {name for pair in pairs for name in _filled_otherwise(pair)}
    found = []
    for module, unit, made in edits:
        source = by_module[module].fixed
        old = {word for span in made.replacements for word in _WORD.findall(source.text[span.start : span.end])}
        new = {word for span in made.replacements for word in _WORD.findall(span.new)}
        around = _around(source, made) if asked or filled else set()
        came, went = brought[module]
        own = (old & came) | (new & went) | ((old | new | around | set(unit.split("."))) & filled)
        used = ((old ^ new) & changed) | ((old | new | around) & asked)
        mine = called(unit)
        found.append(Words(_plain(own), _plain(used) - {mine}, mine, frozenset(old | new)))
    return found


def called(unit: str) -> str:
    """What a definition is called by where it is used: a class by its name, also for its ``__init__``."""
    pieces = [re.sub(r"[#@].*", "", piece) for piece in unit.split(".")]
    while len(pieces) > 1 and _SPECIAL.fullmatch(pieces[-1]):
        pieces.pop()
    return pieces[-1]


def _plain(words: set[str]) -> frozenset[str]:
    return frozenset(word for word in words if not _SPECIAL.fullmatch(word))


def _filled_otherwise(pair: Pair) -> set[str]:
    """The classes of both texts whose annotated fields, which a dataclass takes as parameters, are others."""
    now, before = (
        {
            each.name: [ast.dump(field) for field in each.body if isinstance(field, ast.AnnAssign)]
            for each in ast.walk(source.tree)
            if isinstance(each, ast.ClassDef)
        }
        for source in (pair.fixed, pair.reverted)
    )
    return {name for name, fields in now.items() if before.get(name, fields) != fields}


def asks_otherwise(pair: Pair, unit: str) -> bool:
    """Whether the parameters of a function are others in the older text."""
    arguments = []
    for source in (pair.fixed, pair.reverted):
        scope = resolve(source, unit)
        if not isinstance(scope, Scope) or isinstance(scope.node, ast.Module | ast.ClassDef):
            return False
        arguments.append([ast.dump(each) for each in _parameters(scope.node.args)])
    return arguments[0] != arguments[1]


def _parameters(arguments: ast.arguments) -> list[ast.AST]:
    """Parameters and defaults without annotations, which nothing passes."""
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    given = [each for each in (*arguments.defaults, *arguments.kw_defaults) if each is not None]
    return [*(ast.arg(each.arg) for each in every), *given]


def _around(source: SourceText, made: Made) -> set[str]:
    return {word for span in made.replacements for word in _WORD.findall(_statement(source, span.start, span.end))}


def _statement(source: SourceText, start: int, end: int) -> str:
    """The text of the innermost statement around a passage that has no block of its own."""
    first, last = source.line_of(start), source.line_of(max(start, end - 1))
    found = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.stmt)
        and not hasattr(node, "body")
        and node.lineno <= first
        and (node.end_lineno or node.lineno) >= last
    ]
    best = max(found, key=lambda node: node.lineno, default=None)
    return "" if best is None else source.text[slice(*source.span(best))]
