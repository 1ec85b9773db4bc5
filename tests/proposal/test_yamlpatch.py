"""A file with one more variant: every other byte as it was, and what it says is what was meant."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from prtoggle.edits.kinds import EditKind, LinesEdit, PatternEdit
from prtoggle.proposal.yamlpatch import Unpatchable, dash, patched
from prtoggle.proposal.yamltext import NewEdit, NewPatch, NewVariant, document, variant_lines
from prtoggle.spec import Fix
from prtoggle.unified import unified
from prtoggle.yamlfile import loads

FILE = """\
# What stands above stays.
prtoggle: 1
fix: 101
title: a batch longer than the limit
parts:
  cut: cut it   # a comment
  check: "check it"
variants:
  # the first one
  - package: engine
    versions: '>=1.0'   # so far
    patches:
      - target: engine.core.f
        edits:
          - {part: cut, find: 'cut(x)', put: ''}
          - part: check
            match: |
              # a comment that is code
              check(x)

  # the other package
  - package: motor
    patches:
      - target: motor.g
        edits:
          - part: [cut, check]
            find: 'h()'
            put: ''

# and this, too
"""

NEW = NewVariant(
    "engine",
    ">=1.4",
    ("check",),
    ("cuda-graph",),
    (NewPatch("engine.core.g", (NewEdit(("cut",), PatternEdit("cut(x, 'a')", "", ("g(\n    1)",))),)),),
)


def with_new(text: str, versions: str | None = ">=1.0,<1.4") -> tuple[str, Fix]:
    variant = loads(text, "revert.yaml").variants[0]
    data = text.encode()
    lines = variant_lines(NEW, ("cut", "check"), indent=dash(data, "revert.yaml", variant))
    after = patched(data, "revert.yaml", variant, versions=versions, new=lines)
    return after.decode(), loads(after.decode("utf-8-sig"), "revert.yaml")


def test_only_the_versions_and_the_new_variant_are_other_bytes() -> None:
    after, fix = with_new(FILE)
    assert after.count(">=1.0,<1.4'   # so far\n") == 1
    new = "\n".join(variant_lines(NEW, ("cut", "check"))) + "\n"
    assert after.replace("\n" + new, "", 1).replace(">=1.0,<1.4", ">=1.0") == FILE
    assert [(each.package, each.versions) for each in fix.variants] == [
        ("engine", ">=1.0,<1.4"),
        ("engine", ">=1.4"),
        ("motor", ""),
    ]
    assert fix.variants[1].lacks == ("check",) and fix.variants[1].baked_in == ("cuda-graph",)


@pytest.mark.parametrize("ends", ["\r\n", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("final", [True, False])
def test_line_ends_and_a_byte_order_mark_stay(ends: str, mark: str, final: bool) -> None:
    text = mark + FILE[: FILE.index("\n  # the other package")].replace("\n", ends)
    text = text if final else text.removesuffix(ends)
    after, fix = with_new(text)
    assert after.startswith(mark + "# What") and len(fix.variants) == 2
    assert after.count("\n") == after.count(ends) and ("\r" in after) == ("\r" in ends)


def test_a_variant_without_versions_gets_some() -> None:
    after, fix = with_new(FILE.replace("    versions: '>=1.0'   # so far\n", ""), versions="<1.4")
    assert fix.variants[0].versions == "<1.4"
    assert "  - package: engine\n    versions: '<1.4'\n    patches:\n" in after


@pytest.mark.parametrize("written", ['">=1.0"', "==1.0"])
def test_versions_written_in_another_style_are_replaced_whole(written: str) -> None:
    after, fix = with_new(FILE.replace("'>=1.0'", written))
    assert fix.variants[0].versions == ">=1.0,<1.4" and "'   # so far" in after


def test_a_file_with_variants_in_braces_is_refused() -> None:
    text = FILE[: FILE.index("variants:")] + (
        "variants: [{package: engine, patches: [{target: engine.core, edits: [{part: [cut, check], find: 'a()', put: ''}]}]}]\n"
    )
    with pytest.raises(Unpatchable):
        with_new(text)


@pytest.mark.parametrize("tool", [["git", "apply", "-"], ["patch", "-p1", "-s"]], ids=["git", "patch"])
def test_the_patch_is_one_that_others_apply(tool: list[str], tmp_path: Path) -> None:
    after, _ = with_new(FILE)
    file = tmp_path / "fixes" / "revert.yaml"
    file.parent.mkdir()
    file.write_text(FILE)
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    diff = unified("fixes/revert.yaml", FILE.encode(), after.encode())
    try:
        subprocess.run(tool, input=diff, cwd=tmp_path, env=env, check=True)
    except FileNotFoundError:
        pytest.skip(f"{tool[0]} is not installed")
    assert file.read_text() == after


KINDS: list[EditKind] = [
    PatternEdit("f('a')", ""),
    PatternEdit("f(x)\ng(y)", 'h("it\'s")', ("a(b)", "if x:\n    c(d)")),
    LinesEdit("check(x)", "replace", ""),
    LinesEdit("check(x)\ny = 1\n", "append", "z = 2"),
    LinesEdit("x = '''\n  text\n'''\n", "prepend", "# a comment: with a colon\nw = {}\n"),
    LinesEdit("    indented()\nout()\n", "replace", "other()\n"),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_kind_of_edit_is_read_as_it_was_written(kind: EditKind) -> None:
    variant = NewVariant("engine", "", (), (), (NewPatch("engine.core", (NewEdit(("fix",), kind),)),))
    fix = loads(document("7", "it's: a title", "a/b", variant, (), ("https://example.org/#x",)), "revert.yaml")
    [patch] = fix.variants[0].patches
    assert fix.title == "it's: a title" and fix.links == ("https://example.org/#x",)
    read = patch.edits[0].kind
    assert type(read) is type(kind)
    for name in ("find", "put", "match", "text"):
        assert getattr(read, name, "").rstrip("\n") == getattr(kind, name, "").rstrip("\n")
    assert [each.rstrip("\n") for each in getattr(read, "unfixed", ())] == list(getattr(kind, "unfixed", ()))
