"""What commit messages and mails say."""

from __future__ import annotations

import pytest

from prtoggle.authoring.change import Told
from prtoggle.authoring.told import of_head, of_subject


@pytest.mark.parametrize(
    ("subject", "body", "told"),
    [
        ("[Fix] cut the batch (#101)", "", Told("[Fix] cut the batch", number="101")),
        ("cut the batch", "", Told("cut the batch")),
        ("see (#7) cut", "", Told("see (#7) cut")),
        ("Merge pull request #101 from you/branch", "\nCut the batch\n", Told("Cut the batch", number="101")),
        (
            "Merge branch 'x' into 'main'",
            "Cut\n\nSee merge request acme/engine!9\n",
            Told("Merge branch 'x' into 'main'", number="9"),
        ),
        ("cut \x1b[31mthe\x1b[0m\tbatch\x07 \u202e\ufeff\udcff", "", Told("cut the batch")),
    ],
)
def test_a_message_gives_title_and_number(subject: str, body: str, told: Told) -> None:
    assert of_subject(subject, body) == told


def test_a_mail_gives_a_subject_that_goes_on_in_the_next_line_and_is_encoded() -> None:
    head = (
        "From 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\n"
        "Date: Fri, 2 Jan 2026 10:00:00 +0100\nSubject: [PATCH 1/2] =?utf-8?q?caf=C3=A9?= and a\n long line (#101)\n\ntext\n"
    )
    assert of_head(head) == Told("café and a long line", merged="2026-01-02", number="101")


def test_git_show_gives_its_message() -> None:
    head = "commit 1111111\nAuthor: A <a@example.org>\nDate:   Fri Jan 2 10:00:00 2026 +0100\n\n    cut it (#101)\n\n    more\n"
    assert of_head(head) == Told("cut it", merged="2026-01-02", number="101")


def test_nothing_is_made_up() -> None:
    assert of_head("") == of_head("some words\n") == Told()
