"""Two releases as a change: what differs between them, or the definitions that are named and nothing else.

Contract: pure apart from reading the packages' files.

Example::

    between(newer, older, only=["engine/core.py::Runner.step"])
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from prtoggle.authoring.change import REFUSED, Change, Left, Pair, added, classify, deleted, module_name, paired
from prtoggle.authoring.classes import base_names, inherited, members, own_calls
from prtoggle.authoring.holders import label_of
from prtoggle.authoring.names import bound_at_top, imports
from prtoggle.authoring.splice import Unspliced, brought, spliced
from prtoggle.edits.scope import Scope, resolve
from prtoggle.edits.text import SourceText
from prtoggle.errors import RefusedError, UsageError, did_you_mean
from prtoggle.packages import Package


def between(newer: Package, older: Package, *, only: Sequence[str] = ()) -> Change:
    """The change from ``older`` to ``newer``.

    Raises:
        UsageError: ``only`` names what neither has.
        RefusedError: a named definition cannot be taken back alone.
    """
    pairs, left = _named(newer, older, only) if only else _all(newer, older)
    came = f"{label_of(older)} to {label_of(newer)}"
    if only:
        came += f", {', '.join(only)} alone"
    return Change(newer, label_of(newer), came, label_of(older), tuple(pairs), tuple(left))


def _files(package: Package) -> dict[str, Path]:
    """Path from the package's parent -> file, Python and compiled ones."""
    if not package.locations:
        return {f"{package.name}.py": package.file} if package.file else {}
    found: dict[str, Path] = {}
    for location in package.locations:
        for path in sorted(location.rglob("*")):
            relative = f"{package.name}/{path.relative_to(location).as_posix()}"
            if path.is_file() and "__pycache__" not in relative:
                found.setdefault(relative, path)
    return found


def _module(path: str, package: Package) -> str:
    if path == f"{package.name}.py":
        return package.name
    return module_name(package.name, path[len(package.name) + 1 :])


def _all(newer: Package, older: Package) -> tuple[list[Pair], list[Left]]:
    after, before = _files(newer), _files(older)
    pairs: list[Pair] = []
    left: list[Left] = []
    for path in dict.fromkeys((*after, *before)):
        if path in after and path in before and after[path].read_bytes() == before[path].read_bytes():
            continue
        why = classify(path, in_package=True, package=newer.name)
        if why is None and path not in before:
            why = added(path)
        if why is None and path not in after:
            why = deleted(path)
        if why is None and not _module(path, newer):
            why = Left(path, REFUSED, "not a module's name")
        made = why or paired(path, _module(path, newer), after[path].read_bytes(), before[path].read_bytes())
        (pairs if isinstance(made, Pair) else left).append(made)  # type: ignore[arg-type]
    return pairs, left


def _named(newer: Package, older: Package, only: Iterable[str]) -> tuple[list[Pair], list[Left]]:
    after, before = _files(newer), _files(older)
    wanted: dict[str, list[str]] = {}
    for each in only:
        path, colons, name = each.partition("::")
        if path not in after or path not in before:
            known = [known for known in after if known in before and known.endswith(".py")]
            where = label_of(newer if path not in after else older)
            raise UsageError(
                f"--only {each}: no file {path} in {where}",
                nearest=did_you_mean(path, known),
                hint="the path is from the folder that the package is in: engine/core.py::Runner.step",
            )
        if colons and not name:
            raise UsageError(f"--only {each} names no definition", hint=f"--only {path} takes all of the file")
        if name not in wanted.setdefault(path, []):
            wanted[path].append(name)
    pairs: list[Pair] = []
    left: list[Left] = []
    for path, names in wanted.items():
        if why := classify(path, in_package=True, package=newer.name):
            left.append(why)
            continue
        made = paired(path, _module(path, newer), after[path].read_bytes(), before[path].read_bytes())
        if isinstance(made, Left) or "" in names:
            (pairs if isinstance(made, Pair) else left).append(made)  # type: ignore[arg-type]
            continue
        try:
            text = spliced(made.fixed, made.reverted, names).text
        except Unspliced as problem:
            if problem.unknown:
                raise UsageError(f"--only {path}::{problem.unknown}: {problem}", nearest=problem.nearest) from None
            raise RefusedError(
                f"{path}: {problem}",
                hint="name more of it, or all of the file",
                page="guides/write-a-reverse-patch#what-cannot-be-taken-out",
            ) from None
        if lost := _needed_methods(text, made, names, newer):
            more = " ".join(f"--only {path}::{name}" for name in lost)
            what = f"{path}: the older text uses {', '.join(lost)}, gone from {newer.label}"
            raise RefusedError(what, hint=f"add {more}", page="guides/write-a-reverse-patch#what-cannot-be-taken-out")
        again = paired(path, made.module, made.fixed.encode(made.fixed.text), text.encode(text.text))
        if isinstance(again, Left):
            again = Left(path, again.kind, f"{', '.join(names)}: {again.why}")
        (pairs if isinstance(again, Pair) else left).append(again)  # type: ignore[arg-type]
    return _with_helpers(pairs, newer, after, before), left


def _with_helpers(
    pairs: list[Pair], newer: Package, after: Mapping[str, Path], before: Mapping[str, Path]
) -> list[Pair]:
    """Also what the older texts import of other modules that have it no more: it is put back there, and nothing else.
    Where it cannot be, the import is left, to be named by whoever looks at what is lacking."""
    found = {pair.module: pair for pair in pairs}
    paths = {_module(path, newer): path for path in after if path in before and path.endswith(".py")}
    tried: set[tuple[str, str]] = set()
    pending = list(pairs)
    while pending:
        pair = pending.pop()
        init = paths.get(pair.module, "").endswith("__init__.py")
        now = {(each.module, each.name) for each in imports(pair.fixed, pair.module, init)}
        wanted: dict[str, list[str]] = {}
        for each in sorted(imports(pair.reverted, pair.module, init), key=lambda asked: asked.line):
            key = (each.module, each.name)
            if key not in now | tried and each.name and each.module in paths:
                wanted.setdefault(each.module, []).append(each.name)
                tried.add(key)
        for module, names in wanted.items():
            there = found.get(module)
            if there is None:
                path = paths[module]
                made = paired(path, module, after[path].read_bytes(), before[path].read_bytes())
                if isinstance(made, Left):
                    continue
                there = Pair(module, made.fixed, made.fixed)
            source = SourceText.decode(before[paths[module]].read_bytes())
            bound = bound_at_top(there.reverted.tree.body)
            lost = [name for name in names if name not in bound and not newer.module_exists(f"{module}.{name}")]
            text = brought(there.reverted, source, lost) if lost else None
            if text is not None:
                found[module] = Pair(module, there.fixed, text)
                pending.append(found[module])
    return list(found.values())


def _needed_methods(text: SourceText, made: Pair, names: Iterable[str], newer: Package) -> list[str]:
    """Methods that the older definitions call on their object, and that it no longer has."""
    found: dict[str, None] = {}
    for name in names:
        owner = name.rpartition(".")[0]
        own, now, before = (_node(*each) for each in ((text, name), (text, owner), (made.reverted, owner)))
        if own is None or not isinstance(now, ast.ClassDef) or not isinstance(before, ast.ClassDef):
            continue
        lost = members(before) - members(now)
        texts = {made.module: text.text}
        for called, _ in own_calls(own):
            if called in lost and not inherited(base_names(now), called, texts, newer):
                found[f"{owner}.{called}"] = None
    return list(found)


def _node(source: SourceText, name: str) -> ast.AST | None:
    scope = resolve(source, name)
    return scope.node if isinstance(scope, Scope) else None
