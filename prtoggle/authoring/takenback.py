"""A diff, taken back in a package that has the change: both texts of each module. Several commits in one text are taken
back one after another, the last one first.

Contract: pure apart from reading the package's files. Fuzz is 0: a hunk that does not stand in the package is a
problem, and all of them are named together.

Example::

    diff = Diff.read(text, "fix.diff")
    taken_back(diff, locate("engine", sys.path), "engine 1.3").pairs
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from prtoggle.authoring.change import (
    REFUSED,
    Change,
    Left,
    Told,
    added,
    classify,
    deleted,
    paired,
    renamed,
)
from prtoggle.authoring.told import of_head
from prtoggle.difffix import module_of
from prtoggle.diffs import FileDiff
from prtoggle.difftext import commits, in_encoding
from prtoggle.edits import udiff
from prtoggle.edits.combine import Conflict, combine
from prtoggle.edits.outcome import Already, Found, Several
from prtoggle.edits.scope import Scope
from prtoggle.edits.text import SourceText
from prtoggle.errors import MalformedError, Place, PrtoggleError, RefusedError
from prtoggle.packages import Package

_PAGE = "guides/write-a-reverse-patch#what-cannot-be-taken-out"


@dataclass(frozen=True)
class Diff:
    """A diff's commits in the order in which they are taken back, and what stands above the first of them in time."""

    name: str
    commits: tuple[tuple[FileDiff, ...], ...]
    told: Told

    @classmethod
    def read(cls, text: str, name: str) -> Diff:
        """The diff ``text``. MalformedError where it is none."""
        found = commits(text, name)
        told = [of_head(commit.head) for commit in found]
        return cls(name, tuple(commit.files for commit in found), replace(told[-1], merged=told[0].merged))

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that it changes, as the change leaves it."""
        return tuple(dict.fromkeys(each.path_old or each.path_new for files in self.commits for each in files))


def taken_back(diff: Diff, home: Package, label: str) -> Change:
    """The change, as far as it is of ``home``.

    Raises:
        MalformedError: hunks do not stand there, all of them.
        RefusedError: it changes no module of the package.
    """
    back = _TakingBack(diff, home)
    for files in diff.commits:
        for file in files:
            back.take(file)
    if back.problems:
        hint = f"name the release that the change is in: --against {home.name}==X"
        if len(diff.commits) > 1:
            hint += f"; or, of the {len(diff.commits)} commits in it, give the one that is the fix: git show SHA"
        raise MalformedError(
            tuple(back.problems),
            hint=hint,
            page="guides/write-a-reverse-patch#3-let-it-be-written",
        )
    left = dict(back.left)
    pairs = []
    for path, (module, text) in back.texts.items():
        if path in left and left[path].kind != REFUSED:
            continue  # a file that an earlier commit of the same change added
        source = back.fixed[path]
        made = paired(path, module, source.encode(source.text), source.encode(text))
        if isinstance(made, Left):
            left[path] = made
        else:
            pairs.append(made)
    several = f", {len(diff.commits)} commits" if len(diff.commits) > 1 else ""
    name = "the diff on stdin" if diff.name == "-" else diff.name
    return Change(home, label, f"{name}{several}", name, tuple(pairs), tuple(left.values()), diff.told)


class _TakingBack:
    """The texts so far, by path."""

    def __init__(self, diff: Diff, home: Package) -> None:
        self.diff, self.home = diff, home
        self.texts: dict[str, tuple[str, str]] = {}
        self.fixed: dict[str, SourceText] = {}
        self.left: dict[str, Left] = {}
        self.problems: list[PrtoggleError] = []

    def take(self, file: FileDiff) -> None:
        path = file.path_old or file.path_new
        place = Place(self.diff.name, file.line)
        module = module_of(path, self.home)
        why = classify(path, in_package=module is not None, package=self.home.name)
        if why is None:
            why = self._by_kind(path, file)
        if why is not None:
            self.left.setdefault(path, why)
            return
        assert module is not None
        if not all(piece.isidentifier() for piece in module.split(".")):
            self.left.setdefault(path, Left(path, REFUSED, "not a module's name"))
            return
        if not file.edit.hunks:
            return
        source = self._source(path, module)
        if isinstance(source, PrtoggleError):
            self.problems.append(source)
            return
        scope = Scope("", ast.Module([], []), 1, max(len(source.lines), 1))
        found = udiff.locate(source, scope, in_encoding(file.edit, source.encoding))
        if not isinstance(found, Found):
            self.problems.append(_problem(module, found, place, self.home))
            return
        text = combine(source, [("", each) for each in found.replacements])
        if isinstance(text, Conflict):
            self.problems.append(RefusedError(f"{module}: {text.reason}", place=place, page=_PAGE))
            return
        self.texts[path] = (module, text)

    def _source(self, path: str, module: str) -> SourceText | PrtoggleError:
        """The text of the module, as far as it is taken back."""
        if path in self.texts:
            before = self.fixed[path]
            return SourceText(self.texts[path][1], before.encoding, before.bom)
        file = self.home.module_file(module)
        if file is None:
            return RefusedError(
                f"{self.home.label} has no module {module}: {self.home.why_no_source(module)}", page=_PAGE
            )
        try:
            self.fixed[path] = SourceText.decode(file.read_bytes())
        except (OSError, SyntaxError, ValueError) as error:
            return RefusedError(f"{file} cannot be read as Python: {error}", page=_PAGE)
        return self.fixed[path]

    def _by_kind(self, path: str, file: FileDiff) -> Left | None:
        if file.kind == "deleted":  # by the revert: the change added it
            return added(path)
        if file.kind == "added":
            return deleted(path)
        if file.kind == "renamed":
            return renamed(path, file.path_new)
        return Left(path, REFUSED, "a binary file") if file.kind == "binary" else None


def _problem(module: str, found: object, place: Place, home: Package) -> RefusedError:
    if isinstance(found, Already):
        return RefusedError(
            f"{module}: {home.label} stands as without the change (line {found.line})", place=place, page=_PAGE
        )
    if isinstance(found, Several):
        return RefusedError(f"{module}: {found.reason or 'it stands there several times'}", place=place, page=_PAGE)
    reason, nearest, line = (getattr(found, name, "") for name in ("reason", "nearest", "line"))
    at = f"{module}:{line}: {nearest}" if nearest else ""
    return RefusedError(f"{module}: {reason}", place=place, nearest=at, page=_PAGE)


def packages_of(diff: Diff) -> tuple[str, ...]:
    """The names of packages that the diff could be of, by the folders and files on its paths, outermost first."""
    names: dict[str, None] = {}
    for path in diff.paths:
        if path.endswith(".py") and classify(path, in_package=True, package="") is None:
            names.update(dict.fromkeys(each for each in _names(path.removesuffix(".py").split("/"))))
    return tuple(names)


def _names(pieces: Iterable[str]) -> list[str]:
    return [piece for piece in pieces if piece.isidentifier()]
