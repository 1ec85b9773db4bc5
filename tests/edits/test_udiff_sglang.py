"""What changed between two releases of SGLang, taken backwards, gives back the older one's files byte for byte."""

from __future__ import annotations

import difflib

import pytest

from prtoggle.diffs import parse
from prtoggle.edits import udiff
from prtoggle.edits.combine import combine
from prtoggle.edits.outcome import Found, Several
from prtoggle.edits.text import SourceText
from prtoggle.errors import InconclusiveError
from prtoggle.releases import Index

pytestmark = pytest.mark.sglang


@pytest.mark.parametrize(("before", "after"), [("0.5.15.post1", "0.5.16"), ("0.5.22", "0.5.23")])
def test_the_files_of_the_older_release_come_back(before, after):
    try:
        old, new = (Index().fetch("sglang", version) / "sglang" for version in (before, after))
    except InconclusiveError as error:
        pytest.skip(f"releases of SGLang cannot be had: {error}")
    outcomes = {Found: 0, Several: 0}
    for path in sorted(new.rglob("*.py"))[::8]:
        older = old / path.relative_to(new)
        if not older.is_file() or older.read_bytes() == path.read_bytes() or not older.read_bytes():
            continue
        was, now = SourceText.decode(older.read_bytes()), SourceText.decode(path.read_bytes())
        text = "".join(difflib.unified_diff(list(was.lines), list(now.lines), f"a/{path.name}", f"b/{path.name}"))
        (file,) = parse(text, name="x.diff", reverse=True)
        found = udiff.locate(now, None, file.edit)
        outcomes[type(found)] += 1  # a hunk that stands twice is said to, and nothing else happens
        if isinstance(found, Found):
            assert combine(now, [("x", replacement) for replacement in found.replacements]) == was.text, path.name
    assert outcomes[Found] > 50 * outcomes[Several]
