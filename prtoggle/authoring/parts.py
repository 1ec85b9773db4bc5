"""From the edits of all modules to parts: what can be taken out alone, by definition; what needs each other, together.

Contract: pure. Edits belong together where they are in one definition; where both name something that the change
brought or took away (a helper and its call, a parameter and who passes it, an attribute and who reads it); where one
changes a definition and the other begins or ceases to name it, or names one whose parameters changed; where a changed
statement of one names the other, or it gives what it gave not (:mod:`~prtoggle.authoring.ties`); and where one alone
would leave a name unbound, or not compile.

Example::

    parts(pairs, made)      # (Part("step", "the change of Runner.step", edits=(...)), ...)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from prtoggle.authoring.change import Pair
from prtoggle.authoring.names import bound_at_top, unbound
from prtoggle.authoring.ties import ties
from prtoggle.authoring.words import Words, all_words
from prtoggle.authoring.written import Made, text_after
from prtoggle.edits.combine import verify
from prtoggle.edits.scope import Scope, enclosing, resolve
from prtoggle.edits.text import SourceText
from prtoggle.spec import ONLY_PART

_SHOWN = 6
"""How many pairs of parts that may need each other are named."""


@dataclass(frozen=True)
class Placed:
    """An edit in its module; ``unit`` is the function or method that it is in, or what it defines or binds."""

    module: str
    made: Made
    unit: str


@dataclass(frozen=True)
class Part:
    """A piece of the fix: its name, what it is, and its edits."""

    name: str
    what: str
    edits: tuple[Placed, ...]

    @property
    def units(self) -> tuple[tuple[str, str], ...]:
        """Module and definition of each place that it changes, once each."""
        return tuple(dict.fromkeys((each.module, each.unit) for each in self.edits))


def parts(pairs: Sequence[Pair], made: Mapping[str, Sequence[Made]]) -> tuple[Part, ...]:
    """The parts of a change; one without a name of its own where all of it belongs together."""
    placed = [Placed(pair.module, each, _unit(pair, each)) for pair in pairs for each in made[pair.module]]
    groups = _Groups(len(placed))
    words = all_words(pairs, [(each.module, each.unit, each.made) for each in placed])
    for a, one in enumerate(placed):
        for b, other in enumerate(placed[:a]):
            if (one.module, one.unit) == (other.module, other.unit) or words[a].needs(words[b]):
                groups.join(a, b)
    units = list(dict.fromkeys((each.module, each.unit) for each in placed))
    first = {(each.module, each.unit): index for index, each in reversed(list(enumerate(placed)))}
    for one_of, other_of in ties(pairs, units).tied:
        groups.join(first[units[one_of]], first[units[other_of]])
    _join_broken(pairs, placed, words, groups)
    found = groups.members()
    if len(found) == 1:
        return (Part(ONLY_PART, "", tuple(placed)),)
    names = _names([[placed[index] for index in its] for its in found], pairs)
    return tuple(
        Part(name, what, tuple(placed[index] for index in its)) for its, (name, what) in zip(found, names, strict=True)
    )


def suspected(pairs: Sequence[Pair], found: Sequence[Part]) -> tuple[tuple[str, str], ...]:
    """The names of parts of which one may need the other: one names what the other changes, and no more is known."""
    if len(found) < 2:
        return ()
    units = [(index, unit) for index, part in enumerate(found) for unit in part.units]
    between = {(units[a][0], units[b][0]) for a, b in ties(pairs, [unit for _, unit in units]).suspected}
    ordered = sorted({(min(each), max(each)) for each in between if each[0] != each[1]})
    return tuple((found[one].name, found[other].name) for one, other in ordered)


def doubt(pairs: Sequence[Pair], found: Sequence[Part]) -> str:
    """The same in words; empty where nothing is suspected."""
    doubted = [f"{one} and {other}" for one, other in suspected(pairs, found)]
    if not doubted:
        return ""
    more = f", and {len(doubted) - _SHOWN} more pairs" if len(doubted) > _SHOWN else ""
    return f"one names what the other changes, and may not work without it: {', '.join(doubted[:_SHOWN])}{more}"


def texts(pairs: Iterable[Pair], edits: Iterable[Placed]) -> dict[str, str] | None:
    """The texts of all modules that ``edits`` change; None where they cannot be made together."""
    by_module: dict[str, list[Made]] = {}
    for each in edits:
        by_module.setdefault(each.module, []).append(each.made)
    sources = {pair.module: pair.fixed for pair in pairs}
    found = {}
    for module, its in by_module.items():
        text = text_after(sources[module], its)
        if text is None or verify(sources[module], text) is not None:
            return None
        found[module] = text
    return found


class _Groups:
    """Sets that are joined, each known by its first member."""

    def __init__(self, count: int) -> None:
        self.parent = list(range(count))

    def root(self, index: int) -> int:
        while self.parent[index] != index:
            index = self.parent[index]
        return index

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self.root(one), self.root(other)))
        self.parent[second] = first

    def members(self) -> list[list[int]]:
        found: dict[int, list[int]] = {}
        for index in range(len(self.parent)):
            found.setdefault(self.root(index), []).append(index)
        return list(found.values())


def _unit(pair: Pair, made: Made) -> str:
    """The outermost function around the edit; of what is deleted or inserted whole, its own name."""
    name = ""
    for piece in made.qualname.split(".") if made.qualname else ():
        name = f"{name}.{piece}" if name else piece
        scope = resolve(pair.fixed, name)
        if isinstance(scope, Scope) and not isinstance(scope.node, ast.ClassDef | ast.Module):
            return name
    line = pair.fixed.line_of(made.replacements[0].start) if made.replacements else 1
    first = made.replacements[0]
    around = _outermost_function(pair.fixed, line) if first.end > first.start else ""
    if around:
        return around
    bound = _bound(pair.fixed.text[first.start : first.end]) or _bound(first.new) or _around(pair.fixed, made, line)
    own = ".".join(each for each in (made.qualname, bound) if each)
    return own or f"line {line}"


def _outermost_function(source: SourceText, line: int) -> str:
    name = ""
    for piece in enclosing(source, line).split("."):
        name = f"{name}.{piece}" if name else piece
        scope = resolve(source, name) if name else None
        if isinstance(scope, Scope) and not isinstance(scope.node, ast.ClassDef | ast.Module):
            return name
    return ""


def _around(source: SourceText, made: Made, line: int) -> str:
    """What the statement of a module or class binds that stands at ``line``."""
    scope = resolve(source, made.qualname)
    for each in scope.node.body if isinstance(scope, Scope) else ():
        if each.lineno <= line <= (each.end_lineno or each.lineno):
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                return "docstring"
            return next(iter(sorted(bound_at_top([each]))), "")
    return ""


def _bound(text: str) -> str:
    """The first name that a passage of statements binds."""
    lines = text.split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    try:
        body = ast.parse("\n".join(line[margin:] for line in lines)).body
    except (SyntaxError, ValueError):
        return ""
    for statement in body:
        names = sorted(bound_at_top([statement]))
        if names:
            return names[0]
    return ""


def _join_broken(pairs: Sequence[Pair], placed: Sequence[Placed], words: Sequence[Words], groups: _Groups) -> None:
    """Join what alone leaves a name unbound, or does not compile, with what it lacks; with all, where that is not
    known."""
    sources = {pair.module: pair.fixed for pair in pairs}
    before = {pair.module: unbound(pair.fixed) for pair in pairs}
    again = True
    while again and len(groups.members()) > 1:
        again = False
        for its in groups.members():
            made = texts(pairs, [placed[index] for index in its])
            lost: set[str] = set()
            for module, text in (made or {}).items():
                source = sources[module]
                lost |= unbound(SourceText(text, source.encoding, source.bom)) - before[module]
            if made is not None and not lost:
                continue
            others = [index for index in range(len(placed)) if index not in its]
            partners = [index for index in others if lost & words[index].every] or others
            for index in partners:
                groups.join(its[0], index)
            again = True
            break


def _names(groups: Sequence[Sequence[Placed]], pairs: Sequence[Pair]) -> list[tuple[str, str]]:
    """For each group a part's name and what it is."""
    older = {pair.module: pair.reverted for pair in pairs}
    taken: set[str] = {"all"}
    found = []
    for group in groups:
        units = list(dict.fromkeys((each.module, each.unit) for each in group))
        there = [unit for unit in units if isinstance(resolve(older[unit[0]], unit[1]), Scope)]
        module, unit = (there or units)[0]
        name = next(each for each in _possible(module, unit) if each not in taken)
        taken.add(name)
        shown = [unit if not unit.startswith("line ") else f"{module}, {unit}" for module, unit in units]
        listed = ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "")
        found.append((name, f"the change of {listed}"))
    return found


def _possible(module: str, unit: str) -> Iterable[str]:
    pieces = [re.sub(r"[^a-z0-9]+", "-", piece.lower()).strip("-") for piece in (*module.split("."), *unit.split("."))]
    for count in range(1, len(pieces) + 1):
        name = "-".join(piece for piece in pieces[-count:] if piece)
        if re.fullmatch(r"[a-z][a-z0-9-]*", name):
            yield name
    number = 2
    while True:
        yield f"part-{number}"
        number += 1
