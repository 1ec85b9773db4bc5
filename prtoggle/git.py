"""Git, asked one question in one way.

The folder alone says which repository: variables such as ``GIT_DIR``, which git sets for its hooks, are not passed on.
It runs no monitor that the repository names, takes no locks, asks nobody for a password, speaks English, and has to
end. Whose repositories it reads (``safe.directory``) stays its user's to say: one of somebody else can name filters,
which are programs.

Example::

    asked = ask(Path("."), "rev-parse", "HEAD")
    asked.out.strip() if asked.ok else asked.why      # b"5f1a..." or "not a git repository (or any ...)"
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SECONDS = 120.0

_OPTIONS = ("--no-replace-objects", "--literal-pathspecs", "-c", "core.quotepath=off", "-c", "core.fsmonitor=false")
_PLAIN = ("-c", "color.ui=false", "-c", "log.showSignature=0")
_KEPT = (
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT"),
    *("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH", "GIT_ASKPASS"),
)
_KEPT_HEADS = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_SSH", "GIT_SSL_")
_DUBIOUS = "dubious ownership"


@dataclass(frozen=True)
class Asked:
    """What git answered; ``code`` is None where it did not start, or not end."""

    code: int | None
    out: bytes = b""
    why: str = ""
    """What it said where it failed, in one line."""

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def ran(self) -> bool:
        """Whether it answered at all."""
        return self.code is not None


def ask(folder: Path, *words: str, given: bytes = b"", seconds: float = SECONDS) -> Asked:
    """``git`` with ``words`` in ``folder``, ``given`` on its stdin."""
    try:
        code, out, said = _run(["git", *_OPTIONS, *_PLAIN, *words], folder, given, seconds)
    except subprocess.TimeoutExpired:
        return Asked(None, why=f"git {words[0]} did not end within {seconds:g} s")
    except FileNotFoundError:
        return Asked(None, why="git is not installed" if folder.is_dir() else f"{folder} is no folder")
    except OSError as error:
        return Asked(None, why=f"git did not start: {error.strerror or error}")
    return Asked(code, out, _why(said) if code else "")


def _run(command: list[str], folder: Path, given: bytes, seconds: float) -> tuple[int, bytes, bytes]:
    """Its exit code, stdout and stderr; nothing that it started is left where it has to be ended."""
    env = environment(os.environ)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    ) as git:
        try:
            out, said = git.communicate(given, timeout=seconds)
        except BaseException:
            try:
                os.killpg(git.pid, signal.SIGKILL)  # filters too: they hold the pipes, which would be waited for
            except (OSError, AttributeError):
                git.kill()
            raise
    return git.returncode, out, said


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The variables that git gets: ``given`` without those that would have it look elsewhere, or speak otherwise."""
    kept = {name: value for name, value in given.items() if not name.startswith("GIT_") or _is_kept(name)}
    return {**kept, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "LC_ALL": "C"}


def _is_kept(name: str) -> bool:
    return name in _KEPT or name.startswith(_KEPT_HEADS)


def _why(said: bytes) -> str:
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    if any(_DUBIOUS in line for line in lines):
        return f"the repository belongs to somebody else; if you trust it: {lines[-1]}"
    # Where several lines are said, the first has the reason, and others what may be done: a warning is neither.
    named = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (named or lines or ["git failed and said nothing"])[0].removeprefix("fatal: ").removeprefix("error: ")
