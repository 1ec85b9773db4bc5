"""Sources of many releases in which the same text is searched for the same edit once, also from one run to the next.

What an edit meets depends on the text of its module, on its target's name in it and on itself alone; with the state of
prtoggle's own code that is the key. Kept in the private store (:mod:`prtoggle.runtime.cache`), without which all works
as well.

Example::

    memo = Memo.load()
    for package in releases:
        sources = MemoSources(package, memo)
    memo.save()
"""

from __future__ import annotations

import marshal
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from typing import Any

from prtoggle.edits import outcome as outcomes
from prtoggle.edits.outcome import Found, Outcome, Replacement
from prtoggle.edits.scope import split_target
from prtoggle.packages import Package
from prtoggle.runtime import cache
from prtoggle.runtime.ownstate import own_state
from prtoggle.sources import Sighting, Sources
from prtoggle.spec import Edit

_KIND = "sightings"
_MOST = 20_000
_MOST_WORKERS = 8
_WORTH_IT = 4
Plain = tuple[str, tuple[Any, ...], tuple[int, ...], bool]


@dataclass
class Memo:
    """What was found out so far: by digest of the text, target's name in it and edit."""

    known: dict[str, Plain] = field(default_factory=dict)
    fresh: bool = False

    @classmethod
    def load(cls) -> Memo:
        """What earlier runs found out."""
        kept = cache.read(_KIND, own_state())
        return cls(dict(kept) if isinstance(kept, dict) else {})

    @contextmanager
    def shared(self, tasks: Sequence[Callable[[Memo], object]]) -> Iterator[None]:
        """Let forked processes run ``tasks``, each of which fills the memo that it is given, and take over what they
        found out. The body runs beside them. What a process does not bring home is found out again where it is
        asked for.
        """
        workers = min(_cores(), len(tasks), _MOST_WORKERS)
        started = []
        # Forking is safe while no other thread runs; without a second core there is nothing to gain.
        if workers > 1 and len(tasks) >= _WORTH_IT and hasattr(os, "fork") and threading.active_count() == 1:
            sys.stdout.flush()
            sys.stderr.flush()
            started = [self._start(tasks[k::workers]) for k in range(workers)]
        try:
            yield
        finally:
            for pid, end in started:
                self._collect(pid, end)

    def _start(self, tasks: Sequence[Callable[[Memo], object]]) -> tuple[int, int]:
        end, out = os.pipe()
        pid = os.fork()
        if pid:
            os.close(out)
            return pid, end
        try:
            os.close(end)
            own = Memo(dict(self.known))
            for task in tasks:
                task(own)
            found = {key: value for key, value in own.known.items() if key not in self.known}
            with os.fdopen(out, "wb") as file:
                file.write(marshal.dumps(found))
        finally:
            os._exit(0)  # whatever went wrong is met again, and said, by the process that started this one

    def _collect(self, pid: int, end: int) -> None:
        with os.fdopen(end, "rb") as file:
            data = file.read()
        os.waitpid(pid, 0)
        try:
            found = marshal.loads(data)
        except (ValueError, EOFError, TypeError):
            return
        self.fresh = self.fresh or bool(found)
        self.known.update(found)

    def save(self) -> None:
        """Keep it for later runs."""
        if self.fresh and len(self.known) <= _MOST:
            cache.write(_KIND, own_state(), self.known)


def _cores() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


class MemoSources(Sources):
    """:class:`Sources` that share a :class:`Memo`."""

    def __init__(self, package: Package, memo: Memo) -> None:
        super().__init__(package)
        self._memo = memo
        self._digests: dict[str, str] = {}

    def _digest(self, name: str) -> str:
        """The digest of the module's text, empty where there is none."""
        if name not in self._digests:
            file = self.package.module_file(name)
            try:
                self._digests[name] = cache.digest(file.read_bytes()) if file is not None else ""
            except OSError:
                self._digests[name] = ""
        return self._digests[name]

    def _sight(self, edit: Edit, target: str) -> Sighting:
        # Where the version is not believed, a plan is made to decide: that needs scopes, which are not kept.
        name, qualname = split_target(target, self.package.module_exists)
        text = self._digest(name) if self.package.believed else ""
        if not text:
            return super()._sight(edit, target)
        key = cache.digest(text.encode(), qualname.encode(), repr(edit.kind).encode("utf-8", "surrogatepass"))
        if key in self._memo.known:
            return _sighting(self._memo.known[key], edit, target, name)
        sighting = super()._sight(edit, target)
        self._memo.known[key] = _plain(sighting)
        self._memo.fresh = True
        return sighting


class _Elsewhere:
    """Stands for a scope that was there when the text was searched, and is not kept."""


def _plain(sighting: Sighting) -> Plain:
    return (type(sighting.outcome).__name__, astuple(sighting.outcome), sighting.unfixed, sighting.scope is not None)


def _sighting(plain: Plain, edit: Edit, target: str, module: str) -> Sighting:
    kind, fields, unfixed, scoped = plain
    found: Outcome = getattr(outcomes, kind)(*fields)
    if isinstance(found, Found):
        found = replace(found, replacements=tuple(Replacement(*each) for each in found.replacements))  # type: ignore[misc]
    return Sighting(edit, target, module, found, unfixed, _Elsewhere() if scoped else None)  # type: ignore[arg-type]
