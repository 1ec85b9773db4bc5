"""From how a command ended and what it showed to what its trial says, as ``git bisect run`` has it.

0 is good, 125 is skip, all else is bad, unless told otherwise: by text that has to be shown, by signals and time limits
that mean something else, by a number. What is not a fair trial of the selection is no verdict: see :func:`void`.

Example::

    judge(job, End(code=139), output)     # Judgement("bad")
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prtoggle.bisection.values import Job
from prtoggle.errors import UsageError
from prtoggle.result import Result
from prtoggle.selection import parse
from prtoggle.verdict import Verdict

SKIP = 125
_VERDICTS = "|".join(re.escape(each.value) for each in Verdict)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII)
"""A number whose commas are no decimal ones."""
_NAMED = 3
"""Parts that a reason names; of more, how many there are."""


@dataclass(frozen=True)
class End:
    """How a command ended."""

    code: int
    timed_out: bool = False

    @property
    def signal(self) -> int:
        """The signal that ended it, or that a shell says ended it; 0 for none."""
        return self.code - 128 if self.code > 128 else 0


@dataclass(frozen=True)
class Judgement:
    """A kind of :class:`~prtoggle.bisection.values.TrialRecord`, and why."""

    kind: str
    why: str = ""
    metric: float | None = None


def judge(job: Job, end: End, output: Sequence[Path]) -> Judgement:
    """What a trial says that was fair; ``output`` are the files that it wrote, the more telling one last."""
    if end.timed_out and not job.timeout_is:
        shown = _seen(job.match, output) if job.match else None
        if shown:
            return Judgement("bad")
        return Judgement("timeout", f"it took more than {job.timeout:g} s")
    if end.timed_out:
        return Judgement(job.timeout_is, f"it took more than {job.timeout:g} s, which counts as {job.timeout_is}")
    if end.code == SKIP:
        return Judgement("skip", "exit code 125")
    if job.metric:
        return _measured(job, end, output)
    if job.match:
        if _seen(job.match, output):
            return Judgement("bad")
        if end.code == 0:
            return Judgement("good")
        return Judgement("skip", f"it failed ({_ended(end)}) and did not show {job.match!r}")
    if end.code == 0:
        return Judgement("good")
    if end.signal and job.signal_is != "bad":
        return Judgement(job.signal_is, f"{_ended(end)} counts as {job.signal_is}")
    return Judgement("bad")


def _ended(end: End) -> str:
    return f"signal {end.signal}" if end.signal else f"exit code {end.code}"


def _measured(job: Job, end: End, output: Sequence[Path]) -> Judgement:
    if end.code:
        return Judgement("skip", f"it failed ({_ended(end)}), so its number does not count")
    text = next((found for found in (_last(job.metric, path) for path in output) if found is not None), None)
    if text is None:
        return Judgement("skip", f"nothing in its output is {job.metric!r}")
    try:
        value = float(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
    except ValueError:
        value = float("nan")
    if value != value or value in (float("inf"), float("-inf")):
        return Judgement("skip", f"{_shortened(text)!r} is no number that can be compared")
    return Judgement("measured", metric=value)


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def pattern(text: str, what: str) -> re.Pattern[bytes]:
    """``text`` as a pattern over output; UsageError where it is none."""
    try:
        return re.compile(text.encode(), re.MULTILINE)
    except re.error as error:
        raise UsageError(f"{what} {text!r} is no regular expression: {error}") from None


def _seen(match: str, output: Iterable[Path]) -> bool:
    wanted = pattern(match, "--match")
    return any(wanted.search(data) is not None for data in _mapped(output))


def _last(metric: str, path: Path) -> str | None:
    """The last match in a file: its first group, or all of it where there is none."""
    wanted = pattern(metric, "--metric")
    text = None
    for data in _mapped((path,)):
        for found in wanted.finditer(data):
            text = found[1 if wanted.groups else 0] or b""
    return None if text is None else text.decode("utf-8", "replace").strip()


def _mapped(paths: Iterable[Path]) -> Iterable[mmap.mmap]:
    """The files' contents, mapped: a server's log of gigabytes takes no memory."""
    for path in paths:
        try:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                yield data
        except (OSError, ValueError):
            continue  # not there, or empty: nothing was shown


def journal_name(part: str) -> str:
    """A part as journals write it: without its project, a diff's path without quotes."""
    choices = parse(part).choices
    return choices[0].path if choices[0].kind == "diff" else part.rpartition("#")[2]


