"""A package as it lies on disk: its version, where that was learnt, and its modules' files. Found without importing it.

Example::

    package = locate("sglang", sys.path)
    package.version, package.believed        # ("0.5.16", True)
    package.module_file("sglang.srt.server") # PosixPath(".../sglang/srt/server.py"), or None

A version is *believed* when it is a final, post or local one and its metadata owns the imported path (DESIGN section
5).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

TREE_FOLDER = ".prtoggle"
"""The folder beside a package whose files ``prtoggle revert --tree`` changed."""


def restore_words(tree: Path) -> str:
    """The command that puts the files of ``tree`` back, as it can be given to a shell."""
    import shlex

    return f"prtoggle restore --tree {shlex.quote(str(tree))}"


@dataclass(frozen=True)
class Package:
    """One copy of a package.

    Attributes:
        name: its import name.
        locations: the folders that its submodules are searched in, in order; empty for a single-file module.
        file: the file of the package itself (``__init__.py`` or the single file), or None for a namespace package.
        version: what its metadata says, or an empty string.
        believed: whether the version may be relied on.
        why: why it is, or is not, believed.
        metadata: the metadata folder that ``version`` came from, or None.
    """

    name: str
    locations: tuple[Path, ...]
    file: Path | None
    version: str = ""
    believed: bool = False
    why: str = ""
    metadata: Path | None = None

    @property
    def where(self) -> str:
        """The folder or file, for messages."""
        return str(self.locations[0]) if self.locations else str(self.file)

    @property
    def label(self) -> str:
        """Name and version, for messages: ``sglang 0.5.16``."""
        return f"{self.name} {self.version}" if self.version else f"{self.name} (version unknown)"

    @property
    def changed_tree(self) -> Path | None:
        """The folder that the package lies in (also by a link), where prtoggle changed files of it; None where it did
        not."""
        top = self.locations[0] if self.locations else self.file
        parents = () if top is None else (top.parent, top.resolve().parent)
        return next((parent for parent in parents if (parent / TREE_FOLDER).is_dir()), None)

    @property
    def out_of_files(self) -> frozenset[str]:
        """The names of the parts that prtoggle took out of its files."""
        import json

        tree = self.changed_tree
        try:
            found = json.loads((tree / TREE_FOLDER / "journal.json").read_bytes()) if tree else {"parts": ()}
            return frozenset(part["name"] for part in found["parts"] if part["package"] == self.name)
        except (OSError, ValueError, KeyError, TypeError):
            return frozenset()  # `prtoggle doctor` says what is wrong with it

    def module_file(self, module: str) -> Path | None:
        """The source file of ``module`` (a dotted name within this package), or None."""
        head, _, rest = module.partition(".")
        if head != self.name:
            return None
        if not rest:
            return self.file
        relative = rest.replace(".", os.sep)
        for location in self.locations:
            for candidate in (location / relative / "__init__.py", location / (relative + ".py")):
                if candidate.is_file():
                    return candidate
        return None

    def module_exists(self, module: str) -> bool:
        """Whether ``module`` is a module or a (namespace) package here, with source or without."""
        if self.module_file(module) is not None:
            return True
        head, _, rest = module.partition(".")
        if head != self.name:
            return False
        folders = (location / rest.replace(".", os.sep) for location in self.locations)
        return any(folder.is_dir() for folder in folders) or self._sourceless(module) is not None

    def why_no_source(self, module: str) -> str:
        """Why ``module`` has no source file here, in words."""
        found = self._sourceless(module)
        if found is not None:
            what = "only compiled code is there" if found.suffix == ".pyc" else "it is an extension module"
            return f"{what} ({found}); there is no Python source to revert"
        if not self.locations and not self.file:
            return "the package has no folder that can be read (a zip import?)"
        return f"{self.where} has no module of this name"

    def _sourceless(self, module: str) -> Path | None:
        """The file of ``module`` where it is an extension module or bytecode alone."""
        head, _, rest = module.partition(".")
        for location in self.locations if head == self.name and rest else ():
            path = location / rest.replace(".", os.sep)
            try:
                names = sorted(os.listdir(path.parent))
            except OSError:
                continue
            for name in names:
                if name == path.name + ".pyc" or (name.startswith(path.name + ".") and name.endswith((".so", ".pyd"))):
                    return path.parent / name
        return None


def normalise(name: str) -> str:
    """A distribution's name in the form that is compared: lower case, runs of ``-_.`` as one ``-`` (PEP 503)."""
    out: list[str] = []
    for char in name.lower():
        char = "-" if char in "-_." else char
        if not (char == "-" and out and out[-1] == "-"):
            out.append(char)
    return "".join(out)


