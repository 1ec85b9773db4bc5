"""What a command that changes files says when it is done.

Example::

    answer.reverted, answer.files[0].path     # (("27360/slice",), "sglang/srt/x.py")
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from prtoggle.errors import RefusedError
from prtoggle.packages import restore_words
from prtoggle.patching.state import State
from prtoggle.patching.trees import version_of


@dataclass(frozen=True)
class Changed:
    """One file: where, from the tree's root; the parts that are out of it afterwards (none where it is as it was at
    first); the hashes of its bytes before the command and after it."""

    path: str
    parts: tuple[str, ...]
    before: str
    after: str


@dataclass(frozen=True)
class Answer:
    """What was done, or would be.

    Attributes:
        tree: the folder that the package lies in; empty where nothing of it was ever changed.
        packages: names and versions.
        reverted: the parts that came out. restored: those that were put back. already: those that were out.
        out: the parts that are out now.
        mended: what a process that was killed left, and what was done about it.
        forgotten: files left as somebody else made them.
        notes: what a person should know.
    """

    tree: str
    packages: tuple[tuple[str, str], ...] = ()
    reverted: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    already: tuple[str, ...] = ()
    out: tuple[str, ...] = ()
    files: tuple[Changed, ...] = ()
    mended: str = ""
    forgotten: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    dry_run: bool = False


def stale_error(state: State) -> RefusedError:
    """That somebody changed files since, by name, and what can be done."""
    root = state.store.root
    gone = [entry for entry in state.stale if not os.path.lexists(state.store.file(entry.path))]
    names = [f"{state.store.file(entry.path)}{' (gone)' if entry in gone else ''}" for entry in state.stale]
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    first = state.stale[0]
    kept = state.store.kept(first.path, first.before.sha256)
    return RefusedError(
        f"changed since prtoggle reverted {'it' if len(names) == 1 else 'them'}: {shown}{upgrades(state)}",
        hint=f"{restore_words(root)} --force puts the others back, leaves these as they are and forgets them; "
        f"until then what {Path(first.path).name} was before is kept in {kept}",
        page="guides/edit-the-files-of-a-tree#when-it-is-refused",
    )


def lost_error(state: State) -> RefusedError:
    """That files cannot be put back, since what was kept of them is not there."""
    store, lost = state.store, state.lost
    first = lost[0]
    more = f" and of {len(lost) - 1} more" if len(lost) > 1 else ""
    what = "was changed" if store.kept(first.path, first.before.sha256).exists() else "is gone"
    return RefusedError(
        f"what was kept of {first.path}{more} {what} ({store.kept(first.path, first.before.sha256)})",
        hint=f"{restore_words(store.root)} --force puts the others back, leaves these as they are and forgets them; "
        "to have these: reinstall the package, or check them out anew",
        page="guides/edit-the-files-of-a-tree#when-it-is-refused",
    )


def upgrades(state: State) -> str:
    packages = state.journal.packages if state.journal else ()
    now = [(name, version, version_of(name, state.store.root)) for name, version in packages]
    words = [
        f"it was {name} {old}, and {f'is {name} {new} now' if new else 'no version of it is known now'}"
        for name, old, new in now
        if old != new
    ]
    return f" ({'; '.join(words)})" if words else ""
