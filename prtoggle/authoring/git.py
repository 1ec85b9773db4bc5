"""Reading a git repository: commits, what they changed, files as they were. Nothing in it is written, and nothing of
its configuration that runs programs is used.

Example::

    repo = Repository(Path("."))
    commit = repo.commit("HEAD")
    repo.changed(commit.parent, commit.sha)      # (Entry("M", "src/engine/core.py", "src/engine/core.py", ...),)
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from prtoggle import git
from prtoggle.errors import InconclusiveError, RefusedError, UsageError

_PAGE = "guides/write-a-reverse-patch#3-let-it-be-written"

_FILES = ("100644", "100755")
_FORGE = re.compile(
    r"(?:https?://|ssh://)?(?:[^@/\s]+@)?(?P<host>[^/:\s]+)(?::\d+(?=/))?[:/](?P<path>[^\s]+?)(?:\.git)?/?"
)


@dataclass(frozen=True)
class Commit:
    """One commit; ``parent`` is the first of its parents."""

    sha: str
    parent: str
    merge: bool
    subject: str
    body: str
    date: str

    @property
    def short(self) -> str:
        return self.sha[:10]


@dataclass(frozen=True)
class Entry:
    """One changed file: git's letter (A, D, M, R, T), its path before and after, and whether both are plain files."""

    letter: str
    before: str
    after: str
    plain: bool


class Repository:
    """A checkout or a bare repository at ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not folder.is_dir():
            raise UsageError(f"no folder {str(folder)!r}", hint="--repo names a git checkout")
        try:
            top = self._git("rev-parse", "--absolute-git-dir", problem="")
        except UsageError as error:
            hint = f"--repo names a git checkout; {error.hint}"  # it may be one that git refuses to read
            raise UsageError(f"{folder} is no git repository", hint=hint) from None
        self.directory = os.fsdecode(top.rstrip(b"\n"))

    def commit(self, name: str) -> Commit:
        """The commit that ``name`` (a hash, a tag, ``HEAD~2``) means.

        Raises:
            UsageError: there is none.
            RefusedError: there is nothing before it, or what was before it is not here.
        """
        if name.startswith("-") or not name.strip():
            raise UsageError(f"{name!r} is no commit")
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        sha = self._git(
            *words, problem=f"no commit {name!r} in {self.folder}", hint="git fetch, or name another --repo"
        )
        full = sha.decode().strip()
        raw = self._git("cat-file", "commit", full, problem=f"commit {name} cannot be read")
        parents = re.findall(rb"^parent ([0-9a-f]+)$", raw.partition(b"\n\n")[0], re.MULTILINE)
        if not parents:
            raise RefusedError(
                f"commit {full[:10]} is the first one: there is nothing before it to go back to", page=_PAGE
            )
        parent = parents[0].decode()
        said = self._git("cat-file", "-t", parent, problem="", quiet=True)
        if said.strip() != b"commit":
            raise RefusedError(
                f"what was before commit {full[:10]} is not in {self.folder}",
                hint="git fetch --deepen=1 brings it",
                page=_PAGE,
            )
        shown = self._git("show", "-s", "--no-show-signature", "--format=%s%x00%b%x00%cs", full, problem="git show")
        subject, body, date = [*shown.decode("utf-8", "replace").rstrip("\n").split("\0"), "", ""][:3]
        return Commit(full, parent, len(parents) > 1, subject, body, date)

    def changed(self, before: str, after: str) -> tuple[Entry, ...]:
        """The files that differ between two commits."""
        words = ("diff-tree", "-r", "-M", "-z", "--raw", "--no-abbrev", "--no-ext-diff", before, after)
        pieces = [os.fsdecode(each) for each in self._git(*words, problem="git diff-tree failed").split(b"\0")]
        found: list[Entry] = []
        at = 0
        while at < len(pieces) and pieces[at].startswith(":"):
            old_mode, new_mode, _, _, status = pieces[at][1:].split()
            two = status[0] in "RC"
            first, last = pieces[at + 1], pieces[at + 2 if two else at + 1]
            plain = all(mode in _FILES for mode in (old_mode, new_mode) if mode != "000000")
            found.append(Entry(status[0], first, last, plain))
            at += 3 if two else 2
        return tuple(found)

    def files(self, commit: str) -> dict[str, str]:
        """Path -> the blob's name, of every plain file of a commit."""
        found = {}
        for line in self._git("ls-tree", "-r", "-z", "--full-tree", commit, problem="git ls-tree failed").split(b"\0"):
            head, tab, path = line.partition(b"\t")
            if tab and head.split()[0].decode() in _FILES:
                found[os.fsdecode(path)] = head.split()[2].decode()
        return found

    def blobs(self, names: list[str]) -> list[bytes]:
        """The contents of blobs."""
        if not names:
            return []
        data = self._git("cat-file", "--batch", given="\n".join(names).encode() + b"\n", problem="git cat-file failed")
        found, at = [], 0
        for name in names:
            end = data.index(b"\n", at)
            head = data[at:end].split()
            if len(head) != 3:
                raise RefusedError(
                    f"a file of the commit is not in {self.folder}: {name}", hint="git fetch --refetch", page=_PAGE
                )
            size = int(head[2])
            found.append(data[end + 1 : end + 1 + size])
            at = end + 2 + size
        return found

    def project(self) -> tuple[str, str]:
        """``owner/name`` and the address of the repository's page, of the remote ``upstream`` or else ``origin``;
        empty where there is none."""
        for remote in ("upstream", "origin"):
            url = self._git("config", "--get", f"remote.{remote}.url", problem="", quiet=True).decode(
                "utf-8", "replace"
            )
            found = _FORGE.fullmatch(url.strip())
            if found and "." in found["host"]:
                pieces = found["path"].split("/")
                if len(pieces) == 2:
                    return found["path"], f"https://{found['host']}/{found['path']}"
        return "", ""

    def _git(self, *words: str, problem: str, hint: str = "", given: bytes | None = None, quiet: bool = False) -> bytes:
        asked = git.ask(self.folder, *words, given=given or b"")
        if not asked.ran:
            raise InconclusiveError(
                f"git gave no answer: {asked.why}", hint="git show SHA > x.diff elsewhere, then --diff"
            )
        if not asked.ok and not quiet:
            raise UsageError(problem, hint=hint or f"git says: {asked.why}")
        return asked.out
