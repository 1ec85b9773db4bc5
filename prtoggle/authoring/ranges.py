"""Which releases hold a fix, and which ones its text fits, as far as they were looked at.

Contract: pure. A range is only proposed of what was seen: from the lowest release in which all of it applies, where no
later one stands as without the fix.

Example::

    proposed("engine", seen).contains       # ">=1.3"
"""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import Version

from prtoggle.authoring.trying import Seen
from prtoggle.authoring.yamldoc import Ranges
from prtoggle.packages import Package
from prtoggle.verdict import Verdict

WITH, WITHOUT, PARTLY, UNKNOWN = "with it", "without it", "with a part of it", "cannot be told"


def proposed(package: str, seen: Sequence[Seen]) -> Ranges:
    """``contains`` and ``versions``, from what the parts met where nothing said which versions they are for."""
    states = _states(seen)
    holding = [version for version, state in states.items() if state == WITH]
    if not holding:
        return Ranges(seen=f"No release was looked at: --against '{package}>=1.0', say, proposes it.")
    first = min(holding)
    looked = "; ".join(
        f"{', '.join(str(each) for each in sorted(states) if states[each] == state)}: {state}"
        for state in (WITH, PARTLY, WITHOUT, UNKNOWN)
        if state in states.values()
    )
    text = f"Looked at {package} {looked}."
    if any(state in (WITHOUT, PARTLY) and version > first for version, state in states.items()):
        return Ranges(seen=text)
    if not any(version < first for version in states):
        text += f" Nothing below {first} was looked at: the fix may be older."
    rot = sorted(version for version, state in states.items() if state == UNKNOWN and version > first)
    below = sorted(version for version, state in states.items() if state == WITHOUT and version < first)
    bounds = [f">={below[0] if below else first}"]
    for version in rot:
        if version > max(holding):
            bounds.append(f"<{version}")
            break
        bounds.append(f"!={version}")
    return Ranges(f">={first}", ",".join(bounds) if rot else "", text)


def is_earlier(one: Package, other: Package) -> bool:
    """Whether one is an earlier release than the other, as far as their versions are believed."""
    return one.believed and other.believed and Version(one.version) < Version(other.version)


def _states(seen: Sequence[Seen]) -> dict[Version, str]:
    verdicts: dict[Version, set[str]] = {}
    for each in seen:
        if each.version:
            verdicts.setdefault(Version(each.version), set()).add(each.verdict)
    found = {}
    for version, its in verdicts.items():
        applies = Verdict.APPLIES.value in its
        if its == {Verdict.APPLIES.value}:
            found[version] = WITH
        elif applies or Verdict.HALF.value in its:
            found[version] = PARTLY
        else:
            found[version] = WITHOUT if Verdict.NOT_SEEN.value in its else UNKNOWN
    return found
