"""What a look back at the end of a process finds: what got past the finder, and what took no effect.

Example::

    lookback.unreverted(finder)   # [("sglang", "sglang.srt.x was loaded by another import hook, without its revert")]
    lookback.unused(finder)       # ["27360/slice (sglang.srt.layers.attention.flashattention_backend)"]
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prtoggle.runtime.hook import Finder


def unreverted(finder: Finder) -> list[tuple[str, str]]:
    """Packages that run without the revert that was selected for them, with nobody having been told, each with the
    reason. Never right, so never silent."""
    finder.look_back()
    found = []
    for name in finder.planned:
        if name in sys.modules and name not in finder.loaded:
            reason = f"{name} was loaded by another import hook, without its revert"
            found.append((name.partition(".")[0], reason))
    for name, planned, file in _other_names(finder):
        reason = f"{file} was executed as {name} too, without the revert of {planned}"
        found.append((planned.partition(".")[0], reason))
    return found


def unused(finder: Finder) -> list[str]:
    """Parts that took no effect in this process: none of the modules that they change was ever imported."""
    effective = {part for name in finder.loaded if name in finder.planned for part in finder.planned[name].parts}
    found: dict[str, list[str]] = {}
    for name, module in finder.planned.items():
        if name.partition(".")[0] not in finder.refused:
            for part in module.parts:
                found.setdefault(part, []).append(name)
    return [f"{part} ({', '.join(names)})" for part, names in found.items() if part not in effective]


def _other_names(finder: Finder) -> list[tuple[str, str, str]]:
    """Modules made from the file of a planned module under another name: a script, a symbolic link."""
    files = {os.path.realpath(module.file): name for name, module in finder.planned.items()}
    last = {os.path.basename(file) for file in files} | {os.path.basename(m.file) for m in finder.planned.values()}
    found = []
    for name, module in list(sys.modules.items()) if files else ():
        known = getattr(module, "__dict__", {})
        file = known.get("__file__")
        if name in finder.planned or not isinstance(file, str):
            continue
        if os.path.basename(file) not in last and not os.path.islink(file):
            continue
        planned = files.get(os.path.realpath(file))
        spec = known.get("__spec__")
        if planned is not None and getattr(spec, "name", None) != planned:  # python -m goes through the loader
            found.append((name, planned, file))
    return found
