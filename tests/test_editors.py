"""What an editor makes of a reverse patch: its first line leads to the schema, and what is wrong is shown where it is.

Once by the rules of the YAML language server, rewritten here in a few lines, and once by the server itself, where there
is one (see tests/yamlserver.py).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from os.path import isabs, normpath
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
import yaml
from jsonschema import Draft7Validator
from jsonschema.exceptions import ValidationError

from prtoggle.schema import FILE, modeline
from tests.sglang.harness import release
from tests.yamlserver import COMMAND, VARIABLE, Server

ROOT = Path(__file__).parents[1]
BUNDLED = sorted(ROOT.glob("fixes/*/revert.yaml"))

GOOD = """\
prtoggle: 1
fix: 101
title: a batch is cut to what fits
project: acme/engine
merged: 2026-01-02
contains:
  engine: '>=1.3'
parts:
  cut: cut the batch
default: [cut]
variants:
  - package: engine
    versions: '>=1.3'
    patches:
      - target: engine.core.Runner.step
        edits:
          - part: cut
            find: 'rows = rows[: $N]'
            put: ''
          - part: cut
            match: 'x = 1'
            replacement: 'x = 2'
"""
FOREIGN = """\
patches:
  - target: engine.core.Runner.step
    edits:
      - match: x = 1
        replacement: ""
"""
BROKEN = [
    (GOOD, "title: a batch is cut to what fits\n", "", {2}),  # not there: where the document begins
    (GOOD, "project: acme", "projet: acme", {5}),
    (GOOD, "fix: 101", "fix: '101'", {3}),
    (GOOD, "prtoggle: 1", "prtoggle: 2", {2}),
    (GOOD, "merged: 2026-01-02", "merged: January", {6}),
    (GOOD, "  cut: cut the batch", "  Cut it: cut the batch", {10}),
    (GOOD, "default: [cut]", "default: [cut, cut]", {11}),
    (GOOD, "    versions: '>=1.3'", "    version: '>=1.3'", {14}),
    (GOOD, "target: engine.core.Runner.step", "target: engine core", {16}),
    (GOOD, "            put: ''", "            puts: ''", {18, 20}),
    (GOOD, "            replacement: 'x = 2'", "            replacment: 'x = 2'", {23}),
    (FOREIGN, "replacement", "replace", {6}),
    (FOREIGN, "target: engine.core.Runner.step", "target: []", {3}),
]
"""A document, what is changed in it, and the lines that are to be marked, the modeline counted."""


def broken(tmp_path: Path, case: tuple[str, str, str, set[int]]) -> Path:
    document, old, new, _ = case
    assert document.count(old) == 1
    return written(tmp_path, document.replace(old, new))


def written(tmp_path: Path, document: str) -> Path:
    file = tmp_path / "fixes" / "pr101_x" / "revert.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(f"{modeline(file)}\n{document}", encoding="utf-8")
    return file


def schema_of(file: Path) -> Path:
    """The schema that a file's first comment names, as the server resolves it."""
    first = file.read_text(encoding="utf-8").partition("\n")[0]
    assert re.match(r"#\s+yaml-language-server\s*:", first)
    found = re.search(r"\$schema(?:=|:[^\S\r\n]*)(\S+)", first)
    assert found is not None
    if found[1].startswith("file:"):
        return Path(unquote(urlparse(found[1]).path))
    assert "#" not in found[1]
    return Path(found[1] if isabs(found[1]) else normpath(file.absolute().parent / found[1]))


def lines_marked(file: Path) -> set[int]:
    """The lines of what a validator of JSON Schema finds wrong."""
    text = file.read_text(encoding="utf-8")
    loader = yaml.BaseLoader(text)
    tree = loader.get_single_node()
    assert tree is not None
    document = json.loads(json.dumps(plain(tree)))
    errors = Draft7Validator(json.loads(schema_of(file).read_text(encoding="utf-8"))).iter_errors(document)
    return {line(tree, place) for error in errors for place in deepest(error)}


