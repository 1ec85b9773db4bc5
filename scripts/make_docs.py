"""Writes what is made from the code: ``docs/commands.md`` from the commands themselves (their help, options, examples
and exit codes), ``docs/reference/api.md`` from docstrings, and the schema that lies in the package.

Tests keep the files and the code together.

Example::

    python scripts/make_docs.py           # writes them
    python scripts/make_docs.py --check   # exit 1 if one is stale
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "commands.md"
API = ROOT / "docs" / "reference" / "api.md"

HEAD = """\
# Commands

<!-- Made by scripts/make_docs.py from the commands' own help: do not edit. -->

Data goes to stdout, words to stderr. `-h` shows what stands here. Colour only on a terminal (`NO_COLOR` turns it off);
progress for what takes over two seconds. `prtoggle -h` says how to switch shell completion on.

## Exit codes

| code | means |
|---|---|
| 0 | fine |
| 1 | the answer is no: rot, not proven, something bad |
| 2 | what was typed is wrong: grammar, an unknown fix or part, variables that differ |
| 3 | understood, and refused: it does not apply, it conflicts, a file is malformed |
| 4 | inconclusive: a release could not be had, a case could not be run |
| 70 | a bug in prtoggle (`PRTOGGLE_DEBUG=1` shows the traceback) |
| 125 | `run`: the revert was not in force |
| 130 | interrupted |
| 141 | nobody reads what is printed (`prtoggle list \\| head -1`) |

[Exit codes](reference/exit-codes.md) says what to do about each.
"""


def text() -> str:
    """The whole document."""
    from prtoggle.cli import COMMANDS, main

    context = click.Context(main, info_name="prtoggle")
    sections = [HEAD]
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        sections.append(section(name, command))
    return "\n".join(sections)


def section(name: str, command: click.Command) -> str:
    """One command."""
    examples, codes = _epilog(command)
    assert codes, f"{name} -h names no exit codes"
    lines = [f"## {name}", "", f"    {usage(name, command)}", "", *_paragraphs(command.help or ""), ""]
    rows = [option(parameter) for parameter in command.params if isinstance(parameter, click.Option)]
    if rows:
        lines += ["| option | |", "|---|---|", *rows, ""]
    lines += ["```text", *examples, "```", "", f"Exit codes: {codes}", ""]
    return "\n".join(lines)


def usage(name: str, command: click.Command) -> str:
    """The line that says how it is called."""
    words = ["prtoggle", name, "[OPTIONS]"]
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            shown = parameter.metavar or (parameter.name or "").upper()
            words.append(shown if parameter.required or shown.startswith("[") else f"[{shown}]")
    return " ".join(words)


def option(parameter: click.Option) -> str:
    """The row of one option."""
    kind = parameter.type
    value = parameter.metavar or ("|".join(kind.choices) if isinstance(kind, click.Choice) else "")
    value = "" if parameter.is_flag else f" {value or 'TEXT'}"
    names = ", ".join(f"`{name}{value}`" for name in (*parameter.opts, *parameter.secondary_opts)).replace("|", "\\|")
    words = _plain(" ".join((parameter.help or "").split()))
    if parameter.show_default and parameter.default is not None:
        words += f" Default: {parameter.default}."
    return f"| {names} | {words} |"


def _plain(text: str) -> str:
    """``text`` as Markdown: what stands in angle brackets is no element."""
    return text.replace("<", "\\<")


def _paragraphs(help_text: str) -> list[str]:
    return _plain(inspect.cleandoc(help_text).replace("\b\n", "")).splitlines()


def _epilog(command: click.Command) -> tuple[list[str], str]:
    """The lines of the examples, and the sentence of the exit codes."""
    paragraphs = [part.strip("\b\n") for part in (command.epilog or "").split("\n\n")]
    examples: list[str] = []
    codes = ""
    for part in filter(None, paragraphs):
        first, _, rest = part.partition("\n")
        if first.startswith("Examples:"):
            examples = [line.removeprefix("  ") for line in rest.splitlines()]
        elif first.startswith("Exit code"):
            words = " ".join(part.split())
            codes = words.removeprefix("Exit codes: ").removeprefix("Exit code ")
    assert examples, f"{command.name} has no examples"
    return examples, codes


def made() -> dict[Path, str]:
    """Every file that is made, and what it is to hold."""
    from apidoc import text as api

    from prtoggle import schema

    return {DOCUMENT: text(), API: api(), schema.FILE: schema.text()}


def main() -> int:
    sys.path.insert(0, str(ROOT))
    stale = [
        file for file, content in made().items() if not file.is_file() or file.read_text(encoding="utf-8") != content
    ]
    if "--check" not in sys.argv[1:]:
        for file in stale:
            file.write_text(made()[file], encoding="utf-8")
        return 0
    for file in stale:
        print(f"{file.name} is stale: run `python scripts/make_docs.py`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
