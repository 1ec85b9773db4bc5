"""A made-up target package with one fix, for the benchmarks: `app.core.target`, whose reverse patch changes one line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Patches = Sequence[Mapping[str, Any]]
"""Targets and edits, in the form that SGLang's patcher and prtoggle share."""

TARGET = "def target(x):\n    y = x + 1\n    return y\n"
PATCHES: Patches = ({"target": "app.core.target", "edits": [{"match": "y = x + 1", "replacement": "y = x + 2"}]},)


def _yaml(patches: Patches) -> str:
    lines = ["prtoggle: 1", "fix: 7", "title: a benchmark", "variants:", "  - package: app", "    patches:"]
    for patch in patches:
        lines += [f"      - target: {patch['target']}", "        edits:"]
        for edit in patch["edits"]:
            match, replacement = (edit[name].replace("'", "''") for name in ("match", "replacement"))
            lines += [f"          - match: '{match}'", f"            replacement: '{replacement}'"]
    return "\n".join(lines) + "\n"


def write(root: Path, core: str = TARGET, patches: Patches = PATCHES) -> dict[str, str]:
    """Write `site/app` with `core` as its text, and the fix that `patches` takes out of it, `fixes/pr7_x`, below `root`.

    Returns:
        The environment of a process that can import the one and sees the other, with a cache of its own.
    """
    site, fix = root / "site", root / "fixes" / "pr7_x"
    (site / "app").mkdir(parents=True)
    fix.mkdir(parents=True)
    (site / "app" / "__init__.py").write_text("")
    (site / "app" / "core.py").write_text(core)
    (fix / "revert.yaml").write_text(_yaml(patches))
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PRTOGGLE", "PYTHON", "SGLANG"))}
    env.update(
        PYTHONPATH=str(site),
        PRTOGGLE_PATH=str(fix.parent),
        PRTOGGLE_CACHE=str(root / "cache"),
        PRTOGGLE_QUIET="1",
    )
    return env
