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

from dataclasses import astuple, dataclass, field, replace
from typing import Any

from prtoggle.edits import outcome as outcomes
from prtoggle.edits.outcome import Found, Outcome, Replacement
from prtoggle.edits.scope import split_target
from prtoggle.ownstate import own_state
from prtoggle.packages import Package
from prtoggle.runtime import cache
from prtoggle.sources import Sighting, Sources
from prtoggle.spec import Edit

_KIND = "sightings"
_MOST = 20_000
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

    def save(self) -> None:
        """Keep it for later runs."""
        if self.fresh and len(self.known) <= _MOST:
            cache.write(_KIND, own_state(), self.known)


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
