"""What a commit message or a mail says of a change: title, date, number, project.

Contract: pure. Nothing is made up: what is not said is empty.

Example::

    of_subject("[Fix] cut the batch (#101)")      # Told(title="[Fix] cut the batch", number="101")
"""

from __future__ import annotations

import email.header
import email.utils
import re
from dataclasses import replace

from prtoggle.authoring.change import Told

_NUMBER = re.compile(r"\s*\(#(\d+)\)\s*$")
_MERGE = re.compile(r"Merge pull request #(\d+) from \S+")
_MR = re.compile(r"^See merge request \S*!(\d+)\s*$", re.MULTILINE)
_PATCH = re.compile(r"^\s*\[[^\]]*PATCH[^\]]*\]\s*")
_HEADER = re.compile(r"^(From|Date|Subject|Author|CommitDate|AuthorDate):[ \t]*(.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)
_COLOUR = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
_UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")


def of_subject(subject: str, body: str = "") -> Told:
    """What a commit's message says; of a merge, the line below it is the title."""
    subject = one_line(subject)
    if merge := _MERGE.match(subject):
        first = next((line.strip() for line in body.splitlines() if line.strip()), subject)
        return replace(of_subject(first), number=merge[1])
    found = _NUMBER.search(subject)
    request = _MR.search(body)
    number = found[1] if found else request[1] if request else ""
    return Told(title=_NUMBER.sub("", subject), number=number)


def one_line(text: str) -> str:
    """The text with spaces alone between its words, without what YAML, a terminal or a reader cannot have in a line:
    control characters, and those that turn the direction of what follows."""
    return " ".join(_UNSHOWN.sub("", _COLOUR.sub("", " ".join(text.split()))).split())


def of_head(text: str) -> Told:
    """What stands above a diff: the head of a mail, or what ``git show`` writes there."""
    fields = {name: " ".join(value.split()) for name, value in _HEADER.findall(text)}
    if "Subject" in fields:
        told = of_subject(_PATCH.sub("", _decoded(fields["Subject"])), text)
    else:
        indented = [line[4:] for line in text.splitlines() if line.startswith("    ")]
        if not indented or "Author" not in fields:
            return Told()
        told = of_subject(indented[0], "\n".join(indented[1:]))
    return replace(told, merged=_date(fields.get("CommitDate") or fields.get("Date", "")))


def _decoded(text: str) -> str:
    try:
        return str(email.header.make_header(email.header.decode_header(text)))
    except (LookupError, ValueError):
        return text


def _date(text: str) -> str:
    if iso := _ISO.match(text):
        return iso[0]
    for each in (text, _git_date(text)):
        try:
            return email.utils.parsedate_to_datetime(each).date().isoformat()
        except (TypeError, ValueError, IndexError):
            continue
    return ""


def _git_date(text: str) -> str:
    """``Fri Jan 2 10:00:00 2026 +0100`` as a mail has it."""
    pieces = text.split()
    if len(pieces) < 5:
        return ""
    weekday, month, day, clock, year = pieces[:5]
    return f"{weekday}, {day} {month} {year} {clock} {''.join(pieces[5:6])}"
