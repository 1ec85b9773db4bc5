"""Hunks are found by what they say; only changed lines are replaced."""

from __future__ import annotations

import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from prtoggle.diffs import parse
from prtoggle.edits import udiff
from prtoggle.edits.combine import combine
from prtoggle.edits.outcome import Found, Several
from prtoggle.edits.text import SourceText
from tests.edits.helpers import already, hunks_outcome, missing, patched, several
from tests.edits.test_combine import programs

FILE = "a\nb\nc\nd\ne\n"


def test_a_hunk_is_found_by_its_content():
    assert patched(FILE, ("b\nc\nd", "b\nC\nd")) == "a\nb\nC\nd\ne\n"


def test_only_changed_lines_are_replaced():
    found = hunks_outcome(FILE, ("a\nb\nc\nd\ne", "a\nB\nc\nd\nx\ne"))
    assert isinstance(found, Found) and found.line == 2
    assert [(r.start, r.end, r.new) for r in found.replacements] == [(2, 4, "B\n"), (8, 8, "x\n")]


def test_a_deletion_and_an_insertion():
    assert patched(FILE, ("a\nb\nc", "a\nc"), ("d\ne", "d\nx\ne")) == "a\nc\nd\nx\ne\n"


def test_white_space_counts_and_line_ends_do_not():
    assert patched("a\r\nb\r\n", ("a\nb", "a\nx\nb")) == "a\r\nx\r\nb\r\n"
    assert "hunk 1 does not stand" in missing(hunks_outcome("a \nb\n", ("a\nb", "c"))).reason
    assert "hunk 1 does not stand" in missing(hunks_outcome("    a\n", ("  a", "b"))).reason


def test_a_hunk_in_two_places_is_several():
    assert several(hunks_outcome("x\ny\nx\n", ("x", "z"))) == (1, 3)


def test_the_order_of_the_hunks_places_a_hunk_where_one_assignment_keeps_it():
    assert patched("x\ny\nx\n", ("y", "Y"), ("x", "z")) == "x\nY\nz\n"
    assert patched("x\ny\nx\n", ("x", "z"), ("y", "Y")) == "z\nY\nx\n"
    assert patched("x\nx\n", ("x", "a"), ("x", "b")) == "a\nb\n"


def test_more_than_one_assignment_is_several_with_all_lines():
    assert several(hunks_outcome("x\ny\nx\nx\n", ("y", "Y"), ("x", "z"))) == (1, 3, 4)


def test_hunks_in_another_order_are_missing():
    assert "another order" in missing(hunks_outcome(FILE, ("d", "D"), ("a", "A"))).reason


def test_hunks_do_not_overlap():
    assert "another order" in missing(hunks_outcome(FILE, ("a\nb", "A\nb"), ("b\nc", "b\nC"))).reason


def test_a_hunk_that_stands_as_it_would_be_made_is_there_already():
    assert already(hunks_outcome("a\nB\nc\n", ("a\nb\nc", "a\nB\nc"))) == 1
    assert already(hunks_outcome("a\nc\nD\n", ("a\nb\nc", "a\nc"), ("d", "D"))) == 1


def test_context_alone_does_not_show_that_a_deletion_was_made():
    assert "does not stand" in missing(hunks_outcome("x\nb\n", ("a\nb", "b"))).reason
    assert already(hunks_outcome("a\nc\n", ("a\nb\nc", "a\nc"))) == 1


def test_hunks_of_which_some_are_made_already_are_half():
    found = missing(hunks_outcome("a\nB\nc\nd\n", ("a\nb", "a\nB"), ("c\nd", "c\nD")))
    assert found.reason == "half: hunk 1 (line 1) made already, hunk 2 (line 3) not" and found.line == 3


def test_a_missing_hunk_names_the_nearest_line_that_differs():
    found = missing(hunks_outcome("one = 1\ntwo = 2\nthree = 3\n", ("two = 22\nthree = 3", "")))
    assert (found.line, found.nearest) == (2, "two = 2")
    assert found.reason == "hunk 1 does not stand in the text: 'two = 22' is another line there"
    found = missing(hunks_outcome("one = 1\ntwo = 2\nthree = 3\n", ("one = 1\ntwo = 2\nthree = 33", "")))
    assert (found.line, found.nearest) == (3, "three = 3")


def test_a_missing_hunk_that_goes_on_behind_the_end_says_so():
    found = missing(hunks_outcome("one = 1\ntwo = 2\n", ("one = 1\ntwo = 2\n3\n", "")))
    assert (found.line, found.nearest) == (2, "two = 2")
    assert found.reason.endswith("it goes on behind the last line there")


def test_a_hunk_without_old_lines_is_refused():
    assert "no line that is there already" in missing(hunks_outcome(FILE, ("", "x"))).reason
    assert "no hunk" in missing(hunks_outcome(FILE)).reason


def test_a_hunk_may_begin_inside_a_string():
    assert patched('x = """\na\nb\n"""\n', ('b\n"""', 'c\n"""')) == 'x = """\na\nc\n"""\n'


