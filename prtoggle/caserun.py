"""One case of a fix's scenario, or of its real program, in a process of its own; and what both say of themselves.

Example::

    written(Path("fixes/pr7_x/scenario.py"))                     # [("none", "all pass"), ("7", "the last one is cut")]
    told, result = run_case(("prtoggle.scenario_runner", path, "cpu"), "7")
    told["holds"], result.in_force
"""

from __future__ import annotations

import ast
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prtoggle import selection
from prtoggle.result import Result
from prtoggle.runtime.sources import VARIABLE as PATH
from prtoggle.spec import Fix
from prtoggle.trial import Trial, run

PROVEN, NOT_PROVEN, COULD_NOT_RUN = "proven", "not proven", "could not run"
FIXED = "none"
"""The selection of the fixed state."""
TIME_LIMIT = 600.0
"""Seconds that one case may take."""


def assigned(path: Path, name: str) -> ast.expr | None:
    """What the program in ``path`` assigns to ``name``, as it is written; importing a program may take seconds."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return None
    for node in body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == name for target in node.targets
        ):
            return node.value
    return None


def written(path: Path) -> list[tuple[str, str]] | None:
    """Selection and claim of each case in ``CASES = (Case("none", "claim", ...), ...)``; None where not written so."""
    value = assigned(path, "CASES")
    if value is None:
        return None
    calls = value.elts if isinstance(value, ast.Tuple | ast.List) else [None]
    found = []
    for call in calls:
        words = (
            [arg.value for arg in call.args[:2] if isinstance(arg, ast.Constant)] if isinstance(call, ast.Call) else []
        )
        if len(words) != 2 or not all(isinstance(word, str) for word in words):
            return None
        found.append((str(words[0]), str(words[1])))
    return found


def parts_of(fix: Fix, revert: str) -> frozenset[str]:
    """The parts of ``fix`` that the selection of a case means."""
    parts: set[str] = set()
    for choice in selection.parse(revert).choices:
        parts.update(fix.parts if choice.all_parts else fix.default_parts if choice.parts is None else choice.parts)
    return frozenset(parts)


def run_case(
    program: Sequence[str],
    revert: str,
    *,
    more: Sequence[str] = (),
    dirs: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[dict[str, Any], Result]:
    """Run ``python -m PROGRAM... OUT MORE...`` with ``revert`` reverted: what it wrote to OUT, and the result."""
    with tempfile.TemporaryDirectory(prefix="prtoggle-prove-") as name:
        folder = Path(name)
        out, log = folder / "out.json", folder / "log"
        (folder / "journal").mkdir(mode=0o700)
        with log.open("wb") as sink:
            result = run(
                Trial(
                    revert,
                    (sys.executable, "-m", *program, str(out), *more),
                    env={**_here(), **(env or {})},
                    fixes=tuple(map(os.path.abspath, dirs)),
                    quiet=True,
                    cwd=name,
                    folder=folder / "journal",
                    timeout=TIME_LIMIT,
                    stdout=sink,
                    stderr=sink,
                ),
                stop=stop,
            )
        printed = log.read_text("utf-8", "replace").strip()
        try:
            told = json.loads(out.read_text("utf-8"))
        except (OSError, ValueError):
            lines = printed.splitlines()
            told = {"error": f"its process {_ended(result.code)}" + (f": {lines[-1]}" if lines else "")}
        return told, result


def _ended(code: int) -> str:
    """How a process ended that did not write what it saw, by the code that a shell gives it."""
    if not code:
        return "ended before it wrote what it saw"
    name = next((each.name for each in signal.Signals if each == code - 128), "")
    return f"ended with {code}" + (f" ({name})" if name else "")


def _here() -> dict[str, str]:
    """The variable with folders of fixes, relative to this folder and not to the child's."""
    folders = [os.path.abspath(entry) for entry in os.environ.get(PATH, "").split(os.pathsep) if entry.strip()]
    return {PATH: os.pathsep.join(folders)} if folders else {}


def why(told: Mapping[str, Any]) -> tuple[str, str]:
    """Why a child did not do what it should, and what to do about it."""
    missing = told.get("missing")
    if missing == "device":
        return str(told["error"]), "run it with --device cpu, or where nvidia-smi shows a device"
    if missing == "prtoggle":
        return f"{sys.executable} does not find prtoggle", "prtoggle doctor says why"
    if missing:
        return f"{missing} is not installed", f"{sys.executable} -m pip install {missing}"
    return str(told.get("cannot") or told.get("error") or "it said nothing"), ""
