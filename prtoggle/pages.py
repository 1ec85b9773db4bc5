"""The documents that come with prtoggle, by name: what an error's ``page`` names, wherever prtoggle runs.

They lie in the package (in a checkout by a link), so that they can be read in a container, without a network. A page is
called by its path without ``.md``, a section of it by its heading as a link would have it.

Example::

    find("limits#traced-runs").text     # from that heading to the next of its kind
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prtoggle.errors import InconclusiveError, UsageError, did_you_mean

ROOT = Path(__file__).parent / "docs"

_FENCE = re.compile(r" {0,3}(```|~~~)")
_HEADING = re.compile(r"(#{1,6}) +(.+?)\s*#*$")


@dataclass(frozen=True)
class Section:
    """A piece of a page, with all that stands below its heading. The first of a page is the page.

    Attributes:
        page: ``guides/port``.
        anchor: ``the-proposal``; empty for the page itself.
        title: its heading.
        text: its Markdown.
    """

    page: str
    anchor: str
    title: str
    text: str

    @property
    def name(self) -> str:
        """As ``prtoggle explain`` takes it."""
        return f"{self.page}#{self.anchor}" if self.anchor else self.page


def names() -> tuple[str, ...]:
    """Every page, the ones at the top first."""
    found = [file.relative_to(ROOT).with_suffix("").as_posix() for file in ROOT.rglob("*.md")]
    if not found:
        raise InconclusiveError(f"the documents are not in {ROOT}", hint="reinstall prtoggle")
    return tuple(sorted(found, key=lambda name: (name.count("/"), name)))


def sections(page: str) -> tuple[Section, ...]:
    """A page and its sections, in their order."""
    lines = (ROOT / f"{page}.md").read_text(encoding="utf-8").splitlines()
    heads = list(_headings(lines))
    made = []
    for index, (at, level, title) in enumerate(heads):
        end = next((line for line, other, _ in heads[index + 1 :] if other <= level), len(lines))
        first = 0 if not index else at
        text = "\n".join(lines[first:end]).strip("\n")
        made.append(Section(page, anchor(title) if index else "", title, text))
    return tuple(made) or (Section(page, "", page, "\n".join(lines)),)


def find(asked: str) -> Section:
    """The page or section that ``asked`` names: whole, or as far as no other is called so.

    Raises:
        UsageError: there is none; it names the nearest.
    """
    page, mark, wanted = asked.strip().removeprefix("docs/").replace(".md", "").strip("/").partition("#")
    known = names()
    fitting = [name for name in known if name == page] or [name for name in known if name.rpartition("/")[2] == page]
    if mark and fitting:
        return _section(fitting[0], wanted)
    if len(fitting) == 1:
        return sections(fitting[0])[0]
    everywhere = [section for name in known for section in sections(name) if section.anchor]
    word = anchor(wanted or page)
    for exact in (True, False):
        named = [s for s in everywhere if (s.anchor == word if exact else s.anchor.startswith(f"{word}-"))]
        if len(named) == 1 and not (mark and page):
            return named[0]
    bold = [section for section in everywhere if f"**{page.lower()}**" in section.text.lower()]
    inmost = [section for section in bold if not any(_within(other, section) for other in bold)]
    if len(inmost) == 1 and page and not mark:
        return inmost[0]
    near = did_you_mean(page, known) or _among(did_you_mean(word, [s.anchor for s in everywhere]), everywhere)
    hint = "prtoggle explain lists them"
    if page.isdecimal():
        hint = f"prtoggle show {page} is about a fix; {hint}"
    raise UsageError(f"no page {asked!r}", nearest=near, hint=hint, page="commands#explain")


def _within(inner: Section, outer: Section) -> bool:
    return inner is not outer and inner.page == outer.page and inner.text in outer.text


def anchor(title: str) -> str:
    """What a heading is called in a link."""
    return re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-")


def _section(page: str, wanted: str) -> Section:
    there = sections(page)
    for section in there[1:]:
        if section.anchor in (wanted, anchor(wanted)):
            return section
    near = did_you_mean(wanted, [section.anchor for section in there])
    raise UsageError(
        f"the page {page} has no section {wanted!r}",
        nearest=f"{page}#{near}" if near else "",
        hint=f"prtoggle explain {page}",
        page="commands#explain",
    )


def _among(near: str, everywhere: list[Section]) -> str:
    return next((section.name for section in everywhere if near and section.anchor == near), "")


def _headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Line, level and title of each heading that is one, and not a comment in a block of code."""
    fence = ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1] == fence else fence
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.match(line):
            yield number, len(heading[1]), heading[2]
