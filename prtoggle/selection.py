"""What to revert, as text and as a value.

The grammar, spaces allowed around every sign; a selection is a set, so order and repetition mean nothing::

    selection = "all" | "none" | item { "," item }
    item      = [ owner "/" name "#" ] number [ "/" ( "all" | part { "+" part } ) ]
              | path                      ending in .diff or .patch, up to the next comma
              | '"' path '"'              in either quotes, the quote doubled where it stands in the path

Example::

    parse("27360/slice + assert, 24401") == parse("24401,27360/assert,27360/slice")
    format(parse(" 27360 ")) == "27360"

This runs inside the target's processes, so a text that parses imports next to nothing; :mod:`prtoggle.errors` is
imported when there is something to say.
"""

from __future__ import annotations

from prtoggle.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Literal, NoReturn

    from prtoggle.errors import SelectionError
    from prtoggle.integrations import Integration

VARIABLE = "PRTOGGLE_REVERT"
"""The environment variable that holds a selection."""

_DIGITS = frozenset("0123456789")
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_PART = _LOWER | _DIGITS | {"-"}
_PROJECT = _PART | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ._")
_MOST_DIGITS = 12
_GRAMMAR = (
    "write 27360, 27360/slice+assert, 27360/all, owner/name#27360, a path to a .diff or .patch, all, or none; "
    "with commas between"
)


class Choice(Value):
    """One thing to revert: parts of a fix, or a merged diff taken backwards.

    Attributes:
        kind: ``fix`` or ``diff``.
        project: ``owner/name``, or empty where the text names none.
        number: the PR number of a fix, 0 for a diff.
        parts: the parts named, sorted; None where none are named: the fix's default.
        all_parts: whether ``/all`` was asked for.
        path: the path of a diff, as written.
    """

    _fields = ("kind", "project", "number", "parts", "all_parts", "path")
    __slots__ = _fields
    kind: Literal["fix", "diff"]
    project: str
    number: int
    parts: tuple[str, ...] | None
    all_parts: bool
    path: str

    def __init__(
        self,
        kind: Literal["fix", "diff"],
        project: str = "",
        number: int = 0,
        parts: tuple[str, ...] | None = None,
        all_parts: bool = False,
        path: str = "",
    ) -> None:
        self._set(kind, project, number, parts, all_parts, path)

    def __str__(self) -> str:
        if self.kind == "diff":
            return _quoted(self.path)
        project = f"{self.project}#" if self.project else ""
        parts = "/all" if self.all_parts else "" if self.parts is None else "/" + "+".join(self.parts)
        return f"{project}{self.number}{parts}"


class Selection(Value):
    """A set of choices, in canonical order; ``everything`` is ``all`` and has no choices; neither is ``none``."""

    _fields = ("choices", "everything")
    __slots__ = _fields
    choices: tuple[Choice, ...]
    everything: bool

    def __init__(self, choices: tuple[Choice, ...] = (), everything: bool = False) -> None:
        self._set(_merged(choices), everything)

    @property
    def is_none(self) -> bool:
        """Whether nothing is selected."""
        return not self.choices and not self.everything

    def __str__(self) -> str:
        return format(self)


def parse(text: str, *, where: str = "selection", project: str = "") -> Selection:
    """The selection that ``text`` means, or SelectionError.

    Args:
        where: what the text is called in errors: a variable, an argument.
        project: the project of numbers that name none.
    """
    words = list(_items(text, where))
    choices = []
    for item, column, quoted in words:
        if item in ("all", "none") and not quoted:
            if len(words) > 1:
                _fail(where, column, f"'{item}' stands with others, and can only stand alone")
            return ALL if item == "all" else NONE
        choices.append(_diff(item, column, where) if quoted else _choice(item, column, where, project))
    return Selection(tuple(choices))


def format(selection: Selection) -> str:
    """The canonical text of ``selection``; :func:`parse` gives it back."""
    if selection.everything:
        return "all"
    return ",".join(map(str, selection.choices)) or "none"


def from_environment(environ: Mapping[str, str], integrations: Iterable[Integration]) -> tuple[Selection, str] | None:
    """What the environment selects, and the name of the variable that says so; None where no variable is set.

    An integration's variable takes the same grammar; what the package itself takes for "nothing" is ``none`` there, and
    a bare number is one of its project. Two variables that are set must mean the same, or SelectionError is raised.
    """
    found: list[tuple[Selection, str, str]] = []
    own = environ.get(VARIABLE)
    if own is not None:
        found.append((parse(own, where=VARIABLE) if own.strip() else NONE, VARIABLE, ""))
    for integration in integrations:
        value = environ.get(integration.variable)
        if value is not None:
            nothing = value.strip() in integration.none_values
            selection = NONE if nothing else parse(value, where=integration.variable, project=integration.project)
            found.append((selection, integration.variable, integration.project))
    if not found:
        return None
    # The last one found knows the projects of its numbers; the names come in the order in which they were asked.
    selection, last, project = found[-1]
    for other, variable, _ in found[:-1]:
        if _of_project(other, project) != selection:
            raise _error(
                f"{variable} and {last} are both set and differ: '{other}' and '{selection}'",
                hint="unset one of them, or give both the same selection",
                page="choosing#variables",
            )
    return selection, found[0][1]


