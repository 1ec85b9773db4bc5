"""The account of a bisection as one HTML file, to attach to an issue.

Self-contained: no script, no link that is followed, no font, no image; a policy in the page forbids the browser to load
anything. Light or dark as the reader's system is. Everything that is not ours is escaped.

Example::

    write(account(state), Path("bisect.html"))
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from prtoggle import __version__, wholefile
from prtoggle.bisection import pagestyle
from prtoggle.bisection.account import Account, Accused, by_reason, duration, headline, percent, spent, where
from prtoggle.bisection.picture import numbers, over_time, safe, said, subsets
from prtoggle.bisection.values import TrialRecord
from prtoggle.errors import UsageError

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
KINDS = {
    "bad": "it failed",
    "good": "it did not fail",
    "skip": "it says nothing (skipped)",
    "measured": "a number was measured",
    "void": "the reverts were not in force",
    "timeout": "it took too long",
    "infrastructure": "it could not be run",
    "interrupted": "it was interrupted",
}
"""The kinds of trials, in words."""


def write(told: Account, file: Path) -> None:
    """Write the page, whole or not at all.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        wholefile.replace(file, page(told).encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"the report {file} cannot be written: {error.strerror or error}") from None


def writable(file: Path) -> None:
    """Raises UsageError where ``file`` cannot be written; to be known before hours of trials."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.touch()
        beside.unlink()
        if file.is_dir():
            raise IsADirectoryError(None, "it is a folder")
    except OSError as error:
        raise UsageError(f"the report {file} cannot be written: {error.strerror or error}") from None


def page(told: Account) -> str:
    """The page's text."""
    sections = (
        _summary(told),
        *(_culprit(culprit, told) for culprit in told.culprits),
        _pictures(told),
        _belief(told),
        _others(told),
        _environment(told),
        _trials(told),
    )
    title = safe(headline(told))
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">',
            f"<title>{title}</title><style>{pagestyle.STYLE}</style></head><body><main>",
            *(section for section in sections if section),
            f"<footer>prtoggle bisect {safe(__version__)}</footer></main></body></html>\n",
        )
    )


def _summary(told: Account) -> str:
    sure = percent(told.confidence) if told.verdict == "found" else ""
    if told.mode == "certain" and sure:
        sure = "certain: the failure is there or it is not"
    others = ("surely none" if told.mode == "certain" else "none") if told.complete else "there may be other culprits"
    facts = [
        ("verdict", {"none": "none of these"}.get(told.verdict, told.verdict)),
        ("confidence", sure),
        ("trials", spent(told)),
        ("candidates", str(len(told.candidates))),
        ("left", ", ".join(told.left) if told.verdict != "none" else ""),
        ("others", others if told.verdict == "found" else ""),
        ("because", told.reason),
    ]
    resume = ""
    if told.resume and told.verdict in ("inconclusive", "interrupted"):
        resume = f"<h3>To resume</h3>{_code(told.resume)}"
    return (
        f'<header><p class="eyebrow"><span class="badge v-{safe(told.verdict)}">{safe(facts[0][1])}</span> bisection of'
        f" {len(told.candidates)} candidates</p><h1>{safe(headline(told))}</h1>{_code(told.command)}</header>"
        f"<section>{_facts(facts)}{resume}</section>"
    )


def _culprit(culprit: Accused, told: Account) -> str:
    titles = "".join(
        f"<p><b>{safe(fix)}</b> {safe(title)}</p>"
        for fix, title in zip(culprit.fixes, culprit.titles, strict=True)
        if title
    )
    closer = f"<p>Of these, the parts that are needed: <b>{safe(culprit.closer)}</b></p>" if culprit.closer else ""
    diff = _diff(culprit.diff) if culprit.diff else f'<p class="quiet">No diff: {safe(culprit.no_diff)}</p>'
    bad, good = ("worse", "better") if told.mode == "metric" else ("fail", "pass")
    return (
        f'<section class="culprit"><h2>{safe(culprit.name)}</h2>{titles}{closer}'
        f"<p>{safe(where(told, culprit))}</p>"
        f'<h3><span class="dot k-bad"></span>To see it {bad}</h3>{_code(culprit.bad)}'
        f'<h3><span class="dot k-good"></span>To see it {good}</h3>{_code(culprit.good)}'
        f"<h3>What the revert changes</h3>{diff}</section>"
    )


