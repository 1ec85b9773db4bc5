"""What the definitions of a release must look like once a part is out: digests in ``expected.json`` beside a fix's
``revert.yaml``, and whether a plan's reverted modules have just those.

An expectation holds for the releases that it lists and no others. It comes from the release before the fix, where the
reverted definition is that release's own, or from a person who reviewed the diff; ``scripts/expect.py`` writes them.

Example::

    known = load(Path("fixes/pr7_x/expected.json"))
    compare(known, "7/slice", "0.5.16", trees_of(plan)).state      # "expected", "unexpected", "unknown"
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from prtoggle.errors import MalformedError, Place, PrtoggleError
from prtoggle.plan import Plan
from prtoggle.trees import changed

FILE = "expected.json"
REVIEWED = "reviewed"
AS_EXPECTED, UNEXPECTED, UNKNOWN = "expected", "unexpected", "unknown"

Trees = Mapping[tuple[str, str], str]
"""Module and definition -> digest of its reverted tree, for every definition that a plan changes."""


@dataclass(frozen=True)
class Expectation:
    """One definition of one module, as it must be in these releases when ``revert`` is out.

    Attributes:
        revert: the parts that are out, as in a selection: ``27360/slice+assert``.
        tree: digest of its canonical tree (:mod:`prtoggle.trees`).
        source: the release before the fix whose definition it is, or ``reviewed``.
    """

    revert: str
    module: str
    definition: str
    tree: str
    releases: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class Compared:
    """How a plan's trees compare: one of three states, where the expectation comes from, and what to say of it."""

    state: str
    source: str = ""
    reason: str = ""
    hint: str = ""


def trees_of(plan: Plan) -> Trees:
    """The digests of all definitions that the plan changes."""
    return {
        (module.name, name): digest
        for module in plan.modules
        for name, digest in changed(module.original, module.reverted).items()
    }


def load(path: Path) -> tuple[Expectation, ...]:
    """The expectations in a file; none where there is no file. Raises MalformedError."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    try:
        return tuple(
            Expectation(**{**entry, "releases": tuple(entry["releases"])}) for entry in json.loads(text)["trees"]
        )
    except (ValueError, KeyError, TypeError) as error:
        problem = PrtoggleError(f"{type(error).__name__}: {error}", place=Place(str(path)))
        raise MalformedError((problem,), hint="scripts/expect.py writes it anew") from None


def dump(entries: Sequence[Expectation]) -> str:
    """The text of a file."""
    listed = [asdict(entry) for entry in entries]
    return json.dumps({"trees": listed}, indent=1) + "\n"


def compare(known: Sequence[Expectation], revert: str, version: str, trees: Trees) -> Compared:
    """Whether ``trees`` are what is expected of ``revert`` in release ``version``."""
    of_revert = [entry for entry in known if entry.revert == revert]
    here = [entry for entry in of_revert if version in entry.releases]
    if not here:
        return _unknown(of_revert, revert, version, trees)
    different = _different(here, trees)
    if different:
        return Compared(UNEXPECTED, reason=f"not the expected syntax tree: {', '.join(different)}", hint=_HINT)
    sources = tuple(dict.fromkeys(entry.source for entry in here))
    return Compared(AS_EXPECTED, ", ".join(sources))


_HINT = "scripts/expect.py shows the diff for review, and writes what was reviewed with --write"


def _unknown(of_revert: Sequence[Expectation], revert: str, version: str, trees: Trees) -> Compared:
    listed = {release for entry in of_revert for release in entry.releases}
    if not listed:
        return Compared(UNKNOWN, reason=f"no expectation yet for {revert} in any release", hint=_HINT)
    near = nearest(version, listed)
    different = _different([entry for entry in of_revert if near in entry.releases], trees)
    how = f"differs from it in {', '.join(different)}" if different else "has the same syntax tree"
    return Compared(
        UNKNOWN, reason=f"no expectation yet for {version}; the nearest is {near}, and this {how}", hint=_HINT
    )


def _different(wanted: Sequence[Expectation], trees: Trees) -> tuple[str, ...]:
    """The definitions that are not as wanted, on either side."""
    digests: dict[tuple[str, str], Any] = {(entry.module, entry.definition): entry.tree for entry in wanted}
    keys = [key for key in dict.fromkeys((*digests, *trees)) if digests.get(key) != trees.get(key)]
    return tuple(f"{module}.{definition}" for module, definition in keys)


def nearest(version: str, listed: set[str]) -> str:
    """The newest listed release that is no newer than ``version``; else the oldest."""
    from packaging.version import InvalidVersion, Version

    ordered = sorted(listed, key=Version)
    try:
        below = [release for release in ordered if Version(release) <= Version(version)]
    except InvalidVersion:
        below = ordered
    return below[-1] if below else ordered[0]
