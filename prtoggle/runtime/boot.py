"""Boot: what the ``.pth`` file runs at interpreter start when a selecting variable is set.

Finds out, without parsing YAML or the selection, which packages a reverse patch could be for, and puts the finder in
front of ``sys.meta_path``. Nothing is resolved yet, since ``sys.path`` is not complete. Idempotent; never raises:
whatever goes wrong ends in target packages that refuse to be imported.

Example (the ``.pth`` file does this)::

    from prtoggle.runtime import boot
    boot.boot()
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prtoggle.integrations import Integration
    from prtoggle.runtime.hook import Finder

VARIABLE = "PRTOGGLE_REVERT"
finder: Finder | None = None
"""The process's :class:`prtoggle.runtime.hook.Finder`, once booted with something selected."""


def boot() -> None:
    """Put the finder in place where a variable selects anything. Safe to call again."""
    global finder
    if finder is not None:
        return
    from prtoggle.integrations import all_integrations

    integrations = all_integrations()
    values = {VARIABLE: os.environ.get(VARIABLE)}
    for integration in integrations:
        values[integration.variable] = os.environ.get(integration.variable)
    own = (values[VARIABLE] or "").strip()
    theirs = any(integration.selects(values[integration.variable]) for integration in integrations)
    if not theirs and own in ("", "none"):
        return
    from prtoggle.runtime import hook, journal, notice

    packages = {integration.package for integration in integrations}
    problem = ""
    blind: list[str] = []
    try:
        cwd = os.getcwd()
    except OSError:
        cwd = "/"
    entries = os.environ.get("PRTOGGLE_PATH", "").split(os.pathsep)
    fix_path = os.pathsep.join(os.path.normpath(os.path.join(cwd, entry)) for entry in entries if entry.strip())
    try:
        found, blind = _packages(values, cwd, fix_path)
        packages.update(found)
    except Exception as error:
        problem = f"boot failed: {type(error).__name__}: {error}"
        blind.append(problem)  # for which packages it is could not be found out, so it is said
    made = hook.Finder(values, tuple(packages), integrations, cwd, fix_path)
    if problem:
        for package in packages:
            made.refuse(package, problem)
    finder = made
    sys.meta_path.insert(0, made)
    _watch(made)
    journal.start()
    wrong = _wrong(values, integrations)
    if wrong:
        notice.error(f"{wrong}; what it could be for is refused in this process")
    for reason in blind:
        reason += f"; {notice.describe(values)} may be for a package that cannot be told, and is not in force in it"
        journal.record("refused", package="?", reason=reason)
        notice.error(reason)
    made.look_back()


def _wrong(values: dict[str, str | None], integrations: tuple[Integration, ...]) -> str:
    """What is wrong with the text of the selection itself, in one line; empty where it can be parsed."""
    said = [value for value in values.values() if value is not None]
    if len(said) == 1 and _plain(said[0]):
        return ""
    from prtoggle import selection

    try:
        selection.from_environment({name: value for name, value in values.items() if value is not None}, integrations)
    except Exception as error:
        return "; ".join(line.strip() for line in str(error).splitlines())
    return ""


def _plain(text: str) -> bool:
    """Whether ``text`` is a number, or several, each with a part or without, so that it can be parsed: the usual
    selection, for which the grammar need not be loaded before a target is. Says no where it is in doubt."""
    for item in text.split(","):
        number, slash, part = item.partition("/")
        if not (item.isascii() and number.isdigit() and number[0] != "0" and len(number) <= 12):
            return False
        if slash and not (part.isalpha() and part.islower()):
            return False
    return True


def _packages(values: dict[str, str | None], cwd: str, fix_path: str) -> tuple[set[str], list[str]]:
    """Every package that a visible reverse patch, or a diff in the selection, could be for; and, of what could have
    been selected, what does not say so: no package can be refused for it."""
    from prtoggle.runtime import packagelines, sources

    found: set[str] = set()
    blind: list[str] = []
    selected = " ".join(value for value in values.values() if value)
    for _, path in sources.listed(fix_path):
        problem = "names no package"
        names: tuple[str, ...] = ()
        try:
            names = packagelines.package_names(sources.read(path).decode("utf-8", "replace"))
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}"
        if "prtoggle" in names:
            problem, names = "is for prtoggle itself, which cannot be reverted", ()
        found.update(names)
        number = sources.folder_number(path)
        if not names and (not number or number in selected or "all" in selected):
            blind.append(f"{path} {problem}")
    for source in sources.unreadable(fix_path):
        if source.kind == "path":
            blind.append(f"{sources.VARIABLE} {source.where}: {source.what}")
    for value in values.values():
        if value and (".diff" in value.lower() or ".patch" in value.lower()):
            from prtoggle.runtime import diffroots

            names_of_diffs, problems = diffroots.look(value, cwd)
            found.update(names_of_diffs)
            blind.extend(problems)
    return {name for name in found if name.isidentifier()}, blind


def _watch(made: Finder) -> None:
    """At the end of the process, say of planned modules that another hook loaded: a revert not in force is never
    silent."""
    import atexit

    def ended() -> None:
        from prtoggle.runtime import journal

        made.look_back()
        if made.planned:
            _told(made)
        journal.record("ended", loaded=sorted(made.loaded))

    atexit.register(ended)


def _told(made: Finder) -> None:
    """Say of what was planned that it got past the finder, or took no effect."""
    from prtoggle.runtime import journal, lookback, notice

    for package, reason in lookback.unreverted(made):
        journal.record("refused", package=package, reason=reason)
        notice.error(reason)
    unused = lookback.unused(made)
    if unused and not journal.wanted():  # prtoggle run says it of all processes together
        notice.say(f"note: took no effect here, since it was never imported: {'; '.join(unused)}")
