"""Runs one test of this session in a child process, in another state, and brings back what happened.

Example::

    ran = run(item, "27360")
    ran.reports, ran.died, ran.refused, ran.executed
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prtoggle import journals, result, selection
from prtoggle.bisection import reaper
from prtoggle.integrations import all_integrations
from prtoggle.pytest_plugin import LIMIT, SYS_PATH, timelimit
from prtoggle.runtime import journal

DRAWN = ("randomly_seed",)
"""Options that a plugin draws by lot where they are not given: the child is to have the same."""
SHOWN = 4000
"""How much of the end of a child's output is shown where it died."""


@dataclass(frozen=True)
class Ran:
    """One test in a child process.

    Attributes:
        reports: what pytest reports of its phases, in order, those of subtests too.
        problem: why there is no run to speak of; empty where there is one.
        refused: of packages that could not be imported reverted, why.
        executed: whether the reverted code was executed: None where that cannot be told.
        imported: whether any process imported what is reverted.
        seconds: all of it, Python's start and collection included.
    """

    reports: tuple[pytest.TestReport, ...] = ()
    problem: str = ""
    refused: tuple[str, ...] = ()
    executed: bool | None = None
    imported: bool = True
    seconds: float = 0.0


def run(item: pytest.Item, text: str, *, warn: bool = False) -> Ran:
    """Run ``item`` in a child process in which ``text`` is reverted (``none``: fixed).

    ``warn``: its warnings are warnings of this session.
    """
    folder = Path(tempfile.mkdtemp(prefix="prtoggle-child-"))
    try:
        with timelimit.paused(item):
            return _run(item, text, folder, warn)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(item: pytest.Item, text: str, folder: Path, warn: bool) -> Ran:
    config = item.config
    out = folder / "out.jsonl"
    request = {
        "nodeid": item.nodeid,
        "file": str(item.path),
        "args": [str(argument) for argument in config.invocation_params.args],
        "sys_path": SYS_PATH,
        "argv": sys.argv,
        "basetemp": _basetemp(config),
        "options": {name: value for name, value in vars(config.option).items() if name in DRAWN},
        "out": str(out),
    }
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    (folder / "journal").mkdir()
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined] # as multiprocessing does
    code = f"from prtoggle.pytest_plugin import child; child.main({str(folder / 'request.json')!r})"
    begun = time.monotonic()
    shown = config.getoption("capture", "fd") == "no"
    with open(folder / "output", "wb") as output:
        process = subprocess.Popen(
            [sys.executable, *flags, "-c", code],
            cwd=config.invocation_params.dir,
            env=_environment(text, str(folder / "journal")),
            stdin=subprocess.DEVNULL,
            stdout=None if shown else output,
            stderr=None if shown else output,
        )
        late = ""
        try:
            late = _wait(process, out, float(config.getini(LIMIT)))
        finally:
            _end(process, shown=bool(late))
    lines = list(_lines(out))
    printed = (folder / "output").read_bytes().decode("utf-8", "replace")[-SHOWN:].strip()
    entries = journals.read(folder / "journal")
    if os.environ.get(journal.VARIABLE):  # who reads the journals of this session is told of the child too
        for file in (folder / "journal").glob("*.jsonl"):
            shutil.copy(file, os.environ[journal.VARIABLE])
    if warn:
        _warn(item, [value for kind, value in lines if kind == "warning"])
    made = _made(item, lines, process.returncode, printed)
    if late:
        made = (), f"the child process did not come to the test {late}{f'{chr(10)}{printed}' if printed else ''}"
    if text == "none":
        return Ran(made[0], made[1], seconds=time.monotonic() - begun)
    told = result.told(entries, selection.parse(text), traced=True)
    refused = dict.fromkeys(
        each.reason if each.package == "?" else f"{each.package}: {each.reason}" for each in told.refused
    )
    states = [edit.state for module in told.in_force for edit in module.edits]
    executed = True if "executed" in states else None if "unknown" in states else False
    return Ran(made[0], made[1], tuple(refused), executed, bool(told.in_force), time.monotonic() - begun)


