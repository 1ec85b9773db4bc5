"""A plan as one unified diff over files, with paths from the package's parent.

Example::

    revert_diff(plan, prefix="python")     # b"diff --git a/python/sglang/srt/x.py b/python/sglang/srt/x.py\\n..."
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from prtoggle.errors import UsageError
from prtoggle.packages import Package
from prtoggle.plan import Plan
from prtoggle.unified import unified


def revert_diff(plan: Plan, *, prefix: str = "") -> bytes:
    """What the plan changes, in the order of its modules' paths."""
    head = checked_prefix(prefix)
    paths = {head / relative(module.file, plan.package): module for module in plan.modules}
    return b"".join(unified(str(path), paths[path].original, paths[path].reverted) for path in sorted(paths))


def notes(plan: Plan) -> tuple[str, ...]:
    """What a person should know of the diff: comments lost, parts left out."""
    return (*plan.notes, *(f"{module.name}: {note}" for module in plan.modules for note in module.notes))


def relative(file: Path, package: Package) -> PurePosixPath:
    """The path of a package's file from the package's parent."""
    for location in package.locations:
        if file.is_relative_to(location):
            return PurePosixPath(package.name, file.relative_to(location).as_posix())
    return PurePosixPath(file.name)


def checked_prefix(prefix: str) -> PurePosixPath:
    """``prefix`` as a relative path. Raises UsageError for one that leads elsewhere."""
    path = PurePosixPath(prefix)
    if path.is_absolute() or ".." in path.parts:
        raise UsageError(
            f"{prefix!r} is no prefix: paths in a diff are relative",
            hint="name the folder from the root of the checkout",
        )
    return path
