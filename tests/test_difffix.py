"""A merged diff that nobody prepared, taken backwards: what of it comes out, what is left, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from prtoggle import plan, selection
from prtoggle.catalog import Catalog
from prtoggle.difffix import diff_fix, from_text, module_of
from prtoggle.errors import EditError, MalformedError, PrtoggleError, RefusedError, SelectionError
from prtoggle.packages import Package, from_locations
from prtoggle.spec import Fix

SOURCE = 'def f():\n    x = "fixed"\n    return x\n'
BEFORE = SOURCE.replace("fixed", "reverted").encode()
CHANGE = """\
--- a/app/core.py
+++ b/app/core.py
@@ -1,3 +1,3 @@
 def f():
-    x = "reverted"
+    x = "fixed"
     return x
"""
ADDED = "--- /dev/null\n+++ b/app/new.py\n@@ -0,0 +1 @@\n+x = 1\n"
DELETED = "--- a/app/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n"
RENAMED = (
    "diff --git a/app/old.py b/app/core.py\nsimilarity index 90%\nrename from app/old.py\nrename to app/core.py\n"
    + CHANGE.replace("a/app/core", "a/app/old")
)
OTHER = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"


@pytest.fixture
def package(tmp_path: Path) -> Package:
    folder = tmp_path / "site" / "app"
    folder.mkdir(parents=True)
    for name, text in {"__init__.py": "", "core.py": SOURCE, "data.json": "{}\n"}.items():
        (folder / name).write_text(text)
    return from_locations("app", [folder], folder / "__init__.py")


def modules(text: str, package: Package) -> dict[str, bytes]:
    """The reverted text of every module that the diff changes."""
    file = package.locations[0].parent / "x.diff"
    file.write_bytes(text.encode())
    catalog = Catalog(diff_fix=lambda path: diff_fix(path, package=package))
    made = plan.make(selection.parse(str(file)), catalog, package)
    return {module.name: module.reverted for module in made.modules}


def refused(text: str, package: Package) -> PrtoggleError:
    with pytest.raises(RefusedError) as caught:
        modules(text, package)
    return caught.value


FORMS = {
    "as git writes it": CHANGE,
    "with a folder before the package": CHANGE.replace("/app", "/python/app"),
    "with a folder of the package's name before it": CHANGE.replace("/app", "/app/python/app"),
    "without prefixes": CHANGE.replace("a/app", "app").replace("b/app", "app"),
    "with an absolute path": CHANGE.replace("a/app", "/usr/lib/app").replace("b/app", "/usr/lib/app"),
    "with the dates of diff -u": CHANGE.replace(".py\n", ".py\t2026-01-01 00:00:00.0 +0000\n"),
    "with Windows line ends": CHANGE.replace("\n", "\r\n"),
    "with a byte order mark": "\ufeff" + CHANGE,
    "in an e-mail": f"From 0123 Mon Sep 17\nSubject: [PATCH] x\n\nbody\n---\n app/core.py | 2 +-\n\n{CHANGE}-- \n2.40\n",
    "in quotes": CHANGE.replace("a/app/core.py", '"a/app/core.py"').replace("b/app/core.py", '"b/app/core.py"'),
    "with other line numbers": CHANGE.replace("@@ -1,3 +1,3 @@", "@@ -101,3 +110,3 @@ class C:"),
    "twice": CHANGE + CHANGE,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_change_is_taken_out_however_the_diff_is_written(form: str, package: Package) -> None:
    assert modules(FORMS[form], package) == {"app.core": BEFORE}


LEFT = {
    OTHER.format("test/test_core.py"): "skipped test/test_core.py",
    OTHER.format("app/tests/util.py"): "skipped app/tests/util.py",
    OTHER.format("docs/how.md"): "skipped docs/how.md",
    OTHER.format("scripts/release.py"): "left as it is: scripts/release.py",
    OTHER.format("app/core.pyi"): "skipped app/core.pyi",
    ADDED: "left in place: app/new.py, a module that the change added",
}


@pytest.mark.parametrize(("more", "note"), LEFT.items(), ids=[note.split()[-1] for note in LEFT.values()])
def test_what_is_left_as_it_is_is_said(more: str, note: str, package: Package) -> None:
    assert modules(CHANGE + more, package) == {"app.core": BEFORE}
    assert any(found.startswith(note) for found in from_text(CHANGE + more, "x.diff", package).notes)


CANNOT = {
    DELETED: "app/gone.py cannot be taken out at run time: a file that the change deleted",
    RENAMED: "a file that the change renamed",
    OTHER.format("app/a-b/m.py"): "app/a-b/m.py cannot be taken out at run time: not a module's name",
    OTHER.format("app/data.json"): "app/data.json cannot be taken out at run time: not a Python module",
    "diff --git a/app/x.bin b/app/x.bin\nBinary files a/app/x.bin and b/app/x.bin differ\n": "app/x.bin cannot be",
}


@pytest.mark.parametrize(("part", "what"), CANNOT.items(), ids=["deleted", "renamed", "no name", "data", "binary"])
@pytest.mark.parametrize("beside", [CHANGE, ""], ids=["beside a change", "alone"])
def test_what_cannot_be_taken_out_is_refused_by_name(part: str, what: str, beside: str, package: Package) -> None:
    assert what in str(refused(beside.replace("core", "core2") + part, package))


def test_compiled_sources_are_refused_beside_python_of_the_package_and_concern_no_package_alone(
    package: Package,
) -> None:
    kernel = OTHER.format("csrc/scatter.cu")
    assert "csrc/scatter.cu cannot be taken out at run time: a compiled source" in str(
        refused(CHANGE + kernel, package)
    )
    assert modules(kernel, package) == {}


def test_a_change_of_other_packages_alone_does_not_concern_this_one(package: Package) -> None:
    assert modules(CHANGE.replace("/app", "/other"), package) == {}


@pytest.mark.parametrize("text", [ADDED, OTHER.format("app/tests/util.py"), OTHER.format("docs/how.md")])
def test_a_diff_with_nothing_to_take_out_is_refused(text: str, package: Package) -> None:
    assert "nothing in this diff can be taken out" in refused(text, package).what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("hello\n", "no unified diff"),
        (CHANGE[:-14], "corrupt hunk"),
        (CHANGE.replace("-1,3 +1,3", "-1,9 +1,9"), "corrupt hunk"),
        ("diff --cc app/core.py\n@@@ -1,1 -1,1 +1,1 @@@\n--a\n++b\n", "combined diff"),
    ],
)
def test_what_is_no_diff_is_refused_with_its_line(text: str, what: str, package: Package) -> None:
    error = refused(text, package)
    assert isinstance(error, MalformedError) and what in error.what and "x.diff:" in str(error)


def test_text_that_does_not_stand_there_is_rot(package: Package) -> None:
    assert "rot" in refused(CHANGE.replace('"fixed"', '"other"'), package).what


def test_a_diff_of_a_change_that_is_not_there_is_seen_not_to_be_there(package: Package) -> None:
    turned = CHANGE.replace("-    x", "?    x").replace("+    x", "-    x").replace("?    x", "+    x")
    assert "not in this release (seen)" in refused(turned, package).what


def test_a_diff_whose_result_is_no_python_is_refused(package: Package) -> None:
    with pytest.raises(EditError, match="does not compile"):
        modules(CHANGE.replace('x = "reverted"', "x = ("), package)


@pytest.mark.parametrize("make", ["nothing", "folder", "pipe"])
def test_a_diff_that_cannot_be_read_is_named(make: str, tmp_path: Path, package: Package) -> None:
    path = tmp_path / "x.diff"
    if make == "folder":
        path.mkdir()
    if make == "pipe":
        os.mkfifo(path)
    with pytest.raises(SelectionError, match=r"x\.diff cannot be read"):
        diff_fix(path, package=package)


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("app/core.py", "app.core"),
        ("src/app/core.py", "app.core"),
        ("app/__init__.py", "app"),
        ("app/sub/__init__.py", "app.sub"),
        ("app/core.pyx", "app.core.pyx"),
        ("other/core.py", None),
        ("core.py", None),
        ("myapp/core.py", None),
    ],
)
def test_the_module_of_a_path(path: str, module: str | None, package: Package) -> None:
    assert module_of(path, package) == module


def test_a_single_file_module_is_a_package_too(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(SOURCE)
    package = from_locations("app", [], tmp_path / "app.py")
    made: Fix = from_text(CHANGE.replace("app/core.py", "src/app.py"), "x.diff", package)
    assert made.variants[0].patches[0].target == "app"
