"""Real changes of well-known packages: the older release comes out of the newer one, by definition and as a commit.

The benchmark has many; these are a few of it.
"""

from __future__ import annotations

import pytest

from benchmarks.new_commits import Case, judge, whole
from prtoggle.errors import InconclusiveError
from prtoggle.releases import Index

pytestmark = pytest.mark.slow

CASES = [
    Case("jinja2", "jinja2", "3.1.3", "3.1.4", "jinja2/parser.py", "Parser.parse_call_args"),
    Case("pluggy", "pluggy", "1.2.0", "1.3.0", "pluggy/_manager.py", "PluginManager.add_hookspecs"),
    Case("requests", "requests", "2.31.0", "2.32.2", "requests/adapters.py", "HTTPAdapter.cert_verify"),
]


def there(distribution: str, *versions: str) -> None:
    """Skips where a release cannot be had."""
    for version in versions:
        try:
            Index().fetch(distribution, version)
        except InconclusiveError as problem:
            pytest.skip(str(problem))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_definition_comes_out_as_it_was(case: Case) -> None:
    there(case.distribution, case.older, case.newer)
    found = judge(case)
    assert (found.verdict, found.reason) == ("right", "")


def test_what_it_needs_and_is_gone_from_another_module_comes_along() -> None:
    there("httpx", "0.27.2", "0.28.0")
    found = judge(Case("httpx", "httpx", "0.27.2", "0.28.0", "httpx/_multipart.py", "FileField.__init__"))
    assert (found.verdict, found.reason) == ("right", "")


@pytest.mark.parametrize("pair", [("requests", "requests", "2.32.3", "2.32.4"), ("pluggy", "pluggy", "1.3.0", "1.4.0")])
def test_a_whole_release_comes_out_as_one_commit(pair: tuple[str, str, str, str]) -> None:
    there(pair[0], *pair[2:])
    found = whole(pair)
    assert found.right and not found.wrong and not found.refused, found