def _pictures(told: Account) -> str:
    if not told.trials:
        return ""
    kinds = dict.fromkeys(record.kind for record in told.trials)
    legend = "".join(
        f'<li><span class="dot k-{safe(kind)}"></span>{safe(kind)}: {safe(KINDS.get(kind, kind))}</li>'
        for kind in (*KINDS, *(kind for kind in kinds if kind not in KINDS))
        if kind in kinds
    )
    marked = [name for culprit in told.culprits for name in (*culprit.fixes, *sum(culprit.unsure, ()), *culprit.parts)]
    names = [each.name for each in told.candidates]
    measured = numbers(told.trials, told.culprits, fixed=told.direction == "fixed")
    dots = f'<h2>The numbers</h2><div class="wide">{measured}</div>' if measured else ""
    return (
        f'<section><h2>The trials over time</h2><ul class="legend">{legend}</ul>'
        f'<div class="wide">{over_time(told.trials)}</div>'
        f"{dots}<h2>What was reverted in each</h2>"
        f'<div class="wide">{subsets(told.trials, names, marked or told.left)}</div></section>'
    )


def _belief(told: Account) -> str:
    belief = told.belief
    if belief is None:
        return ""
    rows = [(name, probability) for name, probability in belief.members if probability >= 0.0005][:40]
    rows += [("none of these", belief.none), ("more of them together", belief.more)]
    bars = "".join(
        f'<tr><th scope="row">{safe(name)}</th><td class="bar">'
        f'<span style="width:{100 * min(1.0, probability):.2f}%"></span></td><td>{percent(probability)}</td></tr>'
        for name, probability in rows
    )
    fails, without = percent(belief.fails), percent(belief.fails_without)
    rates = f"With the culprit it fails about {fails} of the time, without it {without}."
    return f'<section><h2>How probable each is</h2><table class="belief">{bars}</table><p>{rates}</p></section>'


def _others(told: Account) -> str:
    """What was set aside, and what else a reader should know."""
    aside = "".join(f"<li><b>{safe(', '.join(names))}</b>: {safe(why)}</li>" for why, names in by_reason(told.aside))
    notes = "".join(f"<li>{safe(note)}</li>" for note in told.notes)
    made = f"<h2>Set aside</h2><ul>{aside}</ul>" if aside else ""
    made += f"<h2>Notes</h2><ul>{notes}</ul>" if notes else ""
    return f"<section>{made}</section>" if made else ""


def _environment(told: Account) -> str:
    rows = [*told.environment, ("folder", told.cwd), ("command", told.command)]
    begun = min((record.began for record in told.trials if record.began), default=0.0)
    if begun:
        rows.insert(0, ("began", time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(begun))))
    return f"<section><h2>Environment</h2>{_facts(rows)}</section>"


def _trials(told: Account) -> str:
    if not told.trials:
        return ""
    begin = min((record.began for record in told.trials if record.began), default=0.0)
    rows = "".join(_trial(record, begin) for record in told.trials)
    heads = "".join(
        f'<th scope="col">{name}</th>' for name in ("", "for", "outcome", "at", "took", "worker", "reverted")
    )
    return (
        f"<section><details><summary>All {len(told.trials)} trials as text</summary>"
        f'<div class="wide"><table class="trials"><tr>{heads}</tr>{rows}</table></div></details></section>'
    )


def _trial(record: TrialRecord, begin: float) -> str:
    outcome = record.kind if record.metric is None else f"{record.kind} {record.metric:g}"
    ended = f"signal {record.signal}" if record.signal else "" if record.code is None else f"exit code {record.code}"
    cells = (
        str(record.number),
        record.phase,
        f"{outcome}{f' ({ended})' if ended else ''}",
        duration(max(0.0, record.began - begin)) if record.began else "",
        duration(record.seconds),
        record.worker + (f" GPU {','.join(record.gpus)}" if record.gpus else ""),
        (", ".join(record.reverted) or "nothing") + (f" ({record.why})" if record.why else ""),
    )
    inner = "".join(f"<td>{safe(cell)}</td>" for cell in cells)
    return f'<tr title="{safe(said(record, begin))}">{inner}</tr>'


def _facts(rows: Iterable[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{safe(name)}</dt><dd>{safe(value)}</dd>" for name, value in rows if value) + "</dl>"


def _code(text: str) -> str:
    return f"<pre>{safe(text)}</pre>"


def _diff(text: str) -> str:
    return f'<pre class="diff"><code>{"".join(map(_diff_line, _lines(text)))}</code></pre>'


def _diff_line(line: str) -> str:
    kind = ""
    if line.startswith(("diff ", "--- ", "+++ ", "index ")):
        kind = "file"
    elif line.startswith("@@"):
        kind = "hunk"
    elif line.startswith("+"):
        kind = "plus"
    elif line.startswith("-"):
        kind = "minus"
    return f'<span class="{kind}">{safe(line)}\n</span>' if kind else f"{safe(line)}\n"


def _lines(text: str) -> Sequence[str]:
    lines = text.split("\n")  # not splitlines: other line ends are text of a diff's line
    return lines[:-1] if lines and not lines[-1] else lines
