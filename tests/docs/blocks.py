"""The fenced blocks of a document, and the shell that its console blocks are run in.

A block's first line says what it is: the language, then words and ``key=value``::

    ```console                   run: "$ " begins a command, "> " continues it, the rest is what it prints
    ```console network           not run here: needs an index, ``gpu`` a GPU, ``torch`` torch, ``sglang`` SGLang,
                                 ``ray`` Ray, ``docker`` a container engine, ``cluster`` machines, ``venv`` wheels
                                 for an environment that the document makes
    ```yaml file=fixes/pr7_x/revert.yaml     written to that file of the document's folder before what follows is run

In expected output ``...`` stands for any text within a line, and alone on its line for any lines. A command that ends with
another exit code than 0 is followed by ``$ echo $?``.

Example::

    transcript = run_console(blocks_of(Path("docs/choosing.md")), folder)
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

NEEDS = frozenset({"network", "gpu", "torch", "sglang", "ray", "docker", "cluster", "venv"})
SHOWN_ROOT = "/srv/app"
"""What the folder of a document is called in it."""

_FENCE = re.compile(r"^```(\S[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LEFT_OUT = ("PRTOGGLE_", "SGLANG_", "PYTHON", "PYTEST_", "GITHUB_", "NO_COLOR", "COLUMNS", "_PRTOGGLE", "PIP_")
_MARK = "\x1e"


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the words after it, its text, and the line of its fence."""

    language: str
    words: tuple[str, ...]
    text: str
    line: int

    @property
    def file(self) -> str:
        """Where the block's text is to be written, or an empty string."""
        return next((word.partition("=")[2] for word in self.words if word.startswith("file=")), "")

    @property
    def needs(self) -> frozenset[str]:
        return NEEDS & set(self.words)


@dataclass(frozen=True)
class Command:
    """One command of a console block, and the output that the document shows."""

    text: str
    expected: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Outcome:
    """What a command printed, and its exit code."""

    command: Command
    printed: tuple[str, ...]
    code: int


def blocks_of(document: Path) -> tuple[Block, ...]:
    """Every fenced block of ``document`` that names a language."""
    text = document.read_text(encoding="utf-8")
    return tuple(
        Block(*_info(match[1]), match[2], text.count("\n", 0, match.start()) + 1) for match in _FENCE.finditer(text)
    )


def _info(text: str) -> tuple[str, tuple[str, ...]]:
    language, *words = text.split()
    return language, tuple(words)


def commands_of(block: Block) -> Iterator[Command]:
    """The commands of a console block; a line that begins with "> " continues the one before."""
    lines = block.text.splitlines()
    at = 0
    while at < len(lines):
        assert lines[at].startswith("$ "), f"line {block.line + at + 1}: output before any command: {lines[at]}"
        first = at
        command = lines[at][2:]
        at += 1
        while at < len(lines) and lines[at].startswith("> "):
            command += "\n" + lines[at][2:]
            at += 1
        begin = at
        while at < len(lines) and not lines[at].startswith("$ "):
            at += 1
        yield Command(command, tuple(lines[begin:at]), block.line + first + 1)


def run_document(
    blocks: Iterable[Block],
    folder: Path,
    *,
    given: frozenset[str] = frozenset(),
    env: Mapping[str, str] | None = None,
    seconds: float = 120,
) -> list[Outcome]:
    """Write the files and run the commands of a document, in its order, in one shell; output and errors together.

    ``given`` are the needs that are met: then the blocks with just these are run, and no others. They are run in ``app`` of
    ``folder``, where something may stand already.
    """
    script, commands = ["__code=0"], []
    for index, block in enumerate(blocks):
        if block.file:
            kept = folder / f".block{index}"
            kept.write_text(block.text, encoding="utf-8")
            target = f"'{block.file}'"
            script.append(f"mkdir -p \"$(dirname {target})\" && cp '{kept}' {target}")
        elif block.language == "console" and block.needs == given:
            for command in commands_of(block):
                commands.append(command)
                script.append(f"(exit $__code)\n{command.text}\n__code=$?; printf '{_MARK}%s{_MARK}' $__code")
    if not commands:
        return []
    work = folder / "app"
    work.mkdir(exist_ok=True)
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=work,
        env={**_environ(folder), **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=seconds,
    )
    pieces = done.stdout.split(_MARK)
    assert len(pieces) == 2 * len(commands) + 1, f"the shell stopped early:\n{done.stdout}"
    return [
        Outcome(command, tuple(_shown(pieces[2 * k], work).splitlines()), int(pieces[2 * k + 1]))
        for k, command in enumerate(commands)
    ]


def _environ(folder: Path) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return clean | {
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), clean.get("PATH", "")]),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "PYTHONUTF8": "1",
        "TERM": "dumb",
    }


def _shown(text: str, work: Path) -> str:
    return text.replace(str(work), SHOWN_ROOT).replace(str(work.parent / "home"), "/home/you")


def differences(outcomes: Sequence[Outcome]) -> list[str]:
    """What is not as the document shows it."""
    found = []
    for index, outcome in enumerate(outcomes):
        where = f"line {outcome.command.line}: $ {outcome.command.text}"
        if not matches(outcome.command.expected, outcome.printed):
            expected, printed = "\n".join(outcome.command.expected), "\n".join(outcome.printed)
            found.append(f"{where}\n--- the document shows\n{expected}\n--- was printed\n{printed}")
        after = outcomes[index + 1].command.text if index + 1 < len(outcomes) else ""
        if outcome.code and after != "echo $?":
            found.append(f"{where}\nended with {outcome.code}, and no `echo $?` follows\n" + "\n".join(outcome.printed))
    return found


def matches(expected: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether ``printed`` is what ``expected`` shows, its wildcards taken as such."""
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pieces = re.split(r"\.\.\.", re.sub(r"\bpid \d+", "pid ...", line.rstrip()))
            pattern += "[^\n]*?".join(map(re.escape, pieces)) + r"[ ]*\n"
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in printed)) is not None
