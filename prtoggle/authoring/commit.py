"""A commit of a git repository as a change: both texts of each module, and the package as it was with the commit.

Contract: a merge is taken against its first parent. The package's files are written to ``folder``, which is the
caller's, as they are in the commit.

Example::

    change = of_commit(Path("checkout"), "1f2e3d4", folder, only=None)
    change.told.number          # "101"
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from prtoggle.authoring.change import (
    REFUSED,
    SKIPPED,
    Change,
    Left,
    Pair,
    added,
    classify,
    deleted,
    module_name,
    paired,
    renamed,
)
from prtoggle.authoring.git import Commit, Entry, Repository
from prtoggle.authoring.told import of_subject
from prtoggle.difffix import skipped
from prtoggle.errors import RefusedError, UsageError, did_you_mean
from prtoggle.packages import Package, from_locations

_NO_PACKAGE = frozenset({"setup", "noxfile", "conftest", "tasks", "versioneer", "fabfile", "__init__"})
_ROOTS = frozenset({"", "src", "python", "lib"})


def of_commit(repo: Path, name: str, folder: Path, *, only: str | None = None) -> Change:
    """The change that the commit ``name`` made, of the package ``only`` where it changed several.

    Raises:
        UsageError: no such commit; several packages, and none is named.
        RefusedError: it changes no module of a package.
    """
    repository = Repository(repo)
    commit = repository.commit(name)
    entries = repository.changed(commit.parent, commit.sha)
    files = repository.files(commit.sha)
    root = _root(entries, {**repository.files(commit.parent), **files}, only, commit)
    home = _written(repository, files, root, folder)
    blobs = repository.files(commit.parent), files
    pairs: list[Pair] = []
    left: list[Left] = []
    for entry in entries:
        found = _entry(repository, entry, root, blobs)
        (pairs if isinstance(found, Pair) else left).append(found)  # type: ignore[arg-type]
    told = of_subject(commit.subject, commit.body)
    project, page = repository.project()
    told = replace(told, merged=commit.date, project=project)
    if page and told.number and "github" in page:
        told = replace(told, links=(f"{page}/pull/{told.number}",))
    what = f"commit {commit.short}" + (" (a merge, against its first parent)" if commit.merge else "")
    label = f"{home.name} at commit {commit.short}"
    return Change(home, label, what, f"commit {commit.parent[:10]}", tuple(pairs), tuple(left), told)


def _entry(
    repository: Repository, entry: Entry, root: str, blobs: tuple[dict[str, str], dict[str, str]]
) -> Pair | Left:
    path = entry.after
    inside = path.startswith(root + "/") or path == root + ".py"
    package = root.rpartition("/")[2]
    if (why := classify(path, in_package=inside, package=package)) is not None:
        return why
    if not entry.plain:
        return Left(path, REFUSED, "a link, a submodule, or what was one before")
    if entry.letter == "D":
        return deleted(path)
    if entry.letter == "R":
        return renamed(path, entry.before)
    if entry.letter in "AC":
        return added(path)
    module = package if path == root + ".py" else module_name(package, path[len(root) + 1 :])
    if not module:
        return Left(path, REFUSED, "not a module's name")
    if blobs[0][path] == blobs[1][path]:
        return Left(path, SKIPPED, "its mode alone")
    before, after = repository.blobs([blobs[0][path], blobs[1][path]])
    return paired(path, module, after, before)


def _root(entries: Iterable[Entry], files: dict[str, str], only: str | None, commit: Commit) -> str:
    """The path of the package's folder (or of its one file, without ``.py``) that the change is of."""
    changed = [entry.after for entry in entries if entry.after.endswith(".py") and not skipped(entry.after)]
    if only:
        roots = {_named(path, only) for path in changed} - {""}
        known = {_outermost(path, files).rpartition("/")[2] for path in changed} - {""}
        if not roots:
            raise UsageError(
                f"commit {commit.short} changes nothing of {only}", nearest=did_you_mean(only, tuple(known))
            )
    else:
        roots = {_outermost(path, files) for path in changed} - {""}
    if len(roots) > 1:
        names = sorted({root.rpartition("/")[2] for root in roots})
        raise UsageError(
            f"commit {commit.short} changes {len(roots)} packages: {', '.join(sorted(roots))}",
            hint=f"--package names the one to write for: {', '.join(names)}",
        )
    if not roots:
        shown = ", ".join(entry.after for entry in entries)
        raise RefusedError(
            f"commit {commit.short} changes no module of a package: nothing can be taken out at run time",
            nearest=shown[:200],
            hint="--package names the package where it has no __init__.py",
            page="guides/write-a-reverse-patch#what-cannot-be-taken-out",
        )
    return roots.pop()


def _outermost(path: str, files: dict[str, str]) -> str:
    """The outermost folder around ``path`` that is a package; else the file itself, where it can be a module."""
    pieces = path.split("/")
    for count in range(1, len(pieces)):
        folder = "/".join(pieces[:count])
        if f"{folder}/__init__.py" in files and pieces[count - 1].isidentifier():
            return folder
    stem = pieces[-1].removesuffix(".py")
    if "/".join(pieces[:-1]) in _ROOTS and stem.isidentifier() and stem not in _NO_PACKAGE:
        return path.removesuffix(".py")
    return ""


def _named(path: str, package: str) -> str:
    pieces = path.removesuffix(".py").split("/")
    return "/".join(pieces[: pieces.index(package) + 1]) if package in pieces else ""


def _written(repository: Repository, files: dict[str, str], root: str, folder: Path) -> Package:
    """The Python files of the package, in ``folder``."""
    package = root.rpartition("/")[2]
    inside = {
        path: blob
        for path, blob in files.items()
        if path == root + ".py" or (path.startswith(root + "/") and path.endswith(".py"))
    }
    for path, data in zip(inside, repository.blobs(list(inside.values())), strict=True):
        relative = package + path[len(root) :]
        if ".." in relative.split("/"):
            continue
        target = folder / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    single = folder / f"{package}.py"
    if not (folder / package).is_dir() and single.is_file():
        return from_locations(package, [], single)
    init = folder / package / "__init__.py"
    return from_locations(package, [folder / package], init if init.is_file() else None)
