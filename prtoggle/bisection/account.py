"""What is said at the end of a bisection, as data, as text and as JSON.

Made from where the bisection stands, and so from its log alone: an interrupted one, or one that found nothing, has an
account too.

Example::

    told = account(state, resume="prtoggle bisect --resume bisect.jsonl")
    told.culprits[0].bad        # "prtoggle run 27360 -- pytest tests/test_spec.py"
    print("\\n".join(text(told)))
"""

from __future__ import annotations

import math
import platform
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from prtoggle import __version__
from prtoggle.bisect.values import Belief, Direction
from prtoggle.bisection.copies import Copy, difference, seen
from prtoggle.bisection.values import FAILURES, Answer, Blamed, Candidate, Settings, State, TrialRecord, plain
from prtoggle.errors import see
from prtoggle.runtime.sources import BUNDLED

FORMAT = 1
VARIABLES = ("PYTHONPATH", "PRTOGGLE_PATH", "CUDA_VISIBLE_DEVICES")
"""Variables without which the commands that are told may well do something else."""
_UNDONE = 20
"""Trials that a line takes back."""
_PAUSE = 10.0
"""Seconds between two trials beyond which nobody was at work."""
_ORDER = ("bad", "good", "skip", "measured", "void", "timeout", "infrastructure", "interrupted")


@dataclass(frozen=True)
class Accused:
    """A culprit, with everything that a person needs to see it.

    Attributes:
        fixes, parts, unsure: as in :class:`prtoggle.bisection.values.Blamed`.
        titles: of each fix, its title.
        bad, good: the commands that show the failure, and the same without it.
        diff: what the revert of its parts changes; empty where ``no_diff`` says why.
    """

    fixes: tuple[str, ...]
    parts: tuple[str, ...]
    unsure: tuple[tuple[str, ...], ...]
    titles: tuple[str, ...]
    bad: str
    good: str
    diff: str = ""
    no_diff: str = ""

    @property
    def name(self) -> str:
        """Its members, as they are written in a selection."""
        return _joined(self.fixes, self.unsure)

    @property
    def closer(self) -> str:
        """Its parts where they say more than its fixes do; else empty."""
        return ",".join(self.parts) if self.parts and self.parts != self.fixes else ""


@dataclass(frozen=True)
class Account:
    """All that is said of a bisection.

    Attributes:
        verdict, confidence, complete, reason, left: as in :class:`prtoggle.bisection.values.Answer`; the verdict is
            ``interrupted`` where there is no answer yet.
        direction: ``reverted`` or ``fixed``: the state of the culprits in which the command fails; empty where unknown.
        runs: how many trials of each kind.
        seconds: from the first trial's start to the last one's end, pauses included.
        machine_seconds: of all trials together.
        environment: names and values, for whoever reads it elsewhere.
        resume: the command that goes on with it.
    """

    verdict: str
    exit_code: int
    mode: str
    direction: str
    culprits: tuple[Accused, ...]
    confidence: float
    complete: bool
    reason: str
    left: tuple[str, ...]
    aside: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    belief: Belief | None
    runs: tuple[tuple[str, int], ...]
    seconds: float
    machine_seconds: float
    command: str
    cwd: str
    environment: tuple[tuple[str, str], ...]
    resume: str
    trials: tuple[TrialRecord, ...]


def account(state: State, *, resume: str = "", environment: Mapping[str, str] | None = None) -> Account:
    """The account of a bisection that stands at ``state``.

    Args:
        resume: the command that goes on with it.
        environment: more that belongs to the environment than is known here.
    """
    answer = state.answer or Answer("interrupted", left=tuple(each.name for each in state.candidates))
    copies = seen(state.records)
    records = sorted(state.records, key=lambda record: record.number)
    kinds = Counter(record.kind for record in records)
    return Account(
        verdict=answer.verdict,
        exit_code=answer.exit_code,
        mode=state.mode,
        direction=answer.direction.value if answer.direction else "",
        culprits=tuple(_accused(blamed, state, copies) for blamed in answer.culprits),
        confidence=answer.confidence,
        complete=answer.complete,
        reason=answer.reason,
        left=answer.left,
        aside=state.aside,
        notes=state.notes,
        candidates=state.candidates,
        belief=state.belief,
        runs=tuple((kind, kinds[kind]) for kind in (*_ORDER, *sorted(set(kinds) - set(_ORDER))) if kinds[kind]),
        seconds=_span(records),
        machine_seconds=sum(record.seconds for record in records),
        command=shlex.join(state.settings.command),
        cwd=state.settings.cwd,
        environment=_environment(copies, environment or {}),
        resume=resume,
        trials=tuple(records),
    )


