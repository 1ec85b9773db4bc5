"""Makes documents that are written for any reader of Markdown a site: a hook of MkDocs, named in ``mkdocs.yml``.

- A fence's words (``console sglang``, ``python file=engine/core.py``: ``tests/docs/blocks.py``) stand above it.
- A list is a list where CommonMark says so; Python-Markdown wants four spaces and an empty line before.
- A link that leaves ``docs/`` leads to a page made of that file, or of the names in that folder. One that leads nowhere
  stays as it is, and MkDocs in its strict mode fails.

Example::

    mkdocs build --strict
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SOURCE = "source"
"""Where pages of files outside ``docs`` stand in the site; `README.md`'s like stand at its top."""
AT_THE_TOP = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "README.md": "readme.md"}
NEEDED = {
    "network": "not run by the tests: needs a package index",
    "gpu": "not run by the tests: needs a GPU",
    "torch": "needs torch",
    "sglang": "with SGLang 0.5.16 installed",
    "ray": "with Ray installed",
    "docker": "not run by the tests: needs a container engine",
    "venv": "in an environment of its own",
    "cluster": "not run as it stands: needs several machines",
}
LEXERS = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml", ".patch": "diff"}

_FENCE = re.compile(r"^( *)(`{3,}|~{3,})([^`\n]*)$")
_ITEM = re.compile(r"^( *)([-*+]|\d+\.)( +)\S")
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")


def on_files(files: Any, config: Any) -> Any:
    """MkDocs asks which files there are: those of ``docs``, and one for each that they lead to elsewhere."""
    from mkdocs.structure.files import File

    for path, text in sorted(pages_elsewhere().items()):
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """MkDocs has read a page."""
    path = page.file.src_uri
    if path == "index.md":
        page.meta["hide"] = ["navigation"]  # it would name this page alone
    here = DOCS / path if (DOCS / path).is_file() else None
    return written(markdown, here, posixpath.dirname(path))


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """A page's HTML: in a table `\\|` is a bar, in code too, and a short piece of code is not broken."""
    html = re.sub(r"<td\b.*?</td>", lambda cell: cell[0].replace("\\|", "|"), html, flags=re.DOTALL)
    return re.sub(r"<code>(?=[^<\n]{1,24}</code>)", '<code class="short">', html)


def on_post_build(config: Any) -> None:
    """MkDocs has written the site: the search index becomes a script too, which a page read from disk may load."""
    folder = Path(config.site_dir) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")


def written(markdown: str, file: Path | None, folder: str) -> str:
    """``markdown`` as Python-Markdown means it; ``file`` is where its links start, ``folder`` where its page stands."""
    lines = []
    for line, fenced in adapted(markdown.splitlines()):
        lines.append(line if fenced or file is None else _LINK.sub(lambda m: _led(m, file, folder), line))
    return "\n".join(lines) + "\n"


def adapted(lines: list[str]) -> Iterator[tuple[str, bool]]:
    """Each line, fences and lists rewritten, and whether it stands in a fence."""
    fence, depth, width = "", 0, 0
    before = ""
    for line in lines:
        more = " " * (4 - width) if width and line.startswith(" " * width) else ""
        if fence:
            shut = line.strip() == fence
            yield more + line if line else line, True
            fence = "" if shut else fence
        elif found := _FENCE.match(line):
            fence = found[2]
            depth = len(found[1])
            width = width if depth else 0
            yield f"{more}{found[1]}{fence}{_info(found[3])}", True
        elif item := _ITEM.match(line):
            if not item[1]:
                if before and not width:
                    yield "", False
                width = len(item[2] + item[3])
            yield more + line, False
        else:
            if line and not line.startswith(" ") and not before:
                width = 0
            yield (more + line if line else line), False
        before = line


def _info(words: str) -> str:
    """The line of a fence: its language, and what stands above the block."""
    language, *more = words.split() or [""]
    file = next((word.partition("=")[2] for word in more if word.startswith("file=")), "")
    needs = [NEEDED[word] for word in more if word in NEEDED]
    title = ", ".join(filter(None, [file, *needs]))
    classes = f".{language or 'text'}" + (" .no-copy" if language == "console" else "")
    return f" {{ {classes}" + (f' title="{title}"' if title else "") + " }"


def _led(link: re.Match[str], file: Path, folder: str) -> str:
    """A link to a file elsewhere leads to its page."""
    target = page_of(link[2], file)
    return f"{link[1]}{posixpath.relpath(target, folder or '.')}{link[3]}" if target else link[0]


def page_of(link: str, file: Path) -> str:
    """The page of the site that ``link`` in ``file`` leads to; empty where MkDocs finds it itself, or nobody does."""
    if re.match(r"[a-z]+:", link) or link.startswith("/"):
        return ""
    target = (file.parent / link).resolve()
    if not target.exists() or not target.is_relative_to(ROOT):
        return ""
    if target.is_relative_to(DOCS):
        # A page made of a file at the top stands elsewhere than that file: its links start anew.
        inside = target.relative_to(DOCS).as_posix()
        return f"{SOURCE}/docs/{inside}.md" if target.is_dir() else "" if file.is_relative_to(DOCS) else inside
    inside = target.relative_to(ROOT).as_posix()
    return AT_THE_TOP.get(inside, f"{SOURCE}/{inside}.md")


def pages_elsewhere() -> dict[str, str]:
    """Path in the site and text of each page that documents lead to outside of ``docs``, and those to more."""
    made: dict[str, str] = {}
    waiting = [target for document in sorted(DOCS.rglob("*.md")) for target in _targets(document)]
    waiting += [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    while waiting:
        target = waiting.pop()
        path = page_of(target.relative_to(ROOT).as_posix(), ROOT / "-")
        if path in made or not path:
            continue
        if target.is_dir():
            names = sorted(n for n in target.iterdir() if not n.name.startswith((".", "__pycache__")))
            made[path] = _folder_page(target, names)
            waiting += [] if target.is_relative_to(DOCS) else names
        elif target.suffix == ".md":
            made[path] = _document_page(target, posixpath.dirname(path))
            waiting += _targets(target)
        else:
            made[path] = _source_page(target)
    return made


def _targets(document: Path) -> list[Path]:
    """What ``document`` leads to and needs a page made."""
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = [link for _, link, _ in _LINK.findall(text) if page_of(link, document)]
    paths = [(document.parent / link).resolve() for link in found]
    return [path for path in paths if not path.is_relative_to(DOCS) or path.is_dir()]


_UNSEARCHED = "---\nsearch:\n  exclude: true\nhide: [navigation, toc]\n---\n\n"


def _folder_page(folder: Path, names: list[Path]) -> str:
    inside = folder.relative_to(ROOT).as_posix()
    rows = []
    for name in names:
        if folder.is_relative_to(DOCS):
            link = posixpath.relpath(name.relative_to(DOCS).as_posix(), f"{SOURCE}/docs")
        else:
            link = f"{folder.name}/{name.name}.md"
        rows.append(f"- [{name.name}{'/' * name.is_dir()}]({link})")
    return f"{_UNSEARCHED}# {inside}/\n\n" + "\n".join(rows) + "\n"


def _document_page(file: Path, folder: str) -> str:
    return _LINK.sub(lambda link: _led(link, file, folder), file.read_text(encoding="utf-8"))


def _source_page(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    ticks = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    language = LEXERS.get(file.suffix, "text")
    return f"{_UNSEARCHED}# {file.relative_to(ROOT).as_posix()}\n\n{ticks}{language}\n{text.rstrip()}\n{ticks}\n"
