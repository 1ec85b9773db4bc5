"""Plans: the verdict table of DESIGN section 5, the choice of a variant, and what comes out of a whole selection."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from prtoggle import plan, selection
from prtoggle.catalog import Catalog
from prtoggle.errors import ConflictError, EditError, MalformedError, PrtoggleError, RefusedError, SelectionError
from prtoggle.packages import Package, from_locations
from prtoggle.plan import Plan
from prtoggle.sources import Sources
from prtoggle.spec import Fix
from prtoggle.verdict import Verdict
from prtoggle.yamlfile import loads

FIXED = """\
def cut(x, n):
    x = x[:n]
    assert len(x) <= n
    return x
"""


class Release:
    """The package ``engine`` of one version on disk; ``version`` None is a checkout without metadata."""

    def __init__(self, root: Path, version: str | None, **modules: str) -> None:
        self.folder = root / f"release-{version}" / "engine"
        self.folder.mkdir(parents=True)
        (self.folder / "__init__.py").write_text("")
        for name, text in modules.items():
            (self.folder / f"{name}.py").write_text(textwrap.dedent(text))
        if version is not None:
            info = self.folder.parent / f"engine-{version}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Name: engine\nVersion: {version}\n\n")
            (info / "RECORD").write_text("engine/__init__.py,,\n")

    @property
    def package(self) -> Package:
        return from_locations("engine", [self.folder], self.folder / "__init__.py")


def fix(variants: str, *, number: int = 7, contains: str = "", parts: str = "", default: str = "") -> Fix:
    """A fix with those variants, each given without its ``package``."""
    text = f"prtoggle: 1\nfix: {number}\ntitle: t\n"
    text += f"contains: {{engine: '{contains}'}}\n" if contains else ""
    text += f"parts: {parts}\n" if parts else ""
    text += f"default: {default}\n" if default else ""
    return loads(text + "variants:\n" + textwrap.indent(textwrap.dedent(variants).strip("\n"), "  "), f"{number}.yaml")


def variant(*edits: str, versions: str = "", target: str = "engine.core.cut", more: str = "") -> str:
    text = "- package: engine\n"
    text += f"  versions: '{versions}'\n" if versions else ""
    text += textwrap.indent(more, "  ") + ("\n" if more else "")
    return (
        text + f"  patches:\n    - target: {target}\n      edits:\n" + "".join(f"        - {edit}\n" for edit in edits)
    )


SLICE = "{find: 'x = x[:$N]', put: ''}"
SEEN = "{find: 'x = x[:$N]', put: '', unfixed: 'return x'}"
CHECK = "{find: 'assert len(x) <= n', put: ''}"


def verdict(release: Release, made: Fix, part: str = "fix") -> Verdict:
    return plan.decisions(made, Sources(release.package))[part].verdict


def make(release: Release, select: str, *fixes: Fix) -> Plan:
    return plan.make(selection.parse(select), Catalog(fixes), release.package)


def reverted(release: Release, select: str, *fixes: Fix) -> str:
    (module,) = make(release, select, *fixes).modules
    return module.reverted.decode()


def refused(release: Release, select: str, *fixes: Fix) -> PrtoggleError:
    with pytest.raises(RefusedError) as caught:
        make(release, select, *fixes)
    return caught.value


# The table of verdicts ---------------------------------------------------------------------------------------------

WITHOUT = FIXED.replace("    x = x[:n]\n", "")
MOVED = FIXED.replace("x = x[:n]", "x = clip(x, n)").replace("return x", "return (x)[:]")
TWICE = FIXED.replace("    x = x[:n]\n", "    x = x[:n]\n" * 2)
BOTH = variant(
    "{find: 'x = x[:$N]', put: '', unfixed: 'y = x'}", "{find: 'return x', put: 'return 0', unfixed: 'z = 0'}"
)


@pytest.mark.parametrize(
    ("source", "version", "edits", "expected"),
    [
        (FIXED, "1.5", variant(SEEN), Verdict.APPLIES),
        (FIXED, "0.9", variant(SEEN), Verdict.CONTAINS_WRONG),
        (WITHOUT, "0.9", variant(SEEN), Verdict.NOT_SEEN),
        (WITHOUT, "1.5", variant(SEEN), Verdict.ALREADY),
        (WITHOUT, None, variant(SEEN), Verdict.NOT_SEEN),
        ("def cut(x, n):\n    y = x\n    return x\n", "1.5", BOTH, Verdict.HALF),
        ("def cut(x, n):\n    y = x\n    return x\n", "0.9", BOTH, Verdict.HALF),
        (FIXED, "0.9", variant(SEEN, versions=">=1.0"), Verdict.BY_VERSION),
        (MOVED, "0.9", variant(SEEN), Verdict.BY_VERSION),
        (MOVED, "1.5", variant(SEEN), Verdict.ROT),
        (TWICE, "1.5", variant(SEEN), Verdict.ROT),
        (TWICE, "0.9", variant(SEEN), Verdict.ROT),
        (FIXED, "1.5", variant(SEEN, target="engine.core.gone"), Verdict.ROT),
        (FIXED, "0.9", variant(SEEN, target="engine.core.gone"), Verdict.BY_VERSION),
        (FIXED, "1.5", variant(SEEN, target="engine.gone.cut"), Verdict.ROT),
        (FIXED, "1.5", variant(SEEN, versions=">=2.0"), Verdict.ROT),
        (FIXED, "1.5", variant("{match: 'assert len(x) <= n', append: 'return x'}"), Verdict.ALREADY),
        (FIXED, "0.9", variant("{match: 'assert len(x) <= n', append: 'return x'}"), Verdict.NOT_SEEN),
        (FIXED, "1.5", variant("{match: 'assert len(x) <= n', append: 'x = 2'}"), Verdict.APPLIES),
        ("def cut(x n):\n", "1.5", variant(SEEN), Verdict.ROT),
    ],
)
def test_what_a_reverse_patch_meets(
    tmp_path: Path, source: str, version: str | None, edits: str, expected: Verdict
) -> None:
    assert verdict(Release(tmp_path, version, core=source), fix(edits, contains=">=1.0")) is expected


def test_a_part_that_the_variant_lacks_is_not_in_the_release_by_declaration(tmp_path: Path) -> None:
    edit = "{part: slice, find: 'x = x[:$N]', put: ''}"
    made = fix(variant(edit, more="lacks: [pad]"), parts="{slice: a, pad: b}", contains=">=1.0")
    assert verdict(Release(tmp_path, "1.5", core=FIXED), made, "pad") is Verdict.DECLARED


def test_the_version_alone_says_nothing_where_contains_does_not(tmp_path: Path) -> None:
    release = Release(tmp_path, "0.1", core=MOVED)
    assert verdict(release, fix(variant(SEEN))) is Verdict.ROT


@pytest.mark.parametrize("version", ["1.5.post1", "1.5+cu130", "1.0"])
def test_final_post_and_local_versions_are_believed(tmp_path: Path, version: str) -> None:
    assert Release(tmp_path, version, core=FIXED).package.believed
    assert (
        verdict(Release(tmp_path / "x", version, core=WITHOUT), fix(variant(SEEN), contains=">=1.0")) is Verdict.ALREADY
    )


@pytest.mark.parametrize("version", ["1.5rc1", "1.5.dev3", "0.0.0", "0.0.0.dev0", "unknown"])
def test_other_versions_are_not_believed(tmp_path: Path, version: str) -> None:
    assert not Release(tmp_path, version, core=FIXED).package.believed


# Conditions: an edit whose find is its put --------------------------------------------------------------------------

CONDITION = "{find: 'return x', put: 'return x'}"


def test_a_condition_that_holds_changes_nothing_by_itself(tmp_path: Path) -> None:
    release = Release(tmp_path, "1.5", core=FIXED)
    assert reverted(release, "7", fix(variant(SLICE, CONDITION))) == WITHOUT


def test_a_condition_that_does_not_hold_stands_in_the_way(tmp_path: Path) -> None:
    release = Release(tmp_path, "1.5", core=FIXED.replace("return x", "return 0"))
    assert verdict(release, fix(variant(SLICE, CONDITION), contains=">=1.0")) is Verdict.ROT


def test_a_condition_that_holds_does_not_make_a_release_without_the_fix_half_reverted(tmp_path: Path) -> None:
    release = Release(tmp_path, "0.9", core=WITHOUT)
    edits = variant("{find: 'x = x[:$N]', put: '', unfixed: 'assert len(x) <= n'}", CONDITION)
    assert verdict(release, fix(edits, contains=">=1.0")) is Verdict.NOT_SEEN


# The choice of a variant --------------------------------------------------------------------------------------------

OLD = variant("{find: 'x = x[:$N]', put: 'x = old(x)'}", versions="<2.0")
NEW = variant("{find: 'x = x[:$N]', put: 'x = new(x)'}", versions=">=2.0")


@pytest.mark.parametrize(("version", "word"), [("1.5", "old"), ("2.0", "new"), ("2.1.post2", "new")])
def test_a_believed_version_chooses_the_variant(tmp_path: Path, version: str, word: str) -> None:
    assert f"x = {word}(x)" in reverted(Release(tmp_path, version, core=FIXED), "7", fix(OLD + NEW))


def test_with_a_believed_version_no_other_variant_is_tried_and_a_hint_names_one_that_fits(tmp_path: Path) -> None:
    error = refused(Release(tmp_path, "3.0", core=FIXED), "7", fix(variant(SLICE, versions="<2.0")))
    assert "no variant is for engine 3.0" in error.what
    assert "<2.0" in error.hint and "would apply" in error.hint


def test_two_variants_for_one_version_are_refused_by_name(tmp_path: Path) -> None:
    one, other = fix(variant(SLICE)), fix(variant(CHECK, versions=">=1.0"))
    made = replace(one, variants=one.variants + other.variants)  # a file that says so does not load
    assert "two variants are for engine 1.5" in refused(Release(tmp_path, "1.5", core=FIXED), "7", made).what


def test_an_unbelieved_version_takes_the_one_variant_that_applies(tmp_path: Path) -> None:
    release = Release(tmp_path, None, core=FIXED)
    other = variant("{find: 'x = clip(x, $N)', put: ''}", versions="<2.0")
    assert reverted(release, "7", fix(other + variant(SLICE, versions=">=2.0"))) == WITHOUT


def test_an_unbelieved_version_with_two_different_results_is_refused_and_both_are_named(tmp_path: Path) -> None:
    error = refused(Release(tmp_path, "2.0.dev1", core=FIXED), "7", fix(OLD + NEW))
    assert "different results" in error.what and "<2.0" in error.what and ">=2.0" in error.what


def test_an_unbelieved_version_with_one_result_of_two_variants_is_taken(tmp_path: Path) -> None:
    release = Release(tmp_path, None, core=FIXED)
    lines = variant("{match: 'x = x[:n]', replacement: ''}", versions="<2.0")
    assert reverted(release, "7", fix(lines + variant(SLICE, versions=">=2.0"))) == WITHOUT


def test_an_unbelieved_version_under_which_nothing_applies_says_why_it_is_not_believed(tmp_path: Path) -> None:
    error = refused(Release(tmp_path, "2.0.dev1", core=MOVED), "7", fix(OLD + NEW))
    assert "2.0.dev1" in error.what and "development version" in error.what


def test_a_fix_for_other_packages_alone_does_not_concern_this_one(tmp_path: Path) -> None:
    made = make(Release(tmp_path, "1.5", core=FIXED), "7", fix(variant(SLICE).replace("engine", "other")))
    assert (made.modules, made.in_force) == ((), ())


# Several sources of one number --------------------------------------------------------------------------------------


def test_the_first_source_that_applies_wins_and_shadows_the_others(tmp_path: Path) -> None:
    release = Release(tmp_path, "1.5", core=FIXED)
    rotten, good, later = fix(variant("{find: 'gone', put: 'here'}")), fix(variant(SLICE)), fix(variant(CHECK))
    made = make(release, "7", rotten, good, later)
    assert made.modules[0].reverted.decode() == WITHOUT
    assert made.choices[0].fix is good and made.choices[0].shadowed == (rotten, later)


# Whole selections ---------------------------------------------------------------------------------------------------

PARTS = "{slice: a, check: b, pad: c}"
THREE = variant(
    "{part: slice, find: 'x = x[:$N]', put: ''}",
    "{part: check, find: 'assert len(x) <= n', put: ''}",
    more="lacks: [pad]",
)


@pytest.mark.parametrize(
    ("select", "in_force", "text"),
    [
        ("7", ("7/slice",), WITHOUT),
        ("7/slice", ("7/slice",), WITHOUT),
        ("7/check", ("7/check",), FIXED.replace("    assert len(x) <= n\n", "")),
        ("7/check+slice", ("7/slice", "7/check"), WITHOUT.replace("    assert len(x) <= n\n", "")),
        ("7,7/check", ("7/slice", "7/check"), WITHOUT.replace("    assert len(x) <= n\n", "")),
        ("7/all", ("7/slice", "7/check"), WITHOUT.replace("    assert len(x) <= n\n", "")),
    ],
)
def test_parts_come_out_as_selected(tmp_path: Path, select: str, in_force: tuple[str, ...], text: str) -> None:
    made = make(Release(tmp_path, "1.5", core=FIXED), select, fix(THREE, parts=PARTS, default="[slice]"))
    assert made.in_force == in_force
    assert made.modules[0].reverted.decode() == text
    assert made.modules[0].parts == in_force


def test_all_parts_of_a_fix_leave_out_what_the_release_lacks_and_say_so(tmp_path: Path) -> None:
    made = make(Release(tmp_path, "1.5", core=FIXED), "7/all", fix(THREE, parts=PARTS))
    assert made.notes == ("7/pad: not in this release (declared)",)


@pytest.mark.parametrize("select", ["7/pad", "7/slice+pad", "7,7/pad"])
def test_a_lacking_part_that_is_named_is_refused(tmp_path: Path, select: str) -> None:
    made = fix(THREE, parts=PARTS, default="[slice]")
    assert "7/pad: not in this release (declared)" in str(refused(Release(tmp_path, "1.5", core=FIXED), select, made))


def test_a_fix_of_which_nothing_is_in_this_release_is_refused(tmp_path: Path) -> None:
    error = refused(Release(tmp_path, "0.9", core=MOVED), "7", fix(variant(SEEN), contains=">=1.0"))
    assert "by version" in error.what and "nothing to take out" in error.hint


def test_everything_that_stands_in_the_way_is_said_at_once(tmp_path: Path) -> None:
    gone = [fix(variant(f"{{find: 'gone{n}', put: 'here'}}"), number=n) for n in (8, 9)]
    error = refused(Release(tmp_path, "1.5", core=FIXED), "8,9", *gone)
    assert isinstance(error, MalformedError) and len(error.problems) == 2
    assert "8.yaml" in str(error) and "9.yaml" in str(error)


def test_several_fixes_edit_one_function_each_in_the_original_text(tmp_path: Path) -> None:
    release = Release(tmp_path, "1.5", core=FIXED)
    one, two = fix(variant(SLICE), number=8), fix(variant(CHECK), number=9)
    three = fix(variant("{match: 'return x', replacement: 'return list(x)'}"), number=10)
    made = make(release, "10,9,8", one, two, three)
    assert made.modules[0].reverted == b"def cut(x, n):\n    return list(x)\n"
    assert sorted(made.in_force) == ["10", "8", "9"]
    assert {edit.parts: edit.line for edit in made.modules[0].edits} == {("8",): 2, ("9",): 3, ("10",): 4}


@pytest.mark.parametrize(
    ("one", "two", "reason"),
    [
        (SLICE, "{find: 'x[:$N]', put: 'x'}", "same lines"),
        ("{match: 'return x', prepend: 'a = 1'}", "{match: 'return x', prepend: 'b = 1'}", "one point"),
        ("{match: 'return x', prepend: 'a = 1'}", "{match: 'assert len(x) <= n', append: 'b = 1'}", "one point"),
    ],
)
def test_edits_that_meet_are_a_conflict_that_names_both(tmp_path: Path, one: str, two: str, reason: str) -> None:
    with pytest.raises(ConflictError, match=reason) as caught:
        make(Release(tmp_path, "1.5", core=FIXED), "8,9", fix(variant(one), number=8), fix(variant(two), number=9))
    assert "8.yaml" in caught.value.what and "9.yaml" in caught.value.what


def test_a_result_that_does_not_compile_is_refused_and_names_the_patch(tmp_path: Path) -> None:
    made = fix(variant("{match: 'return x', replacement: 'return ('}"))
    with pytest.raises(EditError, match=r"engine\.core does not compile after 7 \(7\.yaml:"):
        make(Release(tmp_path, "1.5", core=FIXED), "7", made)


def test_a_text_that_the_files_encoding_cannot_take_is_refused_by_character(tmp_path: Path) -> None:
    release = Release(tmp_path, "1.5", core="")
    (release.folder / "core.py").write_bytes(b"# -*- coding: latin-1 -*-\nname = '\xe9'\n" + FIXED.encode())
    made = fix(variant("{match: 'return x', replacement: 'return \"\u20ac\"'}"))
    with pytest.raises(EditError, match="iso-8859-1") as caught:
        make(release, "7", made)
    assert "\u20ac" in caught.value.what and "None" not in caught.value.what
    latin = fix(variant("{match: 'return x', replacement: 'return \"\u00fc\"'}"))
    assert make(release, "7", latin).modules[0].reverted.endswith(b'return "\xfc"\n')


def test_a_module_too_deep_for_pythons_parser_is_refused_as_such(tmp_path: Path) -> None:
    deep = Release(tmp_path, "1.5", core=FIXED + "y = " + " + ".join(["1"] * 50_000) + "\n")
    assert "recursion depth" in refused(deep, "7", fix(variant(SLICE))).what


def test_nothing_comes_out_when_one_of_two_modules_refuses(tmp_path: Path) -> None:
    release = Release(tmp_path, "1.5", core=FIXED, other=MOVED)
    both = variant(SLICE) + f"    - target: engine.other.cut\n      edits:\n        - {SLICE}\n"
    assert refused(release, "7", fix(both)).exit_code == 3


def test_every_file_that_decided_is_remembered(tmp_path: Path) -> None:
    release = Release(tmp_path, "1.5", core=FIXED, other=FIXED)
    rotten = fix(variant(SLICE, target="engine.gone.cut"))
    made = make(release, "7", rotten, fix(variant(SLICE)))
    assert dict(made.read)[str(release.folder / "core.py")] == FIXED.encode()
    assert str(release.folder / "other.py") not in dict(made.read)


# all, none ----------------------------------------------------------------------------------------------------------


def test_all_takes_what_applies_and_lists_what_it_skips(tmp_path: Path) -> None:
    release = Release(tmp_path, "1.5", core=FIXED)
    rotten, elsewhere = fix(variant("{find: 'gone', put: 'x'}"), number=8), fix(variant(CHECK), number=9)
    made = make(release, "all", fix(variant(SLICE)), rotten, elsewhere)
    assert made.in_force == ("7", "9")
    assert [choice.fix for choice in made.skipped] == [rotten]


def test_all_with_fixes_that_conflict_is_refused(tmp_path: Path) -> None:
    other = fix(variant("{find: 'x[:$N]', put: 'x'}"), number=8)
    with pytest.raises(ConflictError):
        make(Release(tmp_path, "1.5", core=FIXED), "all", fix(variant(SLICE)), other)


def test_none_takes_nothing(tmp_path: Path) -> None:
    assert make(Release(tmp_path, "1.5", core=FIXED), "none", fix(variant(SLICE))).modules == ()


def test_an_unknown_number_is_an_error_also_beside_a_good_one(tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match="no fix has the number 99"):
        make(Release(tmp_path, "1.5", core=FIXED), "7,99", fix(variant(SLICE)))


# Documents whose edits apply one after another ----------------------------------------------------------------------


def document(*edits: tuple[str, str]) -> Fix:
    text = "patches:\n  - target: engine.core.cut\n    edits:\n"
    for match, replacement in edits:
        text += f"      - match: |\n          {match}\n        replacement: |\n          {replacement}\n"
    return loads(text, "pr7_x/revert.yaml", id="7")


def test_a_document_of_edits_one_after_another_means_the_same_where_they_do_not_meet(tmp_path: Path) -> None:
    made = document(("x = x[:n]", "x = x[:]"), ("return x", "return 0"))
    expected = FIXED.replace("x[:n]", "x[:]").replace("return x", "return 0")
    assert reverted(Release(tmp_path, "1.5", core=FIXED), "7", made) == expected


def test_a_document_whose_second_edit_finds_what_the_first_made_is_refused(tmp_path: Path) -> None:
    release = Release(tmp_path, "1.5", core=FIXED.replace("return x\n", "return 0\n") + "    x = 1\n")
    made = document(("x = x[:n]", "x = 1"), ("x = 1", "x = 2"))
    with pytest.raises(RefusedError) as caught:
        make(release, "7", made)
    assert "one after another" in str(caught.value)
