"""Run a command under a selection and say what happened.

The command gets ``PRTOGGLE_REVERT`` and no other selecting variable, a folder for its processes' journals, and this
process's terminal, streams and process group: Ctrl-C reaches it once, from the terminal; a signal sent to prtoggle is
passed on. While it runs its descendants are watched; afterwards the journals say what was in force.

Example::

    result = run(Trial("27360", ("python", "-m", "sglang.launch_server")))
    result.verdict, result.code         # ("in force", 0)
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from prtoggle import __version__, descendants, journals, runs, selection, waiting
from prtoggle.dependencies import install_line
from prtoggle.errors import UsageError
from prtoggle.integrations import all_integrations
from prtoggle.known import check, shebang
from prtoggle.result import Result, told
from prtoggle.runtime.journal import VARIABLE as JOURNAL
from prtoggle.runtime.sources import VARIABLE as PATH

TRACE = "PRTOGGLE_TRACE"
QUIET = "PRTOGGLE_QUIET"


class CommandError(UsageError):
    """The command could not be started: exit code 127 where it is not there, 126 where it cannot be executed, as in a
    shell."""

    def __init__(self, what: str, code: int, *, hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.exit_code = code


@dataclass(frozen=True)
class Trial:
    """One run of a command under one selection.

    Attributes:
        selection: what to revert, as text; ``none`` runs it fixed.
        command: its words.
        env: additions to its environment.
        fixes: folders of fixes, looked at before all others.
        trace: find out whether the reverted code is executed.
        quiet: no line of prtoggle's on the command's stderr.
        cwd: where it runs; None is here.
        folder: where journals go; None is a new one under the cache, where the last runs are kept.
        timeout: seconds until it and its processes are ended; None is for ever.
        stdout, stderr: as :class:`subprocess.Popen` takes them; None is as here.
        own_session: whether it is the leader of a session of its own, out of the terminal's reach; a command that ends
            its whole process group then does not end this process.
    """

    selection: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    fixes: tuple[str, ...] = ()
    trace: bool = False
    quiet: bool = False
    cwd: str | None = None
    folder: Path | None = None
    timeout: float | None = None
    stdin: int | IO[Any] | None = None
    stdout: int | IO[Any] | None = None
    stderr: int | IO[Any] | None = None
    own_session: bool = False


def run(
    trial: Trial,
    *,
    stop: Callable[[], bool] = lambda: False,
    on_notes: Callable[[tuple[str, ...]], None] = lambda notes: None,
) -> Result:
    """Run ``trial`` to its end.

    Args:
        stop: asked now and then; once true, the command and its processes are ended.
        on_notes: called before the command starts, with what a person should know by then.

    Raises:
        SelectionError: the selection does not parse, or names what nobody here can know.
        MalformedError: a diff in it is none.
        CommandError: the command could not be started.
    """
    if not trial.command:
        raise UsageError("no command to run", hint="prtoggle run SELECTION -- COMMAND")
    cwd = os.path.abspath(trial.cwd) if trial.cwd else os.getcwd()
    wanted = selection.absolute(selection.parse(trial.selection), cwd)
    env, notes = environment(trial, wanted, cwd)
    notes += check(wanted, trial.command, env, cwd)
    if not wanted.is_none:
        notes += _without_prtoggle(trial.command, env, cwd)
    on_notes(notes)
    folder = trial.folder or runs.create()
    if not wanted.is_none:
        env[JOURNAL] = str(folder)
    about = {
        "prtoggle": __version__,
        "command": list(trial.command),
        "selection": str(wanted),
        "cwd": cwd,
        "pid": os.getpid(),
        "start": time.time(),
        "traced": env.get(TRACE) == "1",
    }
    runs.describe(folder, about)
    begun = time.monotonic()
    with waiting.Signals() as signals:
        try:
            process = _start(trial, env, cwd, signals)
        except CommandError:
            if trial.folder is None:
                runs.discard(folder)
            raise
        watch = descendants.Watch(process.pid, str(folder))
        end = waiting.wait(process, watch, signals, timeout=trial.timeout, stop=stop)
    result = Result(
        code=end.code,
        selection=str(wanted),
        command=trial.command,
        folder=str(folder),
        seconds=time.monotonic() - begun,
        traced=env.get(TRACE) == "1",
        interrupted=end.interrupted,
        timed_out=end.timed_out,
        notes=notes,
    )
    if not wanted.is_none:
        result = _look_back(result, wanted, folder, watch)
    runs.describe(folder, {**about, "end": time.time(), "result": result.to_json()})
    return result


def environment(trial: Trial, wanted: selection.Selection, cwd: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The command's environment, but for the journal's place, and notes on what was taken out of it."""
    env = {**os.environ, **trial.env}
    notes = []
    for integration in all_integrations():
        removed = env.pop(integration.variable, None)
        if integration.selects(removed):
            notes.append(f"{integration.variable}={removed} is set here and not passed on: the selection is {wanted}")
    env.pop(JOURNAL, None)
    if wanted.is_none:
        env.pop(selection.VARIABLE, None)
    else:
        env[selection.VARIABLE] = str(wanted)
    # Absolute, so that it means the same in processes that change their folder.
    folders = [*trial.fixes, *(entry for entry in env.get(PATH, "").split(os.pathsep) if entry.strip())]
    if folders:
        env[PATH] = os.pathsep.join(os.path.normpath(os.path.join(cwd, folder)) for folder in folders)
    if trial.trace:
        env[TRACE] = "1"
    if trial.quiet:
        env[QUIET] = "1"
    return env, tuple(notes)


