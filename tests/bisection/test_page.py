"""The page that a bisection writes: everything is in it, nothing is loaded, nothing of others runs in it."""

from __future__ import annotations

import itertools
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prtoggle.bisect.values import Belief
from prtoggle.bisection import pagestyle
from prtoggle.bisection.account import Account, account
from prtoggle.bisection.page import page, write
from prtoggle.bisection.picture import numbers, over_time, safe, subsets
from prtoggle.bisection.values import Answer, TrialRecord
from prtoggle.errors import UsageError
from tests.bisection.browser import look_at, needs_browser
from tests.bisection.states import found, state, trial

BELIEF = Belief(((frozenset("2"), 0.9931),), 0.004, 0.0004, (("2", 0.9931), ("1", 0.002)), 0.27, 0.0, 11.0)
OURS = {"html", "head", "meta", "link", "title", "style", "body", "main", "header", "section", "footer"}
OURS |= {"p", "h1", "h2", "h3", "span", "pre", "code", "dl", "dt", "dd", "ul", "li", "b", "div", "details", "summary"}
OURS |= {"table", "tr", "th", "td", "svg", "rect", "circle", "g", "line", "path", "text"}
DIFF = "diff --git a/app/core.py b/app/core.py\n--- a/app/core.py\n+++ b/app/core.py\n@@ -1,2 +1,2 @@\n def f():\n-    return '<fixed>'\n+    return '<script>alert(1)</script>'\n"
EVIL = '"><script src="http://127.0.0.1:9/x.js"></script><img src=http://127.0.0.1:9/y onerror=alert(1)>\'&\u202e\x1b[31m\udc80'


def trials() -> list[TrialRecord]:
    return [
        trial(1, "ends", (), "good", worker="local/0"),
        trial(2, "ends", ("1", "2", "3", "4"), "bad", worker="local/1", began=1_767_300_001.2, gpus=("1",)),
        trial(3, "search", ("1", "2"), "void", why="the reverts were not in force"),
        trial(4, "search", ("1", "2"), "bad", began=1_767_400_000.0, seconds=7200),
        trial(5, "confirm", ("2",), "timeout", worker="local/1", began=1_767_400_000.0, seconds=60),
    ]


def told(**more: object) -> Account:
    made = account(
        state(*trials(), answer=found(["2"], confidence=0.9931), belief=BELIEF, aside=(("4", "never executed"),))
    )
    return replace(replace(made, culprits=(replace(made.culprits[0], diff=DIFF),)), **more)  # type: ignore[arg-type]


class Elements(HTMLParser):
    """Every element with its attributes, and whether all that was opened was closed."""

    VOID = ("meta", "link")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"{tag} closes what is not open"


def test_a_page_is_elements_of_ours_alone_and_all_are_closed() -> None:
    elements = Elements(page(told()))
    assert elements.open == []
    assert {tag for tag, _ in elements.found} <= OURS
    addresses = [
        value for _, attrs in elements.found for name, value in attrs.items() if name in ("src", "href", "action")
    ]
    assert addresses == ["data:,"]
    assert "url(" not in pagestyle.STYLE and "@import" not in pagestyle.STYLE


@pytest.mark.parametrize("field", ["command", "cwd", "reason", "resume", "mode", "verdict"])
def test_what_is_not_ours_is_escaped(field: str) -> None:
    assert_harmless(told(**{field: EVIL}))


def test_names_titles_workers_and_reasons_are_escaped() -> None:
    records = [trial(1, "ends", (EVIL,), EVIL, why=EVIL, worker=EVIL), trial(2, EVIL, (), "bad")]
    belief = replace(BELIEF, members=((EVIL, 0.5),))
    made = account(
        state(
            *records,
            candidates=(EVIL,),
            answer=found([EVIL], reason=EVIL),
            belief=belief,
            aside=((EVIL, EVIL),),
            notes=(EVIL,),
        ),
        environment={EVIL: EVIL},
    )
    culprit = replace(made.culprits[0], diff=EVIL, titles=(EVIL,), bad=EVIL, good=EVIL)
    assert_harmless(replace(made, culprits=(culprit, replace(culprit, diff="", no_diff=EVIL))))


def assert_harmless(account: Account) -> None:
    html = page(account)
    elements = Elements(html)
    assert elements.open == []
    assert not {"script", "img"} & {tag for tag, _ in elements.found}
    assert not {name for _, attrs in elements.found for name in attrs} & {"src", "onerror"}
    assert "\x1b" not in html and "\u202e" not in html
    html.encode()


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(codec=None), max_size=30))
def test_any_text_is_text_in_an_element_and_in_an_attribute(text: str) -> None:
    made = safe(text)
    made.encode()
    assert not re.search("[<>\"'\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", made)
    (element,) = Elements(f'<p title="{made}">{made}</p>').found
    assert element[0] == "p" and list(element[1]) == ["title"]