def _wait(process: subprocess.Popen[bytes], out: Path, limit: float) -> str:
    """Wait for the end of the child; that it took too long to come to its test, or an empty string."""
    try:
        process.wait(limit if limit > 0 else None)
    except subprocess.TimeoutExpired:
        if not any(kind == "phase" for kind, _ in _lines(out)):
            return f"in {limit:g} s ({LIMIT})"
        process.wait()
    return ""


def _end(process: subprocess.Popen[bytes], shown: bool) -> None:
    """End the child where it still runs, with what it started; ``shown``: it says where it stands."""
    if process.poll() is not None:
        return
    started = reaper.below(process.pid)
    if shown:
        process.send_signal(signal.SIGABRT)  # pytest has each thread show its stack
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
    process.kill()
    process.wait()
    for pid in started:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _environment(text: str, folder: str) -> dict[str, str]:
    env = dict(os.environ)
    for integration in all_integrations():
        env.pop(integration.variable, None)
    env.pop(selection.VARIABLE, None)
    if text != "none":
        env[selection.VARIABLE] = text
        env[journal.VARIABLE] = folder
        env["PRTOGGLE_TRACE"] = "1"
    env.setdefault("PRTOGGLE_QUIET", "1")
    return env


def _basetemp(config: pytest.Config) -> str:
    """A new folder for the child's tmp_path: the session's own would be emptied first."""
    factory = getattr(config, "_tmp_path_factory", None)
    if factory is None:
        return ""
    made: Path = factory.mktemp("prtoggle-child")
    return str(made)


def _lines(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        return
    for line in text.splitlines():
        try:
            read = json.loads(line)
        except ValueError:  # cut short by a kill
            continue
        yield read["kind"], read["value"]


def _made(
    item: pytest.Item, lines: list[tuple[str, Any]], code: int, printed: str
) -> tuple[tuple[pytest.TestReport, ...], str]:
    """The reports, and what is wrong where they are not of a whole run."""
    config = item.config
    told = f"\n{printed}" if printed else ""
    reports = tuple(
        config.hook.pytest_report_from_serializable(config=config, data=value)
        for kind, value in lines
        if kind == "report"
    )
    for report in reports:  # JSON knows no tuples
        report.location = tuple(report.location)
        report.sections = [tuple(each) for each in report.sections]
        report.user_properties = [tuple(each) for each in report.user_properties]
        if isinstance(report.longrepr, list):
            report.longrepr = tuple(report.longrepr)
    kinds = dict(lines)
    if "end" in kinds and not kinds["end"]["booted"]:
        return (), "prtoggle did not start in the child process, so nothing is reverted there; prtoggle doctor says why"
    if "collect" in kinds and not reports:
        return (), f"the child process could not collect the test:\n{kinds['collect']}"
    if any(report.when == "teardown" for report in reports):
        return reports, ""
    how = _signal(-code) if code < 0 else f"exit code {code}"
    phase = kinds.get("phase")
    if "end" in kinds and phase is None:
        return (), f"the child process did not find the test ({how}){told}"
    if phase in ("call", "teardown"):
        what = f"the process ended in the test's {phase}, by {how}"
        return (*reports, *_dead(item, str(phase), what, what + told)), ""
    return (), f"the child process ended before the test, by {how}{told}"


def _dead(item: pytest.Item, phase: str, what: str, text: str) -> Iterator[pytest.TestReport]:
    """What pytest could not report of a test that took its process along."""

    def report(outcome: Any, longrepr: Any, when: Any) -> pytest.TestReport:
        return pytest.TestReport(item.nodeid, item.location, {}, outcome, longrepr, when)

    yield report("failed", text, phase)
    if phase == "call":
        yield report("passed", None, "teardown")


def _warn(item: pytest.Item, told: list[tuple[str, str, str, str, int]]) -> None:
    for module, name, text, file, line in told:
        kind = getattr(sys.modules.get(module), name, None)
        known = kind if isinstance(kind, type) and issubclass(kind, Warning) else UserWarning
        try:
            said = known(text)
        except Exception:  # a class of another signature
            known, said = UserWarning, UserWarning(f"{name}: {text}")
        message = warnings.WarningMessage(said, known, file, line)
        where = {"when": "runtest", "nodeid": item.nodeid, "location": None}
        item.config.hook.pytest_warning_recorded.call_historic(kwargs={"warning_message": message, **where})


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
