"""What was found out from files, kept for as long as they are as they were: one look at each, nothing read again.

Every look at a file lets go of the interpreter lock, and beside busy threads it comes back milliseconds later, so
reading two dozen files takes seconds there. A file is told by its stamp: inode, size, times. Something that
changed a moment before it was stamped may change again without another stamp, since clocks of file systems are coarse:
what rests on such a file is not kept.

Example::

    kept, looked, paths = Remembered(), Looked(), ("/fixes/pr7_x/revert.yaml",)
    looked.see(paths)
    answer = ...                             # read from the file
    kept.put("key", paths, answer, looked)
    kept.get("key", Looked())                # answer, or None where the file is another by now
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable
    from typing import Any

    Stamp = tuple[int, ...]

COARSE = 2_000_000_000
"""Nanoseconds within which a file system may give two changes one time; FAT has the coarsest clock."""
MOST = 64
"""How many answers are kept: who asks for ever other selections fills no memory."""


class Looked:
    """Stamps of files, each looked at once: one of these lives for one toggle, which sees the files of one moment."""

    def __init__(self) -> None:
        self._began = time.time_ns()
        self._stamps: dict[str, Stamp | None] = {}

    def at(self, path: str) -> Stamp | None:
        """The stamp of what ``path`` leads to; None where there is nothing."""
        try:
            return self._stamps[path]
        except KeyError:
            pass
        stamp: Stamp | None = None
        try:
            found = os.stat(path)
            times = (found.st_mtime_ns, found.st_ctime_ns)
            stamp = (found.st_dev, found.st_ino, found.st_mode, found.st_size, *times)
        except (OSError, ValueError):
            pass
        self._stamps[path] = stamp
        return stamp

    def see(self, paths: Iterable[str]) -> None:
        """Look at ``paths``, before anything is read from them."""
        for path in paths:
            self.at(path)

    def settled(self, path: str) -> bool:
        """Whether a change of the file from now on has to show in its stamp."""
        stamp = self.at(path)
        return stamp is None or max(stamp[-2:]) + COARSE < self._began


class Remembered:
    """Answers by key, each with the files on which it rests."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, tuple[dict[str, Stamp | None], Any]] = {}

    def get(self, key: Hashable, looked: Looked) -> Any:
        """The answer, or None."""
        kept = self._answers.get(key)
        if kept is None:
            return None
        stamps, answer = kept
        if any(looked.at(path) != stamp for path, stamp in stamps.items()):
            self._answers.pop(key, None)
            return None
        return answer

    def put(self, key: Hashable, paths: Iterable[str], answer: Any, looked: Looked) -> None:
        """Keep ``answer``, which was found out after ``looked`` saw every one of ``paths``, where none of them is too
        new, or another by now: a link may have been led to a file that is old enough."""
        now = Looked()
        stamps = {path: looked.at(path) for path in paths}
        if all(looked.settled(path) and now.at(path) == stamp for path, stamp in stamps.items()):
            self._answers.pop(key, None)
            while len(self._answers) >= MOST:
                self._answers.pop(next(iter(self._answers)), None)
            self._answers[key] = stamps, answer


__all__ = ["Looked", "Remembered"]
