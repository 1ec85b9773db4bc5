"""Every error names a page of the documents that is there, in its last line and in no other."""

from __future__ import annotations

import ast
import importlib
import os
import pickle
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import prtoggle
from prtoggle import pages
from prtoggle.cli import COMMANDS
from prtoggle.errors import (
    ConflictError,
    MalformedError,
    Place,
    PrtoggleError,
    RefusedError,
    SelectionError,
    UsageError,
    did_you_mean,
    see,
    with_page,
    without_page,
)
from prtoggle.runtime import hook

ROOT = Path(prtoggle.__file__).parent


def modules() -> Iterator[str]:
    yield from (each.name for each in pkgutil.walk_packages([str(ROOT)], "prtoggle.") if "__main__" not in each.name)


def classes(of: type[PrtoggleError] = PrtoggleError) -> Iterator[type[PrtoggleError]]:
    yield of
    for each in of.__subclasses__():
        yield from classes(each)


def named_in_code() -> Iterator[tuple[str, str]]:
    """Each page that the code names as text, and where."""
    known = set(pages.names())
    for file in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            found: list[ast.expr] = []
            if (isinstance(node, ast.keyword) and node.arg == "page") or (
                isinstance(node, ast.Assign) and any("page" in ast.unparse(each).lower() for each in node.targets)
            ):
                found = [node.value]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                page, mark, section = node.value.partition("#")
                found = [node] if mark and page in known and re.fullmatch(r"[\w-]+", section) else []
            for each in found:
                if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value:
                    yield each.value, f"{file.relative_to(ROOT)}:{each.lineno}"


NAMED = sorted(set(named_in_code()))


class TestPages:
    def test_every_class_of_errors_has_a_page_that_is_there(self) -> None:
        for name in modules():
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                assert not (error.name or "").startswith("prtoggle")
        found = {each for each in classes() if each.__module__.startswith("prtoggle")}
        assert len(found) > 10
        for each in found:
            assert pages.find(each.page).name == each.page, each

    @pytest.mark.parametrize(("page", "where"), NAMED)
    def test_every_page_that_the_code_names_is_there(self, page: str, where: str) -> None:
        assert pages.find(page).name == page, where

    def test_the_code_names_many(self) -> None:
        assert len({page for page, _ in NAMED}) > 20

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_has_its_section(self, command: str) -> None:
        assert pages.find(f"{UsageError.page}#{command}").title == command


class TestText:
    def test_the_page_is_the_last_line(self) -> None:
        error = RefusedError("what", place=Place("a.yaml", 2), nearest="near", hint="do", page="limits")
        assert str(error) == "a.yaml:2: what\n  nearest: near\n  hint: do\n  see: prtoggle explain limits"
        assert error.said == "a.yaml:2: what\n  nearest: near\n  hint: do"

    def test_one_error_of_many_names_one_page(self) -> None:
        inner = MalformedError((RefusedError("one"), RefusedError("two", hint="do")))
        text = str(MalformedError((inner, RefusedError("three"))))
        assert text == f"one\ntwo\n  hint: do\nthree\n{see(MalformedError.page)}"

    def test_what_all_problems_were_given_is_the_page_of_all(self) -> None:
        two = (RefusedError("one", page="live"), RefusedError("two", page="live"))
        assert MalformedError(two).page == "live"
        assert MalformedError((*two, RefusedError("three", page="limits"))).page == MalformedError.page
        assert MalformedError(two, page="limits").page == "limits"

    def test_a_text_gets_no_second_page(self) -> None:
        text = with_page("what", "live")
        assert with_page(text, "limits") == text
        assert without_page(text) == ("what", "live")
        assert without_page("what") == ("what", "")

    @pytest.mark.parametrize("error", [SelectionError("a", page="live"), ConflictError("b"), MalformedError(())])
    def test_it_goes_to_other_processes_whole(self, error: PrtoggleError) -> None:
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.page) == (str(error), error.page)


class TestProcesses:
    def test_both_write_it_alike(self) -> None:
        assert f"{hook.SEE}live" == f"\n{see('live')}"

    def test_a_refused_import_names_what_explains_it(self, tmp_path: Path) -> None:
        (tmp_path / "engine").mkdir()
        (tmp_path / "engine" / "__init__.py").touch()
        folder = tmp_path / "fixes" / "pr101_x"
        folder.mkdir(parents=True)
        (folder / "revert.yaml").write_text("prtoggle: 1\nvariants:\n- package: engine\n")
        for selection, page in (
            ("107", "choosing#where-fixes-come-from"),
            ("101", MalformedError.page),
            ("1o1", "choosing#grammar"),
        ):
            environ = {**os.environ, "PRTOGGLE_REVERT": selection, "PRTOGGLE_PATH": str(folder.parent)}
            code = "from prtoggle.runtime import boot; boot.boot(); import engine"
            ran = subprocess.run(
                [sys.executable, "-c", code], env=environ, cwd=tmp_path, capture_output=True, text=True
            )
            assert ran.stderr.endswith(f"\n{see(page)}\n"), ran.stderr
            assert ran.stderr.rpartition("RevertRefusedError: ")[2].count("see: ") == 1


@pytest.mark.parametrize(
    ("word", "near"),
    [("102", "101"), ("27361", "27360"), ("2736", "27360"), ("10893", "10892"), ("99", ""), ("lst", "")],
)
def test_the_nearest_number_is_the_one_with_a_wrong_digit_before_one_with_digits_more(word: str, near: str) -> None:
    assert did_you_mean(word, ["101", "10892", "27360", "24401"]) == near
    assert did_you_mean(word, []) == ""
