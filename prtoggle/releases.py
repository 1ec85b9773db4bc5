"""Releases of a package: which there are, and their Python files on disk.

Contract: the user's own pip lists and fetches (its mirrors, its credentials); nothing else talks to an index. A
release is a folder that holds the package's folder and its ``*.dist-info``, unpacked once, whole or not at all,
outside any checkout; one that is on disk needs neither pip nor a network. A listing is believed for a day. What is
listed and cannot be had is an InconclusiveError, never left out. pip is asked as the running interpreter first, then
as newer ones on Linux: a project that ships one wheel an interpreter ships the same Python files in each.

Example::

    index = Index()
    index.releases(parse_against("sglang>=0.5.13"))     # ("0.5.13", "0.5.13.post1", ..., "0.5.23")
    index.fetch("sglang", "0.5.16")                     # Path(".../releases/sglang/0.5.16")
"""

from __future__ import annotations

import hashlib
import json
import os
import platform as machine_platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from prtoggle import wholefile
from prtoggle.against import PathTarget, matching, package_root, parse_against, pinned
from prtoggle.errors import InconclusiveError
from prtoggle.wheels import unpack

__all__ = ["Index", "PathTarget", "Release", "cache_folder", "fetch", "parse_against", "releases"]

LISTING_HOURS = 24.0
OTHER_PYTHONS = ("3.12", "3.11")
GLIBCS = ("2_17", "2_24", "2_27", "2_28", "2_31", "2_34", "2_35", "2_36", "2_38", "2_39")
_ASIDE_SECONDS = 24 * 3600.0  # a temporary folder this old was left by a process that was killed


@dataclass(frozen=True)
class Release:
    """One release to look at: a name to show, and the folder that holds the package, or why it could not be had."""

    label: str
    version: str
    root: Path | None
    problem: InconclusiveError | None = None


@dataclass(frozen=True)
class Target:
    """For which interpreter pip is to look; empty means the one that runs pip."""

    python_version: str = ""
    platforms: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        version = ("--python-version", self.python_version) if self.python_version else ()
        return (*version, *(word for name in self.platforms for word in ("--platform", name)))

    @property
    def tag(self) -> str:
        """A folder-name suffix; empty for the running interpreter."""
        named = [self.python_version and f"py{self.python_version}", *self.platforms]
        return "-".join(re.sub(r"[^A-Za-z0-9_.]", "_", name) for name in named if name)


def listed_versions(text: str) -> tuple[str, ...]:
    """The versions in the output of ``pip index versions``, oldest first; anything else in it is skipped."""
    found: set[Version] = set()
    for line in re.findall(r"^Available versions:(.*)$", text, re.MULTILINE):
        for word in line.split(","):
            try:
                found.add(Version(word.strip()))
            except InvalidVersion:
                continue  # a name from before PEP 440, which no range can hold
    return tuple(str(version) for version in sorted(found))


def targets(python_version: str | None, platform: str | None, machine: str) -> tuple[Target, ...]:
    """For whom to ask, in order. What the user names is asked for alone."""
    if python_version or platform:
        return (Target(python_version or "", (platform,) if platform else ()),)
    arch = {"arm64": "aarch64", "amd64": "x86_64"}.get(machine.lower(), machine.lower())
    linux = tuple(f"manylinux_{glibc}_{arch}" for glibc in GLIBCS)
    return (Target(), *(Target(version, linux) for version in OTHER_PYTHONS))


def last_words(stderr: str) -> str:
    """The line of pip's stderr that says what went wrong."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("[notice]", "DEPRECATION:"))] or lines
    broken = [line for line in lines if _unreachable(line)]
    errors = [line for line in lines if line.startswith("ERROR:")]
    chosen = (broken or errors or lines or ["it said nothing"])[-1]
    return chosen if len(chosen) <= 300 else chosen[:297] + "..."


def _unreachable(stderr: str) -> bool:
    # pip goes on without an index that does not answer, says so in a warning alone, and may exit with 0.
    return "Retrying (Retry(total=0" in stderr


def cache_folder() -> Path:
    """Where prtoggle keeps what it can make again: ``PRTOGGLE_CACHE``, else the user's cache folder."""
    if named := os.environ.get("PRTOGGLE_CACHE"):
        return Path(named).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "prtoggle"


