"""docs/benchmarks.md: one section for each group of benchmarks, each measured and written by itself.

A section's rows were measured in one run; writing one leaves the others as they are.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Row

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Made by `make bench`; one section alone: `python -m benchmarks speed` (or `port`, `new`, `bisection`). Within a section variants take turns in one run, and what
is compared are medians over the same rounds, so that the machine's noise hits both sides alike. What is random has a fixed seed.
"""
SECTIONS = {
    "speed": (
        "Speed",
        "What prtoggle costs where it runs, and what toggling a running process costs beside SGLang's own patcher and jurigged.",
    ),
    "port": (
        "Port",
        "How right `prtoggle port` is where the answer is known some other way: by SGLang's own toggle of that release, by a mechanical drift that is applied to the "
        "fixed and the reverted text alike, and by `git merge-file` where it merges cleanly.",
    ),
    "new": (
        "New",
        "How right `prtoggle new` is: real changes between two releases of well-known packages, taken out of the newer one, beside the older one's syntax trees.",
    ),
    "bisection": (
        "Bisect",
        "Trials that a search takes, simulated, beside what can be reached ([architecture](architecture.md)) and other tools in the same simulations.",
    ),
}


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| what | goal | measured | met |", "|---|---|---|---|"]
    for row in rows:
        detail = f" ({row.detail})" if row.detail else ""
        lines.append(f"| {row.what} | {row.goal} | {row.measured}{detail} | {'yes' if row.met else '**no**'} |")
    return "\n".join(lines) + "\n"


def write(name: str, body: str, page: Path = PAGE) -> None:
    """Put ``body`` (Markdown) into the section ``name`` of the page; the other sections stay as they are."""
    kept = sections(page.read_text(encoding="utf-8")) if page.exists() else {}
    title, what = SECTIONS[name]
    kept[name] = f"## {title}\n\n{what}\n\n{_where()}\n\n{body.strip()}\n"
    texts = [f"<!-- {each} -->\n{kept[each].strip()}\n" for each in SECTIONS if each in kept]
    page.write_text("\n".join([HEAD, *texts]), encoding="utf-8")


def sections(text: str) -> dict[str, str]:
    """The sections of a page that there are."""
    parts = re.split(r"^<!-- (\w+) -->$", text, flags=re.MULTILINE)
    return {name: body for name, body in zip(parts[1::2], parts[2::2], strict=True) if name in SECTIONS}


def _where() -> str:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=PAGE.parent, capture_output=True, text=True, check=False
    ).stdout.strip()
    return (
        f"{time.strftime('%Y-%m-%d', time.gmtime())}, {f'commit {commit}, ' if commit else ''}Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores."
    )
