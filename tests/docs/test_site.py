"""The documents as a site: built without a warning, whole, saying what the documents say, and asking nothing of the network."""

from __future__ import annotations

import html
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from markdown_it import MarkdownIt

from tests.bisection.browser import Seen, look_at, needs_browser
from tests.docs.blocks import NEEDS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = sorted(DOCS.rglob("*.md"))
needs_mkdocs = pytest.mark.skipif(
    not (importlib.util.find_spec("mkdocs") and importlib.util.find_spec("material")),
    reason="MkDocs and its theme are not installed here (the extra `docs`, Python 3.11 or newer)",
)


def build(project: Path, into: Path) -> subprocess.CompletedProcess[str]:
    """What ``make docs`` runs."""
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(into)]
    return subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=300, check=False)


def warnings(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What was said that is no mere information."""
    return [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("INFO ")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("site") / "site"
    done = build(ROOT, into)
    assert (done.returncode, warnings(done)) == (0, [])
    return into


def ident(document: Path) -> str:
    return document.relative_to(DOCS).as_posix()


def in_the_navigation() -> list[str]:
    """The pages that mkdocs.yml names, in its order."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nmarkdown_extensions:")[0]
    found: list[str] = []
    waiting = [yaml.safe_load(text)["nav"]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            found.append(node)
        else:
            waiting += node.values() if isinstance(node, dict) else node
    return found


def test_every_document_is_in_the_navigation_once() -> None:
    made_of_files_at_the_top = {"contributing.md", "changelog.md"}
    named = in_the_navigation()
    assert sorted(set(named) - made_of_files_at_the_top) == [ident(document) for document in DOCUMENTS]
    assert len(named) == len(set(named))


# What is in a page.


@dataclass
class Page(HTMLParser):
    """The anchors of a page, what it leads to, what it loads by itself, and what its article says."""

    file: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.file.read_text(encoding="utf-8"))

    def __hash__(self) -> int:
        return id(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if "href" in values and tag == "a":
            self.links.append(values["href"])
        elif "href" in values:
            self.loads.append(values["href"])
        self.loads += [values[name] for name in ("src", "srcset", "data", "poster") if name in values]


@needs_mkdocs
def test_every_link_and_anchor_in_the_site_leads_somewhere_in_it(site: Path) -> None:
    pages = {file: Page(file) for file in site.rglob("*.html") if file.name != "404.html"}
    bad = []
    for file, page in pages.items():
        for link in (*page.links, *page.loads):
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "data"):
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            there = target.is_file() and target.is_relative_to(site)
            if not there or (parts.fragment and target in pages and parts.fragment not in pages[target].anchors):
                bad.append(f"{file.relative_to(site)}: {link}")
    assert bad == []
    assert len(pages) > len(DOCUMENTS)


@needs_mkdocs
def test_no_page_loads_anything_of_another_machine(site: Path) -> None:
    loaded = {link for file in site.rglob("*.html") for link in Page(file).loads if "//" in link}
    assert loaded == set()
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"url\((?![\"']?(?:data:|#))[^)]*//[^)]*\)|@import", sheet.read_text(encoding="utf-8"))


# What a document says, and what its page says.

SHAPES = ("h1", "h2", "h3", "h4", "li", "tr", "td", "th", "pre", "code", "strong", "em", "a")


def said(text: str) -> tuple[str, dict[str, int]]:
    """The words in ``text``, which is HTML, and how many elements of each kind."""
    counts = {tag: len(re.findall(rf"<{tag}\b", text)) for tag in SHAPES}
    words = html.unescape(re.sub(r"<!--.*?-->|<[^>]+>", "", text, flags=re.DOTALL))
    return "".join(words.split()), counts


def article(text: str) -> str:
    """What a page shows of its document, without what the theme adds to it."""
    found = re.search(r"<article\b[^>]*>(.*?)</article>", text, re.DOTALL)
    assert found is not None
    inside = re.sub(r'<a class="headerlink".*?</a>|<span class="filename">.*?</span>', "", found[1], flags=re.DOTALL)
    return re.sub(r'<(a|span) id="__[^>]*>(</\1>)?', "", inside)


@needs_mkdocs
@pytest.mark.parametrize("document", DOCUMENTS, ids=ident)
def test_a_page_says_what_its_document_says_by_the_rules_of_commonmark(document: Path, site: Path) -> None:
    oracle = MarkdownIt("commonmark").enable("table").render(document.read_text(encoding="utf-8"))
    page = site / document.relative_to(DOCS).with_suffix(".html")
    assert said(article(page.read_text(encoding="utf-8"))) == said(oracle)


@pytest.mark.parametrize("document", DOCUMENTS, ids=ident)
def test_a_document_holds_no_elements_which_would_swallow_what_follows(document: Path) -> None:
    waiting = MarkdownIt("commonmark").enable("table").parse(document.read_text(encoding="utf-8"))
    found = []
    while waiting:
        token = waiting.pop()
        waiting += token.children or []
        if token.type in ("html_block", "html_inline") and not token.content.startswith("<!--"):
            found.append(token.content)
    assert found == []