def own_pip() -> tuple[str, ...]:
    """The command of the user's pip: this interpreter's, or else the one on PATH."""
    if find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    if found := shutil.which("pip") or shutil.which("pip3"):
        return (found,)
    raise InconclusiveError(
        "there is no pip to list or fetch releases with", hint="python -m ensurepip, or name a wheel or a folder"
    )


def _silent(_: str) -> None:
    return None


@dataclass(frozen=True)
class Index:
    """Where releases come from. ``say`` is told before anything that may take seconds, ``note`` what a person should
    know of the answer."""

    pip: tuple[str, ...] = ()
    python_version: str | None = None
    platform: str | None = None
    cache: Path | None = None
    refresh: bool = False
    say: Callable[[str], None] = _silent
    note: Callable[[str], None] = _silent

    def resolve(self, against: Requirement | PathTarget, package: str) -> tuple[Release, ...]:
        """Every release that ``against`` names; one that could not be had carries its problem."""
        if isinstance(against, PathTarget):
            root = self._wheel(against.path) if against.path.suffix == ".whl" else against.path
            return (Release(against.path.name, "", package_root(root, package)),)
        found = []
        for version in self.releases(against):
            label = f"{against.name} {version}"
            try:
                found.append(Release(label, version, self.fetch(against.name, version)))
            except InconclusiveError as problem:
                found.append(Release(label, version, None, problem))
        return tuple(found)

    def releases(self, requirement: Requirement) -> tuple[str, ...]:
        """The versions in the requirement's range, oldest first; never empty."""
        pin = pinned(requirement)
        if pin and self._unpacked(requirement.name, pin) and not self.refresh:
            return (pin,)
        versions, fresh = self._listing(requirement.name)
        found = matching(requirement, versions)
        if not found and not fresh:  # perhaps it came out since
            versions, fresh = self._listing(requirement.name, again=True)
            found = matching(requirement, versions)
        if not found:
            nearest = _nearest(pin, versions)
            nearest = f"{requirement.name}=={nearest}" if nearest else ""
            raise InconclusiveError(f"the index has no release {requirement}", nearest=nearest)
        return found

    def fetch(self, name: str, version: str) -> Path:
        """The folder that holds the release's package and ``*.dist-info``; downloaded where it is not on disk yet."""
        if done := self._unpacked(name, version):
            return done
        self.say(f"downloading {name} {version}")
        final = self._place(name, version)
        problems: list[InconclusiveError] = []
        with _aside(final.parent) as aside:
            for target in self._targets():
                options = ("--no-deps", "--only-binary=:all:", "--dest", str(aside), *target.options)
                try:
                    self._run("download", *options, f"{canonicalize_name(name)}=={version}")
                except InconclusiveError as problem:
                    problems.append(problem)
                    if _unreachable(problem.hint):
                        break
                    continue
                (wheel,) = aside.glob("*.whl")
                return unpack(wheel, final, aside / "unpacked")
        raise InconclusiveError(
            f"{name} {version} could not be had as a wheel: {problems[0].what}", hint=problems[0].hint
        )

    def on_disk(self, name: str) -> tuple[str, ...]:
        """The versions that take no download, oldest first."""
        tag = self._targets()[0].tag
        found = set()
        try:
            folders = sorted(os.listdir(self._cache() / canonicalize_name(name)))
        except OSError:
            return ()
        for folder in folders:
            version, _, its = folder.partition("@")
            try:
                found.update([Version(version)] if its == tag else [])
            except InvalidVersion:
                continue  # a listing, or what another process is unpacking
        return tuple(str(version) for version in sorted(found))

    def _wheel(self, wheel: Path) -> Path:
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()[:32]
        final = self._cache() / "wheels" / digest
        if final.is_dir():
            return final
        with _aside(final.parent) as aside:
            return unpack(wheel, final, aside / "unpacked")

    def _cache(self) -> Path:
        return (self.cache or cache_folder()) / "releases"

    def _targets(self) -> tuple[Target, ...]:
        return targets(self.python_version, self.platform, machine_platform.machine())

    def _place(self, name: str, version: str) -> Path:
        tag = self._targets()[0].tag
        return self._cache() / canonicalize_name(name) / (str(Version(version)) + (f"@{tag}" if tag else ""))

    def _unpacked(self, name: str, version: str) -> Path | None:
        place = self._place(name, version)
        return place if place.is_dir() else None

    def _listing(self, name: str, again: bool = False) -> tuple[tuple[str, ...], bool]:
        """All versions of ``name``, and whether they were asked for just now."""
        # The settings of pip that choose an index are part of the key, as a hash: they may hold credentials.
        settings = [os.environ.get(f"PIP_{key}", "") for key in ("INDEX_URL", "EXTRA_INDEX_URL", "FIND_LINKS")]
        settings += [os.environ.get(f"PIP_{key}", "") for key in ("NO_INDEX", "CONFIG_FILE", "PRE")]
        key = hashlib.sha256(repr((self.pip, self._targets(), settings)).encode()).hexdigest()[:16]
        file = self._cache() / canonicalize_name(name) / f"listing-{key}.json"
        earlier, listed_at = _read_listing(file)
        age = time.time() - listed_at
        if earlier and 0 <= age < LISTING_HOURS * 3600 and not (self.refresh or again):
            return earlier, False
        self.say(f"listing the releases of {name}")
        found: set[str] = set()
        problems: list[InconclusiveError] = []
        for target in self._targets():
            try:
                found.update(listed_versions(self._run("index", "versions", "--pre", *target.options, name)))
            except InconclusiveError as problem:
                problems.append(problem)
                if _unreachable(problem.hint):
                    break
        unreachable = [problem for problem in problems if _unreachable(problem.hint)]
        if unreachable or not found:
            first = (unreachable or problems or [InconclusiveError("pip listed nothing")])[0]
            raise InconclusiveError(
                f"the releases of {name} could not be listed: {first.what}",
                nearest=_remembered(earlier, listed_at),
                hint=first.hint,
            )
        versions = tuple(str(version) for version in sorted(Version(word) for word in found))
        _write_listing(file, versions)
        return versions, True

    def _run(self, *words: str) -> str:
        command = (*(self.pip or own_pip()), "--disable-pip-version-check", "--no-input", "--no-color", *words)
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        except OSError as problem:
            raise InconclusiveError("pip did not start", hint=f"{shlex.join(command)}: {problem}") from None
        if done.returncode or (words[0] == "index" and _unreachable(done.stderr)):
            raise InconclusiveError("pip failed", hint=f"{shlex.join(command)}\n    {last_words(done.stderr)}")
        return done.stdout


