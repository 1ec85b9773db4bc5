"""Diffs are read as files to edit, and every problem is told with its place."""

from __future__ import annotations

import pytest

from prtoggle.diffs import FileDiff, parse
from prtoggle.edits.kinds import DiffEdit, Hunk
from prtoggle.errors import MalformedError

GIT = """\
From 0123456789 Mon Sep 17 00:00:00 2001
From: Someone <someone@example.invalid>
Subject: [PATCH] change

Some words.
---
 pkg/m.py | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)

diff --git a/pkg/m.py b/pkg/m.py
index 1111111..2222222 100644
--- a/pkg/m.py
+++ b/pkg/m.py
@@ -10,3 +10,3 @@ def f():
 a
-b
+B

--
2.40.0
"""


def one(text: str, reverse: bool = False) -> FileDiff:
    (file,) = parse(text, name="x.diff", reverse=reverse)
    return file


def problems(text: str) -> list[str]:
    with pytest.raises(MalformedError) as caught:
        parse(text, name="x.diff", reverse=False)
    return [str(problem).split("\n")[0] for problem in caught.value.problems]


def header(old: str, new: str) -> str:
    return f"--- {old}\n+++ {new}\n@@ -1 +1 @@\n-a\n+b\n"


def test_a_format_patch_is_read_with_its_place_and_section():
    file = one(GIT)
    hunk = Hunk(("a", "b", ""), ("a", "B", ""), 10, "def f():")
    assert file == FileDiff("pkg/m.py", "pkg/m.py", "modified", DiffEdit((hunk,)), 10)


def test_taken_backwards_old_and_new_are_swapped():
    (hunk,) = one(GIT, reverse=True).edit.hunks
    assert (hunk.old, hunk.new, hunk.line) == (("a", "B", ""), ("a", "b", ""), 10)


def test_line_ends_of_the_diff_do_not_matter():
    assert one(GIT.replace("\n", "\r\n")) == one(GIT)


def test_an_added_file_taken_backwards_is_a_deleted_one():
    text = "diff --git a/n.py b/n.py\nnew file mode 100644\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    assert (one(text).path_old, one(text).path_new, one(text).kind) == ("", "n.py", "added")
    back = one(text, reverse=True)
    assert (back.path_old, back.path_new, back.kind) == ("n.py", "", "deleted")
    assert back.edit.hunks[0].new == ()


@pytest.mark.parametrize(("old", "new"), [(0, 1), (1, 0)], ids=["filled", "emptied"])
def test_git_does_not_say_that_a_file_without_lines_is_new_or_gone(old, new):
    head = "diff --git a/e.py b/e.py\nindex 1111111..2222222 100644\n--- a/e.py\n+++ b/e.py\n"
    file = one(f"{head}@@ -{old},{old} +{new},{new} @@\n{'+' if new else '-'}x\n")
    assert (file.kind, file.path_old, file.path_new) == ("modified", "e.py", "e.py")


def test_an_empty_file_added_has_no_hunks():
    file = one("diff --git a/e.py b/e.py\nnew file mode 100644\nindex 0000000..e69de29\n")
    assert (file.kind, file.path_new, file.edit.hunks) == ("added", "e.py", ())


def test_a_renamed_file_keeps_both_paths():
    text = "diff --git a/o.py b/n.py\nsimilarity index 90%\nrename from o.py\nrename to n.py\n"
    for whole in (text, text + "index 1..2 100644\n" + header("a/o.py", "b/n.py")):
        file = one(whole)
        assert (file.path_old, file.path_new, file.kind) == ("o.py", "n.py", "renamed")
        assert (one(whole, reverse=True).path_old, one(whole, reverse=True).kind) == ("n.py", "renamed")


def test_a_binary_file_is_named():
    text = "diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n"
    assert (one(text).path_new, one(text).kind) == ("x.png", "binary")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a/p/m.py", "b/p/m.py", ("p/m.py", "p/m.py")),
        ("p/m.py", "p/m.py", ("p/m.py", "p/m.py")),
        ("c/m.py", "c/m.py", ("c/m.py", "c/m.py")),
        ("i/m.py", "w/m.py", ("m.py", "m.py")),
        ("/dev/null", "b/m.py", ("", "m.py")),
        ("a/m.py", "/dev/null", ("m.py", "")),
        ("old/m.py\t2026-01-01", "new/m.py\t2026-01-02", ("old/m.py", "new/m.py")),
        ('"a/\\303\\251 \\"x\\"\\t.py"', '"b/\\303\\251 \\"x\\"\\t.py"', ('é "x"\t.py', 'é "x"\t.py')),
    ],
)
def test_paths_lose_prefixes_and_quotes(old, new, expected):
    file = one(header(old, new))
    assert (file.path_old, file.path_new) == expected