# What fails.


def project(folder: Path, text: str, **more: str) -> Path:
    """A small project with our mkdocs.yml and its hook, and ``text`` as a page of it."""
    ours = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = "nav: [index.md, contributing.md, changelog.md]\n"
    files = {
        "mkdocs.yml": re.sub(r"^nav:\n(?:[ #].*\n)*", nav, ours, flags=re.MULTILINE),
        "CONTRIBUTING.md": "# Contributing\n",
        "CHANGELOG.md": "# Changelog\n",
        "fixes/one/revert.yaml": "prtoggle: 1\n",
        "docs/index.md": f"# Home\n\n## A Heading\n\n{text}\n",
        **more,
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    shutil.copytree(DOCS / "assets", folder / "docs" / "assets")
    (folder / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "docsite.py", folder / "scripts")
    return folder


@needs_mkdocs
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[x](nothing.md)", "nothing.md"),
        ("[x](#a-headin)", "a-headin"),
        ("[x](../CONTRIBUTING.md#nowhere)", "nowhere"),
        ("[x](../fixes/two/revert.yaml)", "two/revert.yaml"),
    ],
)
def test_a_link_that_leads_nowhere_fails_the_build(text: str, word: str, tmp_path: Path) -> None:
    done = build(project(tmp_path / "p", text), tmp_path / "site")
    assert done.returncode == 1
    assert word in done.stderr


@needs_mkdocs
def test_a_page_that_is_not_in_the_navigation_fails_the_build(tmp_path: Path) -> None:
    done = build(project(tmp_path / "p", "", **{"docs/lost.md": "# Lost\n"}), tmp_path / "site")
    assert done.returncode == 1
    assert "lost.md" in done.stderr


@needs_mkdocs
def test_a_link_out_of_the_documents_leads_to_a_page_of_that_file_or_folder(tmp_path: Path) -> None:
    text = "[a](#a-heading) [b](../CONTRIBUTING.md#contributing) [c](../fixes/one/revert.yaml) [d](../fixes/)"
    done = build(project(tmp_path / "p", text), tmp_path / "site")
    assert (done.returncode, warnings(done)) == (0, [])
    assert "prtoggle" in (tmp_path / "site/source/fixes/one/revert.yaml.html").read_text(encoding="utf-8")
    assert 'href="fixes/one.html"' in (tmp_path / "site/source/fixes.html").read_text(encoding="utf-8")


# The hook.

_spec = importlib.util.spec_from_file_location("docsite", ROOT / "scripts" / "docsite.py")
assert _spec is not None and _spec.loader is not None
docsite = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(docsite)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("```console sglang", '``` { .console .no-copy title="with SGLang 0.5.16 installed" }'),
        ("```python file=engine/core.py", '``` { .python title="engine/core.py" }'),
        ("```", "``` { .text }"),
    ],
)
def test_the_words_of_a_fence_stand_above_it(written: str, read: str) -> None:
    assert [line for line, _ in docsite.adapted([written, "$ x", "```"])] == [read, "$ x", "```"]


def test_whatever_a_block_needs_stands_above_it() -> None:
    assert set(docsite.NEEDED) == set(NEEDS)


def test_a_list_may_follow_its_paragraph_and_hold_a_block() -> None:
    text = """\
    Words:
    - one
      more

      ```text
      a
        b
      ```
    - two

    End.
      not in the list
    """
    assert [line for line, _ in docsite.adapted(textwrap.dedent(text).splitlines())] == [
        "Words:",
        "",
        "- one",
        "    more",
        "",
        "    ``` { .text }",
        "    a",
        "      b",
        "    ```",
        "- two",
        "",
        "End.",
        "  not in the list",
    ]


# In a browser.


@needs_mkdocs
@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "word"),
    [
        ("index.html", "prtoggle"),
        ("commands.html", "Exit codes"),
        ("reverse-patches.html", "Verdicts"),
        ("guides/bisect.html", "verdict"),
    ],
)
def test_a_browser_reads_the_site_from_the_disk_and_asks_nobody(
    page: str, word: str, site: Path, tmp_path: Path
) -> None:
    light, dark = (look_at(site / page, tmp_path / str(d), dark=d) for d in _folders(tmp_path))
    for seen in (light, dark):
        assert (seen.asked, seen.console) == ((), ())
        assert word in seen.text
    assert light.corner != dark.corner


@needs_mkdocs
@needs_browser
@pytest.mark.slow
def test_the_search_finds_a_page_from_the_disk(site: Path, tmp_path: Path) -> None:
    seen: Seen = look_at(site / "index.html", tmp_path, query="?q=raylet")
    assert (seen.asked, seen.console) == ((), ())
    assert re.search(r"\d+ matching documents|1 matching document", seen.text)


def _folders(work: Path) -> tuple[bool, bool]:
    for dark in (False, True):
        (work / str(dark)).mkdir()
    return False, True
