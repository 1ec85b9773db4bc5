"""From one state of a tree to another, whole or not at all, and put right after a process that was killed.

The order: what will be needed to go back is kept; the journal is on the disk; every new file stands ready beside the
old one; then each is renamed into place. Whatever fails up to there undoes what was done; to go back takes no room on
the disk. All of it happens under the lock of the tree.

Example::

    change(state, parts=(out,), files=(NewFile(root / "pkg/x.py", ...),), packages=(("pkg", "1.2"),))
    mend(look(store))        # after a kill: as it was before the last change
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prtoggle import __version__, wholefile
from prtoggle.errors import RefusedError
from prtoggle.packages import restore_words
from prtoggle.patching import bytecode, writing
from prtoggle.patching.state import State, digest_of
from prtoggle.patching.store import Store
from prtoggle.patching.values import Compiled, Entry, Journal, Out

_SECOND = 1_000_000_000

_PAGE = "guides/edit-the-files-of-a-tree#when-it-is-refused"


@dataclass(frozen=True)
class NewFile:
    """What a file is to become.

    Attributes:
        path: from the tree's root, no link on it.
        modules: the paths by which Python finds it, from the root.
        original: its bytes with nothing reverted.
        data: its bytes afterwards.
        parts: what changes it.
    """

    path: str
    modules: tuple[str, ...]
    original: bytes
    data: bytes
    parts: tuple[str, ...]


def change(
    state: State, parts: tuple[Out, ...], files: Sequence[NewFile], packages: tuple[tuple[str, str], ...]
) -> tuple[str, ...]:
    """Have ``files`` changed, every other file of the tree as it was before, and ``parts`` out. Returns what a person
    should know.

    Raises: RefusedError: a file cannot be changed, or is not the one that was planned for; all is as it was.
    """
    store = state.store
    wanted = {file.path: file for file in files}
    known = {entry.path: entry for entry in state.entries}
    entries: list[Entry] = []
    renamed: list[Entry] = []
    try:
        if state.journal is None:  # before anything is kept
            store.write(Journal(f"prtoggle {__version__}", _now(), packages, (), (), ()))
        for path, file in wanted.items():
            entries.append(_next(store, known.get(path), file))
        entries += [
            replace(entry, was=digest_of(store, path), goal=entry.before.sha256, parts=())
            for path, entry in known.items()
            if path not in wanted
        ]
        journal = Journal(f"prtoggle {__version__}", _now(), packages, state.parts, parts, tuple(entries))
        for entry in entries:
            if entry.was not in (entry.before.sha256, entry.goal):
                store.keep_as_it_is(entry.path, entry.was)
        wholefile.sync_folder(store.folder / "files")
        store.write(journal)
        moved = [entry for entry in entries if entry.was != entry.goal]
        times = {
            entry.path: _time(store.file(entry.path).parent) for entry in moved
        }  # before there is something new in them
        for entry in moved:
            data = wanted[entry.path].data if entry.path in wanted else None
            _stage(store, entry, entry.goal, data, avoid=times[entry.path])
        for entry in moved:
            _move(store, entry, entry.was)
            renamed.append(entry)
    except BaseException as error:
        told = _undone(state, entries, renamed, error)
        if told is error:
            raise
        raise told from error
    notes = [writing.changed_owner(store.file(entry.path), entry.before) for entry in moved]
    tidy(store, journal)
    return tuple(note for note in notes if note)


def put_back(state: State, entries: Iterable[Entry]) -> None:
    """Have ``entries`` as they were before, and forget everything. It takes no room on the disk. Where it fails half
    way there is no going back, since the next try goes on from there."""
    store = state.store
    entries = tuple(entries)
    todo = [entry for entry in entries if state.digests[entry.path] != entry.before.sha256]
    try:
        for entry in todo:
            _stage(store, entry, entry.before.sha256, None)
        for entry in todo:
            used = _time(store.file(entry.path))
            _move(store, replace(entry, goal=entry.before.sha256), state.digests[entry.path])
            _remember(store.file(entry.path).parent, used)
        for entry in entries:
            if entry not in todo:
                writing.remove(writing.temporary(store.file(entry.path)))
                _compiled_back(store, entry)
    except (OSError, RefusedError) as error:
        left = [entry.path for entry in todo if digest_of(store, entry.path) != entry.before.sha256]
        then = "nothing was changed" if len(left) == len(todo) else f"these are not back yet: {', '.join(left)}"
        for entry in todo:
            writing.discard(writing.temporary(store.file(entry.path)))
        raise failed(error, then) from error
    tidy(store, None)


def mend(state: State) -> None:
    """A tree that is half changed as it was before that change; or, where not even that is kept, as it was at first."""
    store = state.store
    entries = state.entries
    back = all(
        state.digests[entry.path] == entry.was
        or entry.was == entry.before.sha256
        or writing.read(store.kept(entry.path, entry.was)) is not None
        for entry in entries
    )
    if not back:
        put_back(state, entries)
        return
    _back(store, entries)
    assert state.journal is not None
    tidy(store, _as_before(state.journal))


def tidy(store: Store, journal: Journal | None) -> None:
    """Keep of the journal what is still true. What cannot be tidied now is the next time: nothing depends on it."""
    if journal is not None:
        for entry in journal.entries:
            writing.discard(writing.temporary(store.file(entry.path)))
            if entry.goal == entry.before.sha256:  # a kill may have come between its text and this
                _compiled_back(store, entry)
        changed = tuple(
            replace(entry, was=entry.goal) for entry in journal.entries if entry.goal != entry.before.sha256
        )
        journal = replace(journal, entries=changed, was=journal.parts) if changed else None
    if journal is not None:
        try:
            store.write(journal)
        except OSError:
            return
    store.tidy(journal)


def _as_before(journal: Journal) -> Journal:
    """The journal of what was true before the last change."""
    entries = tuple(replace(entry, goal=entry.was) for entry in journal.entries)
    return replace(journal, parts=journal.was, entries=entries)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _next(store: Store, entry: Entry | None, file: NewFile) -> Entry:
    """The entry of a file that is to be changed, after a look whether it is the one that was planned for; a new one
    has its bytes kept."""
    path = store.file(file.path)
    data = writing.read(path)
    digest = "" if data is None else writing.sha256(data)
    goal = writing.sha256(file.data)
    if entry is not None and digest in entry.known and (digest != entry.before.sha256 or _holds(store, entry)):
        return replace(entry, was=digest, goal=goal, parts=file.parts, modules=file.modules)
    if data != file.original or data is None:
        raise RefusedError(f"{path} changed while it was looked at", hint="try again", page=_PAGE)
    look = writing.look(path, data)
    store.keep(file.path, data, look.mode)
    kept = []
    for module in file.modules:
        for compiled in bytecode.compiled(store.file(module)):
            its = _readable(compiled)
            if its is not None:
                name = compiled.relative_to(store.root).as_posix()
                kept.append(Compiled(name, writing.look(compiled, its)))
                store.keep(name, its, kept[-1].look.mode)
    return Entry(file.path, file.modules, file.parts, look, digest, goal, tuple(kept))


def _holds(store: Store, entry: Entry) -> bool:
    """Whether all that is kept of a file is there: one that put it back may have been killed as it cleared away."""
    its = ((entry.path, entry.before.sha256), *((each.path, each.look.sha256) for each in entry.compiled))
    return all(store.holds(*each) for each in its)


def _readable(compiled: Path) -> bytes | None:
    """What Python compiled; None where we may not read it: it is made anew then."""
    try:
        return writing.read(compiled)
    except RefusedError:
        return None


def _time(path: Path) -> int:
    """Of a file: since when it has its text. Of its folder: when a file was last put there, or taken away; by us, then
    with a text that is forgotten since. Texts that follow each other within a second get times to come, and so does
    the folder (:func:`_remember`)."""
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def _remember(folder: Path, used: int) -> None:
    """The folder's time is no earlier than ``used``, the last one that a text of ours had which is gone now."""
    try:
        if _time(folder) < used:
            os.utime(folder, ns=(used, used))
    except OSError:
        pass


