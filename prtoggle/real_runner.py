"""Runs one case of a fix's ``real.py`` in this process, a child of ``prtoggle check --prove``, with one release of the
real package in front of ``sys.path``; writes what it saw, and whether that is what the case claims, as JSON.

``real.py`` stands beside ``scenario.py`` and defines::

    PACKAGE = "sglang"                  # whose release is put in front of sys.path
    NEEDS = ("torch", "numpy")          # modules without which it cannot run, imported first
    REAL = ("sglang.srt.x.y",)          # the release's own modules; all others of PACKAGE are stand-ins
    ABSENT = ("triton",)                # third parties that are stood in for where they are not installed
    def observe(): ...                  # calls the real code; plain JSON values; raises CannotRun where it cannot
    CASES = (Case("none", ...), ...)

``def real(version: str) -> tuple[str, ...]`` takes the place of ``REAL`` where the modules differ between releases. The
process is started fixed or reverted; nothing here knows which.

Example::

    python -m prtoggle.real_runner fixes/pr7_x/real.py releases/sglang/0.5.16 out.json 27360/slice
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from types import ModuleType
from typing import Any

from prtoggle.scenario import CannotRun
from prtoggle.scenario_runner import BUNDLED, load

STAND_INS = f"{BUNDLED}.standins"


def observe(path: str, release: str, revert: str) -> dict[str, Any]:
    """Run the case; ``seen`` and ``holds``."""
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # the stand-ins take Triton's place
    folder = os.path.abspath(release)
    sys.path.insert(0, folder)
    program = load(path)
    found = [case for case in program.CASES if case.revert == revert]
    if len(found) != 1:
        return {"error": f"{path} has {len(found)} cases for {revert}"}
    for name in program.NEEDS:
        importlib.import_module(name)
    real = _real(program, release)
    importlib.import_module(STAND_INS).install(real=real, absent=program.ABSENT, root=program.PACKAGE)
    try:
        seen = json.loads(json.dumps(program.observe()))  # what is judged is what is shown
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == program.PACKAGE:  # else it is something that is not installed
            return {"error": f"{type(error).__name__}: {error}"}
        raise
    files = {name: getattr(sys.modules[name], "__file__", "") for name in real if name in sys.modules}
    strange = [name for name, file in files.items() if file is not None and not file.startswith(folder + os.sep)]
    if strange or not files:
        return {"error": f"not the release's own code ran: {', '.join(strange) or 'none of REAL was imported'}"}
    return {"seen": seen, "holds": bool(found[0].holds(seen)), "error": ""}


def _real(program: ModuleType, release: str) -> tuple[str, ...]:
    of_version = getattr(program, "real", None)
    if of_version is None:
        return tuple(program.REAL)
    from prtoggle.packages import locate

    package = locate(program.PACKAGE, [release])
    return tuple(of_version(package.version if package else ""))


def _where(error: Exception, path: str) -> str:
    """The line of the program that an error came by; nobody sees the traceback of a child."""
    real = os.path.realpath(path)
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.realpath(frame.filename) == real]
    return f" ({os.path.basename(path)}:{own[-1].lineno})" if own else ""


def main(argv: list[str]) -> int:
    """``seen`` and ``holds``; or ``cannot``, why it cannot run here; ``missing``, what is not installed; ``error``."""
    path, release, out, revert = argv
    try:
        told = observe(path, release, revert)
    except CannotRun as why:
        told = {"cannot": str(why)}
    except ModuleNotFoundError as error:
        told = {"missing": (error.name or "").partition(".")[0], "error": str(error)}
    except Exception as error:
        traceback.print_exc()
        told = {"error": f"{type(error).__name__}: {error}{_where(error, path)}"}
    with open(out, "w", encoding="utf-8") as file:
        json.dump(told, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
