"""What the documents show is true: their commands print it, their reverse patches load, their links lead somewhere."""

from __future__ import annotations

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from prtoggle.releases import cache_folder
from prtoggle.yamlfile import loads
from tests.docs.blocks import Block, blocks_of, differences, matches, run_document
from tests.sglang.harness import release

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [(document, block) for document in DOCUMENTS for block in blocks_of(document)]


def name(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def ident(value: object) -> str:
    return name(value) if isinstance(value, Path) else f"line{value.line}" if isinstance(value, Block) else ""


def is_whole(block: Block) -> bool:
    """Whether a YAML block is a whole reverse patch, of our kind or of SGLang's."""
    return block.language == "yaml" and re.match(r"(?:#.*\n)*(?:prtoggle:|patches:)", block.text) is not None


RUN = [d for d in DOCUMENTS if any(b.language == "console" and not b.needs for b in blocks_of(d))]
WHOLE = [(d, b) for d, b in BLOCKS if is_whole(b)]
FRAGMENTS = [(d, b) for d, b in BLOCKS if b.language == "yaml" and not is_whole(b)]


@pytest.mark.parametrize("document", RUN, ids=ident)
def test_the_commands_of_a_document_print_what_it_shows(document: Path, tmp_path: Path, installed: str) -> None:
    found = differences(run_document(blocks_of(document), tmp_path))
    assert not found, "\n\n".join(found)


SGLANG = frozenset({"sglang"})
WITH_SGLANG = [d for d in DOCUMENTS if any(b.needs == SGLANG for b in blocks_of(d))]


@pytest.mark.sglang
@pytest.mark.parametrize("document", WITH_SGLANG, ids=ident)
def test_the_commands_of_a_document_print_what_it_shows_beside_a_real_sglang(
    document: Path, tmp_path: Path, installed: str
) -> None:
    root = release("0.5.16")
    env = {"PYTHONPATH": str(root), "PRTOGGLE_CACHE": str(cache_folder())}
    found = differences(run_document(blocks_of(document), tmp_path, given=SGLANG, env=env))
    assert not found, "\n\n".join(found)


TORCH = frozenset({"torch"})
WITH_TORCH = [
    (document, needs)
    for document in DOCUMENTS
    for needs in (TORCH, TORCH | SGLANG)
    if any(block.needs == needs for block in blocks_of(document))
]


@pytest.mark.slow
@pytest.mark.sglang
@pytest.mark.parametrize(("document", "needs"), WITH_TORCH, ids=ident)
def test_the_commands_of_a_document_print_what_it_shows_beside_torch(
    document: Path, needs: frozenset[str], tmp_path: Path, installed: str
) -> None:
    if find_spec("torch") is None:
        pytest.skip("torch is not installed here")
    env = {"PYTHONPATH": str(release("0.5.16")), "PRTOGGLE_CACHE": str(cache_folder())} if "sglang" in needs else {}
    # A program of the tests that a document names has to be beside what it shows.
    (tmp_path / "app").mkdir()
    for program in (ROOT / "tests/sglang").glob("child_*.py"):
        if program.name in document.read_text(encoding="utf-8"):
            shutil.copy(program, tmp_path / "app")
    found = differences(run_document(blocks_of(document), tmp_path, given=needs, env=env))
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize(("document", "block"), WHOLE, ids=ident)
def test_a_reverse_patch_in_a_document_loads(document: Path, block: Block) -> None:
    own = re.search(r"^fix: (\d+)$", block.text, re.MULTILINE)
    fix = loads(block.text, f"{name(document)}:{block.line}", id=own[1] if own else "1")
    assert fix.variants


@pytest.mark.parametrize(("document", "block"), FRAGMENTS, ids=ident)
def test_a_piece_of_a_reverse_patch_in_a_document_is_yaml(document: Path, block: Block) -> None:
    assert yaml.safe_load(block.text)


@pytest.mark.parametrize("document", DOCUMENTS, ids=ident)
def test_a_link_of_a_document_leads_to_a_file_and_a_heading_that_are_there(document: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    bad = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path) if path else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            bad.append(link)
    assert bad == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=ident)
def test_a_document_names_no_path_of_a_machine_and_no_index(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert re.findall(r"/(?:(?:root|work|tmp)\b|home/(?!you))/?\S*|\bpypi\.\S+|files\.pythonhosted\S*", text) == []


def test_the_documents_show_enough_that_is_run() -> None:
    assert {"docs/choosing.md", "docs/processes.md", "docs/reverse-patches.md"} <= set(map(name, RUN))
    assert len(WHOLE) >= 4


def anchors(document: Path) -> set[str]:
    """The anchors that a document's headings get."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        (["a ... c"], ["a b c"], True),
        (["a ... c"], ["a b", "c"], False),
        (["a", "...", "d"], ["a", "b", "c", "d"], True),
        (["a", "...", "d"], ["a", "d"], True),
        (["a", "d"], ["a", "b", "d"], False),
        (["a.b"], ["a+b"], False),
        (["[pid 1: x]"], ["[pid 23: x]"], True),
        ([], ["a"], False),
        (["a"], [], False),
    ],
)
def test_a_wildcard_stands_for_text_in_a_line_or_for_lines(expected: list[str], printed: list[str], same: bool) -> None:
    assert matches(expected, printed) is same
