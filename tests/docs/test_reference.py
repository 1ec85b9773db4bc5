"""docs/reference says what the code has: every exit code, every variable, every name of the API, and no other."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from prtoggle import dependencies, errors, result, trial
from prtoggle.cli import errors as cli_errors
from tests.docs.test_examples import anchors

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"


def text(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text(encoding="utf-8")


class TestExitCodes:
    def codes(self) -> dict[int, str]:
        return {
            int(code): words
            for code, words in re.findall(r"^\| \[(\d+)\]\(.*?\) \| (.*) \|$", text("exit-codes"), re.M)
        }

    def in_code(self) -> set[int]:
        raised = {
            each.exit_code
            for each in vars(errors).values()
            if isinstance(each, type) and issubclass(each, errors.PrtoggleError)
        }
        of_commands = {cli_errors.BUG, cli_errors.INTERRUPTED, cli_errors.CLOSED_PIPE, result.NOT_IN_FORCE}
        return {0, 1} | raised | of_commands

    def test_the_page_has_the_codes_of_the_code_and_no_other(self) -> None:
        assert set(self.codes()) == self.in_code()

    def test_each_has_its_section(self) -> None:
        heads = dict(re.findall(r"^## (\d+): (.*)$", text("exit-codes"), re.M))
        assert set(map(int, heads)) == self.in_code()
        links = re.findall(r"^\| \[\d+\]\(#(.*?)\)", text("exit-codes"), re.M)
        assert set(links) <= anchors(REFERENCE / "exit-codes.md")

    def test_what_it_says_of_signals_and_shells_is_so(self) -> None:
        assert 128 + signal.SIGPIPE == cli_errors.CLOSED_PIPE
        assert 128 + signal.SIGINT == cli_errors.INTERRUPTED
        assert trial.CommandError("", 127).exit_code == 127

    def test_a_missing_dependency_is_a_code_of_the_page(self) -> None:
        assert dependencies.EXIT_CODE in self.codes()

    @pytest.mark.parametrize("document", ["commands", "reference/exit-codes"])
    def test_both_tables_have_the_same_codes(self, document: str) -> None:
        page = (ROOT / "docs" / f"{document}.md").read_text(encoding="utf-8")
        found = set(map(int, re.findall(r"^\| \[?(\d+)(?:\]\(.*?\))? \|", page, re.M)))
        assert found == self.in_code()


class TestVariables:
    NAME = re.compile(r"\b_?(?:PRTOGGLE|SGLANG)_[A-Z_]*[A-Z]\b")

    def test_the_page_names_each_that_the_code_names_and_no_other(self) -> None:
        code = [*(ROOT / "prtoggle").rglob("*.py"), *(ROOT / "fixes").rglob("*.py"), ROOT / "prtoggle.pth"]
        found = {name for file in code for name in self.NAME.findall(file.read_text(encoding="utf-8"))}
        assert set(self.NAME.findall(text("variables"))) == found

    def test_each_has_a_row_of_its_own(self) -> None:
        rows = re.findall(r"^\| `(\w+)` \|", text("variables"), re.M)
        assert len(rows) == len(set(rows))
        assert set(rows) | {"PRTOGGLE_FIXES_BACKEND"} == set(self.NAME.findall(text("variables")))


class TestApi:
    def test_it_has_what_the_package_offers(self) -> None:
        import prtoggle

        heads = set(re.findall(r"^### (\w+)$", text("api"), re.M))
        assert set(prtoggle._LIVE) <= heads
        raised = {
            name
            for name, each in vars(errors).items()
            if isinstance(each, type) and issubclass(each, errors.PrtoggleError)
        }
        assert raised <= heads

    def test_what_it_says_to_import_can_be_imported(self) -> None:
        lines = re.findall(r"^`(from prtoggle.*)`$", text("api"), re.M)
        assert len(lines) > 4
        for line in lines:
            exec(line, {})
