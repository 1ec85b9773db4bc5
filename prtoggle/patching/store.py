"""The folder beside a package that keeps the journal and the files as they were.

It lies in the tree, so that it goes wherever the tree goes: into the next layer of a container image, say. Nothing in
it is a module, and it tells git to pass over it.

Example::

    store = Store(Path("site-packages"))
    store.read()                  # Journal(...), or None
    store.kept("sglang/x.py", digest).read_bytes()
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from prtoggle import wholefile
from prtoggle.errors import RefusedError
from prtoggle.packages import TREE_FOLDER as FOLDER
from prtoggle.patching import writing
from prtoggle.patching.values import Entry, Journal, OtherFormatError, read_journal, written

_PAGE = "guides/edit-the-files-of-a-tree#when-it-is-refused"

_TRIES = 100

JOURNAL, LOCK, FILES, NEW = "journal.json", "lock", "files", "journal.new"
_TEXTS = {
    ".gitignore": b"*\n",
    "README": b"Made by `prtoggle revert --tree`: the journal of what it changed beside this folder, and the files as\n"
    b"they were before. `prtoggle restore --tree` puts them back and takes this folder away.\n",
}


@dataclass(frozen=True)
class Store:
    """The folder of the tree at ``root`` (no link is on that path)."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / FOLDER

    @property
    def there(self) -> bool:
        """Whether something of prtoggle's is in it: something was changed, or somebody was about to."""
        try:
            found = os.listdir(self.folder)
            return not found or not {JOURNAL, LOCK, FILES, NEW, *_TEXTS}.isdisjoint(found)
        except OSError:
            return self.folder.is_dir()  # one that we may not look into

    @property
    def lock(self) -> Path:
        return self.folder / LOCK

    def file(self, path: str) -> Path:
        """A path of the journal as a file's."""
        return self.root / path

    def kept(self, path: str, digest: str) -> Path:
        """Where the bytes with that hash are kept that the file at ``path`` has, or had."""
        return self.folder / FILES / writing.sha256(f"{path}\0{digest}".encode("utf-8", "surrogatepass"))[:40]

    def bytes_of(self, path: str, digest: str) -> bytes:
        """The kept bytes. Raises RefusedError where they are not there, or not those."""
        file = self.kept(path, digest)
        data = writing.read(file)
        if data is None or writing.sha256(data) != digest:
            what = "is gone" if data is None else "was changed"
            raise RefusedError(f"what was kept of {path} {what} ({file})", hint=REINSTALL, page=_PAGE)
        return data

    def holds(self, path: str, digest: str) -> bool:
        """Whether the kept bytes are there, and are those."""
        data = writing.read(self.kept(path, digest))
        return data is not None and writing.sha256(data) == digest

    def make(self) -> None:
        """The folder is there. Raises RefusedError where it cannot be."""
        for tries in range(_TRIES):
            try:
                self._make()
                return
            except OSError as error:
                if self.folder.is_symlink() or self.folder.is_file():
                    what = "link" if self.folder.is_symlink() else "file"
                    raise RefusedError(
                        f"{self.folder} is a {what}, expected a folder of prtoggle", page=_PAGE
                    ) from error
                others = isinstance(error, FileNotFoundError | FileExistsError)
                if others and self.root.is_dir() and tries + 1 < _TRIES:
                    continue  # another command takes it away, or makes it, at this moment
                raise RefusedError(
                    f"{self.root} cannot be written to: {error.strerror}",
                    hint=writing.hint(error),
                    page=_PAGE,
                ) from error

    def _make(self) -> None:
        if self.folder.is_symlink():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self.folder))
        ours = not self.folder.is_dir()
        try:
            for folder in (self.folder, self.folder / FILES):
                if not folder.is_dir():
                    folder.mkdir()
                    self._theirs(folder)
                    wholefile.sync_folder(folder.parent)
            for name, text in _TEXTS.items():
                if writing.read(self.folder / name) != text:  # also one of which a full disk left the beginning
                    wholefile.replace(self.folder / name, text)
                    self._theirs(self.folder / name)
        except OSError:
            if ours:
                self._unmake()
            raise

    def _unmake(self) -> None:
        """Nothing is left of a folder in which there is nothing yet but what says what it is."""
        for name in _TEXTS:
            writing.discard(self.folder / name)
        _empty(self.folder / FILES)
        _empty(self.folder)

    def _theirs(self, path: Path) -> None:
        """What root makes belongs to whom the tree belongs to, who can then put everything back without root."""
        if os.geteuid() == 0:
            found = os.stat(self.root)
            os.chown(path, found.st_uid, found.st_gid, follow_symlinks=False)

    def read(self) -> Journal | None:
        """The journal; None where there is none. Raises RefusedError for one that cannot be read."""
        data = writing.read(self.folder / JOURNAL)
        if data is None:
            if os.path.lexists(self.folder / JOURNAL):
                raise RefusedError(f"{self.folder / JOURNAL} is no regular file", hint=REINSTALL, page=_PAGE)
            if _files(self.folder / FILES):
                raise RefusedError(
                    f"{self.folder / JOURNAL} is gone, and says of which files those in {self.folder / FILES} are",
                    hint=f"copy it from where the tree came from; or {REINSTALL}",
                    page=_PAGE,
                )
            return None
        try:
            return read_journal(data)
        except ValueError as error:
            hint = "use the prtoggle that changed the files" if isinstance(error, OtherFormatError) else REINSTALL
            raise RefusedError(f"{self.folder / JOURNAL} is no journal: {error}", hint=hint, page=_PAGE) from None

    def write(self, journal: Journal) -> None:
        """The journal is on the disk."""
        new = self.folder / NEW
        writing.remove(new)
        wholefile.make(new, written(journal), 0o644)
        self._theirs(new)
        os.replace(new, self.folder / JOURNAL)
        wholefile.sync_folder(self.folder)

    def keep(self, path: str, data: bytes, mode: int) -> None:
        """A copy of ``data`` is on the disk, readable by those who could read the file."""
        file = self.kept(path, writing.sha256(data))
        writing.remove(file)
        wholefile.make(file, data)
        self._theirs(file)
        os.chmod(file, mode)

    def keep_as_it_is(self, path: str, digest: str) -> None:
        """As :meth:`keep`, of the file that stands at ``path``, for a moment: by a second name where that can be."""
        kept = self.kept(path, digest)
        writing.remove(kept)
        try:
            os.link(self.file(path), kept)
        except OSError:
            wholefile.make(kept, self.file(path).read_bytes())

    def tidy(self, journal: Journal | None) -> None:
        """Only what ``journal`` needs is kept; nothing without one. To be called under the lock. The journal goes last:
        nothing is kept of which none says what it is."""
        needed = {self.kept(*each) for entry in journal.entries for each in _needed(entry)} if journal else set()
        for file in _files(self.folder / FILES):
            if file not in needed:
                writing.discard(file)
        writing.discard(self.folder / NEW)
        if journal is None and not _files(self.folder / FILES):
            wholefile.sync_folder(self.folder / FILES)
            writing.discard(self.folder / JOURNAL)

    def leave(self) -> None:
        """The folder is gone where there is no journal in it. The last thing that is done under the lock."""
        if (self.folder / JOURNAL).exists() or _files(self.folder / FILES):
            return
        for name in (NEW, *_TEXTS):
            writing.discard(self.folder / name)
        for file in self.folder.glob(f"{wholefile.HEAD}*{wholefile.TAIL}"):  # what a kill left of those
            writing.discard(file)
        _empty(self.folder / FILES)
        writing.discard(self.folder / LOCK)  # from here on it can be another command's folder
        _empty(self.folder)


REINSTALL = "reinstall the package, or check the files out anew, and delete the folder"


def _needed(entry: Entry) -> tuple[tuple[str, str], ...]:
    return (
        (entry.path, entry.before.sha256),
        *((each.path, each.look.sha256) for each in entry.compiled),
    )


def _empty(folder: Path) -> None:
    """``folder`` is gone, where nothing is in it: of somebody else, say."""
    try:
        os.rmdir(folder)
    except OSError:
        pass


def _files(folder: Path) -> tuple[Path, ...]:
    try:
        return tuple(sorted(folder.iterdir()))
    except OSError:
        return ()
