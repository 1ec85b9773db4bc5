"""The documents in the package are found by name, and can be read as plain text."""

from __future__ import annotations

from pathlib import Path

import pytest

from prtoggle import pages
from prtoggle.errors import UsageError
from prtoggle.plaintext import inline, plain

DOCS = Path(__file__).parents[1] / "docs"


class TestFind:
    def test_every_document_is_a_page(self) -> None:
        assert set(pages.names()) == {file.relative_to(DOCS).with_suffix("").as_posix() for file in DOCS.rglob("*.md")}

    @pytest.mark.parametrize("page", pages.names())
    def test_a_page_is_its_whole_text(self, page: str) -> None:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8").strip("\n")
        assert pages.find(page).text == text == pages.find(f"docs/{page}.md").text

    @pytest.mark.parametrize("page", pages.names())
    def test_a_section_goes_to_the_next_heading_of_its_kind(self, page: str) -> None:
        for section in pages.sections(page)[1:]:
            head, *rest = section.text.splitlines()
            level = head.index(" ")
            assert head[level:].strip() == section.title
            assert pages.find(section.name) == section
            within, fenced = [], False
            for line in rest:
                fenced ^= line.lstrip().startswith("```")
                within += [line] if not fenced and line.startswith("#") else []
            assert all(line.index(" ") > level for line in within)

    @pytest.mark.parametrize(
        ("asked", "found"),
        [
            ("port", "guides/port"),
            ("limits#traced-runs", "limits#traced-runs"),
            ("verdicts", "reverse-patches#verdicts"),
            ("Conflicts", "reverse-patches#conflicts"),
            ("125", "reference/exit-codes#125-the-revert-was-not-in-force"),
            ("port#the-proposal", "guides/port#the-proposal"),
            ("#the-proposal", "guides/port#the-proposal"),
            ("limits#Traced runs", "limits#traced-runs"),
            ("When it was killed", "guides/edit-the-files-of-a-tree#when-it-was-killed"),
            ("already reverted", "reverse-patches#verdicts"),
            ("rot", "reverse-patches#verdicts"),
        ],
    )
    def test_a_name_may_be_short_where_no_other_is_called_so(self, asked: str, found: str) -> None:
        assert pages.find(asked).name == found

    @pytest.mark.parametrize(
        ("asked", "nearest"),
        [
            ("limts", "limits"),
            ("limits#traced-run", "limits#traced-runs"),
            ("reverse-patchs#verdicts", "reverse-patches"),
            ("verdict", "reverse-patches#verdicts"),
            ("zzzzzz", ""),
            ("limits#zzzzzz", ""),
        ],
    )
    def test_what_is_not_there_has_its_nearest_named(self, asked: str, nearest: str) -> None:
        with pytest.raises(UsageError) as caught:
            pages.find(asked)
        assert caught.value.nearest == nearest
        assert caught.value.page == "commands#explain"

    def test_a_number_that_is_no_exit_code_may_be_that_of_a_fix(self) -> None:
        with pytest.raises(UsageError, match="prtoggle show 27360 is about a fix"):
            pages.find("27360")


class TestPlain:
    def test_paragraphs_and_items_are_wrapped(self) -> None:
        text = "One two three\nfour five.\n\n- six seven eight\n  nine\n- ten\n"
        assert plain(text, width=12) == "One two\nthree four\nfive.\n\n- six seven\n  eight nine\n- ten"

    def test_code_is_as_it_stands(self) -> None:
        code = (
            "$ prtoggle diff ./x.diff | a very long line that is not to be wrapped, whatever its width is\n# no heading"
        )
        assert plain(f"```console\n{code}\n```", width=20) == "\n".join(f"    {line}" for line in code.splitlines())

    def test_a_table_that_fits_is_columns(self) -> None:
        assert plain("| a | b |\n|---|---|\n| one | `x \\| y` |") == "a    b\n---  -------\none  `x | y`"

    def test_a_table_that_does_not_fit_is_read_row_by_row(self) -> None:
        table = "| what | why |\n|---|---|\n| one | because of two |\n| three | so |"
        assert plain(table, width=16) == "what: one\n    why: because\n    of two\nwhat: three\n    why: so"

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("[limits](limits.md#traced-runs)", "limits <limits#traced-runs>"),
            ("[here](#live)", "here <guides/x#live>"),
            ("[up](../live.md)", "up <live>"),
            ("[beside](port.md)", "beside <guides/port>"),
            ("[code](../../prtoggle/errors.py)", "code"),
            ("[away](https://example.org/a)", "away <https://example.org/a>"),
            ("`[no](link.md)` and **bold `code`**", "`[no](link.md)` and bold `code`"),
        ],
    )
    def test_a_link_says_where_it_leads(self, text: str, shown: str) -> None:
        page = "guides/x" if "limits" not in text else "choosing"
        assert inline(text, page) == shown

    @pytest.mark.parametrize("page", pages.names())
    def test_no_line_of_prose_is_too_wide_and_no_word_is_lost(self, page: str) -> None:
        import re

        text = pages.find(page).text
        shown = plain(text, page, 80)
        prose = re.sub(r"<!--.*?-->|^ *```.*?^ *```$|^    .*?$", "", text, flags=re.DOTALL | re.MULTILINE)
        words = set(re.findall(r"\w{3,}", re.sub(r"\]\([^)\s]*\)", "]", prose)))
        assert words - set(re.findall(r"\w{3,}", shown)) == set()
        wide = [line for line in shown.splitlines() if len(line) > 80 and not line.startswith("    ")]
        assert [line for line in wide if " " in line.strip() and "<" not in line and "`" not in line] == []
