"""A merged diff that nobody prepared, as a fix: each Python file of the target package becomes a target, taken
backwards.

Paths are stripped to the package; tests and documentation are skipped by name; what cannot be taken out at run time
(compiled sources, data of the package, a module that the change deleted or renamed) is refused by name. A diff that
changes nothing of any package is refused; one that changes others alone does not concern this one.

Example::

    fix = diff_fix("x.diff", package=locate("sglang", sys.path))
    fix.variants[0].patches[0].target      # "sglang.srt.layers.attention.flashattention_backend"
"""

from __future__ import annotations

from pathlib import Path

from prtoggle.diffs import FileDiff
from prtoggle.difftext import commits, in_encoding
from prtoggle.edits.text import SourceText
from prtoggle.errors import MalformedError, Place, PrtoggleError, RefusedError, SelectionError, did_you_mean
from prtoggle.packages import Package
from prtoggle.runtime.sources import read
from prtoggle.spec import ONLY_PART, Edit, Fix, Origin, Patch, Variant

_SKIPPED_FOLDERS = frozenset(
    {"test", "tests", "testing", "docs", "doc", "examples", "benchmark", "benchmarks", ".github", "3rdparty"}
)
_SKIPPED_ENDINGS = (".md", ".rst", ".txt", ".ipynb")
COMPILED = (
    ".c",
    ".cc",
    ".cpp",
    ".cu",
    ".cuh",
    ".cxx",
    ".h",
    ".hpp",
    ".hip",
    ".mm",
    ".pyx",
    ".pxd",
    ".rs",
    ".so",
    ".pyd",
)


def diff_fix(path: str | Path, *, package: Package) -> Fix:
    """The fix that the merged diff at ``path`` made, as far as it concerns ``package``.

    Raises:
        SelectionError: the diff cannot be read.
        MalformedError: it is no unified diff.
        RefusedError: it changes what cannot be taken out at run time.
    """
    return from_text(text_of(path), str(Path(path)), package)


def text_of(path: str | Path) -> str:
    """The text of the diff at ``path``, what is no UTF-8 as surrogates; SelectionError where it cannot be read."""
    try:
        return read(path).decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    except OSError as error:
        what = f"the diff {path} cannot be read: {error.strerror or error}"
        raise SelectionError(what, nearest=_beside(Path(path))) from None


def _beside(path: Path) -> str:
    """The diff in the same folder whose name is nearest, or an empty string."""
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.suffix.lower() in (".diff", ".patch")]
    except OSError:
        return ""
    near = did_you_mean(path.name, names)
    return str(path.with_name(near)) if near else ""


def from_text(text: str, name: str, package: Package) -> Fix:
    """As :func:`diff_fix`, for the diff's text; ``name`` is what it is called in messages."""
    patches: list[Patch] = []
    own: list[PrtoggleError] = []
    compiled: list[PrtoggleError] = []
    notes: list[str] = []
    elsewhere = False
    place = Place(name)
    for change in (file for commit in commits(text, name) for file in commit.files):
        path = _path(change)
        if skipped(path):
            notes.append(f"skipped {path} (tests and documentation)")
            continue
        if path.endswith(".pyi"):
            notes.append(f"skipped {path} (types, which nothing runs)")
            continue
        module = module_of(path, package)
        if module is None:
            elsewhere = True
            if path.endswith(COMPILED):
                why = "a compiled source: reverting the Python around it alone would be half a revert"
                compiled.append(_cannot(path, why, place))
            else:
                notes.append(f"left as it is: {path} (not part of {package.name})")
        elif not path.endswith(".py"):
            own.append(_cannot(path, "not a Python module", place))
        elif change.kind == "deleted":  # by the revert: the merged change added it
            notes.append(
                f"left in place: {path}, a module that the change added; the code before it does not import it"
            )
        elif change.kind != "modified":
            what = {"added": "deleted"}.get(change.kind, change.kind)
            own.append(_cannot(path, f"a file that the change {what}", place))
        elif not all(piece.isidentifier() for piece in module.split(".")):
            own.append(_cannot(path, "not a module's name", place))
        elif change.edit.hunks:
            edit = in_encoding(change.edit, _encoding(module, package))
            patches.append(Patch(module, (Edit((ONLY_PART,), edit, place),), place))
    if own or (compiled and patches):
        raise MalformedError((*own, *compiled))
    if not patches and not elsewhere:
        raise RefusedError("nothing in this diff can be taken out at run time", place=place, hint="; ".join(notes))
    variants = (Variant(package.name, "", (), (), tuple(patches), Place(name)),) if patches else ()
    return Fix(
        id=name,
        title=f"the change in {name}",
        project="",
        merged="",
        symptom="",
        contains={},
        parts={ONLY_PART: "the whole change"},
        default=(),
        variants=variants,
        place=Place(name),
        origin=Origin("diff", name),
        notes=tuple(notes) if patches else (),
    )


def changed(path: str | Path) -> tuple[str, ...]:
    """The Python files that the merged diff at ``path`` changes, as it names them, without tests and documentation."""
    files = [_path(file) for commit in commits(text_of(path), str(path)) for file in commit.files]
    return tuple(file for file in files if file.endswith(".py") and not skipped(file))


def module_of(path: str, package: Package) -> str | None:
    """The module name (or dotted place) of ``path`` in ``package``, its prefix stripped; None where it is not of the
    package."""
    pieces = path.split("/")
    candidates = []
    for index, piece in enumerate(pieces):
        stem = piece[:-3] if index == len(pieces) - 1 and piece.endswith(".py") else piece
        if stem == package.name:
            rest = pieces[index:]
            rest[-1] = rest[-1][:-3] if rest[-1].endswith(".py") else rest[-1]
            if len(rest) > 1 and rest[-1] == "__init__":
                rest = rest[:-1]
            candidates.append(".".join(rest))
    there = [name for name in candidates if package.module_file(name) is not None]
    return next(iter(there or candidates), None)  # the outermost folder of the package's name


def _encoding(module: str, package: Package) -> str:
    file = package.module_file(module)
    try:
        return SourceText.decode(file.read_bytes()).encoding if file is not None else "utf-8"
    except (OSError, SyntaxError, ValueError):
        return "utf-8"


def _path(change: FileDiff) -> str:
    path = change.path_new if change.path_new not in ("", "/dev/null") else change.path_old
    return path.removeprefix("a/").removeprefix("b/")


def skipped(path: str) -> bool:
    """Whether a file of a change is a test or documentation, going by its name."""
    pieces = path.split("/")
    name = pieces[-1]
    return (
        any(piece.lower() in _SKIPPED_FOLDERS for piece in pieces[:-1])
        or name.lower().endswith(_SKIPPED_ENDINGS)
        or name.startswith("test_")
        or name.endswith("_test.py")
        or name == "conftest.py"
    )


def _cannot(path: str, why: str, place: Place) -> RefusedError:
    return RefusedError(
        f"{path} cannot be taken out at run time: {why}",
        place=place,
        hint="delete that file's part from the diff to leave it as it is",
    )