def run_command(selection: str, settings: Settings) -> str:
    """The command line that runs the trials' command under ``selection``."""
    folders = [word for folder in settings.fixes for word in ("--fixes", folder)]
    return shlex.join(["prtoggle", "run", *folders, selection, "--", *settings.command])


def time_left(state: State) -> float | None:
    """About how many seconds more it takes; None where that cannot be told."""
    timed = [record for record in state.records if record.says]
    if state.runs_left is None or not timed:
        return None
    seconds = [record.seconds for record in timed]
    # From one beginning to the next: what it takes to start a process and to think is part of it, a pause is not.
    began = sorted(record.began for record in timed)
    steps = [later - earlier for earlier, later in pairwise(began)]
    steps = [step for step in steps if step <= 3 * max(seconds) + _PAUSE]
    each = sum(seconds) / len(seconds) / max(1, state.settings.jobs)
    return state.runs_left * max(each, sum(steps) / len(steps) if steps else 0.0)


def to_json(told: Account) -> dict[str, Any]:
    """Plain values."""
    return {"format": FORMAT, "prtoggle": __version__, **plain(told)}


def text(told: Account) -> list[str]:
    """Lines for a person."""
    lines = [headline(told)]
    for culprit in told.culprits:
        lines += _of_culprit(culprit, told)
    if told.reason and told.verdict != "found":
        lines.append(f"  {first_line(told.reason)}")
    if told.left and told.verdict != "none":
        lines.append(f"  neither blamed nor cleared: {', '.join(told.left)}")
    if told.belief is not None and not told.culprits and told.verdict in ("inconclusive", "interrupted"):
        sets, chance = told.belief.likeliest
        names = " or ".join(",".join(sorted(members)) for members in sets) or "none of them"
        lines.append(f"  so far most likely: {names} ({percent(chance)})")
    if told.culprits and not told.complete:
        lines.append(f"  there may be other culprits{f': {told.reason}' if told.reason else ''}")
    lines += [f"  set aside: {', '.join(names)}: {why}" for why, names in by_reason(told.aside)]
    lines += [f"  note: {first_line(note)}" for note in told.notes]
    example = _example(told)
    if example is not None:
        lines.append(f"  what trial {example.number} showed ({example.kind}): stdout and stderr in {example.folder}")
    lines.append(f"  {spent(told)}")
    if told.verdict == "inconclusive":
        lines.append(see("guides/bisect#what-is-no-verdict"))
    if told.verdict in ("inconclusive", "interrupted") and told.resume:
        lines.append(f"to resume, run: {told.resume}")
        vain = [str(each.number) for each in told.trials if each.kind in FAILURES]
        if told.verdict == "inconclusive" and 0 < len(vain) <= _UNDONE:
            lines.append(f"to try again what was no verdict, run: {told.resume} --undo {' --undo '.join(vain)}")
    return lines


def first_line(text: str) -> str:
    """What a refusal says; its hints are in the trial's journals."""
    return text.partition("\n")[0]


def _example(told: Account) -> TrialRecord | None:
    """Where no culprit was found: a trial whose output may say why; the last of those that say least."""
    if told.verdict not in ("none", "inconclusive") or told.culprits:
        return None
    for kinds in (("skip", *FAILURES), ("bad",)):
        telling = [each for each in told.trials if each.kind in kinds and each.folder]
        if telling:
            return telling[-1]
    return None


def headline(told: Account) -> str:
    """One sentence: what it is, or that it is not known."""
    considered = [each.name for each in told.candidates]
    if told.verdict == "none":
        return f"none of {_these(considered)}{sure(told)}"
    if not told.culprits:
        how = "interrupted, no answer yet" if told.verdict == "interrupted" else "no answer"
        return f"{how}: {len(told.left)} of {len(considered)} candidates left"
    names = "; ".join(culprit.name for culprit in told.culprits)
    return f"{names}: {where(told, told.culprits[0])}{sure(told)}"