def test_a_missing_final_line_end_is_no_line():
    file = one("--- a/m\n+++ b/m\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n")
    assert (file.edit.hunks[0].old, file.edit.hunks[0].new) == (("a",), ("b",))


def test_lines_end_at_line_feeds_only():
    assert one("--- a/m\n+++ b/m\n@@ -1 +1 @@\n-a\u2028\x0cb\n+c\n").edit.hunks[0].old == ("a\u2028\x0cb",)


def test_removed_lines_that_look_like_headers_are_lines():
    file = one("--- a/m\n+++ b/m\n@@ -1,2 +1,2 @@\n--- x\n-@@ -1 +1 @@\n+++ y\n+diff --git\n")
    assert file.edit.hunks[0] == Hunk(("-- x", "@@ -1 +1 @@"), ("++ y", "diff --git"), 1)


def test_two_files_keep_their_order():
    text = header("a/x.py", "b/x.py") + header("a/y.py", "b/y.py")
    assert [file.path_new for file in parse(text, name="x.diff", reverse=False)] == ["x.py", "y.py"]


def test_a_hunk_that_is_too_short_is_corrupt_at_its_header():
    assert problems("--- a/m\n+++ b/m\n@@ -1,3 +1,3 @@\n a\n") == [
        "x.diff:3: corrupt hunk: it ends 2 lines short of what its header states"
    ]


def test_a_hunk_that_is_too_long_is_corrupt_at_the_first_line_too_many():
    assert problems("--- a/m\n+++ b/m\n@@ -1 +1 @@\n-a\n+b\n+c\n") == [
        "x.diff:6: corrupt hunk: longer than the header in line 3 of the diff states"
    ]
    assert problems("--- a/m\n+++ b/m\n@@ -1,2 +1 @@\n-a\n+b\n+c\n d\n")[0].startswith("x.diff:6: corrupt hunk: longer")


def test_a_line_that_is_no_line_of_a_hunk_is_named():
    (text,) = problems("--- a/m\n+++ b/m\n@@ -1,2 +1,2 @@\n a\nxyz\n")
    assert text.startswith("x.diff:5: corrupt hunk: this line begins with none of")


def test_a_hunk_header_that_does_not_parse_is_named():
    assert problems("--- a/m\n+++ b/m\n@@ -1,x +1 @@\n a\n")[0].startswith("x.diff:3: this hunk's header")


def test_a_combined_diff_is_refused():
    text = "diff --cc m.py\nindex 1,2..3\n--- a/m.py\n+++ b/m.py\n@@@ -1,2 -1,2 +1,2 @@@\n  a\n++b\n"
    assert problems(text) == ["x.diff:5: a combined diff (of a merge) has no one direction"]


def test_all_problems_are_told_at_once():
    bad = "--- a/m\n+++ b/m\n@@ -1 +1 @@\n-a\n+b\n+c\n"
    assert [text.split(" ")[0] for text in problems(bad + bad)] == ["x.diff:6:", "x.diff:12:"]


def test_text_that_is_no_diff_is_refused():
    assert problems("hello\n") == ["x.diff:1: no unified diff: it changes no file"]
    assert problems("+++ b/m\n@@ -1 +1 @@\n-a\n+b\n")[0].startswith("x.diff:1: no unified diff")


def test_lines_are_counted_from_where_the_diff_stands_in_its_file():
    with pytest.raises(MalformedError) as caught:
        parse("--- a/m\n+++ b/m\n@@ -1,3 +1,3 @@\n a\n", name="revert.yaml", reverse=False, first=41)
    assert str(caught.value).startswith("revert.yaml:43: corrupt hunk")


def test_a_coloured_diff_is_refused_with_a_word_on_colours() -> None:
    text = "\x1b[1mdiff --git a/x.py b/x.py\x1b[m\n\x1b[1m--- a/x.py\x1b[m\n\x1b[1m+++ b/x.py\x1b[m\n"
    with pytest.raises(MalformedError) as caught:
        parse(text, name="x.diff", reverse=True)
    (problem,) = caught.value.problems
    assert (str(problem.place), problem.hint) == ("x.diff:1", "git show --no-color writes none")


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_diff_is_none(text: str) -> None:
    with pytest.raises(MalformedError, match="it changes no file"):
        parse(text, name="x.diff", reverse=True)


def test_modes_alone_are_said_to_be_so() -> None:
    assert problems("diff --git a/x.py b/x.py\nold mode 100644\nnew mode 100755\n") == [
        "x.diff:1: it changes modes of files alone, and no line of them"
    ]
