"""What is true of a tree now: read off the bytes of its files, with the journal to say what each may have.

Example::

    state = look(Store(root))
    state.kind, state.parts       # (Kind.REVERTED, (Out("27360/slice", ...),))
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from prtoggle.patching import writing
from prtoggle.patching.store import Store
from prtoggle.patching.trees import version_of
from prtoggle.patching.values import Entry, Journal, Out


class Kind(enum.Enum):
    """In which of five ways a tree can be."""

    CLEAN = "nothing is reverted"
    LEFT = "nothing is reverted, but what prtoggle kept is still there"
    REVERTED = "reverted"
    HALF = "half reverted"
    STALE = "changed since"


@dataclass(frozen=True)
class State:
    """One look at a tree.

    Attributes:
        parts: what is out; empty where that cannot be told.
        digests: path -> the hash of the file now; an empty string where there is no such file.
        stale: the files that are neither as they were nor as prtoggle made them, or that another release brought.
    """

    store: Store
    kind: Kind
    journal: Journal | None = None
    parts: tuple[Out, ...] = ()
    digests: dict[str, str] = field(default_factory=dict)
    stale: tuple[Entry, ...] = ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.journal.entries if self.journal else ()

    @property
    def changed(self) -> tuple[Entry, ...]:
        """The files that are not as they were before."""
        return tuple(entry for entry in self.entries if self.digests[entry.path] != entry.before.sha256)

    @property
    def lost(self) -> tuple[Entry, ...]:
        """The files that prtoggle changed and that cannot be put back: what was kept of them is not there."""
        mine = (entry for entry in self.changed if entry not in self.stale)
        return tuple(entry for entry in mine if not self.store.holds(entry.path, entry.before.sha256))

    @property
    def untidy(self) -> bool:
        """Whether a process was killed here: something lies about that it made."""
        names = {writing.temporary(self.store.file(entry.path)) for entry in self.entries}
        names.add(self.store.folder / "journal.new")
        return any(name.exists() for name in names)


def look(store: Store) -> State:
    """The state of the tree. Raises RefusedError where its journal cannot be read."""
    journal = store.read()
    if journal is None:
        return State(store, Kind.LEFT if store.there else Kind.CLEAN)
    digests = {entry.path: digest_of(store, entry.path) for entry in journal.entries}
    others = _others(journal, store)
    stale = tuple(entry for entry in journal.entries if not _ours(entry, digests[entry.path], others))

    def all_are(what: str) -> bool:
        return all(digests[entry.path] == texts(entry)[what] for entry in journal.entries)

    if stale:
        return State(store, Kind.STALE, journal, (), digests, stale)
    if all_are("goal") and journal.parts:
        return State(store, Kind.REVERTED, journal, journal.parts, digests)
    if all_are("before"):
        return State(store, Kind.LEFT, journal, (), digests)
    if all_are("was") and journal.was:
        return State(store, Kind.REVERTED, journal, journal.was, digests)
    return State(store, Kind.HALF, journal, (), digests)


def _others(journal: Journal, store: Store) -> frozenset[str]:
    """The packages that are there in another version by now: whoever installed it wrote all of their files anew."""
    return frozenset(
        name for name, version in journal.packages if version and version_of(name, store.root) not in ("", version)
    )


def _ours(entry: Entry, digest: str, others: frozenset[str]) -> bool:
    """Whether the file is as it was or as prtoggle made it. A release without the fix may have the very text that
    taking it out of another one made: to put that back would mix the two."""
    packages = {module.partition("/")[0].removesuffix(".py") for module in entry.modules}
    return digest == entry.before.sha256 or (digest in entry.known and not packages & others)


def texts(entry: Entry) -> dict[str, str]:
    """The three texts of a file, by their hashes."""
    return {"before": entry.before.sha256, "was": entry.was, "goal": entry.goal}


def digest_of(store: Store, path: str) -> str:
    """The hash of the file at ``path``; an empty string where there is no regular file."""
    data = writing.read(store.file(path))
    return "" if data is None else writing.sha256(data)
