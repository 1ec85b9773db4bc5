"""The command ``prtoggle``: one file a command, each of which parses, calls and renders.

A command is loaded when it is called, by name: ``prtoggle NAME`` imports ``prtoggle.cli.NAME`` and takes its
``command``. A command may return its exit code; what it raises is turned into one by :mod:`prtoggle.cli.errors`.

Example::

    prtoggle --version
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from prtoggle import __version__
from prtoggle.dependencies import EXIT_CODE, missing

try:
    import click
except ModuleNotFoundError as error:
    if not missing(error.name or ""):
        raise
    print(missing(error.name or ""), file=sys.stderr)
    raise SystemExit(EXIT_CODE) from None

from prtoggle.cli.errors import CLOSED_PIPE, guarded
from prtoggle.errors import UsageError, did_you_mean

COMMANDS = {
    "list": "The fixes, their parts, and what each would do to what is installed here.",
    "show": "One fix: symptom, parts, variants, and how SGLang's own toggle differs.",
    "diff": "The revert as a unified diff that `git apply` takes.",
    "check": "The verdict for every part and release; exit 1 on rot.",
    "run": "Run a command with a selection reverted in all its processes.",
    "revert": "Take a selection out of processes that run, or out of files (also: apply).",
    "restore": "Put it back into them.",
    "status": "Which processes run with which reverts.",
    "prove": "Run each scenario fixed and reverted: does it behave as claimed?",
    "bisect": "Which of many reverts makes a command fail, or keeps it from failing.",
    "demo": "Two of the fixes that come with prtoggle, fixed and reverted side by side.",
    "new": "Write a reverse patch from a commit, a diff or two releases.",
    "port": "Propose a variant for a release that a fix does not apply to.",
    "explain": "A page of the documents: what the last line of an error names.",
    "schema": "The JSON Schema of reverse patches, for editors.",
    "doctor": "What is wrong with this installation.",
}
"""Every command and its line in the help, in the order of the help."""


ALIASES = {"apply": "revert"}
"""Other names of commands: to take a fix out is to apply its reverse patch."""


class Commands(click.Group):
    """A group that imports a command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"prtoggle.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in ALIASES:
            args = [ALIASES[args[0]], *args[1:]]
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = "--help" if args[0] in ("help", "usage") else did_you_mean(args[0], tuple(COMMANDS))
            raise UsageError(
                f"no command {args[0]!r}", nearest=f"prtoggle {near}" if near else "", hint="prtoggle --help lists them"
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:
            if error.page == UsageError.page and ctx.invoked_subcommand in COMMANDS:
                error.page += f"#{ctx.invoked_subcommand}"
            raise
        except BrokenPipeError:
            raise click.exceptions.Exit(CLOSED_PIPE) from None  # click would make it 1, which is an answer of ours

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> Any:  # type: ignore[override]
        """Run, and exit with the code of DESIGN section 9."""
        if not extra.pop("standalone_mode", True):
            return super().main(args, standalone_mode=False, **extra)
        extra.setdefault("prog_name", "prtoggle")
        sys.exit(guarded(lambda: super(Commands, self).main(args, standalone_mode=False, **extra)))


_EPILOG = """\b
Examples:
  prtoggle list
  prtoggle run 27360 -- python -m sglang.launch_server ...
  prtoggle diff 27360/slice
  prtoggle check 24401 27360 --against 'sglang>=0.5.13'

\b
Shell completion:
  bash:  eval "$(_PRTOGGLE_COMPLETE=bash_source prtoggle)"
  zsh:   eval "$(_PRTOGGLE_COMPLETE=zsh_source prtoggle)"
  fish:  _PRTOGGLE_COMPLETE=fish_source prtoggle | source

\b
Exit codes: 0 fine; 1 the answer is no; 2 what was typed is wrong; 3 refused;
4 inconclusive; 70 a bug in prtoggle; 125 `run`: the revert was not in force;
130 interrupted.
"""


@click.group(
    cls=Commands,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="prtoggle")
def main() -> None:
    """Take a merged fix back out of an installed package, at run time, in every process."""
