"""Refuse, before a command starts, a selection that nobody can know; leave to its own processes what only they can
tell.

Example::

    check(selection.parse("27361"), ("python", "x.py"), os.environ, os.getcwd())    # SelectionError: ... nearest: 27360
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence

from prtoggle import installed
from prtoggle.difffix import text_of
from prtoggle.difftext import commits
from prtoggle.errors import PrtoggleError, SelectionError
from prtoggle.selection import Selection
from prtoggle.spec import Fix


def check(wanted: Selection, command: Sequence[str], env: Mapping[str, str], cwd: str) -> tuple[str, ...]:
    """Raise what certainly stands in the way of ``wanted``; return as notes what may.

    A fix that is not known here is certainly unknown where the command runs under this very Python. Another one may
    see an installed package that carries a registry of its own, so that there it is for the command's processes to
    refuse.
    """
    for choice in wanted.choices:
        if choice.kind == "diff":
            commits(text_of(choice.path), choice.path)
    notes: tuple[str, ...] = ()
    same = same_python(command, env, cwd)
    numbers = Selection(tuple(choice for choice in wanted.choices if choice.kind == "fix"))
    try:
        _resolve(numbers, env, cwd)
    except SelectionError as error:
        if same:
            raise
        notes = (f"{error.what}, as far as can be told here; {command[0]} may know more",)
    return (*notes, *(_uninstalled(wanted, command, env, cwd) if same else ()))


UNINSTALLED = "not seen here: "
"""How a note begins that says which packages, or files of a diff, are not there."""


def _uninstalled(wanted: Selection, command: Sequence[str], env: Mapping[str, str], cwd: str) -> tuple[str, ...]:
    """For each choice of which nothing is installed, that it is so. No error: a command may add to its path what is
    not seen from here."""
    from prtoggle.library import Library
    from prtoggle.subjects import nowhere

    script = next((os.path.join(cwd, word) for word in command[1:] if word.endswith(".py")), cwd)
    library = Library(path=[os.path.dirname(script), *_search_path(env, cwd)], environ=env)
    found = []
    for choice in wanted.choices:
        try:
            nowhere(choice, library)
        except PrtoggleError as error:
            found.append(f"{UNINSTALLED}{error.what}")
    return tuple(found)


def _resolve(numbers: Selection, env: Mapping[str, str], cwd: str) -> None:
    if numbers.is_none:
        return
    from prtoggle import catalog

    path = _search_path(env, cwd)
    known = catalog.load(environ=dict(env), sys_path=path, registries=installed.registries(path), diff_fix=_no_diff)
    known.resolve(numbers)


def _no_diff(path: str) -> Fix:
    raise SelectionError(f"{path} is no number")


def _search_path(env: Mapping[str, str], cwd: str) -> list[str]:
    """What the command's Python would search, were it this one: its folder, its PYTHONPATH, then what is installed."""
    own = [entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry]
    return list(dict.fromkeys([cwd, *own, *installed.search_path()]))


def same_python(command: Sequence[str], env: Mapping[str, str], cwd: str) -> bool:
    """Whether ``command`` certainly runs under the Python that runs this: by its own path, or its script's first
    line."""
    name = command[0]
    found = shutil.which(os.path.join(cwd, name) if os.sep in name else name, path=env.get("PATH"))
    if found is None:
        return False
    return _is_this(found) or _is_this(shebang(found))


def _is_this(path: str) -> bool:
    """Folders are compared as they are written: a virtual environment's Python is a link to another one's."""
    ours = os.path.dirname(os.path.abspath(sys.executable))
    return os.path.basename(path).startswith("python") and os.path.dirname(os.path.abspath(path)) == ours


def shebang(path: str) -> str:
    """The program that a script's first line names, or an empty string."""
    try:
        with open(path, "rb") as file:
            first = file.readline(512)
    except OSError:
        return ""
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    return words[0] if words else ""
