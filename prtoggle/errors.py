"""Every error that prtoggle raises on purpose, with one root and one exit code each.

An error says *what* is wrong, *where* (file, line, column), the *nearest* right thing, what to do (``hint``), and
which ``page`` of the documents explains it (``prtoggle explain PAGE`` shows it, anywhere). It formats itself, so that
a command, a traceback and a journal show the same text.

Example::

    raise SelectionError("no fix has the number 27361", nearest="27360", page="choosing#where-fixes-come-from")

Standard library only: this module is imported inside the target's processes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where in a file something stands. ``line`` and ``column`` count from 1; 0 means unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        text = self.file
        if self.line:
            text += f":{self.line}"
            if self.column:
                text += f":{self.column}"
        return text


class PrtoggleError(Exception):
    """Root of all errors that prtoggle raises on purpose.

    Attributes:
        what: one sentence, no full stop at the end, what is wrong.
        place: where, if there is a place.
        nearest: the nearest right thing, if one is near.
        hint: what to do.
        page: the page of ``docs/`` that explains it, and its section: that of the class, unless one is given.
        exit_code: the exit code of a command that ends with this error.
    """

    exit_code = 70
    page = "reference/exit-codes"

    def __init__(
        self, what: str, *, place: Place | None = None, nearest: str = "", hint: str = "", page: str = ""
    ) -> None:
        self.what = what
        self.place = place
        self.nearest = nearest
        self.hint = hint
        if page:
            self.page = page
        super().__init__(str(self))

    def __str__(self) -> str:
        return with_page(self.said, self.page)

    @property
    def said(self) -> str:
        """The text but for its last line, which names the page: for what becomes part of another text."""
        head = f"{self.place}: {self.what}" if self.place else self.what
        lines = [head]
        if self.nearest:
            lines.append(f"  nearest: {self.nearest}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), dict(self.__dict__)))


def _rebuild(cls: type[PrtoggleError], state: dict[str, object]) -> PrtoggleError:
    error = cls.__new__(cls)
    error.__dict__.update(state)
    Exception.__init__(error, str(error))
    return error


class UsageError(PrtoggleError):
    """What was typed is wrong: grammar, an unknown fix or part, variables that differ."""

    exit_code = 2
    page = "commands"


class SelectionError(UsageError):
    """A selection that does not parse, or names a fix or part that nobody knows."""

    page = "choosing#grammar"


class RefusedError(PrtoggleError):
    """Understood, and refused: it does not apply, conflicts, or its file is malformed."""

    exit_code = 3
    page = "reference/exit-codes#3-understood-and-refused"


class MalformedError(RefusedError):
    """Problems in one or more files, all of them, each with its place.

    ``problems`` is a tuple of PrtoggleError with places; the text is one line (or block) for each, and the page that
    of all, where they were given one and the same.
    """

    page = "reverse-patches#fields"

    def __init__(self, problems: tuple[PrtoggleError, ...], *, hint: str = "", page: str = "") -> None:
        self.problems = problems
        what = "\n".join(problem.said for problem in problems)
        given = {problem.__dict__.get("page", "") for problem in problems}
        super().__init__(what, hint=hint, page=page or (given.pop() if len(given) == 1 else ""))


class EditError(RefusedError):
    """An edit that cannot be made: not found, found twice, overlapping, or its result does not compile."""

    page = "reverse-patches#edits"


class ConflictError(EditError):
    """Two edits that touch the same text, or insert at one point."""

    page = "reverse-patches#conflicts"


class InconclusiveError(PrtoggleError):
    """No answer could be had: a release could not be fetched, a search ran out of budget."""

    exit_code = 4
    page = "reference/exit-codes#4-inconclusive"


_SEE = "  see: prtoggle explain "


def see(page: str) -> str:
    """The line that names a page of the documents."""
    return _SEE + page


def with_page(text: str, page: str) -> str:
    """``text`` with that line as its last, unless it has one."""
    return text if not page or f"\n{_SEE}" in text else f"{text}\n{see(page)}"


def without_page(text: str) -> tuple[str, str]:
    """``text`` without that line, and the page."""
    said, _, page = text.partition(f"\n{_SEE}")
    return said, page


def did_you_mean(word: str, known: list[str] | tuple[str, ...]) -> str:
    """The known word nearest to ``word``, or an empty string when none is near."""
    import difflib

    found = difflib.get_close_matches(word, list(known), n=len(known) or 1, cutoff=0.6)
    if word.isdecimal():  # one digit that is wrong is likelier than digits that are missing: 102 is 101 and not 10892
        wrong = {each: sum(a != b for a, b in zip(word, each, strict=True)) for each in found if len(each) == len(word)}
        found = sorted(found, key=lambda each: wrong.get(each, len(word)))
    return found[0] if found else ""
