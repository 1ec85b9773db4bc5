"""The grammar of a selection: what it means, how it is written back, and what is said where it does not parse."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prtoggle.errors import SelectionError
from prtoggle.integrations import Integration
from prtoggle.integrations.sglang import INTEGRATION
from prtoggle.selection import ALL, NONE, Choice, Selection, absolute, format, from_environment, parse

SGLANG = INTEGRATION.project
BOTH = "PRTOGGLE_REVERT", INTEGRATION.variable


def fix(number: int, *parts: str, project: str = "", all_parts: bool = False) -> Choice:
    return Choice("fix", project, number, parts or None, all_parts)


def diff(path: str) -> Choice:
    return Choice("diff", path=path)


def environment(**variables: str) -> tuple[Selection, str] | None:
    return from_environment(variables, (INTEGRATION,))


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("27360", [fix(27360)]),
        ("27360/slice", [fix(27360, "slice")]),
        ("27360/slice+assert", [fix(27360, "assert", "slice")]),
        ("27360/all", [fix(27360, all_parts=True)]),
        ("24401,27360/slice", [fix(24401), fix(27360, "slice")]),
        ("sgl-project/sglang#27360", [fix(27360, project="sgl-project/sglang")]),
        ("sgl-project/sglang#27360/slice", [fix(27360, "slice", project="sgl-project/sglang")]),
        ("sgl-project/sglang#27360/all", [fix(27360, project="sgl-project/sglang", all_parts=True)]),
        ("./x.diff", [diff("./x.diff")]),
        ("/tmp/a b.patch", [diff("/tmp/a b.patch")]),
        ("27360,x.diff,24401", [fix(24401), fix(27360), diff("x.diff")]),
        (r"C:\work\x.diff", [diff(r"C:\work\x.diff")]),
        ("a/b#7.diff", [diff("a/b#7.diff")]),
        ('"a, b.diff",27360', [fix(27360), diff("a, b.diff")]),
        ("'it''s.diff'", [diff("it's.diff")]),
        ('"say ""hi"".patch"', [diff('say "hi".patch')]),
        ("it's.diff", [diff("it's.diff")]),
        ("X.DIFF", [diff("X.DIFF")]),
    ],
)
def test_each_form_means_what_it_says(text: str, choices: list[Choice]) -> None:
    assert parse(text) == Selection(tuple(choices))
    assert parse(text).choices == tuple(choices)


def test_all_and_none_are_selections_of_their_own() -> None:
    assert parse("all") == ALL == parse("  all ")
    assert parse("none") == NONE
    assert ALL.everything and not ALL.is_none
    assert NONE.is_none and not NONE.everything
    assert (format(ALL), format(NONE)) == ("all", "none")


def test_spaces_are_allowed_around_every_sign() -> None:
    spaced = " sgl-project / sglang # 27360 / slice + assert ,\t24401 , 'x.diff' "
    assert format(parse(spaced)) == "24401,sgl-project/sglang#27360/assert+slice,x.diff"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("27360,27360", "27360"),
        ("27360/slice,27360/assert+slice", "27360/assert+slice"),
        ("27360/slice,27360/all,27360", "27360/all"),
        ("27360/slice,27360", "27360,27360/slice"),
        ("x.diff,x.diff", "x.diff"),
        ("27360,24401", "24401,27360"),
        ("a/b#1,1", "1,a/b#1"),
    ],
)
def test_a_selection_is_a_set(text: str, canonical: str) -> None:
    assert format(parse(text)) == canonical
    assert parse(canonical) == parse(text)


NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True).filter(lambda name: name != "all")
PROJECTS = st.one_of(st.just(""), st.from_regex(r"[A-Za-z0-9._-]{1,6}/[A-Za-z0-9._-]{1,6}", fullmatch=True))
FIXES = st.builds(
    lambda project, number, parts, all_parts: Choice(
        "fix", project, number, None if all_parts or not parts else tuple(parts), all_parts
    ),
    PROJECTS,
    st.integers(1, 10**12 - 1),
    st.lists(NAMES, max_size=3),
    st.booleans(),
)
DIFFS = st.builds(lambda stem, end: diff(stem + end), st.text(max_size=12), st.sampled_from([".diff", ".patch"]))
SELECTIONS = st.one_of(
    st.just(ALL), st.just(NONE), st.builds(lambda them: Selection(tuple(them)), st.lists(FIXES | DIFFS, max_size=6))
)


@given(SELECTIONS)
def test_the_canonical_text_gives_the_selection_back(selection: Selection) -> None:
    assert parse(format(selection)) == selection
    assert format(parse(format(selection))) == format(selection)


@given(st.text(alphabet="0123456789/+,#\"' .diffpatchallnone-", max_size=30))
def test_any_text_parses_or_is_refused_with_a_column_in_it(text: str) -> None:
    try:
        selection = parse(text)
    except SelectionError as error:
        assert error.place is not None and 1 <= error.place.column <= len(text) + 1
    else:
        assert parse(format(selection)) == selection


@pytest.mark.parametrize(
    ("text", "column", "what", "nearest"),
    [
        ("", 1, "the selection is empty", "none"),
        ("  ", 1, "the selection is empty", "none"),
        ("27360,", 7, "nothing stands here, expected something to revert", ""),
        ("27360,,24401", 7, "nothing stands here, expected something to revert", ""),
        ("027360", 1, "027360 starts with a zero, a PR number does not", "27360"),
        ("24401, 027360", 8, "027360 starts with a zero, a PR number does not", "27360"),
        ("0", 1, "0 is not a PR number", "none"),
        ("1234567890123", 1, "a PR number has at most 12 digits, this one has 13", ""),
        ("٢٧", 1, "'٢٧' is neither a PR number, a path to a .diff or .patch, 'all' nor 'none'", ""),
        ("27360 24401", 1, "'27360 24401' is neither a PR number, *", "27360,24401"),
        ("27360 x.diff", 6, "'27360 x.diff' is a number and a path, expected a comma between", ""),
        ("pr27360", 1, "'pr27360' is neither a PR number, *", "27360"),
        ("PR #27360/slice", 1, "'PR ' is not a project, *", "27360/slice"),
        ("#27360", 1, "'' is not a project, expected owner/name before the #", "27360"),
        ("sglang#27360", 1, "'sglang' is not a project, expected owner/name before the #", ""),
        ("a/b/c#27360", 1, "'a/b/c' is not a project, *", ""),
        ("https://github.com/o/n/pull/27360", 1, "*", "o/n#27360"),
        ("https://github.com/o/n/pull/27360#issue", 1, "*", "o/n#27360"),
        ("al", 1, "'al' is neither *", "all"),
        ("None", 1, "'None' is neither *", "none"),
        ("27360:slice", 1, "'27360:slice' is neither *", "27360/slice"),
        ("./fix", 1, "'./fix' is a path, and that of a diff must end in .diff or .patch", ""),
        ("2736O", 1, "'2736O' is neither *", "27360"),
        ("O7", 1, "'O7' is neither *", ""),
        ("27360+24401", 1, "'27360+24401' is neither *", "27360,24401"),
        ("27360;24401/positions", 1, "'27360;24401/positions' is neither *", "27360,24401/positions"),
        ("27360/", 7, "a part's name is missing, expected 27360/part, or 27360 alone for its default", ""),
        ("27360/slice+", 13, "a part's name is missing, *", ""),
        ("27360/slice + Assert", 15, "'Assert' is not a part's name, *", "assert"),
        ("27360/empty_batch_pad", 7, "'empty_batch_pad' is not a part's name, *", "empty-batch-pad"),
        ("27360/all+slice", 7, "'27360/all' is every part already, and cannot stand with others", ""),
        ("27360/slice,assert", 13, "'assert' is neither *", ""),
        ("all,27360", 1, "'all' stands with others, and can only stand alone", ""),
        ("27360,none", 7, "'none' stands with others, and can only stand alone", ""),
        ("'x.diff' y", 9, "text follows the closing ', expected a comma or the end", ""),
        ('24401,"x.diff', 7, 'the " is not closed', ""),
        ("'27360'", 1, "'27360' stands in quotes, expected a path that ends in .diff or .patch", ""),
        ("'all'", 1, "'all' stands in quotes, *", ""),
    ],
)
def test_what_does_not_parse_is_refused_at_its_column(text: str, column: int, what: str, nearest: str) -> None:
    with pytest.raises(SelectionError) as caught:
        parse(text, where="PRTOGGLE_REVERT")
    error = caught.value
    assert error.place is not None and str(error.place) == f"PRTOGGLE_REVERT:1:{column}"
    if what.endswith("*"):
        assert error.what.startswith(what.rstrip("*").replace("'PR '", "'PR'"))
    else:
        assert error.what == what
    assert error.nearest == nearest
    assert error.exit_code == 2


def test_no_variable_selects_nothing_at_all() -> None:
    assert environment() is None
    assert environment(PATH="/bin") is None


def test_our_variable_is_read_first() -> None:
    assert environment(PRTOGGLE_REVERT="27360") == (parse("27360"), "PRTOGGLE_REVERT")


@pytest.mark.parametrize("value", ["", "  ", "none"])
def test_our_variable_set_but_empty_means_none(value: str) -> None:
    assert environment(PRTOGGLE_REVERT=value) == (NONE, "PRTOGGLE_REVERT")


def test_a_zero_in_our_variable_is_refused() -> None:
    with pytest.raises(SelectionError, match="0 is not a PR number"):
        environment(PRTOGGLE_REVERT="0")


@pytest.mark.parametrize("value", ["", "0", "None", " 0 ", "none"])
def test_what_sglang_takes_for_nothing_means_none_in_its_variable(value: str) -> None:
    assert environment(SGLANG_DEBUG_REVERT_PR=value) == (NONE, "SGLANG_DEBUG_REVERT_PR")


def test_a_bare_number_in_sglangs_variable_is_one_of_sglangs() -> None:
    found = environment(SGLANG_DEBUG_REVERT_PR="27360,me/mine#7,x.diff")
    assert found == (Selection((fix(27360, project=SGLANG), fix(7, project="me/mine"), diff("x.diff"))), BOTH[1])


def test_errors_name_the_variable() -> None:
    with pytest.raises(SelectionError, match=r"^SGLANG_DEBUG_REVERT_PR:1:7: "):
        environment(SGLANG_DEBUG_REVERT_PR="27360,x")


def test_two_variables_that_mean_the_same_agree() -> None:
    for own in ("27360,24401", "24401, sgl-project/sglang#27360"):
        found = environment(PRTOGGLE_REVERT=own, SGLANG_DEBUG_REVERT_PR="24401,27360")
        assert found == (parse("24401,27360", project=SGLANG), "PRTOGGLE_REVERT")
    assert environment(PRTOGGLE_REVERT="", SGLANG_DEBUG_REVERT_PR="0") == (NONE, "PRTOGGLE_REVERT")


@pytest.mark.parametrize(("own", "theirs"), [("27360", "24401"), ("27360", "0"), ("", "27360"), ("27360/all", "27360")])
def test_two_variables_that_differ_are_an_error(own: str, theirs: str) -> None:
    with pytest.raises(SelectionError, match="PRTOGGLE_REVERT and SGLANG_DEBUG_REVERT_PR are both set and differ"):
        environment(PRTOGGLE_REVERT=own, SGLANG_DEBUG_REVERT_PR=theirs)


def test_bare_numbers_in_the_variables_of_two_projects_are_different() -> None:
    other = Integration(
        package="other",
        project="o/n",
        variable="OTHER_REVERT",
        none_values=frozenset(),
        registry_module="other.registry",
        registry_name="REGISTRY",
        stand_down=INTEGRATION.stand_down,
    )
    environ = {"OTHER_REVERT": "27360", INTEGRATION.variable: "27360"}
    with pytest.raises(SelectionError, match="differ: 'sgl-project/sglang#27360' and 'o/n#27360'"):
        from_environment(environ, (INTEGRATION, other))


def test_paths_are_made_absolute_and_nothing_else_changes() -> None:
    selection = absolute(parse("27360/slice,./a/../x.diff,/y.patch"), "/work")
    assert selection == parse("27360/slice,/work/x.diff,/y.patch")
    assert absolute(ALL, "/work") == ALL


def test_values_are_frozen_hashable_and_survive_pickling() -> None:
    selection = parse("27360/slice,x.diff")
    assert pickle.loads(pickle.dumps(selection)) == selection
    assert len({selection, parse("x.diff,27360/slice")}) == 1
    with pytest.raises(AttributeError, match="frozen"):
        selection.everything = True
    with pytest.raises(AttributeError, match="frozen"):
        del selection.choices[0].path
    assert selection != "27360/slice,x.diff"
    assert repr(parse("1")) == (
        "Selection(choices=(Choice(kind='fix', project='', number=1, parts=None, all_parts=False, path=''),), "
        "everything=False)"
    )


def test_parsing_imports_nothing_beyond_itself() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules)\n"
        "from prtoggle.selection import from_environment, format\n"
        "found = from_environment({'PRTOGGLE_REVERT': 'a/b#27360/slice,x.diff'}, ())\n"
        "assert format(found[0]) == 'a/b#27360/slice,x.diff'\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    from prtoggle import selection

    root = selection.__file__.rpartition("/prtoggle/")[0]
    done = subprocess.run([sys.executable, "-S", "-c", program, root], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"__future__", "prtoggle", "prtoggle.selection", "prtoggle.value"}
