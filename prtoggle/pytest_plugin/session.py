"""A selection taken out of a whole session: this process, the workers of pytest-xdist, and what tests start.

Set in the environment, so that every process which starts from here takes it out at import, and booted in this
process before conftest files are loaded. Where that is too late, or the environment says something else, pytest ends
before any test (exit code 4). What the processes did is read from their journals at the end: a revert that was refused,
or that none of them ever needed, fails the session with exit code 125, as ``prtoggle run`` does.

Example::

    held = begin(config, "27360")
    held.words          # "27360 is reverted in this session, and in every process that it starts (--revert)"
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from prtoggle import selection
from prtoggle.errors import PrtoggleError
from prtoggle.integrations import all_integrations
from prtoggle.pytest_plugin import SESSION, child
from prtoggle.runtime import boot, journal, resolve, sources

if TYPE_CHECKING:
    from pathlib import Path

NOT_IN_FORCE = 125


class Session:
    """What is taken out of a session.

    Attributes:
        selection: canonical text; never ``none``.
        words: for the header.
        tests_ran: whether any test did, here or in a worker.
        problems: why the session says nothing of the reverted state; lines for the summary.
    """

    def __init__(self, text: str, words: str) -> None:
        self.selection = text
        self.words = words
        self.tests_ran = False
        self.problems: tuple[str, ...] = ()
        self._before: dict[str, str | None] = {}
        self._folder = ""

    def set(self, name: str, value: str | None) -> None:
        """Set a variable until the session ends."""
        self._before.setdefault(name, os.environ.get(name))
        _set(name, value)

    def keep_journals(self) -> None:
        """Have all processes of the session write what they do, where nobody else has."""
        if not os.environ.get(journal.VARIABLE):
            self._folder = tempfile.mkdtemp(prefix="prtoggle-pytest-")
            self.set(journal.VARIABLE, self._folder)

    def judge(self, session: pytest.Session) -> None:
        """At the end: was it in force?"""
        if not self._folder or hasattr(session.config, "workerinput"):
            return
        from pathlib import Path

        self.problems = _problems(Path(self._folder), self.selection, session, self.tests_ran)
        if self.problems and session.exitstatus in (0, 1, 5):
            session.exitstatus = NOT_IN_FORCE

    def end(self) -> None:
        """Put the environment back, and what can be of this process."""
        for name, value in self._before.items():
            _set(name, value)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        finder = boot.finder
        if self._before and finder is not None and not finder.loaded and not finder.refused:
            if finder in sys.meta_path:
                sys.meta_path.remove(finder)
            boot.finder = None


def begin(config: pytest.Config, asked: str | None) -> None:
    """Put what ``--revert`` asks for in force, or raise :class:`pytest.UsageError`."""
    if child.running():
        return
    try:
        held = _begin(asked, str(config.invocation_params.dir))
    except PrtoggleError as error:
        raise pytest.UsageError(f"prtoggle: {error}") from None
    if held is not None:
        config.stash[SESSION] = held


def _begin(asked: str | None, cwd: str) -> Session | None:
    present = selection.from_environment(os.environ, all_integrations())
    if asked is None:
        if present is None or present[0].is_none:
            if boot.finder is not None:
                _fail(
                    "an earlier session of this process took a fix out of what is imported; this one is to be fixed",
                    "start pytest in a new process",
                )
            return None
        if boot.finder is None:
            _fail(f"{present[1]}={os.environ[present[1]]} is not in force in this process", "prtoggle doctor says why")
        where = f"({present[1]})"
        text = str(present[0])
        return Session(text, f"{text} is reverted in this session, and in every process that it starts {where}")
    wanted = selection.absolute(selection.parse(asked, where="--revert"), cwd)
    text = str(wanted)
    _agree(text, cwd)
    if wanted.is_none:
        return None
    held = Session(text, f"{text} is reverted in this session, and in every process that it starts (--revert)")
    try:
        _put_in_force(held, text, cwd)
    except BaseException:
        held.end()
        raise
    return held


def _agree(text: str, cwd: str) -> None:
    """Raise where the environment selects something else than ``text``."""
    environ = {name: value for name, value in os.environ.items() if name != selection.VARIABLE}
    own = os.environ.get(selection.VARIABLE)
    if own is not None and own.strip():
        known = str(selection.absolute(selection.parse(own, where=selection.VARIABLE), cwd))
        if known != text:
            _fail(
                f"--revert {text} and {selection.VARIABLE}={own} are both set and differ",
                "unset the variable, or leave the option out",
            )
    selecting = {i.variable for i in all_integrations() if i.selects(environ.get(i.variable))}
    for name in [i.variable for i in all_integrations()]:
        if name not in selecting:
            environ.pop(name, None)
    if selecting:
        selection.from_environment({**environ, selection.VARIABLE: text}, all_integrations())


def _put_in_force(held: Session, text: str, cwd: str) -> None:
    for integration in all_integrations():
        if os.environ.get(integration.variable) is not None and not integration.selects(
            os.environ[integration.variable]
        ):
            held.set(integration.variable, None)
    started_so = boot.finder is not None
    if started_so and not os.environ.get(selection.VARIABLE):
        _fail("an earlier session of this process took another fix out of what is imported", "start a new process")
    if not started_so:
        _not_too_late(text, cwd)
        held.set(selection.VARIABLE, text)
        held.keep_journals()
        folders = [entry for entry in os.environ.get(sources.VARIABLE, "").split(os.pathsep) if entry.strip()]
        if folders:
            held.set(sources.VARIABLE, os.pathsep.join(os.path.abspath(folder) for folder in folders))
        boot.boot()
    if boot.finder is None:
        _fail(f"{text} could not be put in force in this process", "prtoggle doctor says why")
    answer = _ask("prtoggle_fixes", text, cwd)
    if answer.get("code") == 2:  # nobody knows it, whatever is imported later
        _fail(str(answer["refused"]), "")


def _not_too_late(text: str, cwd: str) -> None:
    """Raise where something that is to be reverted is imported already, by another plugin."""
    packages, _ = boot._packages({boot.VARIABLE: text}, cwd, os.environ.get(sources.VARIABLE, ""))
    for package in sorted({*packages, *(integration.package for integration in all_integrations())}):
        if package in sys.modules:
            planned = [entry[0] for entry in _ask(package, text, cwd).get("modules", ())]
            early = [name for name in planned if name in sys.modules]
            if early:
                _fail(
                    f"{', '.join(early)} is imported already, before --revert can take {text} out of it: by another "
                    "plugin of pytest, or by who called it",
                    f"start Python with it: {selection.VARIABLE}={text} python -m pytest ...",
                )


def _ask(package: str, text: str, cwd: str) -> dict[str, Any]:
    """What the selection means in ``package``, as it would be imported now; nothing is decided by that."""
    from importlib.util import find_spec

    find = (lambda name: boot.finder._ask_others(name, None, None)) if boot.finder is not None else find_spec
    try:
        spec = getattr(sys.modules.get(package), "__spec__", None) or find(package)
    except (ImportError, ValueError, AttributeError):
        return {}
    if spec is None:
        return {}
    locations = [os.path.abspath(entry) for entry in spec.submodule_search_locations or ()]
    fix_path = os.pathsep.join(
        os.path.abspath(entry) for entry in os.environ.get(sources.VARIABLE, "").split(os.pathsep) if entry.strip()
    )
    values: dict[str, str | None] = {boot.VARIABLE: text}
    origin = spec.origin if spec.has_location else None
    return resolve.resolve(package, locations, origin, values, cwd, fix_path, all_integrations())


def _problems(folder: Path, text: str, session: pytest.Session, tests_ran: bool) -> tuple[str, ...]:
    from prtoggle.journals import read
    from prtoggle.result import told

    found = told(read(folder), selection.parse(text), traced=False)
    lines = [f"{each.package} could not be imported reverted: {each.reason}" for each in found.refused]
    if lines or not tests_ran or session.config.getoption("revert_allow_unused"):
        return tuple(lines)
    never = {each.module: each for each in found.never_imported}
    for name in found.unused if found.in_force else (text,):
        number = name.partition("/")[0]
        modules = [m for m, each in never.items() if any(p == number or p.startswith(f"{number}/") for p in each.parts)]
        what = ", ".join(modules) or "what it changes"
        lines.append(f"{name} took no effect: no process of this session imported {what}")
    return tuple(lines)


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _fail(what: str, hint: str) -> None:
    from prtoggle.errors import UsageError

    raise UsageError(what, hint=hint, page="guides/guard-a-fix-with-a-test#a-session")
