"""``prtoggle revert SELECTION --tree DIR``: fixes taken out of the files of a tree.

The plan is made from the texts as they were when nothing was reverted, so that what is out already and what comes now
are found and combined as if they had been named at once. Nothing is written until all of it is planned and compiled.

Example::

    revert(parse("27360"), Path("site-packages"), Library()).reverted     # ("27360/slice",)
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from prtoggle import selection as selections
from prtoggle.errors import PrtoggleError, RefusedError, UsageError
from prtoggle.library import Library
from prtoggle.packages import Package, restore_words
from prtoggle.patching import state as states
from prtoggle.patching.answer import Answer, Changed, stale_error
from prtoggle.patching.changing import NewFile, change, failed, mend, tidy
from prtoggle.patching.dirty import not_as_installed, uncommitted
from prtoggle.patching.lock import locked
from prtoggle.patching.state import Kind, State
from prtoggle.patching.store import Store
from prtoggle.patching.trees import holders, marks, only_store, refuse_several, root_of
from prtoggle.patching.values import Out, selection_of
from prtoggle.patching.writing import sha256
from prtoggle.plan import Plan
from prtoggle.refusals import REVERTED_FILES
from prtoggle.releases import Index
from prtoggle.revertdiff import notes
from prtoggle.selection import Selection
from prtoggle.sources import Sources
from prtoggle.subjects import plans

_PAGE = "guides/edit-the-files-of-a-tree#when-it-is-refused"
_TRIES = 100
_WHERE = "name the package's folder, its parent, a checkout (also with src/ or python/), or an environment"

MENDED = "a process was killed while it changed files here: they were put back as they were before that"


def revert(
    selection: Selection,
    tree: Path,
    library: Library,
    *,
    seconds: float = 2.0,
    force: bool = False,
    dry_run: bool = False,
) -> Answer:
    """Take what ``selection`` names out of the files in ``tree``; whole or not at all.

    Raises: SelectionError, UsageError: it names what nobody knows, or no package is there. RefusedError: it does not
        apply, or a file cannot, or should not, be changed; nothing was.
    """
    selection = selections.absolute(selection, os.getcwd())
    store = _store_for(selection, tree, library, dry_run=dry_run)
    if store is None:
        return Answer("", dry_run=dry_run)
    with nullcontext() if dry_run else held(store, seconds):
        return _revert(selection, tree, library, store, force=force, dry_run=dry_run)


def _store_for(selection: Selection, tree: Path, library: Library, *, dry_run: bool) -> Store | None:
    """The tree of what ``selection`` is for; None where it is for nothing. What does not apply is refused before
    anything is made in the tree; where another command may be changing it, that is asked again when it has ended."""
    for _ in range(_TRIES):
        before = marks(tree) if tree.is_dir() else ()
        try:
            made = planned(selection, tree, library)
        except RefusedError:
            store = only_store(tree)
            if store is not None and not dry_run:
                return store
            if store is not None or marks(tree) == before:
                raise  # else another command ended meanwhile
        else:
            for plan in made:
                refuse_several(tree, plan.package.name)
            return Store(_root(made)) if made else None
    raise RefusedError(f"other commands are changing {tree}", hint="try again when they have ended", page=_PAGE)


def _revert(selection: Selection, tree: Path, library: Library, store: Store, *, force: bool, dry_run: bool) -> Answer:
    state, mended = settled(store, dry_run=dry_run)
    made = planned(selection, tree, library)
    asked = parts_of(made)
    versions = _versions(made)
    new = tuple(part for part in asked if part not in state.parts)
    already = tuple(part.name for part in asked if part in state.parts)
    answer = Answer(
        str(store.root),
        versions,
        already=already,
        out=_names(state.parts),
        mended=mended,
        dry_run=dry_run,
    )
    if not new:
        if state.kind is Kind.REVERTED and not dry_run:
            _tidied(state)
        return answer
    parts = (*state.parts, *new)
    said = _notes(made)
    if state.parts:
        same_patches(state, tree, library)
        made = _together(state, parts, tree, library)
        parts = parts_of(made)
    said = tuple(dict.fromkeys((*said, *_notes(made))))
    answer = replace(answer, reverted=_names(new), notes=said)
    return switch(state, parts, made, force=force, dry_run=dry_run, answer=answer)


def _together(state: State, parts: tuple[Out, ...], tree: Path, library: Library) -> tuple[Plan, ...]:
    """The plans for what is out and what comes on top. Each applies alone, so it is of both that a refusal speaks."""
    try:
        return planned(selection_of(parts), tree, library)
    except RefusedError as error:
        back = restore_words(state.store.root)
        raise RefusedError(
            error.what,
            place=error.place,
            nearest=error.nearest,
            hint=f"out already: {', '.join(_names(state.parts))}; {back} puts it back, then it can come out alone",
            page=error.page,
        ) from error


def switch(
    state: State, parts: tuple[Out, ...], made: Sequence[Plan], *, force: bool, dry_run: bool, answer: Answer
) -> Answer:
    """Have the files of the tree as ``made`` has them, and ``answer`` with what that changed."""
    store = state.store
    files = new_files(made, store)
    touched = {file.path: file for file in files}
    unlooked = _refuse_dirty(state, files, made, force)
    changed = [
        Changed(file.path, file.parts, state.digests.get(file.path) or sha256(file.original), sha256(file.data))
        for file in files
        if state.digests.get(file.path) != sha256(file.data)
    ]
    changed += [
        Changed(entry.path, (), state.digests[entry.path], entry.before.sha256)
        for entry in state.changed
        if entry.path not in touched
    ]
    said = () if dry_run else change(state, parts, files, _versions(made))
    more = (*answer.notes, *unlooked, *said)
    return replace(answer, out=_names(parts), files=tuple(changed), notes=more)


@contextmanager
def held(store: Store, seconds: float) -> Iterator[None]:
    """The tree is ours; afterwards no folder is left where nothing was changed."""
    store.make()
    with locked(store.lock, seconds=seconds, tree=store.root):
        store.make()
        try:
            yield
        except OSError as error:
            raise failed(error, "try again when that is mended") from error
        finally:
            store.leave()


def settled(store: Store, *, dry_run: bool) -> tuple[State, str]:
    """The state to start from, after what a killed process left was put right; and words for that.

    Raises: RefusedError: somebody else changed files since.
    """
    state = states.look(store)
    if state.kind is Kind.STALE:
        raise stale_error(state)
    if state.kind is not Kind.HALF:
        return state, ""
    if dry_run:
        raise RefusedError(
            f"the files of {store.root} are half reverted: {half_words(state)}",
            hint=restore_words(store.root),
            page="guides/edit-the-files-of-a-tree#when-it-was-killed",
        )
    mend(state)
    return states.look(store), MENDED


def half_words(state: State) -> str:
    """Which files are reverted and which are not."""
    parts = state.journal.parts if state.journal else ()
    gone = [entry.path for entry in state.changed]
    back = [entry.path for entry in state.entries if entry not in state.changed]
    names = ", ".join(_names(parts))
    return f"{names} was on its way: {', '.join(gone)} changed, {', '.join(back) or 'nothing'} as before"


def planned(selection: Selection, tree: Path, library: Library) -> tuple[Plan, ...]:
    """The plans for what lies in ``tree``, from the texts as they were when nothing was reverted."""
    if not tree.is_dir():
        raise UsageError(f"--tree {tree} is no folder" if tree.exists() else f"--tree {tree} is not there")
    try:
        return plans(selection, library, Index(), against=str(tree.resolve()) + os.sep, sources=originals)
    except RefusedError as error:
        if error.hint.startswith("--against"):
            hint, page = _WHERE, _PAGE
        elif error.hint.startswith(REVERTED_FILES):  # no news: it was planned from the files as they were before that
            hint, page = "", error.page
        else:
            raise
        raise RefusedError(error.what, place=error.place, nearest=error.nearest, hint=hint, page=page) from None


def originals(package: Package) -> Sources:
    """The sources of a package with nothing reverted. Raises RefusedError where somebody else changed files since."""
    store = Store(root_of(package).resolve())
    state = states.look(store)
    if state.kind is Kind.STALE:
        raise stale_error(state)
    texts = {store.file(entry.path): store.bytes_of(entry.path, entry.before.sha256) for entry in state.changed}
    return Sources(package, texts)


def same_patches(state: State, tree: Path, library: Library) -> None:
    """Raises RefusedError where the parts that are out would come out differently today: then the reverse patches are
    others than those that were applied."""
    hint = f"{restore_words(state.store.root)} puts everything back; then revert what you want"
    try:
        now = {
            file.path: sha256(file.data)
            for file in new_files(planned(selection_of(state.parts), tree, library), state.store)
        }
    except PrtoggleError as error:
        raise RefusedError(
            f"what is out here cannot be planned any more: {error.what}", place=error.place, hint=hint, page=_PAGE
        ) from error
    if now != {entry.path: state.digests[entry.path] for entry in state.changed}:
        names = ", ".join(_names(state.parts))
        raise RefusedError(
            f"the reverse patches of {names} are not those that were applied here", hint=hint, page=_PAGE
        )


def new_files(made: Sequence[Plan], store: Store) -> tuple[NewFile, ...]:
    """What each file is to become, links resolved. Raises RefusedError for one that lies outside of the tree."""
    found: dict[str, NewFile] = {}
    for plan in made:
        for module in plan.modules:
            real = module.file.resolve()
            if not real.is_relative_to(store.root):
                raise RefusedError(
                    f"{module.file} is a link to {real}, outside of {store.root}",
                    hint=_tree_of(real, plan.package),
                    page=_PAGE,
                )
            for other in holders(real, but=store.root):
                raise RefusedError(
                    f"{real} was changed by prtoggle already, in {other.root}",
                    hint=f"name that tree: --tree {shlex.quote(str(other.root))}",
                    page=_PAGE,
                )
            path = real.relative_to(store.root).as_posix()
            alias = module.file.parent.resolve() / module.file.name
            names = [path, *([alias.relative_to(store.root).as_posix()] if alias.is_relative_to(store.root) else [])]
            known = found.get(path)
            if known is not None and known.data != module.reverted:
                raise RefusedError(
                    f"{module.file} is another module too, of which something else comes out", page=_PAGE
                )
            more = known.modules if known else ()
            parts = (*(known.parts if known else ()), *module.parts)
            found[path] = NewFile(
                path,
                tuple(dict.fromkeys((*more, *names))),
                module.original,
                module.reverted,
                tuple(dict.fromkeys(parts)),
            )
    return tuple(found[path] for path in sorted(found))


def _tree_of(file: Path, package: Package) -> str:
    """Which tree to name for a file that links lead to."""
    tree = root_of(package)
    folder = (tree / package.name).resolve()
    if file.is_relative_to(folder) and folder.name == package.name:
        return f"name the tree that it lies in: --tree {shlex.quote(str(folder.parent))}"
    return "others may have it too: install the package as files of its own (uv: --link-mode copy)"


def parts_of(made: Sequence[Plan]) -> tuple[Out, ...]:
    """The parts that come out."""
    found = []
    for plan in made:
        for choice in plan.choices:
            project = "" if choice.fix.origin.kind == "diff" else choice.fix.project
            found += [Out(decision.name, project, plan.package.name) for decision in choice.taken]
    return tuple(dict.fromkeys(found))


def _refuse_dirty(state: State, files: Sequence[NewFile], made: Sequence[Plan], force: bool) -> tuple[str, ...]:
    """Raises RefusedError where somebody edited what is to be changed; returns what could not be looked at."""
    ours = {entry.path for entry in state.changed}
    fresh = [file for file in files if file.path not in ours]
    changed, unlooked = uncommitted([state.store.file(file.path) for file in fresh])
    differing = [
        line
        for plan in made
        for line in not_as_installed(plan.package, [name for file in fresh for name in file.modules])
    ]
    lines = tuple(dict.fromkeys((*changed, *differing)))
    if lines and not force:
        raise RefusedError(
            "; ".join(lines),
            hint="--force changes them all the same; restore brings back what is there now",
            page="guides/edit-the-files-of-a-tree#when-it-is-refused",
        )
    return (*(lines if force else ()), *unlooked)


def _tidied(state: State) -> None:
    if state.untidy and state.journal is not None:
        goal = tuple(replace(entry, goal=state.digests[entry.path]) for entry in state.entries)
        tidy(state.store, replace(state.journal, parts=state.parts, entries=goal))


def _root(made: Sequence[Plan]) -> Path:
    roots = tuple(dict.fromkeys(root_of(plan.package).resolve() for plan in made))
    if len(roots) > 1:
        names = ", ".join(f"{plan.package.name} in {root_of(plan.package)}" for plan in made)
        raise RefusedError(f"the packages lie in several folders: {names}", hint="name one of them", page=_PAGE)
    return roots[0]


def _versions(made: Sequence[Plan]) -> tuple[tuple[str, str], ...]:
    return tuple((plan.package.name, plan.package.version) for plan in made)


def _names(parts: Sequence[Out]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.name for part in parts))


def _notes(made: Sequence[Plan]) -> tuple[str, ...]:
    return tuple(note for plan in made for note in notes(plan))
