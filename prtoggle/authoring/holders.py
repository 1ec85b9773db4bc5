"""The packages that are looked at: releases, wheels and folders that are named, and what is installed.

Example::

    one("engine==1.3", None, index)                 # the Package in that release
    named(["engine>=1.2"], "engine", index)         # a Subject for each release
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packaging.requirements import Requirement

from prtoggle import installed
from prtoggle.against import PathTarget, parse_against
from prtoggle.check import Subject
from prtoggle.errors import InconclusiveError, RefusedError, UsageError, did_you_mean
from prtoggle.packages import Package, locate, normalise
from prtoggle.releases import Index

_INSIDE = ("", "src", "python", "lib")


def one(text: str, only: str | None, index: Index) -> Package:
    """The package in the one release, wheel or folder that ``text`` names; ``only`` is its import name.

    Raises:
        UsageError: it names several releases, or holds several packages, or none of that name.
        InconclusiveError: the release could not be had.
    """
    target = parse_against(text)
    if isinstance(target, PathTarget):
        name = only or _only_one(target.path, _top_names(target.path, index), "")
        (release,) = index.resolve(target, name)
        assert release.root is not None
        found = locate(name, [str(release.root)])
    else:
        versions = index.releases(target)
        if len(versions) > 1:
            raise UsageError(
                f"{str(target)!r} names {len(versions)} releases, expected one",
                nearest=f"{target.name}=={versions[-1]}",
            )
        root = index.fetch(target.name, versions[0])
        name = only or _only_one(root, _names_in(root), target.name)
        found = locate(name, [str(root)])
    if found is None:
        raise UsageError(f"{text} holds no package {name}", hint="--package names it")
    return found


def label_of(package: Package) -> str:
    """What a package is called: by its version, else by where it is."""
    return package.label if package.version else f"{package.name} in {_shown(Path(package.where).parent)}"


def _shown(path: Path) -> str:
    here = Path.cwd().resolve()
    real = path.resolve()
    if real == here:
        return os.curdir
    return os.path.join(os.curdir, real.relative_to(here)) if real.is_relative_to(here) else str(path)


def named(texts: Iterable[str], name: str, index: Index) -> Iterator[Subject]:
    """Every release that ``texts`` name, of the package ``name``."""
    for text in texts:
        target = parse_against(text)
        for release in index.resolve(target, name):
            package = locate(name, [str(release.root)]) if release.root is not None else None
            problem = release.problem
            if package is None and problem is None:
                problem = InconclusiveError(f"{release.label} has no package {name}")
            label = label_of(package) if package else release.label
            version = release.version or (package.version if package else "")
            yield Subject(name, label, version, package, None, problem)


def with_one_of(texts: Sequence[str], names: Sequence[str], index: Index) -> Iterator[Package]:
    """The packages, called one of ``names``, in what ``texts`` name and then in what is installed."""
    for text in texts:
        target = parse_against(text)
        likely = [
            each for each in names if isinstance(target, Requirement) and normalise(each) == normalise(target.name)
        ]
        for name in [*likely, *(each for each in names if each not in likely)]:
            try:
                releases = index.resolve(target, name)
            except UsageError:
                continue
            found = [locate(name, [str(each.root)]) for each in releases if each.root is not None]
            if any(found):
                yield from (each for each in found if each is not None)
                break
    for name in names:
        package = installed.find(name)
        if package is not None:
            yield package


def _only_one(where: Path, names: Sequence[str], distribution: str) -> str:
    same = [name for name in names if normalise(name) == normalise(distribution)]
    if len(same or names) == 1:
        return (same or names)[0]
    if not names:
        raise RefusedError(f"{where} holds no package", page="guides/write-a-reverse-patch#what-cannot-be-taken-out")
    near = did_you_mean(distribution, tuple(names)) if distribution else ""
    raise UsageError(f"{where} holds {' and '.join(names)}", nearest=near, hint="--package names the one that is meant")


def _top_names(path: Path, index: Index) -> tuple[str, ...]:
    if path.suffix == ".whl" and path.is_file():
        # Unpacked by whoever is asked for a package in it, whatever that is called.
        import zipfile

        with zipfile.ZipFile(path) as archive:
            tops = {each.split("/")[0] for each in archive.namelist() if each.endswith(".py")}
        return tuple(sorted(top.removesuffix(".py") for top in tops if top.removesuffix(".py").isidentifier()))
    if (path / "__init__.py").is_file():
        return (path.name,)
    for inside in _INSIDE:
        if names := _names_in(path / inside):
            return names
    return ()


def _names_in(root: Path) -> tuple[str, ...]:
    """Packages and modules directly in ``root``."""
    if not root.is_dir():
        return ()
    folders = sorted(each.parent.name for each in root.glob("*/__init__.py") if each.parent.name.isidentifier())
    folders = [name for name in folders if name not in ("tests", "test", "docs")]
    if folders:
        return tuple(folders)
    files = sorted(each.stem for each in root.glob("*.py") if each.stem.isidentifier())
    return tuple(name for name in files if name not in ("setup", "conftest", "noxfile"))
