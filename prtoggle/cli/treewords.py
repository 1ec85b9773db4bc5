"""What ``revert``, ``restore`` and ``status`` share of ``--tree``: options, and what they say of files.

Example::

    @tree_options
    def command(pids, tree, dry_run, fixes, ...): pids_or_tree(pids, tree, dry_run, fixes)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from prtoggle.cli import render
from prtoggle.cli.context import fixes_option
from prtoggle.errors import UsageError
from prtoggle.packages import restore_words

if TYPE_CHECKING:
    from prtoggle.patching.answer import Answer
    from prtoggle.patching.state import State

F = TypeVar("F", bound=Callable[..., Any])


def tree_options(command: F) -> F:
    """``--tree DIR``, ``--dry-run`` and ``--fixes``."""
    command = fixes_option(command)
    command = click.option("--dry-run", is_flag=True, help="With --tree: say what would be done, and do nothing.")(
        command
    )
    return tree_option("The files in DIR: a checkout, a site-packages, the package's folder or an environment.")(
        command
    )


def tree_option(words: str) -> Callable[[F], F]:
    """``--tree DIR`` (``tree``)."""
    return click.option("--tree", metavar="DIR", type=_Folder(path_type=Path), help=words)


class _Folder(click.Path):
    """A path that says something: an empty one, from a variable that is not set, would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            raise UsageError("--tree is empty", hint="name a folder; the current one is: --tree .")
        return super().convert(value, param, ctx)


def pids_or_tree(pids: Sequence[int], tree: Path | None, dry_run: bool, fixes: Sequence[Path]) -> None:
    """Raises UsageError where it is not one of the two, or where an option is for the other."""
    if pids and tree is not None:
        raise UsageError("--pid and --tree stand together", hint="change a process that runs, or files, one at a time")
    if not pids and tree is None:
        raise UsageError(
            "neither --pid nor --tree says where",
            hint="--pid N is a process that runs, --tree DIR the files of a package",
        )
    for name, given in (("--dry-run", dry_run), ("--fixes", bool(fixes))):
        if pids and given:
            raise UsageError(f"{name} is for --tree", hint="a process knows the fixes that it was started with")


def report_tree(answer: Answer, as_json: bool, *, tree: Path) -> int:
    """What was done, or would be."""
    if as_json:
        render.json({**asdict(answer), "exit_code": 0})
        return 0
    if answer.mended:
        render.words(f"prtoggle: {answer.mended}")
    would = "would be " if answer.dry_run else ""
    for file in answer.files:
        render.out(f"{file.path}: {would}{'without ' + ', '.join(file.parts) if file.parts else 'as it was'}")
    for path in answer.forgotten:
        render.words(f"prtoggle: {path}: left as it is")
    for note in answer.notes:
        render.words(f"prtoggle: {note}")
    render.words(f"prtoggle: {_summary(answer, tree)}")
    if answer.reverted and not answer.dry_run:
        render.words(f"prtoggle: to put it back: {restore_words(Path(answer.tree))}")
    return 0


def _summary(answer: Answer, tree: Path) -> str:
    where = answer.tree or str(tree)
    would = "would be " if answer.dry_run else ""
    packages = ", ".join(f"{name} {version}".strip() for name, version in answer.packages)
    said = [f"{', '.join(names)} {word}" for names, word in _done(answer, would) if names]
    if not said:
        return f"nothing is reverted in {where}" if not answer.out else f"nothing to do in {where}"
    left = [part for part in answer.out if part not in (*answer.reverted, *answer.already)]
    rest = f"; {', '.join(left)} {'stays' if len(left) == 1 else 'stay'} reverted" if left else ""
    return f"{'; '.join(said)} in {packages} at {where}{rest}"


def _done(answer: Answer, would: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    return (
        (answer.reverted, f"{would}reverted"),
        (answer.restored, f"{would}restored"),
        (answer.already, "already reverted"),
    )


def report_state(state: State | None, as_json: bool, *, tree: Path) -> int:
    """What is out of the files of a tree."""
    from prtoggle.patching.answer import upgrades

    parts = list(dict.fromkeys(part.name for part in state.parts)) if state else []
    kind = state.kind.value if state else "nothing is reverted"
    if as_json:
        files = (
            [
                {"path": entry.path, "parts": entry.parts, "state": _file_state(state, entry.path)}
                for entry in state.entries
            ]
            if state
            else []
        )
        where = str(state.store.root) if state else ""
        render.json({"tree": where, "state": kind, "reverted": parts, "files": files, "exit_code": 0})
        return 0
    if state is None or not state.entries:
        render.words(f"prtoggle: {kind} in {tree}")
        return 0
    packages = (
        ", ".join(f"{name} {version}".strip() for name, version in state.journal.packages) if state.journal else ""
    )
    since = f" since {state.journal.time}" if state.journal and parts else ""
    if state.stale and state.journal:
        names = ", ".join(dict.fromkeys(part.name for part in state.journal.parts))
        kind = f"files changed since {names} came out{upgrades(state)}"
    render.out(f"{packages} in {state.store.root}: {', '.join(parts) + ' ' if parts else ''}{kind}{since}")
    render.table(
        [(entry.path, _file_state(state, entry.path), ", ".join(entry.parts)) for entry in state.entries], indent="  "
    )
    return 0


def _file_state(state: State, path: str) -> str:
    entry = next(entry for entry in state.entries if entry.path == path)
    if entry in state.stale:
        return "changed since" if os.path.lexists(state.store.file(path)) else "gone"
    if entry in state.lost:
        return "reverted, and cannot be put back: what was kept is gone"
    return "reverted" if entry in state.changed else "as it was"
