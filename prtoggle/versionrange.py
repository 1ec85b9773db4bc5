"""Questions about version specifiers that :mod:`packaging` does not answer: is it bounded above, empty, do two overlap?

Decided by trying the versions at and around every bound, which is where anything changes.

Example::

    common(">=0.5.13,<0.5.16", ">=0.5.15") == "0.5.15"
    common(">=2,<1", "") == ""
"""

from __future__ import annotations

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

_UPPER = frozenset({"<", "<=", "==", "===", "~="})


def is_specifier(text: str) -> bool:
    """Whether ``text`` is a version specifier (an empty one is, and takes every version)."""
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return False
    return True


def is_bounded_above(text: str) -> bool:
    """Whether some later version is outside for good: an upper bound, not a single release left out."""
    return any(part.operator in _UPPER for part in SpecifierSet(text))


def common(first: str, second: str = "") -> str:
    """A version that both specifiers take, the smallest one tried, or an empty string when they have none in common."""
    both = SpecifierSet(first) & SpecifierSet(second)
    found = [version for version in sorted(_candidates(both)) if both.contains(version, prereleases=True)]
    # A version that somebody could have released says more in a message than one made up between two bounds.
    return str(min(found, key=lambda version: (len(version.release) > 3, version))) if found else ""


def _candidates(specifiers: SpecifierSet) -> set[Version]:
    versions = {Version("0"), Version("999999")}
    for part in specifiers:
        try:
            bound = Version(part.version.removesuffix(".*"))
        except ValueError:  # `===` takes any text
            continue
        versions.update((bound, _above(bound)))
        for length in range(1, len(bound.release) + 1):
            versions.add(_next(bound, length))
        if bound.is_prerelease or bound.is_postrelease or bound.local:
            versions.update((Version(bound.base_version), _above(Version(bound.base_version))))
            versions.add(Version(f"{bound.public}.post0") if not bound.is_postrelease else bound)
        if not bound.is_postrelease and not bound.is_devrelease and not bound.local:
            versions.add(Version(f"{bound}.post0"))
    return versions


def _above(bound: Version) -> Version:
    """The next release with one more number: above ``bound`` and its post releases, below whatever else is above it."""
    return _release(bound, (*bound.release, 0, 1))


def _next(bound: Version, length: int) -> Version:
    """The first release outside the prefix of ``length`` numbers."""
    release = bound.release[:length]
    return _release(bound, (*release[:-1], release[-1] + 1))


def _release(bound: Version, numbers: tuple[int, ...]) -> Version:
    epoch = f"{bound.epoch}!" if bound.epoch else ""
    return Version(epoch + ".".join(map(str, numbers)))