def void(job: Job, result: Result) -> str:
    """Why the trial was none of ``job.parts`` reverted, or an empty string.

    Each part must be in force, or the journals must show that any process would have had it in force: what is planned
    and never imported makes no difference, reverted or not.
    """
    if result.is_none:
        return ""
    if result.refused:
        refused = result.refused[0]
        named = blamed(job, result)
        without = f" (because of {', '.join(named)}: leave out of --among what is refused)" if named else ""
        return f"{refused.package} could not be imported reverted{without}: {refused.reason}"
    if not result.processes:
        return "no Python process was reached"
    restored = [state.part for process in result.processes for state in process.parts if state.until]
    if restored:
        return f"{restored[0]} was put back while it ran"
    missing = [part for part in map(journal_name, job.parts) if part not in in_force(result)]
    if missing and result.unreached:
        return f"{missing[0]} was not in force, and a Python was not reached: {result.unreached[0].reason}"
    planned = {part for module in result.never_imported for part in module.parts}
    if missing and not result.in_force and not planned:
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        return f"no process imported a package that {', '.join(missing[:_NAMED])}{more} changes"
    return ""


def blamed(job: Job, result: Result) -> tuple[str, ...]:
    """The parts, as in a selection, because of which a package was refused: those that change a module that the reason
    names, or those of fixes that it names as refused; none where it names neither."""
    reason = result.refused[0].reason
    modules = {name for module in result.never_imported for name in module.parts if _names(reason, module.module)}
    if modules:
        return tuple(part for part in job.parts if journal_name(part) in modules)
    return tuple(part for part in job.parts if _refuses(reason, journal_name(part)))


def _names(reason: str, module: str) -> bool:
    """Whether a reason is about ``module``: it begins with its name."""
    return re.match(rf"{re.escape(module)}(?![\w.])", reason) is not None


def _refuses(reason: str, part: str) -> bool:
    """Whether a line of the reason is the decision on ``part``, in the words of prtoggle.refusals."""
    return re.search(rf"(?m)^(?:.*: )?{re.escape(part)}(?::\d+)*: (?:{_VERDICTS}) in ", reason) is not None


def in_force(result: Result) -> tuple[str, ...]:
    """The parts that some process ran without."""
    return tuple(dict.fromkeys(part for module in result.in_force for part in module.parts))


def executed(result: Result) -> tuple[str, ...]:
    """The parts of which some reverted code ran, in a traced run."""
    edits = (edit for module in result.in_force for edit in module.edits)
    return tuple(dict.fromkeys(part for edit in edits if edit.state == "executed" for part in edit.parts))


def idle(job: Job, result: Result) -> tuple[tuple[str, str], ...]:
    """The parts that surely made no difference, each with the reason."""
    if result.unreached or not result.processes or result.refused:
        return ()
    edits = [(part, edit.state) for module in result.in_force for edit in module.edits for part in edit.parts]
    never = {part: module.module for module in result.never_imported for part in module.parts}
    found = []
    for part in job.parts:
        name = journal_name(part)
        states = {state for of, state in edits if of == name}
        if not states and name in never:
            found.append((part, f"no process imported {never[name]}"))
        elif not states:
            found.append((part, "no process imported a package that it changes"))
        elif result.traced and states == {"not executed"}:
            found.append((part, "its code was not executed"))
    return tuple(found)
