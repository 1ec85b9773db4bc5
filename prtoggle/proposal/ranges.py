"""Which versions a new variant is for, and what is left of those of the variants beside it.

Contract: pure. The new variant is said to work in the release that it was made for, and above it only where nothing
is known to say otherwise.

Example::

    split(">=0.5.13", "0.5.18", works=("0.5.16", "0.5.17"), others=())
    # Ranges(new=">=0.5.18", old=">=0.5.13,<0.5.18")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from prtoggle.verdict import within
from prtoggle.versionrange import common

_UPPER = ("<", "<=")


@dataclass(frozen=True)
class Ranges:
    """The versions of the new variant, and those of the old one (None where they stay)."""

    new: str
    old: str | None


def split(old: str, version: str, *, works: Sequence[str], others: Sequence[str]) -> Ranges:
    """The ranges after a variant for ``version`` came beside the one for ``old``.

    Args:
        old: the versions of the variant that does not work there; it may not be for ``version`` at all.
        works: the releases in which that variant is known to work.
        others: the versions of all other variants of the package.
    """
    if any(within(version, each) for each in others if each):
        raise ValueError(f"another variant is for {version}")
    inside = within(version, old)
    if inside and any(Version(each) > Version(version) for each in works):
        # It works on both sides, or only above: nothing is said of the releases between.
        return Ranges(f"=={version}", _with(old, f"!={version}"))
    if inside:
        upper = [str(part) for part in SpecifierSet(old) if part.operator in _UPPER]
        return Ranges(",".join([f">={version}", *upper]), cut(old, version))
    taken = [old, *others]
    above = sorted(bound for bound in _starts(taken) if bound > Version(version))
    new = f">={version},<{above[0]}" if above else f">={version}"
    if any(common(new, each) for each in taken):
        new = f"=={version}"
    return Ranges(new, None)


def cut(old: str, version: str) -> str:
    """``old`` up to ``version``, exclusive, and in the order in which it was written."""
    kept = [part.strip() for part in old.split(",") if part.strip() and not part.strip().startswith(_UPPER)]
    return ",".join([*kept, f"<{version}"])


def _with(old: str, more: str) -> str:
    return ",".join([*(part.strip() for part in old.split(",") if part.strip()), more])


def widened(old: str, version: str, *, others: Sequence[str]) -> str | None:
    """``old`` so wide that it holds ``version``: without its upper bound (or with one that leaves the other variants
    theirs), or from ``version`` on; None where that takes what is another variant's."""
    pieces = [part.strip() for part in old.split(",") if part.strip()]
    starts = sorted(_starts(others))
    if any(Version(part.lstrip(">=~ ")) > Version(version) for part in pieces if part[0] in ">=~" and "*" not in part):
        new = ",".join([f">={version}", *(part for part in pieces if not part.startswith((">", "==", "~")))])
    else:
        kept = [part for part in pieces if part.startswith((">", "!"))]
        above = [start for start in starts if start > Version(version)]
        new = ",".join([*kept, *([f"<{above[0]}"] if above else [])])
    fine = within(version, new) and not any(common(new, each) for each in others)
    return new if new and fine else None


def _starts(ranges: Sequence[str]) -> list[Version]:
    """The lower bounds in ``ranges``."""
    return [
        Version(part.version)
        for each in ranges
        for part in SpecifierSet(each)
        if part.operator in (">=", "==", ">", "~=") and not part.version.endswith(".*")
    ]