def _stage(store: Store, entry: Entry, goal: str, data: bytes | None, *, avoid: int = 0) -> None:
    """Make the new file ready, from ``data`` or from what is kept. Its time is that of the text as it was before, or
    one in whose second it had no other text; ``avoid`` is the folder's time."""
    path = store.file(entry.path)
    if data is None:
        store.bytes_of(entry.path, goal)
    source = store.kept(entry.path, goal) if data is None else data
    if goal == entry.before.sha256:
        writing.stage(path, source, entry.before, entry.before.mtime_ns)
        return
    taken = [entry.before.mtime_ns]
    after = avoid if 0 <= avoid - time.time_ns() // _SECOND * _SECOND < 60 * _SECOND else 0  # a wrong clock is no guide
    like = entry.before
    try:
        found = os.lstat(path)
        taken.append(found.st_mtime_ns)
        if entry.was != entry.before.sha256:  # ours, and later than all that we made before it
            after = max(after, found.st_mtime_ns)
        like = replace(like, mode=found.st_mode & 0o7777, uid=found.st_uid, gid=found.st_gid)
    except FileNotFoundError:
        pass
    writing.stage(path, source, like, bytecode.another_time(taken, after=after))


def _move(store: Store, entry: Entry, now: str) -> None:
    """Rename the file that stands ready over the one whose bytes have the hash ``now``; what is compiled goes first."""
    path = store.file(entry.path)
    for module in entry.modules:
        for compiled in bytecode.compiled(store.file(module)):
            writing.remove(compiled)
        for compiled in bytecode.elsewhere(store.file(module)):
            if not writing.discard(compiled) and bytecode.unchecked(compiled):
                raise RefusedError(
                    f"{compiled} cannot be taken away, and would be run in place of {path}",
                    hint="unset PYTHONPYCACHEPREFIX where nothing runs with it",
                    page=_PAGE,
                )
    if digest_of(store, entry.path) != now:
        raise RefusedError(f"{path} changed while it was looked at", hint="try again", page=_PAGE)
    os.replace(writing.temporary(path), path)
    wholefile.sync_folder(path.parent)
    if entry.goal == entry.before.sha256:
        _compiled_back(store, entry)