def _without_prtoggle(command: tuple[str, ...], env: Mapping[str, str], cwd: str) -> tuple[str, ...]:
    """That the command is a Python for which prtoggle is not installed, as far as its folders tell."""
    name = command[0]
    found = shutil.which(os.path.join(cwd, name) if os.sep in name else name, path=env.get("PATH"))
    if found is None or not os.path.basename(found).startswith("python") or shebang(found):
        return ()  # a script of that name (pyenv's) starts a Python that is not known here
    if descendants.has_pth(os.path.realpath(found), (found,), env):
        return ()
    return (f"prtoggle is not installed for {found}: {install_line(found)}; prtoggle doctor says more",)


def _start(trial: Trial, env: dict[str, str], cwd: str, signals: waiting.Signals) -> subprocess.Popen[bytes]:
    name = trial.command[0]
    try:
        return subprocess.Popen(
            trial.command,
            env=env,
            cwd=cwd,
            stdin=trial.stdin,
            stdout=trial.stdout,
            stderr=trial.stderr,
            start_new_session=trial.own_session,
            preexec_fn=signals.restore if signals.held else None,
        )
    except FileNotFoundError:
        hint = _not_found(trial.command, cwd)
        raise CommandError(f"{name}: command not found", 127, hint=hint) from None
    except OSError as error:
        raise CommandError(f"{name}: cannot be executed: {error.strerror or error}", 126) from None
    except ValueError as error:
        raise CommandError(f"{name!r}: cannot be executed: {error}", 126) from None


_OF_SHELLS = ("cd", "export", "source", ".", "exec", "ulimit", "set", "unset", "alias", "eval", "if", "for", "while")


def _not_found(command: tuple[str, ...], cwd: str) -> str:
    """What to do where the first word of a command is no program."""
    name = command[0]
    if os.sep in name and os.path.exists(os.path.join(cwd, name)):
        return "its first line names an interpreter that is not there"
    if " " in name.strip():
        return f"leave the quotes out, each word is an argument of its own: -- {' '.join(name.split())}"
    variable, equals, _ = name.partition("=")
    if equals and variable.isidentifier():
        return f"to set a variable, put env before it: -- env {shlex.join(command)}"
    if name in _OF_SHELLS:
        return f"{name} is the shell's own: -- sh -c {shlex.quote(' '.join(command) + ' && ...')}"
    return "what follows -- is run as it is, without a shell"


def _look_back(result: Result, wanted: selection.Selection, folder: Path, watch: descendants.Watch) -> Result:
    entries = journals.read(folder)
    found = told(entries, wanted, traced=result.traced)
    return replace(
        result,
        processes=found.processes,
        in_force=found.in_force,
        refused=found.refused,
        never_imported=found.never_imported,
        unused=found.unused,
        labels=found.labels,
        plan_notes=found.plan_notes,
        unreached=descendants.unreached(watch.pythons, entries, selection=str(wanted), journal=str(folder)),
        still_running=watch.still_running(helpers=False),
        blind=descendants.BLIND_SPOTS
        if descendants.SEES
        else ("descendants: they are watched through /proc, on Linux alone",),
        notes=result.notes + found.notes,
    )
