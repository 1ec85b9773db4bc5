"""What a shell offers for a selection: the fixes that are known here, after a ``/`` their parts, and files of diffs.

Contract: it is asked for while somebody types, so no verdict is looked for, and what does not load is left out.

Example::

    @click.argument("selection", shell_complete=selection)

    prtoggle run 24401,2736<TAB>     offers 24401,27360
    prtoggle run 27360/<TAB>         offers 27360/slice, 27360/assert, ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem


def selection(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The selections that ``incomplete`` may become: its last item is completed, what stands before it stays."""
    from click.shell_completion import CompletionItem

    from prtoggle.errors import PrtoggleError
    from prtoggle.library import Library

    before, comma, item = incomplete.rpartition(",")
    if item.startswith((".", "/", "~")):
        return [CompletionItem(incomplete, type="file")]
    try:
        fixes = Library(ctx.params.get("fixes") or ()).here.fixes
    except (PrtoggleError, OSError):
        return []
    number, slash, parts = item.partition("/")
    if slash:
        known, plus, _ = parts.rpartition("+")
        there = {part: words for fix in reversed(fixes) if fix.id == number for part, words in fix.parts.items()}
        taken = known.split("+")
        names = {f"{number}/{known}{plus}{part}": words for part, words in there.items() if part not in taken}
    else:
        names = {fix.id: fix.title for fix in reversed(fixes)}  # the first of several is the one that is used
        names = dict(sorted(names.items()))
    return [
        CompletionItem(f"{before}{comma}{name}", help=title or None)
        for name, title in names.items()
        if name.startswith(item)
    ]
