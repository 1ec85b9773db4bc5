"""What ``revert``, ``restore``, ``status`` and ``run`` share: options, and what they say of processes and parts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import click

from prtoggle.cli import render
from prtoggle.errors import with_page

if TYPE_CHECKING:
    from prtoggle.partstates import PartState
    from prtoggle.remote import Answer

F = TypeVar("F", bound=Callable[..., Any])


def live_options(command: F) -> F:
    """``--pid N`` (``pids``), ``--timeout`` and ``--force``; the last two mean something for ``--tree`` too."""
    for option in (
        click.option(
            "--force",
            is_flag=True,
            help="At the time limit change processes all the same, and say who is inside. With --tree: also where "
            "somebody edited the files.",
        ),
        click.option(
            "--timeout",
            type=click.FloatRange(0, 600),
            default=2.0,
            metavar="S",
            show_default=True,
            help="Seconds to wait until no thread is inside what changes, or until no other command changes the tree.",
        ),
        click.option(
            "--pid",
            "pids",
            type=int,
            metavar="N",
            multiple=True,
            help="A process and its Python children; repeatable.",
        ),
    ):
        command = option(command)
    return command


def processes(pids: Sequence[int]) -> tuple[int, ...]:
    """Each of ``pids`` and its Python children, once."""
    from prtoggle import remote

    return tuple(dict.fromkeys(each for pid in pids for each in remote.tree(pid)))


def toggle(do: str, selection: str, pids: Sequence[int], *, timeout: float, force: bool, as_json: bool) -> int:
    """``revert`` or ``restore`` in each of ``pids`` and its Python children; says what came of it; the exit code."""
    from prtoggle import remote

    with render.progress() as say:
        say("asking the processes")
        answers = remote.toggle(do, typed(selection), pids=processes(pids), timeout=timeout, force=force)
    return report(answers, as_json)


def typed(selection: str) -> str:
    """The selection as another process, in another folder, has to read it."""
    from prtoggle.selection import absolute, parse

    return str(absolute(parse(selection), os.getcwd()))


def report(answers: Sequence[Answer], as_json: bool) -> int:
    """What each process said, and the exit code."""
    code = max((answer.exit_code for answer in answers), default=0)
    if as_json:
        render.json({"processes": [asdict(answer) for answer in answers], "exit_code": code})
        return code
    for answer in answers:
        if not answer.ok:
            render.words(f"prtoggle: process {answer.pid}: {with_page(answer.error, answer.page)}")
        elif answer.undone:
            render.words(f"prtoggle: process {answer.pid}: as before, since another process refused")
        else:
            _tell(answer)
    return code


def _tell(answer: Answer) -> None:
    result = answer.result
    done = [f"{', '.join(result[word])} {word}" for word in ("reverted", "restored") if result.get(word)]
    if result.get("already"):
        done.append(f"{', '.join(result['already'])} already reverted")
    pause = f" (calls paused for {result['pause'] * 1e3:.1f} ms)" if result.get("pause") else ""
    render.out(f"{answer.pid}: {'; '.join(done) or 'nothing to do'}{pause}")
    for word in ("cleared", "left", "warnings"):
        for line in result.get(word) or ():
            render.words(f"  {word}: {line}")


def part_words(states: Iterable[PartState]) -> list[tuple[str, str]]:
    """Each part of one process, and what became of it; of one that was toggled often the last time, and how often."""
    by_part: dict[str, list[PartState]] = {}
    for state in states:
        by_part.setdefault(state.part, []).append(state)
    return [(part, _part_said(theirs)) for part, theirs in by_part.items()]


def _part_said(states: Sequence[PartState]) -> str:
    last = states[-1]
    words = [f"reverted {'live' if last.how == 'live' else 'at import'}, {when(last.since)}"]
    if not last.modules:
        words.append("not imported")
    if last.until:
        words.append(f"restored live, {when(last.until)}")
    if last.trace:
        words.append(last.trace)
    before = len({state.since for state in states}) - 1
    if before:
        words.append(f"reverted {before} time{'s' if before > 1 else ''} before")
    return "; ".join(words)


def when(seconds: float) -> str:
    """A time for a person."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
