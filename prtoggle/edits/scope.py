"""Where a target stands in a module's source: the definition that a qualified name means, found without importing.

A name is a chain of definitions as they are nested (``Class.method``, ``outer.inner``, ``outer.<locals>.inner``); the
empty name is the whole module. Definitions under ``if``, ``try``, ``with``, ``for``, ``while`` and ``match`` belong to
the scope around them. Two definitions of one name are :class:`~prtoggle.edits.outcome.Several` until the name says
which:

- ``f#2``: the second one, in source order, of those that the name ``f`` could mean;
- ``C.p@setter``, ``C.p@deleter``, ``C.p@getter``: of a property; ``C.p`` alone is its getter;
- ``p#2@setter``: the second setter; ``C#2.m#1``: both together;
- of ``@overload`` stubs and one definition that is no stub, the latter is meant (``f#1`` still reaches a stub).

Example::

    scope = resolve(SourceText("class C:\\n    def m(self):\\n        pass\\n"), "C.m")
    (scope.first, scope.last) == (2, 3)
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from prtoggle.edits.outcome import Missing, Several
from prtoggle.edits.text import SourceText

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SEGMENT = re.compile(r"(?P<name>[^#@]+)(?:#(?P<number>[1-9][0-9]*))?(?:@(?P<role>getter|setter|deleter))?")


@dataclass(frozen=True)
class Scope:
    """A definition, or the whole module (``qualname`` empty). Lines count from 1 and include decorators."""

    qualname: str
    node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    first: int
    last: int


def resolve(source: SourceText, qualname: str) -> Scope | Missing | Several:
    """The scope that ``qualname`` names in ``source``."""
    try:
        tree = source.tree
    except (SyntaxError, ValueError) as error:
        return Missing(f"the file does not parse: {error}", line=getattr(error, "lineno", 0) or 0)
    if not qualname:
        return Scope("", tree, 1, max(len(source.lines), 1))
    node: ast.Module | Definition = tree
    done: list[str] = []
    for segment in (segment for segment in qualname.split(".") if segment != "<locals>"):
        match = _SEGMENT.fullmatch(segment)
        if match is None:
            return Missing(f"{segment!r} in {qualname!r} is no name (write f, f#2, p@setter or p#2@setter)")
        same = [child for child in _children(node) if child.name == match["name"]]
        if not same:
            return _missing(source, tree, node, qualname, done, match["name"])
        found = _candidates(same, match["role"])
        if not found:
            return Missing(
                f"{'.'.join([*done, match['name']])} has no {match['role']}", nearest=match["name"], line=same[0].lineno
            )
        if match["number"]:
            if int(match["number"]) > len(found):
                lines = ", ".join(str(child.lineno) for child in found)
                return Missing(
                    f"{segment!r}: there are only {len(found)} definitions of {match['name']!r} (lines {lines})"
                    if len(found) > 1
                    else f"{segment!r}: there is only one definition of {match['name']!r} (line {lines})",
                    nearest=f"{match['name']}#{len(found)}",
                    line=found[-1].lineno,
                )
            node = found[int(match["number"]) - 1]
        else:
            meant = _meant(found)
            if meant is None:
                which = ", ".join(f"{_spell(match, n)} (line {child.lineno})" for n, child in enumerate(found, 1))
                return Several(tuple(child.lineno for child in found), f"say which {match['name']!r} is meant: {which}")
            node = meant
        done.append(segment)
    if isinstance(node, ast.Module):
        return Missing(f"{qualname!r} names no definition")
    return Scope(qualname, node, first_line(source, node), node.end_lineno or node.lineno)


def definitions(source: SourceText) -> tuple[tuple[str, int], ...]:
    """Every definition, in source order: the name that :func:`resolve` takes, and the line of ``def`` or ``class``."""
    try:
        return tuple((name, node.lineno) for name, node in _walk(source.tree, ""))
    except (SyntaxError, ValueError):
        return ()


def enclosing(source: SourceText, line: int) -> str:
    """The name of the innermost definition around ``line``; empty at module level."""
    best = ""
    for name, node in _walk(source.tree, ""):
        if first_line(source, node) <= line <= (node.end_lineno or node.lineno):
            best = name
    return best


def split_target(target: str, exists: Callable[[str], bool]) -> tuple[str, str]:
    """Module and qualified name of ``target``; the module is empty where no prefix is one.

    ``module:name`` is taken as it stands. Of a dotted target, the longest prefix for which ``exists`` is true is the
    module.
    """
    module, colon, qualname = target.partition(":")
    if colon:
        return module.strip(), qualname.strip()
    parts = target.split(".")
    for count in range(len(parts), 0, -1):
        prefix = parts[:count]
        if all(part.isidentifier() for part in prefix) and exists(".".join(prefix)):
            return ".".join(prefix), ".".join(parts[count:])
    return "", target


def first_line(source: SourceText, node: ast.stmt) -> int:
    """The first line of a statement, its decorators included."""
    decorators = getattr(node, "decorator_list", ())
    if not decorators:
        return node.lineno
    number: int = decorators[0].lineno
    while number > 1 and not source.lines[number - 1].lstrip(" \t\f").startswith("@"):  # `@(` on a line of its own
        number -= 1
    return number


def statement_lists(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The statement lists directly in ``node``: bodies, ``else``, ``finally``, handlers' and cases' bodies."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield block
    for name in ("handlers", "cases"):
        for child in getattr(node, name, ()):
            yield child.body


def _children(node: ast.AST) -> Iterator[Definition]:
    """Definitions in the scope of ``node``, in source order; not those in scopes inside it."""
    found: list[Definition] = []
    pending: list[ast.AST] = [node]
    while pending:
        for block in statement_lists(pending.pop()):
            for statement in block:
                if isinstance(statement, _DEFINITIONS):
                    found.append(statement)
                else:
                    pending.append(statement)
    return iter(sorted(found, key=lambda child: (child.lineno, child.col_offset)))


def _walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    children = list(_children(node))
    for child in children:
        same = [other for other in children if other.name == child.name]
        name = prefix + _name_of(child, same)
        yield name, child
        yield from _walk(child, name + ".")


def _name_of(child: Definition, same: Sequence[Definition]) -> str:
    """The shortest name for ``child`` among the definitions of its name."""
    for role in ("", "setter", "deleter", "getter"):
        found = _candidates(same, role)
        if child in found:
            suffix = f"@{role}" if role else ""
            number = "" if _meant(found) is child else f"#{found.index(child) + 1}"
            return f"{child.name}{number}{suffix}"
    raise AssertionError(child.name)


def _candidates(same: Sequence[Definition], role: str | None) -> list[Definition]:
    """Those of the definitions of one name that the name means with ``role``."""
    roles = [_role(child) for child in same]
    if role in ("setter", "deleter"):
        return [child for child, its in zip(same, roles, strict=True) if its == role]
    plain = [child for child, its in zip(same, roles, strict=True) if its not in ("setter", "deleter")]
    if role == "getter":
        explicit = [child for child, its in zip(same, roles, strict=True) if its == "getter"]
        is_property = len(plain) < len(same) or any(_is_property(child) for child in plain)
        return explicit or (plain if is_property else [])
    return plain or list(same)


def _meant(found: Sequence[Definition]) -> Definition | None:
    """The one that a name without a number means; None where it must say which."""
    if len(found) == 1:
        return found[0]
    real = [child for child in found if not _is_overload(child)]
    return real[0] if len(real) == 1 else None


def _role(node: Definition) -> str:
    """``getter``, ``setter`` or ``deleter`` for ``@name.setter`` and its like; otherwise empty."""
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Attribute) or _last_name(decorator.value) != node.name:
            continue
        if decorator.attr in ("getter", "setter", "deleter"):
            return decorator.attr
    return ""


def _is_property(node: Definition) -> bool:
    return any(_last_name(decorator).endswith("property") for decorator in node.decorator_list)


def _is_overload(node: Definition) -> bool:
    return any(_last_name(decorator) == "overload" for decorator in node.decorator_list)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _spell(match: re.Match[str], number: int) -> str:
    return f"{match['name']}#{number}" + (f"@{match['role']}" if match["role"] else "")


def _missing(
    source: SourceText, tree: ast.Module, node: ast.AST, qualname: str, done: Sequence[str], name: str
) -> Missing:
    where = f"in {'.'.join(done)}" if done else "in this module"
    reason = f"no definition of {name!r} {where}"
    bound = _binding(node, name)
    if bound:
        how, line = bound
        return Missing(f"{reason}: it is {how} at line {line}, not defined by def or class", nearest=name, line=line)
    known = list(_walk(tree, ""))
    last = _plain(qualname).rpartition(".")[2]
    elsewhere = [(full, child.lineno) for full, child in known if _plain(full).rpartition(".")[2] == last]
    if elsewhere:
        places = ", ".join(f"{full} (line {line})" for full, line in elsewhere[:5])
        nearest, line = elsewhere[0]
        return Missing(f"{reason}; {last!r} is defined as {places}", nearest=nearest, line=line)
    siblings = [full for full, child in known if full.rpartition(".")[0] == ".".join(done)]
    for names in (siblings, [full for full, _ in known]):
        wanted = ".".join([*done, name]) if names is siblings else _plain(qualname)
        close = difflib.get_close_matches(wanted, names, n=1, cutoff=0.6)
        if close:
            return Missing(reason, nearest=close[0], line=dict((f, c.lineno) for f, c in known)[close[0]])
    return Missing(reason)


def _plain(name: str) -> str:
    """A qualified name without numbers, roles and ``<locals>``."""
    return re.sub(r"[#@]\w+", "", name.replace("<locals>.", ""))


def _binding(node: ast.AST, name: str) -> tuple[str, int] | None:
    """How and where ``name`` is bound in the scope of ``node`` by something else than a definition."""
    pending: list[ast.AST] = [node]
    while pending:
        for block in statement_lists(pending.pop(0)):
            for statement in block:
                if isinstance(statement, ast.Import | ast.ImportFrom):
                    if any((alias.asname or alias.name).partition(".")[0] == name for alias in statement.names):
                        return "imported", statement.lineno
                elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
                    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                    names = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
                    if name in names:
                        return "assigned", statement.lineno
                elif not isinstance(statement, _DEFINITIONS):
                    pending.append(statement)
    return None
