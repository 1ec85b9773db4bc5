"""The registry of reverse patches that an installed package carries itself, read from its source and never imported.

A registry is a dictionary at the top of a module, from PR numbers to YAML texts: string constants, or names of string
constants of the same module. What is written in any other way cannot be known without running it, and is a problem
with its place.

Example::

    registry = read(source, name="sglang/srt/debug_utils/pr_fix_toggle.py", integration=sglang.INTEGRATION)
    [fix.id for fix in registry.fixes]     # ["25015", "26329", "27338", ...]
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prtoggle.errors import MalformedError, Place, PrtoggleError, RefusedError
from prtoggle.integrations import Integration
from prtoggle.spec import Fix, Origin
from prtoggle.yamlfile import loads_foreign


@dataclass(frozen=True)
class RegistryProblem:
    """Something in a registry that cannot be read; ``number`` is empty where it is not known which fix it is."""

    number: str
    error: MalformedError


@dataclass(frozen=True)
class Registry:
    """The fixes of a registry, in its order, and what of it cannot be read."""

    fixes: tuple[Fix, ...] = ()
    problems: tuple[RegistryProblem, ...] = ()


def registry_file(integration: Integration, package_root: Path) -> Path:
    """Where the registry of a package is whose folder is ``package_root``; older releases have none there."""
    inside = integration.registry_module.split(".")[1:]
    return package_root.joinpath(*inside).with_suffix(".py")


def read(source: bytes, *, name: str, integration: Integration) -> Registry:
    """The registry in the module whose file's bytes are ``source``; ``name`` is what the file is called in places."""
    try:
        module = ast.parse(source, name)
    except (SyntaxError, ValueError) as error:
        line, column = getattr(error, "lineno", None) or 0, getattr(error, "offset", None) or 0
        what = f"not Python: {getattr(error, 'msg', None) or error}"
        return Registry((), (_problem("", what, Place(name, line, column)),))
    reading = _Reading(module, name, integration)
    return Registry(tuple(reading.fixes), tuple(reading.problems))


def _problem(number: str, what: str, place: Place) -> RegistryProblem:
    return RegistryProblem(number, MalformedError((RefusedError(what, place=place),)))


class _Reading:
    """One pass over a module."""

    def __init__(self, module: ast.Module, name: str, integration: Integration) -> None:
        self.name = name
        self.integration = integration
        self.fixes: list[Fix] = []
        self.problems: list[RegistryProblem] = []
        bound: dict[str, list[ast.expr]] = {}
        for target, value in _assignments(module):
            bound.setdefault(target.id, []).append(value)
        # A name that is bound to several things means what cannot be known without running the module.
        self.texts = {name: values[0] for name, values in bound.items() if len(values) == 1}
        self.entries: dict[str, ast.expr] = {}
        self._find(module)
        for number, value in self.entries.items():
            self._read(number, value)

    def _bad(self, number: str, what: str, node: ast.AST) -> None:
        place = Place(self.name, getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1)
        self.problems.append(_problem(number, what, place))

    def _find(self, module: ast.Module) -> None:
        """Collect the entries, in order; a later one of a number replaces an earlier one, as it does in Python."""
        wanted, found = self.integration.registry_name, False
        for statement in module.body:
            if _defines(statement, wanted):
                found = True
                value = statement.value  # type: ignore[attr-defined]
                if isinstance(value, ast.Dict):
                    self.entries.clear()
                    for key, item in zip(value.keys, value.values, strict=True):
                        self._enter(key, item)
                elif value is not None:
                    self._bad("", f"{wanted} is not a dictionary that can be read without running it", statement)
            elif isinstance(statement, ast.Assign) and any(_is_item(target, wanted) for target in statement.targets):
                for target in statement.targets:
                    if isinstance(target, ast.Subscript):
                        self._enter(target.slice, statement.value)
            elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import) and any(
                isinstance(node, ast.Name) and node.id == wanted for node in ast.walk(statement)
            ):
                self._bad("", f"{wanted} is used here in a way that cannot be followed without running it", statement)
        if not found:
            self._bad("", f"no dictionary called {wanted}, expected one at the top of the module", module)

    def _enter(self, key: ast.expr | None, value: ast.expr) -> None:
        if isinstance(key, ast.Constant) and type(key.value) is int and key.value > 0:
            self.entries[str(key.value)] = value
        else:
            self._bad("", "a key that is not a PR number, expected a plain number", key or value)

    def _read(self, number: str, value: ast.expr) -> None:
        node = self.texts.get(value.id) if isinstance(value, ast.Name) else value
        text = _text(node) if node is not None else None
        if node is None or text is None:
            self._bad(number, f"the text of {number} is not a string constant of this module, or not only that", value)
            return
        try:
            fix = loads_foreign(
                text,
                self.name,
                id=number,
                package=self.integration.package,
                project=self.integration.project,
                origin=Origin("registry", self.integration.package),
                first_line=node.lineno,
            )
        except MalformedError as error:
            exact = (node.end_lineno or node.lineno) - node.lineno == text.count("\n")
            problems = error.problems if exact else tuple(_moved(problem, node.lineno) for problem in error.problems)
            self.problems.append(RegistryProblem(number, MalformedError(problems)))
        else:
            self.fixes.append(fix)


def _moved(problem: PrtoggleError, line: int) -> PrtoggleError:
    """``problem`` at ``line``, where the lines of a text are not those of the file."""
    place = Place(problem.place.file, line) if problem.place else None
    return RefusedError(problem.what, place=place, nearest=problem.nearest, hint=problem.hint)


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _assignments(module: ast.Module) -> Iterator[tuple[ast.Name, ast.expr]]:
    """Every binding of a name by assignment anywhere outside functions and classes."""
    pending: list[ast.AST] = list(module.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.Assign):
            yield from ((target, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign | ast.AugAssign) and isinstance(node.target, ast.Name):
            if isinstance(node, ast.AugAssign):
                yield node.target, ast.Tuple([], ast.Load())  # no constant any more
            elif node.value is not None:
                yield node.target, node.value
        elif isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            pending.extend(
                child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt | ast.ExceptHandler)
            )


def _defines(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)
    return (
        isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.target.id == name
    )


def _is_item(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name
