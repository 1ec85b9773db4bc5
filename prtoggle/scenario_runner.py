"""Runs one case of a scenario in this process, which is a child of ``prtoggle prove``; writes what it saw, and whether
that is what the case claims, as JSON.

The process is started fixed or reverted; nothing here knows which. Besides the standard library it imports what the
scenario imports.

Example::

    python -m prtoggle.scenario_runner fixes/pr7_x/scenario.py cpu out.json 27360/slice
    python -m prtoggle.scenario_runner fixes/pr7_x/scenario.py cpu out.json         # lists the cases alone
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import json
import os
import sys
import traceback
from types import CodeType, ModuleType
from typing import Any

BUNDLED = "prtoggle_fixes"


class _AsWritten(importlib.machinery.SourceFileLoader):
    """Compiles the file as it is now: bytecode left by an earlier run passes for that of a file that was edited within
    the same second to the same length."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def module_name(path: str) -> str:
    """What the program in ``path`` is imported as: a bundled one by the name by which it also starts its children."""
    folder, file = os.path.split(os.path.abspath(path))
    stem = os.path.splitext(file)[0]
    from prtoggle.runtime.sources import bundled_folder

    if os.path.realpath(os.path.dirname(folder)) == os.path.realpath(bundled_folder()):
        return f"{BUNDLED}.{os.path.basename(folder)}.{stem}"
    return f"prtoggle_{stem}_{os.path.basename(folder)}"


def load(path: str) -> ModuleType:
    """The module of the scenario, or of the real program, in ``path``."""
    name = module_name(path)
    if name.startswith(f"{BUNDLED}."):
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, path, loader=_AsWritten(name, path))
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def cases(path: str) -> dict[str, Any]:
    """The cases of the scenario: what each reverts, and claims."""
    return {"cases": [[case.revert, case.claim] for case in load(path).CASES]}


def observe(path: str, device: str, revert: str) -> dict[str, Any]:
    """Run the case; ``seen``, ``holds``, and ``error`` where it could not be told."""
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            return {"missing": "device", "error": "torch sees no CUDA device"}
    module = load(path)
    found = [case for case in module.CASES if case.revert == revert]
    if len(found) != 1:
        return {"error": f"{path} has {len(found)} cases for {revert}"}
    seen = module.observe(device)
    seen = json.loads(json.dumps(seen))  # what is judged is what is shown
    return {"seen": seen, "holds": bool(found[0].holds(seen)), "error": ""}


def main(argv: list[str]) -> int:
    path, device, out, *rest = argv
    try:
        told = observe(path, device, rest[0]) if rest else cases(path)
    except ModuleNotFoundError as error:
        told = {"missing": (error.name or "").partition(".")[0], "error": str(error)}
    except Exception as error:
        traceback.print_exc()
        told = {"error": f"{type(error).__name__}: {error}"}
    with open(out, "w", encoding="utf-8") as file:
        json.dump(told, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
