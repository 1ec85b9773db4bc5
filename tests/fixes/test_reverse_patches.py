"""The reverse patches of both fixes, applied to the bundled implementations, give what a revert by hand gives."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

from prtoggle.edits.combine import combine
from prtoggle.edits.kinds import PatternEdit
from prtoggle.edits.outcome import Found
from prtoggle.edits.pattern import locate, sightings
from prtoggle.edits.scope import Scope, resolve
from prtoggle.edits.text import SourceText
from prtoggle.spec import Edit, Fix, Variant
from prtoggle.yamlfile import load

FIXES = Path(__file__).resolve().parents[2] / "fixes"
FOLDERS = sorted(path.parent.name for path in FIXES.glob("pr*/revert.yaml"))


def by_hand(folder: str) -> tuple[Mapping[str, tuple[str, str]], Mapping[str, tuple[str, ...]]]:
    """``BY_HAND`` and ``STATES`` of the fix's test module, read and not imported: that needs torch, this does not."""
    module = Path(__file__).with_name(f"test_{folder.split('_')[0]}.py")
    names: dict[str, object] = {}
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("CHECK", "BY_HAND", "STATES"):
            exec(compile(ast.Module([node], []), str(module), "exec"), names)
    return names["BY_HAND"], names["STATES"]  # type: ignore[return-value]


def bundled(fix: Fix) -> Variant:
    return next(variant for variant in fix.variants if variant.package == "prtoggle_fixes")


def edits_of(variant: Variant) -> list[tuple[str, Edit]]:
    return [(patch.target, edit) for patch in variant.patches for edit in patch.edits]


def scope_in(source: SourceText, target: str) -> Scope:
    scope = resolve(source, target.partition(".forward.")[2])
    assert isinstance(scope, Scope), scope
    return scope


def reverted(source: SourceText, variant: Variant, parts: tuple[str, ...]) -> str:
    made = []
    for target, edit in edits_of(variant):
        if set(edit.parts) & set(parts):
            assert isinstance(edit.kind, PatternEdit)
            found = locate(source, scope_in(source, target), edit.kind)
            assert isinstance(found, Found), found
            made += [(edit.parts[0], replacement) for replacement in found.replacements]
    text = combine(source, made)
    assert isinstance(text, str), text
    return text


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_state_is_what_a_revert_by_hand_gives(folder: str) -> None:
    fix = load(FIXES / folder / "revert.yaml")
    text = (FIXES / folder / "forward.py").read_text(encoding="utf-8")
    old_and_new, states = by_hand(folder)
    assert tuple(fix.parts) == tuple(old_and_new)
    for state, parts in states.items():
        edited = text
        for part in parts:
            edited = edited.replace(*old_and_new[part])
        got = reverted(SourceText(text), bundled(fix), parts)
        assert ast.dump(ast.parse(got)) == ast.dump(ast.parse(edited)), state
        assert (got == text) == (not parts)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_state_names_the_parts_that_its_selection_means(folder: str) -> None:
    fix = load(FIXES / folder / "revert.yaml")
    _, states = by_hand(folder)
    assert states[fix.id] == fix.default_parts


@pytest.mark.parametrize("folder", FOLDERS)
def test_unfixed_is_seen_exactly_where_the_part_is_out(folder: str) -> None:
    fix = load(FIXES / folder / "revert.yaml")
    source = SourceText((FIXES / folder / "forward.py").read_text(encoding="utf-8"))
    for target, edit in edits_of(bundled(fix)):
        if not isinstance(edit.kind, PatternEdit) or not edit.kind.unfixed:
            continue
        for look in edit.kind.unfixed:
            assert sightings(source, scope_in(source, target), look) == ()
        out = SourceText(reverted(source, bundled(fix), edit.parts))
        seen = [sightings(out, scope_in(out, target), look) for look in edit.kind.unfixed]
        assert sum(map(len, seen)) == 1, edit.parts
