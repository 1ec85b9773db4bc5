"""A wheel's Python files, unpacked: nothing else of it is read by prtoggle.

Contract: the destination appears whole, under its name, or not at all; when another process was first, its result is
used. No member can be written outside of it.

Example::

    unpack(Path("sglang-0.5.16-cp311-cp311-manylinux_2_34_x86_64.whl"), final, aside)
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path, PurePosixPath

from prtoggle.errors import InconclusiveError, Place, RefusedError


def kept_path(member: str) -> PurePosixPath | None:
    """Where a member of a wheel goes, relative to the folder of the release; None for one that is not kept.

    Raises ValueError for a name that leads elsewhere.
    """
    path = PurePosixPath(member)
    if path.is_absolute() or ".." in path.parts or "\\" in member or ":" in member or "\0" in member:
        raise ValueError(member)
    parts = path.parts
    if len(parts) > 2 and parts[0].endswith(".data"):
        if parts[1] not in ("purelib", "platlib"):
            return None
        parts = parts[2:]
    if not parts or member.endswith("/"):
        return None
    metadata = len(parts) > 1 and parts[0].endswith(".dist-info")
    return PurePosixPath(*parts) if metadata or parts[-1].endswith(".py") else None


def unpack(wheel: Path, final: Path, aside: Path) -> Path:
    """Unpack the Python files and the metadata of ``wheel`` to ``final``, by way of ``aside`` on the same disk."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            kept = [(info, kept_path(info.filename)) for info in archive.infolist()]
            made: set[Path] = set()
            for info, relative in kept:
                if relative is None:
                    continue
                place = aside / relative
                if place.parent not in made:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    made.add(place.parent)
                place.write_bytes(archive.read(info))
    except (zipfile.BadZipFile, EOFError) as problem:
        raise InconclusiveError(f"not a whole wheel: {problem}", place=Place(str(wheel))) from None
    except ValueError as problem:
        raise RefusedError(
            f"the wheel has a file outside of itself: {problem}",
            place=Place(str(wheel)),
            page="reference/exit-codes#4-inconclusive",
        ) from None
    except OSError as problem:
        raise InconclusiveError(
            f"the wheel could not be unpacked: {problem.strerror or problem}",
            place=Place(str(wheel)),
            hint="set PRTOGGLE_CACHE to a folder with room",
        ) from None
    if not any(aside.glob("*.dist-info")):
        raise InconclusiveError("the wheel has no *.dist-info", place=Place(str(wheel)))
    try:
        os.rename(aside, final)
    except OSError as problem:
        if not final.is_dir():
            raise InconclusiveError(f"{final} could not be made: {problem.strerror or problem}") from None
    return final