def _nearest(pin: str, versions: tuple[str, ...]) -> str:
    """The newest version that is not above ``pin``, or the oldest; without a pin the newest."""
    earlier = [version for version in versions if not pin or Version(version) <= Version(pin)]
    return (earlier or list(versions[:1]) or [""])[-1]


def _remembered(versions: tuple[str, ...], listed_at: float) -> str:
    if not versions:
        return ""
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(listed_at))
    return f"listed on {day}, too long ago to rely on: {versions[0]} ... {versions[-1]} ({len(versions)} releases)"


def _read_listing(file: Path) -> tuple[tuple[str, ...], float]:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        versions = tuple(str(Version(word)) for word in data["versions"])
        return versions, float(data["listed_at"])
    except (OSError, ValueError, TypeError, KeyError):
        return (), 0.0  # absent, or from another version of this tool: ask again


def _write_listing(file: Path, versions: tuple[str, ...]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        wholefile.replace(file, json.dumps({"listed_at": time.time(), "versions": versions}).encode())
    except OSError:
        return  # a cache that cannot be written costs time, nothing else


class _aside:
    """A temporary folder beside the place that its contents are to be renamed to."""

    def __init__(self, parent: Path) -> None:
        self.parent = parent

    def __enter__(self) -> Path:
        try:
            self.parent.mkdir(parents=True, exist_ok=True)
            for left in self.parent.glob(".aside-*"):
                if time.time() - left.stat().st_mtime > _ASIDE_SECONDS:
                    shutil.rmtree(left, ignore_errors=True)
            self.path = Path(tempfile.mkdtemp(prefix=".aside-", dir=self.parent))
        except OSError as problem:
            raise InconclusiveError(
                f"no release can be kept in {self.parent}: {problem.strerror or problem}",
                hint="set PRTOGGLE_CACHE to a folder that can be written",
            ) from None
        return self.path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def releases(requirement: Requirement, *, index: Index | None = None) -> tuple[str, ...]:
    """The versions in the requirement's range, oldest first."""
    return (index or Index()).releases(requirement)


def fetch(name: str, version: str, *, index: Index | None = None) -> Path:
    """The folder that holds the release's package and its ``*.dist-info``."""
    return (index or Index()).fetch(name, version)