def test_a_target_limits_where_hunks_are_looked_for():
    source = "def f():\n    x = 1\ndef g():\n    x = 1\n"
    assert several(hunks_outcome(source, ("    x = 1", "    x = 2"))) == (2, 4)
    found = hunks_outcome(source, ("    x = 1", "    x = 2"), target="g")
    assert isinstance(found, Found) and found.line == 4


def test_lines_end_where_python_ends_them():
    assert patched("a\u2028b\nc\fd\n", ("a\u2028b\nc\fd", "a\u2028b\nx")) == "a\u2028b\nx\n"


def test_a_last_line_without_line_end():
    assert patched("a\nb", ("a\nb", "a\nc")) == "a\nc"
    assert patched("a\nb", ("a\nb", "a\nb\nc")) == "a\nb\nc"


LINES = st.lists(st.sampled_from(["a", "b", "  c", "d = 1", "", "e\u2028f", "\tg", "-- h", "++ i"]), max_size=30)


@settings(deadline=None)
@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.integers(0, 3))
def test_a_difference_taken_backwards_gives_back_the_original_or_says_several(before, after, end, context):
    old, new = (SourceText("".join(line + end for line in lines)) for lines in (before, after))
    text = "".join(difflib.unified_diff(list(old.lines), list(new.lines), "a/m.py", "b/m.py", n=context))
    for reverse, start, goal in ((True, new, old), (False, old, new)):
        assume(text)
        files = parse(text, name="x.diff", reverse=reverse)
        found = udiff.locate(start, None, files[0].edit)
        if isinstance(found, Found):
            result = combine(start, [("x", r) for r in found.replacements])
            # Where the whole file was rewritten, nothing but the diff says which line end it has.
            assert isinstance(result, str) and result.replace("\r\n", "\n") == goal.text.replace("\r\n", "\n")
            assert result == goal.text or not start.text
        else:
            assert isinstance(found, Several) or "no line that is there already" in missing(found).reason


@settings(deadline=None)
@given(programs(), programs(), st.integers(0, 3))
def test_the_difference_of_two_programs_taken_backwards_gives_back_the_first_byte_for_byte(before, after, context):
    old, new = (SourceText("".join(line + "\n" for line in lines)) for lines in (before, after))
    text = "".join(difflib.unified_diff(list(old.lines), list(new.lines), "a/m.py", "b/m.py", n=context))
    assume(text)
    found = udiff.locate(new, None, parse(text, name="x.diff", reverse=True)[0].edit)
    if isinstance(found, Found):
        assert combine(new, [("x", r) for r in found.replacements]) == old.text


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=LINES, after=LINES, final=st.tuples(st.booleans(), st.booleans()))
def test_what_git_diff_says_is_undone_to_what_git_apply_gives(tmp_path: Path, before, after, final):
    old, new = ("\n".join(lines) + "\n" * ended for lines, ended in zip((before, after), final, strict=True))
    for name, content in (("old.py", old), ("new.py", new)):
        (tmp_path / name).write_bytes(content.encode())
    command = ["git", "diff", "--no-index", "--no-color", "old.py", "new.py"]
    text = subprocess.run(command, cwd=tmp_path, capture_output=True).stdout.decode()
    if old == new or not old or not new:
        return
    (file,) = parse(text, name="x.diff", reverse=True)
    source = SourceText(new)
    found = udiff.locate(source, None, file.edit)
    if isinstance(found, Found):
        result = combine(source, [("x", r) for r in found.replacements])
        assert isinstance(result, str)
        # The final line end stays as it is in the file that is edited.
        assert result.removesuffix("\n") == old.removesuffix("\n") or old.rstrip("\n") == result.rstrip("\n")


def test_a_repository_s_own_diff_applies_backwards_as_git_apply_does(tmp_path):
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=n", "-c", "user.email=e@example.invalid")
        done = subprocess.run(["git", *identity, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    first = "".join(f"def f{n}():\n    x = {n}\n    return x\n\n" for n in range(9))
    second = first.replace("x = 2\n", "x = 20\n    y = 1\n").replace("def f7():\n    x = 7\n", "def f7():\n")
    git("init", "-q")
    for content in (first, second):
        (tmp_path / "m.py").write_text(content)
        git("add", "m.py")
        git("commit", "-q", "-m", "change\n\n--- a/not.py\n@@ nor a hunk")
    for arguments in ("show", "diff HEAD~1", "format-patch -1 --stdout", "diff -U0 HEAD~1"):
        (file,) = parse(git(*arguments.split()), name="x.diff", reverse=True)
        assert (file.path_old, file.path_new, file.kind) == ("m.py", "m.py", "modified")
        found = udiff.locate(SourceText(second), None, file.edit)
        if isinstance(found, Found):
            assert combine(SourceText(second), [("x", r) for r in found.replacements]) == first
        else:
            assert "-U0" in arguments and "no line that is there already" in missing(found).reason


@pytest.mark.parametrize("target", [None, "f"])
def test_a_diff_that_changes_nothing_is_there_already(target):
    assert already(hunks_outcome("def f():\n    pass\n", ("def f():", "def f():"), target=target)) == 1
