"""What the doctor says of trees whose files were changed.

Example::

    [finding.state for finding in findings((Path("site-packages"),))]     # ["ok"]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from prtoggle.errors import RefusedError
from prtoggle.finding import Finding
from prtoggle.packages import restore_words
from prtoggle.patching import state as states
from prtoggle.patching.answer import lost_error, stale_error
from prtoggle.patching.applying import half_words
from prtoggle.patching.state import Kind, State
from prtoggle.patching.store import Store
from prtoggle.patching.trees import stores_of

NAME = "files"


def findings(named: Iterable[Path], installed: Iterable[Path] = ()) -> Iterator[Finding]:
    """One for each tree of which something was changed, and for each of ``named`` of which nothing was."""
    seen: dict[Path, None] = {}
    for folder in named:
        if not folder.is_dir():
            yield Finding(NAME, "bad", f"{folder} is no folder")
        elif not stores_of(folder):
            yield Finding(NAME, "ok", f"no file in {folder} was changed by prtoggle")
    for folder in (*named, *installed):
        for store in stores_of(folder):
            if store.root not in seen:
                seen[store.root] = None
                yield _finding(store)


def _finding(store: Store) -> Finding:
    back = restore_words(store.root)
    try:
        state = states.look(store)
        if state.stale:
            raise stale_error(state)
        if state.lost:
            raise lost_error(state)
    except RefusedError as error:
        return Finding(NAME, "bad", error.what, error.hint)
    if state.kind is Kind.HALF:
        return Finding(NAME, "bad", f"{store.root} is half reverted: {half_words(state)}", back)
    if state.untidy or state.kind is not Kind.REVERTED:
        return Finding(NAME, "warning", _left(state), f"{back} clears it away")
    parts = ", ".join(dict.fromkeys(part.name for part in state.parts))
    names = ", ".join(entry.path for entry in state.changed)
    return Finding(NAME, "warning", f"{parts} reverted in the files of {store.root}: {names}", f"{back} puts them back")


def _left(state: State) -> str:
    """What lies about in a tree in which nothing is wrong."""
    if state.untidy or not state.entries:
        return f"a command that was killed left files of its own in {state.store.root}; nothing else is wrong there"
    names = ", ".join(entry.path for entry in state.entries)
    return (
        f"what prtoggle reverted in {state.store.root} was put back by something else (an installation, git): {names} "
        "as before, and what was kept of them is still there"
    )
