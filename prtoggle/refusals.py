"""The words for a part that does not come out: what stands in the way, where, the nearest passage, and what to do.

Example::

    str(refusal_of(decision))    # "fix.yaml:21:13: 101/slice: rot in engine 1.2: ...\\n  nearest: ...\\n  hint: ..."
"""

from __future__ import annotations

from prtoggle.edits.outcome import Missing, Several
from prtoggle.errors import RefusedError
from prtoggle.packages import restore_words
from prtoggle.sources import Sighting
from prtoggle.verdict import Decision, Verdict


def refusal_of(decision: Decision) -> RefusedError:
    """Why one part is refused, in the words of section 5."""
    nearest = ""
    place = decision.variant.place if decision.variant else decision.fix.place
    seen = decision.nearest
    if seen is not None:
        place = seen.edit.place
        text, line = getattr(seen.outcome, "nearest", ""), getattr(seen.outcome, "line", 0)
        if text and decision.verdict in _SEARCHED:
            nearest = f"{seen.module}:{line}: {text.strip()}" if line else text
    # A diff is called by its path, which is the place too.
    name = "" if decision.name == str(place) else f"{decision.name}: "
    return RefusedError(
        f"{name}{decision.verdict.value} in {decision.package.label}: {decision.reason}",
        place=place,
        nearest=nearest,
        hint=decision.hint or _hint(decision, seen),
        page=PAGES.get(decision.verdict, "reverse-patches#verdicts"),
    )


_ABSENT = "choosing#what-is-named-must-be-there"
PAGES = {Verdict.NOT_SEEN: _ABSENT, Verdict.DECLARED: _ABSENT, Verdict.BY_VERSION: _ABSENT}
"""The page that explains a verdict, where it is not the table of verdicts."""

_SEARCHED = (Verdict.ROT, Verdict.HALF)
"""Where a passage like the one looked for helps; elsewhere the place is known, or there is none."""


_OF_ITS_FILES = (Verdict.ROT, Verdict.HALF, Verdict.ALREADY, Verdict.NOT_SEEN)
"""What files that ``prtoggle revert --tree`` changed can look like."""


REVERTED_FILES = "prtoggle reverted files of this package"


def back_into_files(decision: Decision) -> str:
    """The command that puts the part back into the files that ``prtoggle revert --tree`` took it out of, or nothing."""
    tree = decision.package.changed_tree
    out = tree is not None and decision.verdict in _OF_ITS_FILES and decision.name in decision.package.out_of_files
    return restore_words(tree) if tree is not None and out else ""


def _hint(decision: Decision, seen: Sighting | None) -> str:
    is_diff = decision.fix.origin.kind == "diff"
    tree = decision.package.changed_tree
    if tree is not None and decision.verdict in _OF_ITS_FILES:
        return f"{REVERTED_FILES}: {restore_words(tree)} puts them back"
    if decision.verdict is Verdict.ROT and seen is not None:
        if isinstance(seen.outcome, Several):
            return (
                "give the diff more context (git diff -U10)"
                if is_diff
                else "let the edit say more of its place, or its target which definition it means: f#2"
            )
        if isinstance(seen.outcome, Missing) and "no Python source" in seen.outcome.reason:
            return "install the package with its Python sources"
    if decision.verdict is Verdict.ROT and is_diff:
        return f"take the change as it stands in {decision.package.label}, or make the diff against its files"
    if decision.verdict is Verdict.NOT_SEEN and not decision.package.believed:
        return "nothing is left to take out: these files are from before the fix, or somebody took it out by hand"
    if decision.verdict is Verdict.ROT and decision.package.believed:
        goal = f"{decision.package.name}=={decision.package.version}"
        where = f" --fixes {decision.fix.origin.where}" if decision.fix.origin.kind == "dir" else ""
        return f"{_HINTS[Verdict.ROT]}; prtoggle port {decision.fix.id} --to {goal}{where} may propose one that fits"
    return _HINTS.get(decision.verdict, "")


_HINTS = {
    Verdict.NOT_SEEN: "there is nothing to take out; leave it out of the selection",
    Verdict.DECLARED: "there is nothing to take out; leave it out of the selection",
    Verdict.BY_VERSION: "there is nothing to take out; leave it out of the selection",
    Verdict.ALREADY: "somebody took it out of these files by hand; reinstall the package to have it back",
    Verdict.HALF: "reinstall the package, then select it again",
    Verdict.ROT: "the code is not as the reverse patch expects it: prtoggle check --against shows other releases",
}
