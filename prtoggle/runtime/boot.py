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

VARIABLE = "PRTOGGLE_REVERT"
finder: object | None = None
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
    from prtoggle.runtime import hook, journal

    packages = {integration.package for integration in integrations}
    problem = ""
    try:
        cwd = os.getcwd()
    except OSError:
        cwd = "/"
    entries = os.environ.get("PRTOGGLE_PATH", "").split(os.pathsep)
    fix_path = os.pathsep.join(os.path.normpath(os.path.join(cwd, entry)) for entry in entries if entry.strip())
    try:
        packages.update(_packages(values, cwd, fix_path))
    except Exception as error:
        problem = f"boot failed: {type(error).__name__}: {error}"
    made = hook.Finder(values, tuple(packages), integrations, cwd, fix_path)
    if problem:
        for package in packages:
            made.refuse(package, problem)
    finder = made
    sys.meta_path.insert(0, made)
    _watch(made)
    journal.start()


def _packages(values: dict[str, str | None], cwd: str, fix_path: str) -> set[str]:
    """Every package that a visible reverse patch, or a diff in the selection, could be for."""
    from prtoggle.runtime import packagelines, sources

    found: set[str] = set()
    for _, path in sources.listed(fix_path):
        try:
            with open(path, "rb") as file:
                found.update(packagelines.package_names(file.read().decode("utf-8", "replace")))
        except OSError:
            continue
    for value in values.values():
        if value and (".diff" in value or ".patch" in value):
            from prtoggle.runtime import diffroots

            found.update(diffroots.roots(value, cwd))
    return {name for name in found if name.isidentifier()}


def _watch(made: object) -> None:
    """At the end of the process, say of planned modules that another hook loaded: a revert not in force is never
    silent."""
    import atexit

    def ended() -> None:
        from prtoggle.runtime import hook, journal

        bad = made.check()  # type: ignore[attr-defined]
        for name in bad:
            reason = f"{name} was loaded by another import hook, without its revert"
            journal.record("refused", package=name.partition(".")[0], reason=reason)
            hook.say(f"ERROR: {reason}")
        journal.record("ended", loaded=sorted(made.loaded))  # type: ignore[attr-defined]

    atexit.register(ended)
