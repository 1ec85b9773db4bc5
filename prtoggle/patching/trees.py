"""Which tree a folder is in, or holds: a ``site-packages``, a package's own folder, a checkout, an environment.

Example::

    only_store(Path("checkout"))      # Store(Path("checkout/python"))
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from prtoggle.errors import RefusedError, UsageError
from prtoggle.packages import TREE_FOLDER, Package, locate
from prtoggle.patching.store import Store


def root_of(package: Package) -> Path:
    """The folder that the package lies in."""
    top = package.locations[0] if package.locations else package.file
    if top is None:
        raise RefusedError(
            f"{package.label} has no folder: its files cannot be changed",
            page="guides/edit-the-files-of-a-tree#when-it-is-refused",
        )
    return top.parent


def stores_in(folder: Path) -> tuple[Store, ...]:
    """Every tree in ``folder`` of which something was changed."""
    return tuple(store for store in map(Store, _places(folder)) if store.there)


def stores_of(folder: Path) -> tuple[Store, ...]:
    """The same, and every tree that lies elsewhere and changed files which ``folder`` has: what it links to, and what
    lies further up."""
    return tuple(dict.fromkeys((*stores_in(folder), *_linked(folder))))


def _linked(folder: Path) -> Iterator[Store]:
    for place in _places(folder):
        for path in (place, *_links(place)):
            yield from holders(path)


def _links(folder: Path) -> Iterator[Path]:
    """Where the links in ``folder`` lead: packages, or modules of one."""
    try:
        with os.scandir(folder) as found:
            links = [entry.path for entry in found if entry.is_symlink()]
    except OSError:
        return
    for link in sorted(links):
        yield Path(link).resolve()


def holders(path: Path, *, but: Path | None = None) -> Iterator[Store]:
    """The trees further up that changed ``path`` (on which no link is), or files in it; not the one at ``but``."""
    for parent in path.parents:
        if parent == but or not (parent / TREE_FOLDER).is_dir():
            continue
        try:
            journal = Store(parent).read()
        except RefusedError:
            continue  # named by its own tree it is said what is wrong with it
        inside = path.relative_to(parent).as_posix()
        files = [name for entry in (journal.entries if journal else ()) for name in (entry.path, *entry.modules)]
        if any(file == inside or file.startswith(f"{inside}/") for file in files):
            yield Store(parent)


def marks(folder: Path) -> tuple[int, ...]:
    """Something that is another where a store came to be, or ceased, in ``folder`` meanwhile."""
    return tuple(place.stat().st_mtime_ns if place.is_dir() else 0 for place in _places(folder))


def _places(folder: Path) -> list[Path]:
    base = folder.resolve()
    places = [base, base / "python", base / "src", *_environments(base)]
    if (base / "__init__.py").is_file() or _changed_in(base.parent, base.name):
        places.append(base.parent)
    return places


def _environments(base: Path) -> list[Path]:
    found = sorted(base.glob("lib/python3*/site-packages"))
    return list(dict.fromkeys(place.resolve() for place in found))  # python3 may be a link to python3.12


def _changed_in(root: Path, package: str) -> bool:
    """Whether files of ``package`` in ``root`` were changed: it is one without an ``__init__.py``, then."""
    try:
        journal = Store(root).read()
    except RefusedError:
        return False
    return any(name == package for name, _ in (journal.packages if journal else ()))


def refuse_several(folder: Path, package: str) -> None:
    """Raises UsageError where ``folder`` is an environment of several Pythons that have the package."""
    found = [place for place in _environments(folder.resolve()) if locate(package, [str(place)]) is not None]
    if len(found) > 1:
        raise UsageError(f"{folder} holds {package} {len(found)} times", hint=f"name one: {', '.join(map(str, found))}")


def only_store(folder: Path, *, linked: bool = False) -> Store | None:
    """The one tree in ``folder`` of which something was changed (``linked``: as :func:`stores_of`); None where there
    is none. Raises UsageError where there are several, or no such folder."""
    if not folder.is_dir():
        raise UsageError(f"--tree {folder} is no folder" if folder.exists() else f"--tree {folder} is not there")
    found = stores_in(folder) or (stores_of(folder) if linked else ())
    if len(found) > 1:
        raise UsageError(
            f"{folder} holds several trees whose files were changed",
            hint=f"name one: {', '.join(str(s.root) for s in found)}",
        )
    return found[0] if found else None


def version_of(name: str, root: Path) -> str:
    """The version of a package in the tree, as it is now; an empty string where it is not known."""
    package = locate(name, [str(root)])
    return package.version if package else ""
