"""What ``--against`` names: releases by a requirement, a wheel file, or a folder that holds the package somewhere.

Contract: pure but for looking whether files are there; no pip, no network. What was typed wrong is a UsageError.

Example::

    parse_against("sglang>=0.5.13")                 # Requirement
    parse_against("./sglang")                       # PathTarget: a checkout, a site-packages, the package's folder
    package_root(Path("checkout"), "sglang")        # Path("checkout/python")
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import Specifier
from packaging.version import Version

from prtoggle.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class PathTarget:
    """A wheel file, or a folder that holds a package somewhere (see :func:`package_root`)."""

    path: Path


def parse_against(text: str) -> Requirement | PathTarget:
    """What ``--against`` names: ``sglang==0.5.16``, ``sglang>=0.5.13``, a wheel file, or a folder."""
    path = Path(text).expanduser()
    looks_like_path = text.endswith(".whl") or os.sep in text or text in (".", "..") or text.startswith("~")
    if looks_like_path or (text and path.is_dir() and not re.search(r"[<>=!~]", text)):
        if path.is_dir() or (path.suffix == ".whl" and path.is_file()):
            return PathTarget(path.resolve())
        raise UsageError(
            f"no wheel file or folder {text!r}", hint="name a .whl, a folder, or a requirement such as package==1.2"
        )
    try:
        requirement = Requirement(text)
    except InvalidRequirement as problem:
        doubled = re.sub(r"(?<![<>=!~])=(?!=)", "==", text)
        raise UsageError(
            f"{text!r} is neither a requirement nor a folder: {str(problem).splitlines()[0]}"
            if doubled == text
            else f"{text!r} is no requirement: a version is named with ==",
            nearest=doubled if doubled != text else "",
            hint="name package==1.2, 'package>=1.2', a .whl or a folder",
        ) from None
    if requirement.url or requirement.marker:
        raise UsageError(f"{text!r}: a URL or a marker means nothing here", hint="name the release: name==version")
    return requirement


def pinned(requirement: Requirement) -> str:
    """The one version that ``==`` names, or an empty string."""
    specifiers: list[Specifier] = list(requirement.specifier)
    if len(specifiers) == 1 and specifiers[0].operator == "==" and not specifiers[0].version.endswith(".*"):
        return str(Version(specifiers[0].version))
    return ""


def matching(requirement: Requirement, versions: Iterable[str]) -> tuple[str, ...]:
    """The versions in the requirement's range, oldest first; pre-releases only where the range names one."""
    early = bool(requirement.specifier.prereleases)
    found = {Version(version) for version in versions}
    return tuple(str(version) for version in sorted(found) if requirement.specifier.contains(version, early))


def package_root(folder: Path, package: str) -> Path:
    """The folder whose child is ``package``: the folder is that, the package itself, a checkout or an environment."""
    if folder.name == package and (folder / "__init__.py").is_file():
        return folder.parent
    places = [folder, folder / "python", folder / "src", *sorted(folder.glob("lib/python3*/site-packages"))]
    for place in places:
        child = place / package
        if (child / "__init__.py").is_file() or (child.is_dir() and place is not folder):
            return place
    single = next((place for place in places if (place / f"{package}.py").is_file()), None)
    if single is not None:
        return single
    if any((folder / package).rglob("*.py")):
        return folder
    if folder.name == package and any(folder.glob("*.py")):
        return folder.parent
    children = [child.name for place in places if place.is_dir() for child in place.iterdir() if child.is_dir()]
    raise UsageError(
        f"no package {package!r} in {folder}",
        nearest=did_you_mean(package, children),
        hint="name the package's folder, its parent, a checkout (also with src/ or python/), or an environment",
    )