def locate(name: str, path: Iterable[str]) -> Package | None:
    """The first copy of package ``name`` on ``path``, as :data:`sys.path` is searched; None when there is none."""
    portions: list[Path] = []
    for entry in path:
        base = Path(entry or os.getcwd())
        folder = base / name
        if (folder / "__init__.py").is_file():
            return from_locations(name, [folder], folder / "__init__.py")
        if (base / f"{name}.py").is_file():
            return from_locations(name, [], base / f"{name}.py")
        if folder.is_dir():
            portions.append(folder)
    return from_locations(name, portions, None) if portions else None


def from_locations(
    name: str, locations: Sequence[str | os.PathLike[str]], file: str | os.PathLike[str] | None
) -> Package:
    """The package whose submodules lie in ``locations``, with its version found in the metadata beside it."""
    folders = tuple(Path(location) for location in locations)
    path = Path(file) if file else None
    version, believed, why, metadata = _version(name, folders, path)
    return Package(name, folders, path, version, believed, why, metadata)


def metadata_folders(parent: Path) -> tuple[str, ...]:
    """Names of the metadata folders in ``parent`` (``*.dist-info``, ``*.egg-info``), sorted."""
    try:
        with os.scandir(parent) as entries:
            return tuple(sorted(entry.name for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))))
    except OSError:
        return ()


def _version(name: str, folders: tuple[Path, ...], file: Path | None) -> tuple[str, bool, str, Path | None]:
    top = folders[0] if folders else file
    if top is None:
        return "", False, "the package has no folder", None
    parent = top.parent
    found = metadata_folders(parent)
    same = [folder for folder in found if normalise(folder.split("-")[0].removesuffix(".egg-info")) == normalise(name)]
    others = [folder for folder in found if folder not in same]
    inside = f"{name}/" if folders else f"{name}.py"
    for folder in same + others:
        if _owns(parent / folder, inside):
            version = read_version(parent / folder)
            if not version:
                return "", False, f"{folder} states no version", parent / folder
            reason = _unbelievable(version)
            if reason:
                return version, False, f"{version} in {folder} {reason}", parent / folder
            return version, True, f"{folder} states it and owns the files", parent / folder
    return "", False, f"no metadata beside {top} owns it (a checkout, an editable install)", None


def _owns(metadata: Path, inside: str) -> bool:
    for listing, prefix in (("RECORD", ""), ("installed-files.txt", "../"), ("SOURCES.txt", "")):
        try:
            text = (metadata / listing).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        wanted = prefix + inside
        if listing == "SOURCES.txt":
            # An egg-info in a source tree says what was packaged, not what is imported: never believed.
            continue
        return text.startswith(wanted) or f"\n{wanted}" in text
    return False


def read_version(metadata: Path) -> str:
    """The ``Version:`` of a metadata folder, or an empty string."""
    for file in ("METADATA", "PKG-INFO"):
        try:
            with open(metadata / file, encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    if line.startswith("Version:"):
                        return line.partition(":")[2].strip()
                    if not line.strip():
                        break
        except OSError:
            continue
    return ""


def _unbelievable(version: str) -> str:
    from packaging.version import InvalidVersion, Version

    try:
        parsed = Version(version)
    except InvalidVersion:
        return "is not a version"
    if parsed.is_devrelease:
        return "is a development version"
    if parsed.is_prerelease:
        return "is a pre-release"
    if parsed.release == (0, 0, 0):
        return "is a placeholder"
    return ""
