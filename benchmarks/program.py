"""A made-up target package with one fix, for the benchmarks: `app.core.target`, whose reverse patch changes one line."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

TARGET = "def target(x):\n    y = x + 1\n    return y\n"
_REVERT = """
prtoggle: 1
fix: 7
title: a benchmark
variants:
  - package: app
    patches:
      - target: app.core.target
        edits:
          - find: 'y = x + 1'
            put: 'y = x + 2'
"""


def write(root: Path, core: str = TARGET) -> dict[str, str]:
    """Write `site/app` with `core` as its text and `fixes/pr7_x` below `root`.

    Returns:
        The environment of a process that can import the one and sees the other, with a cache of its own.
    """
    site, fix = root / "site", root / "fixes" / "pr7_x"
    (site / "app").mkdir(parents=True)
    fix.mkdir(parents=True)
    (site / "app" / "__init__.py").write_text("")
    (site / "app" / "core.py").write_text(core)
    (fix / "revert.yaml").write_text(textwrap.dedent(_REVERT))
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PRTOGGLE", "PYTHON", "SGLANG"))}
    env.update(
        PYTHONPATH=str(site),
        PRTOGGLE_PATH=str(fix.parent),
        PRTOGGLE_CACHE=str(root / "cache"),
        PRTOGGLE_QUIET="1",
    )
    return env
