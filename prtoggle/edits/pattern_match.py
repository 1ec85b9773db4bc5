"""Whether a pattern matches a node, and what its names are bound to then.

The matcher walks pattern and source tree together and branches only where a run, or a keyword of any name, leaves a
choice, so that all ways to match one place come out and not only the first.

Example::

    Matcher(pattern.holes, pattern.source, source).ways(Pair(pattern.expression, node))   # [{"X": <ast.Name>}]
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from prtoggle.edits.pattern_parse import Hole, hole_at, run_in
from prtoggle.edits.pattern_tree import (
    Entry,
    Item,
    Parameter,
    call_items,
    ends_in_elif,
    expression_of,
    fields_of,
    items_of,
    parameters,
    same_constant,
)
from prtoggle.edits.text import SourceText

MAX_STEPS = 2_000_000
"""Steps after which one place is given up: several runs in one long list can be split in very many ways."""
MAX_WAYS = 64


class TooManyWays(Exception):
    """A place can be matched in more ways than can be looked at."""


@dataclass(frozen=True)
class Run:
    """What ``$...X`` is bound to: a slice of the items of ``owner`` (of a block, for statements)."""

    items: tuple[Item, ...]
    owner: ast.AST | None
    statements: bool = False


Binding = ast.expr | str | Run
Bindings = Mapping[str, Binding]


@dataclass(frozen=True)
class Pair:
    pattern: Any
    node: Any


@dataclass(frozen=True)
class Items:
    """Items to be matched in order; ``pattern`` may hold runs."""

    pattern: Sequence[Any]
    nodes: Sequence[Any]
    owner: ast.AST | None
    statements: bool = False


@dataclass(frozen=True)
class Arguments:
    """Items of a call: ``ordered`` in order, ``named`` keywords wherever they stand outside of a run.

    ``placed`` remembers at which item each piece of the pattern begins and ends, for the order relative to ``**``.
    """

    all: Sequence[Any]
    ordered: tuple[int, ...]
    named: frozenset[int]
    nodes: Sequence[Any]
    at: int
    owner: ast.AST
    placed: tuple[tuple[int, int, int], ...] = ()


_Task = Pair | Items | Arguments
_Tasks = tuple[Any, ...]  # a linked list: () or (task, rest)


class Matcher:
    """Matches nodes of one text, which may have holes, against nodes of another."""

    def __init__(
        self, holes: Mapping[str, Hole], pattern_source: SourceText, source: SourceText, *, any_way: bool = False
    ) -> None:
        self.holes, self.pattern_source, self.source, self.any_way = holes, pattern_source, source, any_way
        self.steps = 0

    def ways(self, task: _Task) -> list[Bindings]:
        """Every way to do ``task``; only the first where any will do."""
        self.steps = 0
        found: dict[object, Bindings] = {}
        for bindings in self._solve((task, ()), {}):
            found.setdefault(tuple((name, _identity(bindings[name])) for name in sorted(bindings)), bindings)
            if self.any_way:
                break
            if len(found) > MAX_WAYS:
                raise TooManyWays
        return list(found.values())

    def _solve(self, tasks: _Tasks, bound: Bindings) -> Iterator[Bindings]:
        holes = self.holes
        while tasks:
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise TooManyWays
            task, tasks = tasks
            if isinstance(task, Items):
                alternatives = self._sequence(task, bound)
            elif isinstance(task, Arguments):
                alternatives = self._arguments(task, bound)
            else:
                pattern, node = task.pattern, task.node
                if hole := hole_at(pattern, holes) if isinstance(pattern, (ast.Name, str)) else None:
                    extended = self._bind(hole.name, node, bound)
                    if extended is None:
                        return
                    bound = extended
                    continue
                if not isinstance(pattern, ast.AST):
                    if not same_constant(pattern, node):
                        return
                    continue
                if type(pattern) is not type(node):
                    return
                more = self._fields(pattern, node)
                if more is None:
                    return
                for next_task in reversed(more):
                    tasks = (next_task, tasks)
                continue
            choices = iter(alternatives)
            first = next(choices, None)
            if first is None:
                return
            for second in choices:  # a real choice
                yield from self._solve(_push(first[0], tasks), first[1])
                first = second
            tasks, bound = _push(first[0], tasks), first[1]
        yield bound

    def _fields(self, pattern: Any, node: Any) -> list[_Task] | None:
        """What must match for two nodes of one type to match; None if they cannot."""
        tasks: list[_Task] = []
        if isinstance(pattern, ast.Constant):
            return [] if same_constant(pattern.value, node.value) else None
        if isinstance(pattern, ast.If) and ends_in_elif(self.pattern_source, pattern) != ends_in_elif(
            self.source, node
        ):
            return None
        for field in fields_of(pattern):
            mine, its = getattr(pattern, field, None), getattr(node, field, None)
            if isinstance(mine, list):
                if isinstance(pattern, (ast.Call, ast.ClassDef)) and field in ("args", "bases", "keywords"):
                    continue
                if isinstance(pattern, ast.Dict):
                    continue
                statements = field in ("body", "orelse", "finalbody", "handlers", "cases")
                sequence = Items(mine, its or [], node, statements)
                if not self._may_match(sequence):
                    return None
                tasks.append(sequence)
            elif isinstance(mine, ast.arguments) and isinstance(its, ast.arguments):
                tasks.append(Items(parameters(mine), parameters(its), node))
            elif field == "simple" and hole_at(pattern.target, self.holes):
                continue
            else:
                if (mine is None) != (its is None):
                    return None
                if mine is not None:
                    tasks.append(Pair(mine, its))
        if isinstance(pattern, ast.Dict):
            tasks.append(Items(items_of(pattern), items_of(node), node))
        elif isinstance(pattern, (ast.Call, ast.ClassDef)):
            assert isinstance(node, (ast.Call, ast.ClassDef))
            tasks.append(self._call(call_items(pattern), call_items(node), node))
        return tasks

    def _may_match(self, task: Items) -> bool:
        runs = sum(run_in(item, self.holes) is not None for item in task.pattern)
        fixed = len(task.pattern) - runs
        return len(task.nodes) >= fixed if runs else len(task.nodes) == fixed

    def _sequence(self, task: Items, bound: Bindings) -> Iterator[tuple[tuple[_Task, ...], Bindings]]:
        if not self._may_match(task):
            return
        holes, pairs = self.holes, []
        for at, item in enumerate(task.pattern):
            run = run_in(item, holes)
            if not run:
                pairs.append(task.nodes[at])
                continue
            rest = task.pattern[at + 1 :]
            more_runs = any(run_in(later, holes) for later in rest)
            before = tuple(self._item(mine, its) for mine, its in zip(task.pattern, pairs, strict=False))
            spare = len(task.nodes) - at - sum(run_in(later, holes) is None for later in rest)
            for length in range(spare + 1) if more_runs else [spare]:
                bound_to = Run(tuple(task.nodes[at : at + length]), task.owner, task.statements)
                extended = self._bind(run.name, bound_to, bound)
                if extended is not None:
                    tail = Items(rest, task.nodes[at + length :], task.owner, task.statements)
                    yield (*before, tail), extended
            return
        yield tuple(self._item(mine, its) for mine, its in zip(task.pattern, task.nodes, strict=True)), bound

    def _item(self, mine: Any, its: Any) -> _Task:
        """The task of matching two items of a list: nodes, identifiers, parameters, dict entries."""
        if isinstance(mine, Parameter):
            parts: tuple[str, ...] = ("stars", "arg", "default")
        elif isinstance(mine, Entry):
            parts = ("key", "value")
        else:
            return Pair(mine, its)
        mine_parts, its_parts = [], []
        for part in parts:
            mine_parts.append(getattr(mine, part))
            its_parts.append(getattr(its, part))
        return Items(mine_parts, its_parts, None)

    def _call(self, mine: list[Any], its: list[Any], owner: ast.AST) -> _Task:
        holes = self.holes
        named = frozenset(
            at
            for at, item in enumerate(mine)
            if isinstance(item, ast.keyword) and item.arg is not None and not run_in(item, holes)
        )
        ordered = tuple(at for at in range(len(mine)) if at not in named)
        return Arguments(mine, ordered, named, its, 0, owner)

    def _arguments(self, task: Arguments, bound: Bindings) -> Iterator[tuple[tuple[_Task, ...], Bindings]]:
        holes, nodes, at = self.holes, task.nodes, task.at
        runs = [which for which in task.ordered if run_in(task.all[which], holes)]
        fixed = len(task.ordered) - len(runs) + len(task.named)
        left = len(nodes) - at
        if left < fixed or (not runs and left != fixed):
            return
        if not task.ordered and not task.named:
            if self._keeps_unpacking_order(task):
                yield (), bound
            return
        item = nodes[at] if left else None
        if isinstance(item, ast.keyword) and item.arg is not None:
            for which in sorted(task.named):
                mine = task.all[which]
                if mine.arg == item.arg or hole_at(mine.arg, holes):
                    rest = replace(
                        task, named=task.named - {which}, at=at + 1, placed=(*task.placed, (which, at, at + 1))
                    )
                    yield (Pair(mine.arg, item.arg), Pair(mine.value, item.value), rest), bound
        if not task.ordered:
            return
        which, *others = task.ordered
        mine = task.all[which]
        if run := run_in(mine, holes):
            for end in range(at, len(nodes) - fixed + 1):
                extended = self._bind(run.name, Run(tuple(nodes[at:end]), task.owner), bound)
                if extended is not None:
                    rest = replace(task, ordered=tuple(others), at=end, placed=(*task.placed, (which, at, end)))
                    yield (rest,), extended
        elif item is not None and isinstance(mine, ast.keyword) == isinstance(item, ast.keyword):
            if isinstance(item, ast.keyword) and item.arg is not None:
                return
            rest = replace(task, ordered=tuple(others), at=at + 1, placed=(*task.placed, (which, at, at + 1)))
            pair = Pair(mine.value, item.value) if isinstance(mine, ast.keyword) else Pair(mine, item)
            yield (pair, rest), bound

    @staticmethod
    def _keeps_unpacking_order(task: Arguments) -> bool:
        """Whether each named keyword stands behind as many ``**`` as in the pattern: their order has a meaning."""

        def unpackings(start: int, end: int) -> int:
            return sum(isinstance(item, ast.keyword) and item.arg is None for item in task.nodes[start:end])

        before = 0
        for which, start, end in sorted(task.placed):
            item = task.all[which]
            if isinstance(item, ast.keyword) and item.arg is not None and end - start == 1:
                node = task.nodes[start]
                if isinstance(node, ast.keyword) and node.arg is not None and unpackings(0, start) != before:
                    return False
            before += unpackings(start, end)
        return True

    def _bind(self, name: str, value: Any, bound: Bindings) -> Bindings | None:
        if isinstance(value, str):
            if not all(part.isidentifier() for part in value.split(".")):
                return None
        elif not isinstance(value, Run) and (not isinstance(value, ast.expr) or isinstance(value, ast.Starred)):
            return None
        if name not in bound:
            return {**bound, name: value}
        return bound if equal(bound[name], value, self.source) else None


def _identity(value: object) -> object:
    if isinstance(value, Run):
        return tuple(_identity(item) for item in value.items)
    if isinstance(value, Parameter):
        return value.stars, id(value.arg)
    return value if isinstance(value, str) else id(value.value if isinstance(value, Entry) else value)


def _push(tasks: tuple[_Task, ...], rest: _Tasks) -> _Tasks:
    for task in reversed(tasks):
        rest = (task, rest)
    return rest


def equal(one: Binding, other: Binding, source: SourceText) -> bool:
    """Whether two bindings are equal syntax (both of ``source``)."""
    if one is other:
        return True
    if isinstance(one, Run) or isinstance(other, Run):
        if not (isinstance(one, Run) and isinstance(other, Run) and len(one.items) == len(other.items)):
            return False
        task: _Task = Items(one.items, other.items, None, one.statements)
    else:
        task = Pair(*(expression_of(each) if isinstance(each, str) else each for each in (one, other)))
    return bool(Matcher({}, source, source, any_way=True).ways(task))
