"""The copies of packages that trials ran, as their journals tell, and what a selection changes in them.

A command may well run another copy than the one installed for prtoggle's own Python: a checkout in its folder, another
environment. So the diff that is shown is made of the files that the trials named.

Example::

    copies = seen(state.records)
    copies[0].label                                       # "sglang 0.5.16"
    difference("27360/slice", copies, fixes=()).text      # "diff --git a/sglang/srt/... "
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prtoggle import journals
from prtoggle.bisection.values import TrialRecord
from prtoggle.errors import PrtoggleError
from prtoggle.installed import search_path
from prtoggle.library import Library
from prtoggle.packages import locate
from prtoggle.plan import make
from prtoggle.revertdiff import revert_diff
from prtoggle.runtime.sources import BUNDLED
from prtoggle.selection import parse

JOURNALS = "journals"
"""The folder of a trial's journals, within the trial's own."""


@dataclass(frozen=True)
class Copy:
    """A copy of a package that some trial imported: its name, its label, and the folder that holds it."""

    package: str
    label: str
    root: str


@dataclass(frozen=True)
class Difference:
    """What a selection changes, as a unified diff; ``why`` says why there is none."""

    text: str = ""
    why: str = ""


def seen(records: Iterable[TrialRecord]) -> tuple[Copy, ...]:
    """Every copy that a trial planned a revert for, in the order in which they were seen."""
    found: dict[Copy, None] = {}
    for record in records:
        if not record.folder or record.selection == "none":
            continue
        for entry in journals.read(Path(record.folder) / JOURNALS):
            for event in entry.of("planned"):
                for module in event.get("modules") or ():
                    root = _root(str(module["name"]), Path(str(module["file"])))
                    if root is not None:
                        found[Copy(str(event["package"]), str(event["label"]), str(root))] = None
    return tuple(found)


def difference(selection: str, copies: Sequence[Copy], fixes: Sequence[str]) -> Difference:
    """The diff of ``selection`` in the copies that trials ran; ``fixes`` are folders of fixes."""
    # A fix is also for the implementation that comes with it, which is of no interest where the real one ran.
    copies = [copy for copy in copies if copy.package != BUNDLED] or copies
    texts: dict[str, None] = {}
    refused: list[str] = []
    for copy in copies:
        path = [copy.root, *search_path()]
        try:
            package = locate(copy.package, path)
            if package is None:
                refused.append(f"{copy.label} is no longer in {copy.root}")
                continue
            library = Library([Path(folder) for folder in fixes], path=path)
            plan = make(parse(selection), library.catalog(package), package)
            texts[revert_diff(plan).decode("utf-8", "backslashreplace")] = None
        except (PrtoggleError, OSError) as error:
            refused.append(str(error).splitlines()[0])
    text = "".join(texts)
    if text:
        return Difference(text)
    return Difference("", "; ".join(dict.fromkeys(refused)) or "no trial said which files it changes")


def _root(module: str, file: Path) -> Path | None:
    """The folder that holds the package of ``module``, which is at ``file``; None where the two do not fit."""
    names = module.split(".")
    tail = [*names, "__init__.py"] if file.name == "__init__.py" and names[-1] != "__init__" else [*names]
    pieces = file.with_suffix("").parts if tail == names else file.parts
    if list(pieces[-len(tail) :]) != tail:
        return None
    return Path(*file.parts[: -len(tail)])
