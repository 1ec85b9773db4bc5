"""``prtoggle restore [SELECTION] --tree DIR``: the files of a tree as they were.

Everything is put back from what was kept, byte for byte, and needs no reverse patch. A part alone is put back by
planning what stays out anew.

Example::

    restore(None, Path("site-packages"), Library()).restored     # ("27360/slice",)
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from prtoggle import selection as selections
from prtoggle.errors import RefusedError, SelectionError
from prtoggle.library import Library
from prtoggle.packages import restore_words
from prtoggle.patching import state as states
from prtoggle.patching.answer import Answer, Changed, lost_error, stale_error
from prtoggle.patching.applying import held, parts_of, planned, same_patches, settled, switch
from prtoggle.patching.changing import put_back
from prtoggle.patching.state import Kind, State
from prtoggle.patching.store import Store
from prtoggle.patching.trees import only_store
from prtoggle.patching.values import Out, selection_of
from prtoggle.selection import Selection
from prtoggle.spec import ONLY_PART


def restore(
    selection: Selection | None,
    tree: Path,
    library: Library,
    *,
    seconds: float = 2.0,
    force: bool = False,
    dry_run: bool = False,
) -> Answer:
    """Put back what ``selection`` names, or everything; ``force`` leaves the files that somebody changed since.

    Raises: SelectionError: it names what is not reverted there. RefusedError: files were changed since, or cannot be;
        none of them was.
    """
    store = only_store(tree)
    whole = selection is None or selection.everything
    if store is None:
        elsewhere = only_store(tree, linked=True)
        if elsewhere is not None:
            raise RefusedError(
                f"what is reverted in files of {tree} is kept in {elsewhere.root}, which may have more than it",
                hint=f"name the tree that they lie in: {restore_words(elsewhere.root)}",
                page="guides/edit-the-files-of-a-tree#when-it-is-refused",
            )
        if not whole:
            raise SelectionError(f"{selection} is not reverted in {tree}", hint="nothing is reverted there")
        return Answer("", dry_run=dry_run)
    with nullcontext() if dry_run else held(store, seconds):
        return _restore(selection, store, library, force=force, dry_run=dry_run)


def _restore(selection: Selection | None, store: Store, library: Library, *, force: bool, dry_run: bool) -> Answer:
    if selection is None or selection.everything:
        return _everything(store, force=force, dry_run=dry_run)
    state, mended = settled(store, dry_run=dry_run)
    back = named(selection, state)
    left = tuple(part for part in state.parts if part not in back)
    if not left:
        return replace(_everything(store, force=False, dry_run=dry_run), mended=mended)
    same_patches(state, store.root, library)
    made = planned(selection_of(left), store.root, library)
    answer = Answer(
        str(store.root),
        state.journal.packages if state.journal else (),
        restored=tuple(part.name for part in back),
        mended=mended,
        dry_run=dry_run,
    )
    return switch(state, parts_of(made), made, force=force, dry_run=dry_run, answer=answer)


def _everything(store: Store, *, force: bool, dry_run: bool) -> Answer:
    state = states.look(store)
    if state.kind is Kind.STALE and not force:
        raise stale_error(state)
    lost = state.lost
    if lost and not force:
        raise lost_error(state)
    left = (*state.stale, *lost)
    entries = tuple(entry for entry in state.entries if entry not in left)
    changed = tuple(
        Changed(entry.path, (), state.digests[entry.path], entry.before.sha256)
        for entry in state.changed
        if entry not in left
    )
    parts = state.parts or (state.journal.parts if state.journal and changed else ())
    if not dry_run:
        put_back(state, entries)
    return Answer(
        str(store.root),
        state.journal.packages if state.journal else (),
        restored=tuple(dict.fromkeys(part.name for part in parts)),
        files=changed,
        forgotten=tuple(str(store.file(entry.path)) for entry in left),
        dry_run=dry_run,
    )


def named(selection: Selection, state: State) -> tuple[Out, ...]:
    """Which of the parts that are out ``selection`` names; a bare number names all of its parts that are. Raises
    SelectionError where it names one that is not out."""
    found: list[Out] = []
    for choice in selections.absolute(selection, os.getcwd()).choices:
        mine = [part for part in state.parts if _same(choice, part)]
        wanted = [part for part in mine if choice.parts is None or set(_parts(part)) <= set(choice.parts)]
        missing = set(choice.parts or ()) - {name for part in wanted for name in _parts(part)}
        if not wanted or missing:
            out = ", ".join(dict.fromkeys(part.name for part in state.parts))
            what = ", ".join(f"{choice.number}/{name}" for name in sorted(missing)) or str(choice)
            raise SelectionError(
                f"{what} is not reverted in {state.store.root}",
                hint=f"out are: {out}" if out else "nothing is reverted there",
            )
        found += wanted
    return tuple(dict.fromkeys(found))


def _parts(part: Out) -> tuple[str, ...]:
    return part.choice.parts or (ONLY_PART,)


def _same(choice: selections.Choice, part: Out) -> bool:
    other = part.choice
    if (choice.kind, choice.number, choice.path) != (other.kind, other.number, other.path):
        return False
    return not choice.project or not other.project or choice.project.lower() == other.project.lower()