def plain(node: yaml.Node) -> Any:
    """As editors read YAML 1.2: dates are text."""
    if isinstance(node, yaml.MappingNode):
        return {key.value: plain(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [plain(item) for item in node.value]
    quoted = node.style in ("'", '"', "|", ">")
    return int(node.value) if not quoted and re.fullmatch(r"-?\d+", node.value) else node.value


def deepest(error: ValidationError) -> Iterator[tuple[str | int, ...]]:
    """Where it is: of several shapes that could be meant the one that fits best."""
    if error.context:
        shapes: dict[Any, list[ValidationError]] = {}
        for inner in error.context:
            shapes.setdefault(inner.schema_path[0], []).append(inner)
        best = min(shapes.values(), key=lambda inner: sum(len(list(deepest(each))) for each in inner))
        for inner in best:
            yield from deepest(inner)
        return
    at = tuple(error.absolute_path)
    if error.validator == "additionalProperties":
        for name in set(error.instance) - set(error.schema["properties"]):
            yield (*at, name)
    elif error.validator == "pattern" and "propertyNames" in error.absolute_schema_path:
        yield (*at, error.instance)
    else:
        yield at


def line(node: yaml.Node, path: tuple[str | int, ...]) -> int:
    """The line of the key or item that ``path`` leads to."""
    at = node.start_mark.line
    for step in path:
        if isinstance(node, yaml.MappingNode):
            key, node = next((key, value) for key, value in node.value if key.value == step)
            at = key.start_mark.line
        else:
            node = node.value[step]
            at = node.start_mark.line
    return at + 1


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if not COMMAND:
        pytest.skip(f"no yaml-language-server here, and {VARIABLE} names none")
    with Server() as running:
        yield running


class TestByItsRules:
    @pytest.mark.parametrize("file", BUNDLED, ids=lambda file: file.parent.name)
    def test_a_bundled_file_leads_to_the_schema_and_is_right(self, file: Path) -> None:
        assert schema_of(file).samefile(FILE)
        assert lines_marked(file) == set()

    @pytest.mark.parametrize("document", [GOOD, FOREIGN], ids=["ours", "SGLang's"])
    def test_a_file_elsewhere_leads_to_the_schema_and_is_right(self, document: str, tmp_path: Path) -> None:
        file = written(tmp_path / "with a space", document)
        assert schema_of(file).samefile(FILE)
        assert lines_marked(file) == set()

    @pytest.mark.parametrize("case", BROKEN, ids=lambda case: case[2] or f"no {case[1]}")
    def test_what_is_wrong_is_marked_where_it_is(self, case: tuple[str, str, str, set[int]], tmp_path: Path) -> None:
        assert lines_marked(broken(tmp_path, case)) == case[3]

    @pytest.mark.sglang
    def test_the_documents_that_sglang_ships_are_right(self) -> None:
        from prtoggle.integrations.sglang import INTEGRATION

        file = release("0.5.16").joinpath(*INTEGRATION.registry_module.split(".")).with_suffix(".py")
        texts = [node.value for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Constant)]
        documents = [text for text in texts if isinstance(text, str) and re.search(r"^patches:", text, re.MULTILINE)]
        assert len(documents) > 3
        validator = Draft7Validator(json.loads(FILE.read_text(encoding="utf-8")))
        for text in documents:
            assert [error.message for error in validator.iter_errors(yaml.safe_load(text))] == []


class TestByTheServer:
    @pytest.mark.parametrize("file", BUNDLED, ids=lambda file: file.parent.name)
    def test_a_bundled_file_has_no_problem(self, file: Path, server: Server) -> None:
        assert server.problems(file) == ()

    @pytest.mark.parametrize("document", [GOOD, FOREIGN], ids=["ours", "SGLang's"])
    def test_a_file_elsewhere_has_no_problem(self, document: str, tmp_path: Path, server: Server) -> None:
        assert server.problems(written(tmp_path / "with a space", document)) == ()

    @pytest.mark.parametrize("case", BROKEN, ids=lambda case: case[2] or f"no {case[1]}")
    def test_what_is_wrong_is_marked_where_it_is(
        self, case: tuple[str, str, str, set[int]], tmp_path: Path, server: Server
    ) -> None:
        assert {line for line, _, _ in server.problems(broken(tmp_path, case))} == case[3]

    def test_it_offers_the_fields_that_are_left_and_says_what_they_are(self, tmp_path: Path, server: Server) -> None:
        file = written(tmp_path, GOOD.replace("merged: 2026-01-02\n", "\n"))
        offered = server.offered(file, 6, 1)
        assert {"merged", "symptom", "links"} <= set(offered)
        assert "The date, such as 2026-06-06." in offered["merged"]
        assert "title" not in offered

    def test_it_says_what_a_field_is(self, tmp_path: Path, server: Server) -> None:
        file = written(tmp_path, GOOD)
        assert "Where this text works" in server.shown(file, 14, 6)
        assert "Lines that come in place of those matched" in server.shown(file, 23, 15)