def where(told: Account, culprit: Accused) -> str:
    """In which state of ``culprit`` the command fails, in words."""
    several = len(culprit.fixes) + len(culprit.unsure) > 1
    state = "reverted" if told.direction == Direction.REVERTED.value else "in"
    fails = "it is worse" if told.mode == "metric" else "it fails"
    if len(told.culprits) > 1:
        return f"{fails} where {'any of these sets' if several else 'any of these'} is {state}"
    return f"{fails} where {'these are' if several else 'this is'} {state}{' together' if several else ''}"


def sure(told: Account) -> str:
    """How sure, where it is a matter of probability."""
    if told.mode == "certain" or not told.confidence:
        return ""
    return f" ({percent(told.confidence)} sure)"


def spent(told: Account) -> str:
    """How many trials, and how long they took."""
    count = sum(number for _, number in told.runs)
    kinds = ", ".join(f"{number} {kind}" for kind, number in told.runs)
    trials = f"{count} trial{'' if count == 1 else 's'}"
    if not count:
        return trials
    return f"{trials} ({kinds}) in {duration(told.seconds)}, {duration(told.machine_seconds)} of trials"


def by_reason(aside: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Candidates that were set aside, by why."""
    found: dict[str, list[str]] = {}
    for name, why in aside:
        found.setdefault(why, []).append(name)
    return list(found.items())


def percent(probability: float) -> str:
    """Never rounded up: what is not certain does not become 100 %."""
    if probability in (0, 1):
        return f"{probability:.0%}".replace("%", " %")
    digits = 0 if 0.01 <= probability < 0.99 else 1
    if probability >= 0.99:
        digits = min(3, math.ceil(-math.log10(1 - probability) - 1e-9) - 2)
    shown = math.floor(probability * 100 * 10**digits + 1e-9) / 10**digits
    return f"{shown:.{digits}f} %"


def duration(seconds: float) -> str:
    """``0.4 s``, ``12 s``, ``3 min 5 s``, ``2 h 4 min``, ``3 d 2 h``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    for size, unit, less, below in ((60, "min", 1, "s"), (3600, "h", 60, "min"), (86400, "d", 3600, "h")):
        if whole < size * (60 if unit == "min" else 24) or unit == "d":
            rest = whole % size // less
            return f"{whole // size} {unit}" + (f" {rest} {below}" if rest else "")
    raise AssertionError(whole)


def _of_culprit(culprit: Accused, told: Account) -> list[str]:
    head = [f"  {culprit.name}"] if len(told.culprits) > 1 else []
    titles = [f"    {fix}: {title}" for fix, title in zip(culprit.fixes, culprit.titles, strict=True) if title]
    closer = [f"    the parts: {culprit.closer}"] if culprit.closer else []
    bad, good = ("worse: ", "better:") if told.mode == "metric" else ("fails: ", "passes:")
    return [*head, *titles, *closer, f"    {bad}  {culprit.bad}", f"    {good}  {culprit.good}"]


def _accused(blamed: Blamed, state: State, copies: Sequence[Copy]) -> Accused:
    titles = {each.name: each.title for each in state.candidates}
    made = difference(",".join(blamed.parts or blamed.fixes), copies, state.settings.fixes)
    return Accused(
        blamed.fixes,
        blamed.parts,
        blamed.unsure,
        tuple(titles.get(fix, "") for fix in blamed.fixes),
        run_command(blamed.bad, state.settings),
        run_command(blamed.good, state.settings),
        made.text,
        made.why,
    )


def _environment(copies: Sequence[Copy], more: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    real = [copy for copy in copies if copy.package != BUNDLED] or copies
    labels = ", ".join(dict.fromkeys(copy.label for copy in real))
    here = {
        "prtoggle": __version__,
        "packages": labels,
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    return tuple((name, value) for name, value in {**here, **more}.items() if value)


def _span(records: Sequence[TrialRecord]) -> float:
    begun = [record for record in records if record.began]
    if not begun:
        return 0.0
    return max(record.began + record.seconds for record in begun) - min(record.began for record in begun)


def _joined(names: Sequence[str], unsure: Sequence[Sequence[str]]) -> str:
    groups = [f"one of {', '.join(group)}" for group in unsure]
    return " and ".join([*names, *groups])


def _these(names: Sequence[str]) -> str:
    return "these" if not names else f"these {len(names)}" if len(names) > 1 else names[0]
