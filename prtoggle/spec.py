"""The values that a reverse patch is made of. Frozen; made by :mod:`prtoggle.yamlfile`, by an integration, or by hand
in a test.

Example::

    fix.parts            # {"slice": "cut cache_loc to ...", "assert": "..."}
    fix.default_parts    # ("slice",)
    fix.variants[0].patches[0].edits[0].kind   # PatternEdit(find=..., put=...)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from prtoggle.edits.kinds import EditKind
from prtoggle.errors import Place

_EMPTY: Mapping[str, str] = MappingProxyType({})

ONLY_PART = "fix"
"""Name of the one part of a fix that declares none (SGLang's own documents, a plain diff)."""


@dataclass(frozen=True)
class Edit:
    """One edit: the parts it belongs to, its kind, and where it is written."""

    parts: tuple[str, ...]
    kind: EditKind
    place: Place


@dataclass(frozen=True)
class Patch:
    """Edits of one target. ``target`` as written: ``pkg.mod``, ``pkg.mod.C.m`` or ``pkg.mod:C.m``."""

    target: str
    edits: tuple[Edit, ...]
    place: Place


@dataclass(frozen=True)
class Variant:
    """The reverse patch for one package and a range of its versions.

    Attributes: package: the import name of the target package. versions: a version specifier, or empty for every
        version. lacks: parts that these releases do not have. baked_in: where old code survives a live toggle
        (``cuda-graph``). sequential: written for SGLang's patcher, which applies edits one after another; the plan
        refuses where that reading and
            ours differ.
    """

    package: str
    versions: str
    lacks: tuple[str, ...]
    baked_in: tuple[str, ...]
    patches: tuple[Patch, ...]
    place: Place
    sequential: bool = False


@dataclass(frozen=True)
class Origin:
    """Where a fix came from: ``kind`` is ``dir``, ``path``, ``bundled``, ``entry-point``, ``registry`` or ``diff``."""

    kind: str
    where: str

    def __str__(self) -> str:
        return f"{self.kind} {self.where}"


@dataclass(frozen=True)
class Fix:
    """A merged change and how to take it out.

    Attributes:
        id: the PR number as text, or the file name of a diff.
        project: ``owner/name``, or empty when unknown.
        contains: package -> version specifier of the releases that hold the fix, whatever the text looks like.
        parts: part -> what it does, in order.
        default: what a bare number means; empty means all parts.
        notes: what a person should know of how it was made (files of a diff that were skipped).
        contains_reason: package -> why its specifier has an upper bound.
    """

    id: str
    title: str
    project: str
    merged: str
    symptom: str
    contains: Mapping[str, str]
    parts: Mapping[str, str]
    default: tuple[str, ...]
    variants: tuple[Variant, ...]
    place: Place
    origin: Origin = field(default=Origin("dir", ""))
    contains_reason: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    links: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def default_parts(self) -> tuple[str, ...]:
        """What a bare number means."""
        return self.default or tuple(self.parts)

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that this fix has variants for, in order, once each."""
        return tuple(dict.fromkeys(variant.package for variant in self.variants))
