"""The source texts of one package, read and parsed once, and what the edits of a reverse patch look like in them.

Example::

    sources = Sources(package)
    sources.sight(edit, "sglang.srt.x.C.m").outcome     # Found(...), Missing(...), ...
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prtoggle.edits import lines, pattern, preamble, udiff
from prtoggle.edits.combine import verify
from prtoggle.edits.kinds import DiffEdit, LinesEdit, PatternEdit, PreambleEdit
from prtoggle.edits.outcome import Found, Missing, Outcome, Several
from prtoggle.edits.scope import Scope, resolve, split_target
from prtoggle.edits.text import SourceText
from prtoggle.packages import Package
from prtoggle.spec import Edit


@dataclass(frozen=True)
class Module:
    """One module's file, its bytes and their decoded text."""

    name: str
    file: Path
    data: bytes
    source: SourceText


@dataclass(frozen=True)
class Sighting:
    """What one edit meets.

    Attributes:
        module: the module that the target names, as far as it could be told.
        outcome: what the locator says.
        unfixed: lines at which the place looks as it does without the fix (only asked for where it was not found).
        scope: where the target stands, None when it is gone.
    """

    edit: Edit
    target: str
    module: str
    outcome: Outcome
    unfixed: tuple[int, ...] = ()
    scope: Scope | None = None


class Sources:
    """Reads, and remembers, the modules of one package. Not for use by several threads.

    ``texts`` are read in place of those files (by their paths without links).
    """

    def __init__(self, package: Package, texts: Mapping[Path, bytes] | None = None) -> None:
        self.package = package
        self._texts = texts
        self._modules: dict[str, Module | Missing] = {}
        self._sightings: dict[tuple[str, int], Sighting] = {}
        self._verified: dict[tuple[str, bytes], SyntaxError | None] = {}

    @property
    def read(self) -> dict[str, Module | Missing]:
        """Every module that was asked for so far."""
        return dict(self._modules)

    def verify(self, module: Module, text: str) -> SyntaxError | None:
        """Why ``text`` does not compile in place of ``module``'s; each text is compiled once."""
        key = module.name, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if key not in self._verified:
            self._verified[key] = verify(module.source, text)
        return self._verified[key]

    def module(self, name: str) -> Module | Missing:
        """Module ``name``, or why there is no source text of it."""
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def _read(self, name: str) -> Module | Missing:
        file = self.package.module_file(name)
        if file is None:
            return Missing(f"module {name} is gone: {self.package.why_no_source(name)}", *self._near(name))
        try:
            data = self._text(file)
            source = SourceText.decode(data)
            _ = source.tree
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return Missing(f"module {name} cannot be read as Python: {type(error).__name__}: {error} ({file})")
        return Module(name, file, data, source)

    def _text(self, file: Path) -> bytes:
        own = self._texts.get(file.resolve()) if self._texts else None
        return file.read_bytes() if own is None else own

    def _near(self, name: str) -> tuple[str]:
        """The nearest module that is there, for messages."""
        parent, _, last = name.rpartition(".")
        folder = self.package.module_file(parent) if parent else None
        if folder is None or folder.name != "__init__.py":
            folders = [location for location in self.package.locations if parent == self.package.name]
        else:
            folders = [folder.parent]
        from prtoggle.errors import did_you_mean

        known = [path.stem for base in folders for path in sorted(base.glob("*.py")) if path.stem != "__init__"]
        near = did_you_mean(last, known)
        return (f"{parent}.{near}" if near else "",)

    def sight(self, edit: Edit, target: str) -> Sighting:
        """Where ``edit`` stands in ``target``."""
        key = (target, id(edit))
        if key not in self._sightings:
            self._sightings[key] = self._sight(edit, target)
        return self._sightings[key]

    def _sight(self, edit: Edit, target: str) -> Sighting:
        name, qualname = split_target(target, self.package.module_exists)
        module = self.module(name)
        if isinstance(module, Missing):
            return Sighting(edit, target, name, module)
        scope = resolve(module.source, qualname)
        if isinstance(scope, Missing):
            return Sighting(edit, target, name, Missing(f"target is gone: {scope.reason}", scope.nearest, scope.line))
        if isinstance(scope, Several):
            return Sighting(edit, target, name, scope)
        outcome = _locate(module.source, scope, edit)
        unfixed: tuple[int, ...] = ()
        if not isinstance(outcome, Found) and isinstance(edit.kind, PatternEdit):
            looks = (pattern.sightings(module.source, scope, text) for text in edit.kind.unfixed)
            unfixed = tuple(sorted({line for lines in looks for line in lines}))
        return Sighting(edit, target, name, outcome, unfixed, scope)


def _locate(source: SourceText, scope: Scope, edit: Edit) -> Outcome:
    kind = edit.kind
    if isinstance(kind, LinesEdit):
        return lines.locate(source, scope, kind)
    if isinstance(kind, PatternEdit):
        return pattern.locate(source, scope, kind)
    if isinstance(kind, DiffEdit):
        return udiff.locate(source, scope, kind)
    assert isinstance(kind, PreambleEdit)
    return preamble.locate(source, scope, kind)
