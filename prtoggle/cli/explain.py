"""``prtoggle explain PAGE``: a page of the documents, or a section, as text: what the last line of an error names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prtoggle.cli import render
from prtoggle.cli.context import json_option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

WIDEST = 100
"""Columns beyond which lines are hard to read."""

_EPILOG = """\b
Examples:
  prtoggle explain
  prtoggle explain limits
  prtoggle explain reverse-patches#verdicts
  prtoggle explain port
  prtoggle explain 125

\b
Exit codes: 0 fine; 2 there is no such page; 4 the documents are not there.
"""


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from prtoggle import pages

    page, mark, _ = incomplete.partition("#")
    there = pages.names()
    known = [each.name for each in pages.sections(page)[1:]] if mark and page in there else there
    return [CompletionItem(name) for name in known if name.startswith(incomplete)]


@click.command("explain", epilog=_EPILOG)
@click.argument("words", nargs=-1, metavar="[PAGE[#SECTION]]", shell_complete=_complete)
@json_option
def command(words: tuple[str, ...], as_json: bool) -> None:
    """A page of the documents, or a section of it. Without PAGE: all pages.

    Needs no network: they lie in the package. Errors name theirs in their last line.
    """
    from prtoggle import pages
    from prtoggle.plaintext import plain

    if not words:
        _list(as_json)
        return
    found = pages.find(" ".join(words))  # a heading need not be quoted
    if as_json:
        render.json({"page": found.page, "section": found.anchor, "title": found.title, "text": found.text})
        return
    render.out(plain(found.text, found.page, min(render.width() or WIDEST, WIDEST)))


def _list(as_json: bool) -> None:
    from prtoggle import pages
    from prtoggle.plaintext import inline

    every = [pages.sections(name) for name in pages.names()]
    if as_json:
        render.json(
            {
                "pages": [
                    {
                        "page": page.page,
                        "title": page.title,
                        "sections": [{"section": each.anchor, "title": each.title} for each in rest],
                    }
                    for page, *rest in every
                ]
            }
        )
        return
    render.table([(page.page, inline(page.title)) for page, *_ in every])
    render.words("prtoggle explain PAGE shows one, prtoggle explain WORD what names a page, a section or an exit code")
