"""``prtoggle doctor``: what is wrong with this installation."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from prtoggle.cli import render
from prtoggle.cli.context import fixes_option, json_option

_EPILOG = """\b
Examples:
  prtoggle doctor
  python -m prtoggle doctor --json       (of this very interpreter)
  prtoggle doctor --tree ./checkout      (also what revert --tree changed there)

\b
Exit code 1 where something is bad; warnings alone are fine.
"""


@click.command("doctor", epilog=_EPILOG)
@click.option(
    "--tree",
    "trees",
    metavar="DIR",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Also look at what `revert --tree DIR` changed; repeatable.",
)
@fixes_option
@json_option
def command(trees: tuple[Path, ...], fixes: tuple[Path, ...], as_json: bool) -> int:
    """What is wrong with this installation: its .pth file, its boot, its cache, its fixes,
    the packages that they are for, and whether what its variables select can be had."""
    from prtoggle.doctor import examine

    with render.progress() as say:
        say("starting processes to see whether a selection reaches them")
        findings = list(examine(dirs=fixes, trees=trees))
    bad = any(finding.state == "bad" for finding in findings)
    if as_json:
        render.json({"findings": [asdict(finding) for finding in findings], "exit_code": int(bad)})
        return int(bad)
    render.table([(finding.state, finding.name, finding.what) for finding in findings])
    for finding in findings:
        if finding.state != "ok" and (finding.hint or finding.nearest):
            render.out(f"\n{finding.name}: {finding.what}")
            for word, text in (("nearest", finding.nearest), ("hint", finding.hint)):
                if text:
                    render.out(f"  {word}: {text}")
    return int(bad)
