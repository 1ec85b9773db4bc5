"""Reverse patches: what a good file means, and what is said of a malformed one, at its place."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from prtoggle.edits.kinds import DiffEdit, Hunk, LinesEdit, PatternEdit, PreambleEdit
from prtoggle.errors import MalformedError, Place, PrtoggleError
from prtoggle.spec import ONLY_PART, Fix, Origin
from prtoggle.yamlfile import load, loads, loads_foreign

GOOD = """\
prtoggle: 1
fix: 27360
title: it writes past the table
project: owner/name
merged: 2026-06-06
symptom: NaN
links: [https://example.org/27360]
contains:
  pkg: '>=0.5.13'
parts:
  slice: cut it
  on: refuse it
default: [slice]
variants:
  - package: pkg
    versions: '>=0.5.13'
    baked_in: [cuda-graph]
    patches:
      - target: pkg.mod.C.m
        edits:
          - part: slice
            find: 'x = x[:, :$N]'
            put: ''
            unfixed: 'y(x)'
          - part: [on]
            match: |
              if x:
                  raise ValueError('x')
            replacement: ''
"""


def problems(text: str, **options: str) -> list[str]:
    """Every problem of ``text``: line and column, what, the nearest thing in brackets, the hint in braces."""
    with pytest.raises(MalformedError) as caught:
        loads(text, "revert.yaml", **options)
    assert caught.value.exit_code == 3
    return [shown(problem) for problem in caught.value.problems]


def shown(problem: PrtoggleError) -> str:
    assert problem.place is not None
    text = str(problem.place).removeprefix("revert.yaml:") + ": " + problem.what
    text += f" [{problem.nearest}]" if problem.nearest else ""
    return text + (f" {{{problem.hint}}}" if problem.hint else "")


def changed(old: str, new: str) -> str:
    """The good file with ``old``, which stands in it once, changed to ``new``."""
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def test_a_good_file_says_what_the_fix_is() -> None:
    fix = loads(GOOD, "revert.yaml", id="27360", origin=Origin("dir", "/fixes"))
    assert (fix.id, fix.title, fix.project) == ("27360", "it writes past the table", "owner/name")
    assert (fix.merged, fix.symptom, fix.links) == ("2026-06-06", "NaN", ("https://example.org/27360",))
    assert dict(fix.contains) == {"pkg": ">=0.5.13"}
    assert dict(fix.parts) == {"slice": "cut it", "on": "refuse it"}
    assert fix.default_parts == ("slice",)
    assert fix.place == Place("revert.yaml", 1, 1)
    assert str(fix.origin) == "dir /fixes"
    (variant,) = fix.variants
    assert (variant.package, variant.versions, variant.lacks) == ("pkg", ">=0.5.13", ())
    assert variant.baked_in == ("cuda-graph",)
    assert not variant.sequential
    (patch,) = variant.patches
    assert (patch.target, patch.place) == ("pkg.mod.C.m", Place("revert.yaml", 19, 9))
    first, second = patch.edits
    assert (first.parts, first.place) == (("slice",), Place("revert.yaml", 21, 13))
    assert first.kind == PatternEdit("x = x[:, :$N]", "", ("y(x)",))
    assert second.parts == ("on",)
    assert second.kind == LinesEdit("if x:\n    raise ValueError('x')\n", "replace", "")


def edits(text: str, *, parts: str = "") -> list[object]:
    """The kinds of the edits (YAML, a list) of a small fix."""
    head = "prtoggle: 1\nfix: 1\ntitle: t\n" + parts
    head += "variants:\n- package: pkg\n  patches:\n  - target: pkg.mod\n    edits:\n"
    fix = loads(head + "".join(f"    {line}\n" for line in dedent(text).splitlines()), "revert.yaml")
    return [edit.kind for edit in fix.variants[0].patches[0].edits]


def test_each_action_of_a_line_edit() -> None:
    assert edits(
        """
        - match: 'a'
        - match: 'a'
          replacement: 'b'
        - match: 'a'
          prepend: 'it''s'
        - match: |
            a
              b
          append: |
            c
        """
    ) == [
        LinesEdit("a", "replace", ""),
        LinesEdit("a", "replace", "b"),
        LinesEdit("a", "prepend", "it's"),
        LinesEdit("a\n  b\n", "append", "c\n"),
    ]


def test_a_fix_without_parts_has_one_and_its_edits_need_not_name_it() -> None:
    text = "prtoggle: 1\nfix: 1\ntitle: t\nvariants: [{package: p, patches: [{target: p, edits: [{match: 'a'}]}]}]"
    fix = loads(text, "revert.yaml")
    assert dict(fix.parts) == {ONLY_PART: "t"}
    assert fix.default_parts == (ONLY_PART,)
    assert fix.variants[0].patches[0].edits[0].parts == (ONLY_PART,)


def test_an_edit_may_belong_to_several_parts() -> None:
    fix = loads(changed("part: [on]", "part: [on, slice]"), "revert.yaml")
    assert fix.variants[0].patches[0].edits[1].parts == ("on", "slice")


def test_a_preamble_belongs_to_the_parts_of_its_patch() -> None:
    fix = loads(changed("        edits:\n", "        preamble: 'import x'\n        edits:\n"), "revert.yaml")
    first = fix.variants[0].patches[0].edits[0]
    assert (first.kind, first.parts) == (PreambleEdit("import x"), ("slice", "on"))


def test_scalars_are_text_where_text_is_meant() -> None:
    text = changed("title: it writes past the table", "title: 027360").replace("symptom: NaN", "symptom: off")
    text = text.replace("  slice: cut it", "  slice: 12:30:00").replace("refuse it", "1_000")
    fix = loads(text, "revert.yaml")
    assert (fix.title, fix.symptom) == ("027360", "off")
    assert dict(fix.parts) == {"slice": "12:30:00", "on": "1_000"}


def test_an_upper_bound_with_a_reason_is_kept_with_it() -> None:
    bound = "pkg: {versions: '>=0.5.13,<0.6', reason: rewritten in 0.6}"
    fix = loads(changed("pkg: '>=0.5.13'", bound), "revert.yaml")
    assert dict(fix.contains) == {"pkg": ">=0.5.13,<0.6"}
    assert dict(fix.contains_reason) == {"pkg": "rewritten in 0.6"}


def test_a_byte_order_mark_and_windows_line_ends_change_nothing() -> None:
    assert loads("\ufeff" + GOOD.replace("\n", "\r\n"), "revert.yaml") == loads(GOOD, "revert.yaml")


@pytest.mark.parametrize(
    "target",
    ["pkg", "pkg.mod", "pkg.mod.C.m", "pkg.mod:C.m", "pkg:f", "pkg.C.p@setter", "pkg.f#2", "pkg.f#2.inner", "pkg.été"],
)
def test_targets_of_every_shape_are_taken(target: str) -> None:
    fix = loads(changed("target: pkg.mod.C.m", f"target: {target}"), "revert.yaml")
    assert fix.variants[0].patches[0].target == target


# --- malformed files: each sort at its place ------------------------------------------------------------------------

TOP = "prtoggle, fix, title, project, merged, symptom, links, contains, parts, default, variants"
STYLE = "{code stands in a | block or in single quotes}"
ANCHORS = "{anchors and aliases are not read here}"

SORTS = {
    "a tab": (
        changed("  slice: cut it", "\tslice: cut it"),
        ["11:1: a tab, expected spaces (YAML indents with spaces)"],
    ),
    "an open bracket": (
        changed("default: [slice]\n", "").replace("[cuda-graph]", "[cuda-graph,") + "]]\n",
        ["16:15: not YAML: the [ is not closed where line 18 starts"],
    ),
    "an open bracket at the end": (
        "prtoggle: 1\nlinks: [a, {b: c}",
        ["2:8: not YAML: the [ is not closed"],
    ),
    "an open quote": (
        "prtoggle: 1\ntitle: 'past the table\nfix: 1\n",
        ["2:8: not YAML: the ' is not closed"],
    ),
    "a specifier without quotes": (
        changed("  pkg: '>=0.5.13'", "  pkg: >=0.5.13"),
        ["9:8: not YAML: a text that starts with '>' stands in quotes, expected '>=0.5.13'"],
    ),
    "a colon in plain text": (
        changed("title: it writes", "title: fa3: it writes"),
        [
            "3:11: not YAML: a second ':' in one line, or a line that is indented too far "
            "{put text that holds ': ' in quotes}"
        ],
    ),
    "a line indented too little": (
        changed("      - target", "     - target")
        .replace("        edits", "       edits")
        .replace("          - part: [on]", "         - part: [on]"),
        ["25:10: not YAML: expected <block end>, but found '<block sequence start>'"],
    ),
    "a control character": (
        changed("NaN", "NaN\x07"),
        ["6:13: character U+0007, which cannot stand in this file"],
    ),
    "a line end that only YAML knows": (
        changed("NaN", "Na\u2028N"),
        ["6:12: character U+2028, which cannot stand in this file"],
    ),
    "an empty file": ("# nothing\n", ["1:1: the file is empty, expected a reverse patch"]),
    "a list at the top": ("- fix: 1\n", [f"1:1: the file is a list, expected a mapping with one of: {TOP}"]),
    "a second document": (
        GOOD + "---\nfix: 1\n",
        ["30:1: a second document starts here, expected one"],
    ),
    "an anchor and its alias": (
        changed("[cuda-graph]", "&b [cuda-graph]").replace("links: [", "links: [*b, "),
        [
            f"7:9: an alias '*b', expected the thing itself {ANCHORS}",
            "7:9: an item of 'links' is empty, expected text",
            f"17:15: an anchor '&b', expected none {ANCHORS}",
        ],
    ),
    "a merge key": (
        changed("default: [slice]", "<<: {default: [slice]}"),
        [f"13:1: a merge key '<<', expected the fields themselves {ANCHORS}"],
    ),
    "a tag": (
        changed("fix: 27360", "fix: !!int 27360"),
        ["2:6: a tag '!!int', expected none {every scalar is text here; the field says what it means}"],
    ),
    "a duplicate key": (
        changed("default: [slice]", "default: [slice]\nfix: 27360"),
        ["14:1: duplicate key 'fix', expected each once (first in line 2)"],
    ),
    "a duplicate part": (
        changed("  on: refuse it", "  slice: refuse it").replace("[on]", "slice"),
        ["12:3: duplicate key 'slice', expected each once (first in line 11)"],
    ),
    "an unknown field": (
        changed("merged:", "mergd:"),
        [f"5:1: unknown field 'mergd', expected one of: {TOP} [merged]"],
    ),
    "an unknown field of a variant": (
        changed("versions: '>=0.5.13'", "version: '>=0.5.13'"),
        ["16:5: unknown field 'version', expected one of: package, versions, lacks, baked_in, patches [versions]"],
    ),
    "an unknown field of an edit": (
        changed("            replacement: ''", "            replacment: ''"),
        [
            "29:13: unknown field 'replacment', expected one of: part, match, replacement, prepend, append, find, put, "
            "unfixed, diff, merged_diff [replacement]"
        ],
    ),
    "fields that are missing": (
        "prtoggle: 1\ntitle: t\n",
        [
            "1:1: the file has no field 'fix', expected the PR number",
            "1:1: the file has no field 'variants', expected a list of reverse patches",
        ],
    ),
    "a patch without a target": (
        changed("target: pkg.mod.C.m\n        edits:", "edits:"),
        ["19:9: the patch has no field 'target', expected a module, or a definition in it"],
    ),
    "a version of the format that nobody knows": (
        changed("prtoggle: 1", "prtoggle: 2"),
        ["1:11: version 2 of the format is not known here, expected prtoggle: 1 {a newer prtoggle may read it}"],
    ),
    "an octal number": (
        changed("fix: 27360", "fix: 027360"),
        ["2:6: 'fix' is '027360', expected a PR number, without quotes or zeros before it [27360]"],
    ),
    "a number in quotes": (
        changed("fix: 27360", "fix: '27360'"),
        ["2:6: 'fix' is '27360', expected a PR number, without quotes or zeros before it [27360]"],
    ),
    "text that is empty": (
        changed("title: it writes past the table", "title:"),
        ["3:7: 'title' is empty, expected text"],
    ),
    "text that is null": (
        changed("symptom: NaN", "symptom: ~"),
        ["6:10: 'symptom' is empty, expected text"],
    ),
    "a list where text is meant": (
        changed("title: it writes past the table", "title: [a, b]"),
        ["3:8: 'title' is a list, expected text"],
    ),
    "text where a list is meant": (
        changed("default: [slice]", "default: slice"),
        ["13:10: 'default' is text, expected a list of part names [[slice]]"],
    ),
    "an empty list": (
        changed("[cuda-graph]", "[]"),
        ["17:15: 'baked_in' is an empty list, expected names such as cuda-graph"],
    ),
    "a project that is none": (
        changed("owner/name", "name"),
        ["4:10: 'project' is 'name', expected owner/name"],
    ),
    "a date that is none": (
        changed("2026-06-06", "2026-06-31"),
        ["5:9: 'merged' is '2026-06-31', expected a date such as 2026-06-06"],
    ),
    "a part's name in capitals": (
        changed("  on: refuse it", "  On_Off: refuse it"),
        [
            "12:3: a part called 'On_Off', expected a lower-case letter, then lower-case letters, digits and '-' "
            "[on-off]",
            "25:20: unknown part 'on' in part, expected one of slice, On_Off",
        ],
    ),
    "a part called all": (
        changed("  on: refuse it", "  all: refuse it").replace("[on]", "all"),
        ["12:3: a part called 'all', which means every part in a selection, expected another name"],
    ),
    "a default that is no part": (
        changed("[slice]", "[slise]"),
        ["13:11: unknown part 'slise' in 'default', expected one of slice, on [slice]"],
    ),
    "a part named twice": (
        changed("[slice]", "[slice, slice]"),
        ["13:18: part 'slice' twice in 'default', expected each once"],
    ),
    "an edit of an unknown part": (
        changed("part: slice", "part: slic"),
        ["21:19: unknown part 'slic' in part, expected one of slice, on [slice]"],
    ),
    "an edit without a part": (
        changed("          - part: slice\n            find", "          - find"),
        ["21:13: the edit has no field 'part', expected one or more of slice, on"],
    ),
    "lacking what is no part": (
        changed("    baked_in", "    lacks: [off]\n    baked_in"),
        ["17:13: unknown part 'off' in 'lacks', expected one of slice, on"],
    ),
    "a part that no edit takes out": (
        changed("part: [on]", "part: slice"),
        ["15:5: no edit takes out part 'on', expected one, or the part in 'lacks'"],
    ),
    "a part that is lacking and taken out": (
        changed("    baked_in", "    lacks: ['on']\n    baked_in"),
        ["26:13: an edit takes out part 'on', which stands in 'lacks', expected one or the other"],
    ),
    "a specifier that is none": (
        changed("    versions: '>=0.5.13'", "    versions: 0.5.13"),
        ["16:15: 'versions' is '0.5.13', expected a version specifier such as '>=0.5.13' [==0.5.13]"],
    ),
    "a specifier with a sign that is none": (
        changed("    versions: '>=0.5.13'", "    versions: '==>3'"),
        ["16:15: 'versions' is '==>3', expected a version specifier such as '>=0.5.13' [>=3]"],
    ),
    "a range that holds nothing": (
        changed("    versions: '>=0.5.13'", "    versions: '>=0.5.13,<0.5'"),
        ["16:15: no version is '>=0.5.13,<0.5', expected a range that holds one"],
    ),
    "an upper bound without a reason": (
        changed("  pkg: '>=0.5.13'", "  pkg: '>=0.5.13, <0.6'"),
        [
            "9:8: '>=0.5.13, <0.6' has an upper bound without a reason, expected one "
            "[{versions: '>=0.5.13, <0.6', reason: '...'}]"
        ],
    ),
    "an upper bound whose reason is empty": (
        changed("  pkg: '>=0.5.13'", "  pkg: {versions: '==0.5.13', reason: ''}"),
        ["9:39: 'reason' is empty, expected text"],
    ),
    "contains for a package without a variant": (
        changed("  pkg: '>=0.5.13'", "  pgk: '>=0.5.13'"),
        ["9:3: 'contains' names 'pgk', expected a package of a variant [pkg]"],
    ),
    "a package that is no name": (
        changed("package: pkg", "package: my-pkg"),
        ["15:14: 'package' is 'my-pkg', expected the name that it is imported by"],
    ),
    "a target in another package": (
        changed("pkg.mod.C.m", "pkgs.mod.C.m"),
        ["19:17: 'target' is 'pkgs.mod.C.m', expected one in the variant's package 'pkg'"],
    ),
    "a target that is no name": (
        changed("pkg.mod.C.m", "pkg/mod.py"),
        [
            "19:17: 'target' is 'pkg/mod.py', expected package.module, package.module.Class.method or "
            "module:Class.method"
        ],
    ),
    "two ways to find one place": (
        changed("            find: 'x", "            match: 'x'\n            find: 'x"),
        ["23:19: match and find stand in one edit, expected exactly one of match, find, diff, merged_diff"],
    ),
    "no way to find the place": (
        changed(
            "            match: |\n              if x:\n                  raise ValueError('x')\n"
            "            replacement: ''\n",
            "",
        ),
        ["25:13: the edit has no way to find its place, expected exactly one of match, find, diff, merged_diff"],
    ),
    "a field of another way": (
        changed("            unfixed: 'y(x)'", "            append: 'y(x)'"),
        ["24:21: 'append' goes with 'match', expected only put or unfixed beside find"],
    ),
    "two actions": (
        changed("            replacement: ''", "            replacement: ''\n            append: 'x'"),
        ["30:21: replacement and append stand in one edit, expected only one of replacement, prepend, append"],
    ),
    "find without put": (
        changed("            put: ''\n", ""),
        ["21:13: the edit has 'find' and no field 'put', expected the code to put there, or '' to delete"],
    ),
    "put without its quotes": (
        changed("put: ''", "put:"),
        ["23:17: put is empty, expected code {write '' where nothing is meant}"],
    ),
    "an empty match": (
        changed("match: |\n              if x:\n                  raise ValueError('x')\n", "match: ' '\n"),
        ["26:20: match is empty, expected the lines to find"],
    ),
    "an empty find": (
        changed("'x = x[:, :$N]'", "''"),
        ["22:19: find is empty, expected the code to find"],
    ),
    "nothing to insert": (
        changed("            replacement: ''", "            prepend: ''"),
        ["29:22: prepend is empty, expected the lines to insert"],
    ),
    "code in a folded block": (
        changed("match: |", "match: >"),
        [f"26:20: match is a folded '>' block, which joins lines, expected a '|' block {STYLE}"],
    ),
    "code in double quotes": (
        changed("'x = x[:, :$N]'", '"x = x[:, :$N]\\n"'),
        [f"22:19: find is in double quotes, where \\ means something to YAML, expected single ones {STYLE}"],
    ),
    "code without quotes": (
        changed("'x = x[:, :$N]'", "x = x[0]  # all"),
        [f"22:19: find is plain text, of which YAML may cut off or join something, expected quotes {STYLE}"],
    ),
    "code in quotes over several lines": (
        changed("'x = x[:, :$N]'", "'x =\n              x'"),
        [f"22:19: find is in quotes over several lines, which YAML joins, expected a '|' block {STYLE}"],
    ),
    "versions that overlap": (
        GOOD + GOOD[GOOD.index("  - package") :].replace(">=0.5.13", "<0.5.14"),
        ["31:15: two variants take pkg 0.5.13 (the other is in line 15), expected versions that do not overlap"],
    ),
    "a second variant for every version": (
        GOOD + GOOD[GOOD.index("  - package") :].replace("    versions: '>=0.5.13'\n", ""),
        ["30:5: two variants take pkg 0.5.13 (the other is in line 15), expected versions that do not overlap"],
    ),
    "too deep": (
        "links: " + "[" * 30 + "]" * 30,
        ["1:27: nested more than 20 deep"],
    ),
    "a list as a key": (
        GOOD + "? [a]\n: b\n",
        ["30:3: a list or mapping as a key, expected a name"],
    ),
}


@pytest.mark.parametrize("sort", SORTS)
def test_each_sort_of_malformed_file_is_refused_at_its_place(sort: str) -> None:
    text, expected = SORTS[sort]
    assert problems(text) == expected


def test_all_problems_are_found_at_once_in_the_order_of_the_file() -> None:
    text = (
        changed("merged: 2026-06-06", "merged: yesterday").replace("[slice]", "[slise]").replace("put: ''", "putt: ''")
    )
    found = problems(text)
    assert [problem.split(" ")[0] for problem in found] == ["5:9:", "13:11:", "21:13:", "23:13:"]


def test_the_message_holds_every_problem_with_file_line_and_column() -> None:
    with pytest.raises(MalformedError) as caught:
        loads(changed("[slice]", "[slise]").replace("mergd", ""), "fixes/pr1_x/revert.yaml")
    assert str(caught.value) == (
        "fixes/pr1_x/revert.yaml:13:11: unknown part 'slise' in 'default', expected one of slice, on\n  nearest: slice\n"
        "  see: prtoggle explain reverse-patches#fields"
    )


# --- patterns and diffs inside a file -------------------------------------------------------------------------------

SMALL = "prtoggle: 1\nfix: 1\ntitle: t\nvariants:\n- package: pkg\n  patches:\n  - target: pkg.mod\n    edits:\n"


def small(edit: str) -> str:
    """A small fix with the edit given (YAML, its first line is line 9, four columns in)."""
    return SMALL + "".join(f"    {line}\n" for line in dedent(edit).strip().splitlines())


@pytest.mark.parametrize(
    ("edit", "place"),
    [
        ("- find: 'f(it''s, $X'\n  put: ''", "9:18"),
        ("- find: |\n    f($X)\n\n    g($...)\n  put: ''", "12:11"),
        ("- find: |2\n      f($X)\n    g($...)\n  put: ''", "11:11"),
        ("- find: 'f($X)'\n  put: 'g(1, $Y)'", "10:18"),
        ("- find: 'f($X)'\n  put: 'g'\n  unfixed: 'f($X'", "11:18"),
    ],
)
def test_a_pattern_that_does_not_parse_is_refused_at_its_place_in_the_file(edit: str, place: str) -> None:
    (found,) = problems(small(edit))
    assert found.startswith(f"{place}: ")


def diff_kind(edit: str) -> object:
    return loads(small(edit), "revert.yaml").variants[0].patches[0].edits[0].kind


@pytest.mark.parametrize(
    "headers", ["--- a/pkg/mod.py\n+++ b/pkg/mod.py\n", "diff --git a/x b/x\n--- a/x\n+++ b/x\n", ""]
)
def test_a_diff_is_taken_as_it_stands_and_a_merged_one_backwards(headers: str) -> None:
    lines = (headers + "@@ -7,2 +7,2 @@ def f():\n a\n-old\n+new\n").splitlines()
    body = "|\n" + "".join(f"    {line}\n" for line in lines)
    assert diff_kind(f"- diff: {body}") == DiffEdit((Hunk(("a", "old"), ("a", "new"), 7, "def f():"),))
    assert diff_kind(f"- merged_diff: {body}") == DiffEdit((Hunk(("a", "new"), ("a", "old"), 7, "def f():"),))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("@@ -1,2 +1,3 @@\n a\n-b\n+c", "10:9: corrupt hunk: it ends 1 lines short of what its header states"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-b\n+c\n*d\n@@ oops @@", "16:9: this hunk's header is not *"),
        ("hello", "10:9: no unified diff: it changes no file"),
        (
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-b\n+c\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-b\n+c",
            "9:13: diff changes 2 files, expected one: the target's",
        ),
        (
            "--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+c",
            "9:13: diff makes a file added, expected hunks that change the target's file",
        ),
    ],
)
def test_a_diff_that_is_none_is_refused_at_its_place_in_the_file(lines: str, expected: str) -> None:
    (found,) = problems(small("- diff: |\n" + "".join(f"    {line}\n" for line in lines.splitlines())))
    assert found.startswith(expected[:-1]) if expected.endswith("*") else found == expected


# --- files and folders ----------------------------------------------------------------------------------------------


def write(folder: Path, name: str, text: str | bytes) -> Path:
    (folder / name).mkdir()
    file = folder / name / "revert.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def refused(file: Path) -> list[str]:
    with pytest.raises(MalformedError) as caught:
        load(file)
    return [shown(problem).replace(str(file), "FILE") for problem in caught.value.problems]


def test_a_file_is_loaded_from_its_folder(tmp_path: Path) -> None:
    file = write(tmp_path, "pr27360_fa3", GOOD)
    fix = load(file)
    assert (fix.id, fix.place.file, fix.origin) == ("27360", str(file), Origin("dir", str(file.parent)))
    assert load(file, origin=Origin("bundled", "x")).origin == Origin("bundled", "x")


def test_the_folders_number_must_be_the_fixs(tmp_path: Path) -> None:
    assert refused(write(tmp_path, "pr27361_fa3", GOOD)) == [
        "FILE:2:6: 'fix' is 27360, and the folder's name says 27361, expected the same number "
        "{call the folder pr27360_<slug>, or write fix: 27361}"
    ]


def test_a_folder_without_a_number_is_refused(tmp_path: Path) -> None:
    assert refused(write(tmp_path, "fa3", GOOD)) == ["FILE: the folder is called 'fa3', expected pr<number>_<slug>"]


def test_bytes_that_are_not_utf8_are_refused_at_their_place(tmp_path: Path) -> None:
    data = GOOD.replace("NaN", "é NaN ").encode() + b""
    file = write(tmp_path, "pr27360_fa3", data.replace(b"NaN ", b"NaN \xff"))
    assert refused(file) == ["FILE:6:16: byte 0xff is not UTF-8, expected UTF-8 text"]


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pr1_x").mkdir()
    assert refused(tmp_path / "pr1_x" / "revert.yaml") == ["FILE: cannot be read: No such file or directory"]


@pytest.mark.parametrize(
    "file", sorted(Path(__file__).parents[1].glob("fixes/*/revert.yaml")), ids=lambda f: f.parent.name
)
def test_the_bundled_files_load(file: Path) -> None:
    assert load(file).id in file.parent.name


# --- SGLang's own documents -----------------------------------------------------------------------------------------

FOREIGN = """
patches:
  - target: sglang.srt.mod.C.m
    preamble: "import x"
    edits:
      - match: a = 1
        replacement: "b = 2\\n"
        append: ""
      - match: "c"
      - match: |
          d
        replacement: ' '
        prepend: >
          e
  - target: sglang.srt.other
    edits:
      - {match: x, append: y}
"""


def foreign(text: str, first_line: int = 1) -> Fix:
    origin = Origin("registry", "sglang")
    return loads_foreign(
        text, "toggle.py", id="7", package="sglang", project="o/n", origin=origin, first_line=first_line
    )


def test_a_document_of_sglangs_is_read_as_sglang_reads_it() -> None:
    fix = foreign(FOREIGN)
    assert (fix.id, fix.project, dict(fix.contains), fix.default_parts) == ("7", "o/n", {}, (ONLY_PART,))
    (variant,) = fix.variants
    assert (variant.package, variant.versions, variant.sequential) == ("sglang", "", True)
    first, second = variant.patches
    assert (first.target, second.target) == ("sglang.srt.mod.C.m", "sglang.srt.other")
    assert [edit.kind for edit in first.edits] == [
        PreambleEdit("import x"),
        LinesEdit("a = 1", "replace", "b = 2\n"),
        LinesEdit("c", "replace", ""),
        LinesEdit("d\n", "prepend", "e\n"),
    ]
    assert second.edits[0].kind == LinesEdit("x", "append", "y")
    assert {edit.parts for patch in variant.patches for edit in patch.edits} == {(ONLY_PART,)}


def test_places_count_from_the_line_where_the_text_starts() -> None:
    assert foreign(FOREIGN, first_line=40).variants[0].patches[0].place == Place("toggle.py", 42, 5)
    with pytest.raises(MalformedError, match=r"^toggle\.py:42:13: not YAML: the ' is not closed"):
        foreign("\npatches:\n  - target: 'x\n", first_line=40)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('append: ""', "append: x", "8:17: replacement and append stand in one edit, *"),
        ('match: "c"', 'match: " "', "9:16: match is empty, expected the lines to find"),
        ("preamble", "preambel", "4:5: unknown field 'preambel', expected one of: target, edits, preamble [preamble]"),
        ("{match: x, append: y}", "{append: y}", "17:9: the edit has no field 'match', expected the lines to find"),
        ("sglang.srt.other", "vllm.other", "15:13: 'target' is 'vllm.other', expected one in the variant's package *"),
        ("      - {match: x, append: y}", "      []", "17:7: 'edits' is an empty list, expected edits"),
        ("match: a = 1", "match: [a]", "6:16: 'match' is a list, expected text"),
        ("match: a = 1", "match: ~", "6:16: 'match' is empty, expected text"),
        ("replacement: ' '", "replacement:", "12:21: 'replacement' is empty, expected text"),
    ],
)
def test_what_sglang_would_refuse_or_pass_over_is_refused(old: str, new: str, expected: str) -> None:
    assert FOREIGN.count(old) == 1
    with pytest.raises(MalformedError) as caught:
        foreign(FOREIGN.replace(old, new))
    first = shown(caught.value.problems[0]).removeprefix("toggle.py:")
    assert first.startswith(expected[:-1]) if expected.endswith("*") else first == expected


def test_such_a_file_in_a_fix_folder_has_the_folders_number(tmp_path: Path) -> None:
    fix = load(write(tmp_path, "pr7_theirs", FOREIGN))
    assert (fix.id, fix.project, fix.packages) == ("7", "", ("sglang",))
    assert fix.variants[0].sequential


def test_such_a_text_without_a_number_is_refused() -> None:
    assert problems(FOREIGN) == ["2:1: a document without a number, expected a folder called pr<number>_<slug>"]