def absolute(selection: Selection, cwd: str) -> Selection:
    """``selection`` with the paths of its diffs made absolute, so that it means the same in every process."""
    import os

    return Selection(
        tuple(
            Choice("diff", path=os.path.normpath(os.path.join(cwd, choice.path))) if choice.kind == "diff" else choice
            for choice in selection.choices
        ),
        selection.everything,
    )


def _of_project(selection: Selection, project: str) -> Selection:
    """``selection`` with its bare numbers taken for numbers of ``project``."""
    return Selection(
        tuple(
            Choice("fix", choice.project or project, choice.number, choice.parts, choice.all_parts)
            if choice.kind == "fix"
            else choice
            for choice in selection.choices
        ),
        selection.everything,
    )


def _merged(choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
    """Each thing once, in canonical order. ``/all`` takes in all else; the default and named parts stay two choices."""
    parts: dict[tuple[str, int], set[str | None]] = {}
    paths = set()
    for choice in choices:
        if choice.kind == "diff":
            paths.add(choice.path)
            continue
        names = parts.setdefault((choice.project, choice.number), set())
        names.update(["all"] if choice.all_parts else [None] if choice.parts is None else choice.parts)
    merged = []
    for (project, number), names in sorted(parts.items()):
        if "all" in names:
            merged.append(Choice("fix", project, number, None, True))
            continue
        if None in names:
            merged.append(Choice("fix", project, number))
        named = tuple(sorted(name for name in names if name is not None))
        if named:
            merged.append(Choice("fix", project, number, named))
    return (*merged, *(Choice("diff", path=path) for path in sorted(paths)))


def _items(text: str, where: str) -> Iterator[tuple[str, int, bool]]:
    """Each item, stripped, with its column and whether it stood in quotes."""
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at < len(text) and text[at] in "\"'":
            column, quote = at + 1, text[at]
            item, at = _unquote(text, at, where)
            end = at
            while at < len(text) and text[at].isspace():
                at += 1
            if at < len(text) and text[at] != ",":
                _fail(where, end + 1, f"text follows the closing {quote}, expected a comma or the end")
            yield item, column, True
        else:
            end = text.find(",", at)
            end = len(text) if end < 0 else end
            item = text[at:end].strip()
            if not item:
                if not text.strip():
                    _fail(where, 1, "the selection is empty", nearest="none", hint=_GRAMMAR)
                _fail(where, at + 1, "nothing stands here, expected something to revert", hint="leave the comma out")
            yield item, at + 1, False
            at = end
        if at >= len(text):
            return
        at += 1


def _unquote(text: str, at: int, where: str) -> tuple[str, int]:
    """The path in quotes that starts at ``at``, and the index behind its closing quote."""
    quote, begin, out = text[at], at, []
    at += 1
    while True:
        end = text.find(quote, at)
        if end < 0:
            _fail(where, begin + 1, f"the {quote} is not closed")
        out.append(text[at:end])
        at = end + 1
        if text[at : at + 1] != quote:
            return "".join(out), at
        out.append(quote)
        at += 1


def _quoted(path: str) -> str:
    if any(sign in ",\"'" or sign.isspace() for sign in path):
        return '"' + path.replace('"', '""') + '"'
    return path


def _is_diff(text: str) -> bool:
    return text.lower().endswith((".diff", ".patch"))


def _is_file(path: str) -> bool:
    import os

    return os.path.isfile(path)


def _diff(path: str, column: int, where: str) -> Choice:
    if not _is_diff(path):
        _fail(where, column, f"'{path}' stands in quotes, expected a path that ends in .diff or .patch", hint=_GRAMMAR)
    return Choice("diff", path=path)


def _choice(item: str, column: int, where: str, project: str) -> Choice:
    """The choice that an item outside quotes means; ``column`` is where it starts."""
    if _is_diff(item):
        first = item.split()[0]
        if first != item and _DIGITS.issuperset(first):
            what = f"'{item}' is a number and a path, expected a comma between"
            _fail(where, column + len(first), what, hint=_GRAMMAR)
        return Choice("diff", path=item)
    head, sign, rest = item.partition("#")
    if sign:
        project = _project(head, column, where, item)
        column += len(head) + 1
    else:
        rest = head
    digits, slash, names = rest.partition("/")
    number = _number(digits, column + _indent(digits), where, item)
    if not slash:
        return Choice("fix", project, number)
    parts = _parts(names, column + len(digits) + 1, where, digits.strip())
    return Choice("fix", project, number, None, True) if parts == ("all",) else Choice("fix", project, number, parts)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _project(text: str, column: int, where: str, item: str) -> str:
    owner, slash, name = (piece.strip() for piece in text.partition("/"))
    if not (slash and owner and name and _PROJECT.issuperset(owner) and _PROJECT.issuperset(name)):
        what = f"'{text.strip()}' is not a project, expected owner/name before the #"
        _fail(where, column, what, nearest=_nearest(item), hint="without a project, leave the # out")
    return f"{owner}/{name}"


def _number(digits: str, column: int, where: str, item: str) -> int:
    digits = digits.strip()
    if not digits or not _DIGITS.issuperset(digits):
        if item.startswith((".", "/", "~")) or _is_file(item):
            what = f"'{item}' is a path, and that of a diff must end in .diff or .patch"
            _fail(where, column, what, hint="name the file so" if _is_file(item) else _GRAMMAR)
        what = f"'{item}' is neither a PR number, a path to a .diff or .patch, 'all' nor 'none'"
        _fail(where, column, what, nearest=_nearest(item), hint=_GRAMMAR)
    if digits.strip("0") == "":
        _fail(where, column, f"{digits} is not a PR number", nearest="none", hint="to revert nothing, say none")
    if digits[0] == "0":
        _fail(where, column, f"{digits} starts with a zero, a PR number does not", nearest=digits.lstrip("0"))
    if len(digits) > _MOST_DIGITS:
        _fail(where, column, f"a PR number has at most {_MOST_DIGITS} digits, this one has {len(digits)}")
    return int(digits)


def _parts(text: str, column: int, where: str, number: str) -> tuple[str, ...]:
    """The part names in ``text``, sorted, each once; ``("all",)`` for all of them."""
    names = []
    pieces = text.split("+")
    for piece in pieces:
        name, here = piece.strip(), column + _indent(piece)
        column += len(piece) + 1
        if not name:
            _fail(where, here, f"a part's name is missing, expected {number}/part, or {number} alone for its default")
        if name[0] not in _LOWER or not _PART.issuperset(name):
            what = f"'{name}' is not a part's name, expected lower-case letters, digits and '-', joined by '+'"
            _fail(where, here, what, nearest=_part_like(name))
        if name == "all" and len(pieces) > 1:
            _fail(where, here, f"'{number}/all' is every part already, and cannot stand with others")
        names.append(name)
    return tuple(sorted(set(names)))


def _part_like(name: str) -> str:
    """``name`` as a part could be called, or an empty string."""
    like = "-".join(name.lower().replace("_", " ").split())
    return like if like and like[0] in _LOWER and _PART.issuperset(like) else ""


_LIKE_DIGITS = {ord("O"): "0", ord("o"): "0", ord("l"): "1", ord("I"): "1"}


def _nearest(item: str) -> str:
    """The right way to write what ``item`` seems to mean, or an empty string."""
    pieces = item.replace("?", "/").replace("#", "/").split("/")
    if "pull" in pieces[3:]:  # an address: scheme, '', host, owner, name, pull, number
        at = pieces.index("pull", 3)
        number = (pieces[at + 1 : at + 2] or [""])[0]
        if number and _DIGITS.issuperset(number):
            return f"{pieces[at - 2]}/{pieces[at - 1]}#{number}"
    words = item.split()
    if len(words) > 1 and all(_DIGITS.issuperset(word) for word in words):
        return ",".join(words)
    for sign in ";+|&":
        words = [word.strip() for word in item.split(sign)]
        if len(words) > 1 and all(word and _DIGITS.issuperset(word.partition("/")[0] or "-") for word in words):
            return ",".join(words)
    digits = item.translate(_LIKE_DIGITS)
    if digits != item and _DIGITS.issuperset(digits.partition("/")[0]) and item[0] in _DIGITS:
        return digits.partition("/")[0] + "".join(item.partition("/")[1:])
    for prefix in ("#", "pr", "PR"):
        rest = item.removeprefix(prefix).lstrip("#- ")
        if rest != item and rest and _DIGITS.issuperset(rest.partition("/")[0]) and rest[0] != "/":
            return rest
    for sign in ":.@-":
        number, found, part = item.partition(sign)
        if found and number and _DIGITS.issuperset(number) and _part_like(part):
            return f"{number}/{_part_like(part)}"
    from prtoggle.errors import did_you_mean

    return did_you_mean(item.lower(), ("all", "none"))


def _error(
    what: str, *, where: str = "", column: int = 0, nearest: str = "", hint: str = "", page: str = ""
) -> SelectionError:
    from prtoggle.errors import Place, SelectionError

    place = Place(where, 1, column) if where else None
    return SelectionError(what, place=place, nearest=nearest, hint=hint, page=page)


def _fail(where: str, column: int, what: str, *, nearest: str = "", hint: str = "") -> NoReturn:
    raise _error(what, where=where, column=column, nearest=nearest, hint=hint)


NONE = Selection()
ALL = Selection(everything=True)
