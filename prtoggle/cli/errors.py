"""From what a command raises to words on stderr and an exit code (DESIGN section 9).

Example::

    sys.exit(guarded(lambda: command()))
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import TextIO

import click

from prtoggle.dependencies import EXIT_CODE, missing
from prtoggle.errors import InconclusiveError, MalformedError, PrtoggleError, UsageError

BUG = 70
INTERRUPTED = 130
CLOSED_PIPE = 141  # 128 + SIGPIPE: what a program that does not catch it ends with
DEBUG = "PRTOGGLE_DEBUG"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_NOT_WRITTEN = "reference/exit-codes#4-inconclusive"


def guarded(call: Callable[[], object]) -> int:
    """The exit code of ``call``: what it returns where that is a number, else 0; what it raises is said on stderr."""
    _open_what_is_closed()
    code = _code(call)
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        discard(sys.stderr)
    return code


def _code(call: Callable[[], object]) -> int:
    try:
        code = call()
        sys.stdout.flush()
    except PrtoggleError as error:
        say(describe(error))
        return error.exit_code
    except click.ClickException as error:
        say(of_click(error))
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        say("prtoggle: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return CLOSED_PIPE
    except Exception as error:
        lacking = missing(error.name or "") if isinstance(error, ModuleNotFoundError) else ""
        if lacking:
            say(lacking)
            return EXIT_CODE
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            _discard_stdout()
            return CLOSED_PIPE
        if isinstance(error, OSError) and error.errno in _FULL:
            _discard_stdout()
            what = error.filename or "what was to be shown"
            told = InconclusiveError(f"{what} could not be written: {error.strerror}", page=_NOT_WRITTEN)
            say(describe(told))
            return told.exit_code
        say(_bug(error))
        return BUG
    return code if isinstance(code, int) and not isinstance(code, bool) else 0


def describe(error: PrtoggleError) -> str:
    """The words for an error that prtoggle raised on purpose."""
    if isinstance(error, MalformedError) and len(error.problems) > 1:
        return f"prtoggle: {len(error.problems)} problems\n{error}"
    return f"prtoggle: {error}"


def of_click(error: click.ClickException) -> str:
    """The words for an error of the command line's parser, as prtoggle's own have them."""
    what = error.format_message().strip()
    if what.startswith("Usage: "):  # nothing was typed: the help is all that is to be said
        return what
    what = what.removesuffix(".")
    nearest, hint = "", ""
    if isinstance(error, click.NoSuchOption):
        what = f"no such option: {error.option_name}"
        nearest = (sorted(error.possibilities or ()) or [""])[0]
    elif what.startswith("Got unexpected extra argument"):
        what = f"one argument too many: {what.partition('(')[2].rstrip(')')}"
    page = ""
    context = getattr(error, "ctx", None)
    if context is not None:
        if what.startswith("one argument") and any(each.name == "selection" for each in context.command.params):
            hint = "several fixes are one argument: 27360,24401; "
        hint += f"{context.command_path} -h shows how it is called"
        page = f"{UsageError.page}#{context.info_name}" if context.parent is not None else ""
    return describe(UsageError(what[:1].lower() + what[1:], nearest=nearest, hint=hint.removesuffix("; "), page=page))


def say(text: str) -> None:
    """Words on stderr, also where stderr cannot take them all."""
    try:
        click.echo(text, err=True)
    except (OSError, ValueError):
        discard(sys.stderr)


def _bug(error: Exception) -> str:
    if os.environ.get(DEBUG, "") not in ("", "0"):
        import traceback

        return traceback.format_exc() + "prtoggle: a bug in prtoggle"
    return f"prtoggle: a bug in prtoggle: {type(error).__name__}: {error}\n  hint: {DEBUG}=1 shows the traceback"


def _open_what_is_closed() -> None:
    """Who closed a stream (``>&-``) wants nothing there: it is the null device, and no file that is opened later."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - until the end


def _discard_stdout() -> None:
    """The reader is gone, or the disk is full."""
    discard(sys.stdout)


def discard(stream: TextIO) -> None:
    """Lead ``stream`` to nowhere: it takes nothing, and the interpreter would make that an exit code of its own."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        pass