def test_every_trial_is_a_bar_of_its_outcome_and_says_what_was_reverted() -> None:
    picture = over_time(trials())
    assert re.findall(r'<rect class="k-(\w+)"', picture) == ["good", "bad", "void", "bad", "timeout"]
    assert "trial 3 (search): void; at 2.0 s for 1.0 s; reverted: 1, 2; the reverts were not in force" in picture
    assert picture.count('class="label"') == 2  # two workers


def test_bars_of_one_worker_do_not_overlap_and_a_pause_is_cut_short() -> None:
    records = [trial(n, "search", (), "good", began=1e9 + 10 * n, seconds=9.5) for n in range(1, 30)]
    records += [trial(30, "search", (), "bad", began=2e9, seconds=30)]
    bars = [tuple(map(float, bar)) for bar in re.findall(r' x="([\d.]+)" y="\d+" width="([\d.]+)"', over_time(records))]
    assert all(left + wide <= after for (left, wide), (after, _) in itertools.pairwise(bars))
    assert all(wide > 5 for _, wide in bars)
    assert bars[-1][0] + bars[-1][1] <= 1000
    assert 'class="cut"' in over_time(records) and 'class="cut"' not in over_time(records[:-1])


def test_a_cell_says_that_a_candidate_was_reverted_and_culprits_come_first() -> None:
    picture = subsets(trials(), ("1", "2", "3", "4"), ("2",))
    assert re.findall(r">(\w+)<title>", picture) == ["outcome", "2", "1", "3", "4"]
    cells = [path.count("M") for path in re.findall(r' d="([^"]*)"', picture)]
    assert cells == [4, 2, 2, 1]


def test_a_number_is_a_dot_whose_colour_says_whether_the_culprit_was_reverted() -> None:
    records = [
        trial(n, "ends", ("2",) if n % 2 else (), "measured", metric=value)
        for n, value in enumerate((90.0, 101.5, 91.0, 99.0, float("nan")), 1)
    ]
    made = account(state(*records, answer=found(["2"], confidence=0.99), mode="metric"))
    dots = re.findall(r'<circle class="k-(\w+)" cx="([\d.]+)" cy="([\d.]+)"', numbers(records, made.culprits))
    assert [kind for kind, _, _ in dots] == ["bad", "good", "bad", "good"]
    heights = [float(y) for _, _, y in dots]
    assert heights[0] > heights[2] > heights[3] > heights[1]  # from the top
    assert re.findall(r'class="k-(\w+)"', numbers(records, made.culprits, fixed=True)) == ["good", "bad", "good", "bad"]
    html = page(made)
    assert "To see it worse" in html and "To see it better" in html and "it is worse where this is reverted" in html
    assert Elements(html).open == []
    assert numbers(trials(), ()) == ""


def test_thousands_of_trials_stay_a_page() -> None:
    names = [str(n) for n in range(256)]
    records = [trial(n + 1, "search", names[n % 7 :: 3], "good") for n in range(2000)]
    made = page(account(state(*records, candidates=names)))
    assert len(made) < 8_000_000
    assert subsets((), names) == "" and over_time(()) == ""


@pytest.mark.parametrize("verdict", ["none", "inconclusive", "interrupted"])
def test_a_bisection_without_a_culprit_has_a_page_too(verdict: str) -> None:
    answer = Answer(verdict, left=("1", "2"), reason="12 trials were allowed")
    html = page(account(state(*trials(), answer=answer), resume="prtoggle bisect --resume b.jsonl"))
    assert ("To resume" in html) == (verdict != "none") and "12 trials were allowed" in html
    assert page(account(state()))


def test_it_is_written_whole_or_refused(tmp_path: Path) -> None:
    write(told(), tmp_path / "report.html")
    assert os.listdir(tmp_path) == ["report.html"]
    with pytest.raises(UsageError, match="cannot be written"):
        write(told(), tmp_path / "nowhere" / "report.html")


@needs_browser
@pytest.mark.slow
def test_in_a_browser_all_is_there_light_and_dark_and_nothing_is_asked_of_the_network(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    culprit = replace(told().culprits[0], titles=(EVIL,))
    write(told(culprits=(culprit,), reason=EVIL, complete=False), file)
    light, dark = look_at(file, tmp_path), look_at(file, tmp_path, dark=True)
    assert (light.asked, light.console) == (dark.asked, dark.console) == ((), ())
    assert (light.corner, dark.corner) == (pagestyle.LIGHT["paper"], pagestyle.DARK["paper"])
    for text in (
        culprit.bad,
        culprit.good,
        "+    return '<script>alert(1)</script>'",
        "99.3 %",
        "never executed",
        "y onerror=alert(1)",
    ):
        assert text in light.text
    assert "trial 2 (ends): bad; at 0.2 s for 1.0 s; reverted: 1, 2, 3, 4" in light.text


@needs_browser
@pytest.mark.slow
def test_the_browser_would_have_told_of_a_request_and_of_an_error(tmp_path: Path) -> None:
    file = tmp_path / "bad.html"
    file.write_text("<img src='http://example.invalid/x.png'><script>console.error('an error of this page')</script>")
    seen = look_at(file, tmp_path)
    assert any("example.invalid" in line for line in seen.asked), seen
    assert any("an error of this page" in line for line in seen.console), seen