def _compiled_back(store: Store, entry: Entry) -> None:
    """What Python had compiled of a file, in place again; what cannot be is made anew by Python, and so is that of a
    file that somebody else put there."""
    if _time(store.file(entry.path)) // _SECOND != entry.before.mtime_ns // _SECOND:
        return
    for each in entry.compiled:
        path = store.file(each.path)
        kept = store.kept(each.path, each.look.sha256)
        new = writing.temporary(path)
        try:
            writing.remove(new)
            if digest_of(store, each.path) != each.look.sha256:
                store.bytes_of(each.path, each.look.sha256)
                os.replace(writing.stage(path, kept, each.look, each.look.mtime_ns), path)
        except (OSError, RefusedError):
            writing.discard(new)


def _back(store: Store, entries: Iterable[Entry]) -> None:
    """Each file as it was before the last change."""
    for entry in entries:
        now = digest_of(store, entry.path)
        writing.remove(writing.temporary(store.file(entry.path)))
        if now == entry.was:
            if now == entry.before.sha256 and entry.goal != now:
                _compiled_back(store, entry)
        elif now == entry.goal or now == entry.before.sha256:
            _stage(store, entry, entry.was, None)
            _move(store, replace(entry, goal=entry.was), now)


def _undone(state: State, entries: Sequence[Entry], renamed: Sequence[Entry], error: BaseException) -> BaseException:
    """Go back; the error to raise. Only the files that were changed here are touched; where somebody wrote to one of
    ``renamed`` since, all that is kept stays, and the next command tells of it."""
    store = state.store
    try:
        _back(store, entries)
        if any(digest_of(store, entry.path) not in entry.known for entry in renamed):
            return error
        if state.parts and state.journal is not None:
            now = tuple(replace(entry, goal=state.digests[entry.path]) for entry in state.entries)
            tidy(store, replace(state.journal, parts=state.parts, entries=now))
        else:
            store.tidy(None)
    except (OSError, RefusedError) as second:
        return RefusedError(
            f"{_words(error)}; and then, going back: {_words(second)}; files of {store.root} are half changed",
            hint=f"mend that, then: {restore_words(store.root)}",
            page=_PAGE,
        )
    return failed(error, "nothing was changed") if isinstance(error, OSError) else error


def failed(error: OSError | RefusedError, then: str) -> RefusedError:
    """What the system refused, and what that means."""
    hint = error.hint if isinstance(error, RefusedError) else writing.hint(error)
    return RefusedError(f"{_words(error)}; {then}", hint=hint, page=_PAGE)


def _words(error: BaseException) -> str:
    if isinstance(error, OSError):
        name = error.filename2 or error.filename
        shown = Path(os.fsdecode(name)) if isinstance(name, str | bytes) else None
        where = f"{shown.parent if shown.name.startswith(wholefile.HEAD) else shown}: " if shown else ""
        return f"{where}{error.strerror or error}"
    return error.what if isinstance(error, RefusedError) else str(error) or type(error).__name__
