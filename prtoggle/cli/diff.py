"""``prtoggle diff``: the revert as a unified diff that ``git apply`` takes."""

from __future__ import annotations

from pathlib import Path

import click

from prtoggle.cli import completion, render
from prtoggle.cli.context import against_options, fixes_option, json_option

_EPILOG = """\b
Examples:
  prtoggle diff 27360
  prtoggle diff 24401,27360/slice --against sglang==0.5.16 > revert.diff
  prtoggle diff 27360 --against ./sglang --prefix python | git -C sglang apply

\b
Exit codes: 0; 2 nobody knows the fix, or `--against` names several releases;
3 it does not apply; 4 the release could not be had.
"""


@click.command("diff", epilog=_EPILOG)
@click.argument("selection", shell_complete=completion.selection)
@click.option(
    "--against",
    metavar="WHAT",
    help="A requirement for one release, a wheel or a folder. Without it: what is installed.",
)
@click.option(
    "--prefix",
    metavar="P",
    default="",
    help="A folder put before every path: `python` for SGLang's repository. `git apply` says nothing of paths that are "
    "not below the folder it runs in, and changes nothing.",
)
@click.option("--package", metavar="NAME", help="Only this package.")
@against_options
@fixes_option
@json_option
def command(
    selection: str,
    against: str | None,
    prefix: str,
    package: str | None,
    python_version: str | None,
    platform: str | None,
    refresh: bool,
    fixes: tuple[Path, ...],
    as_json: bool,
) -> None:
    """The revert as a unified diff that `git apply` takes; paths from the package's parent.

    What a person should know of it, such as comments that are lost, is said on stderr.
    """
    from prtoggle.library import Library
    from prtoggle.releases import Index
    from prtoggle.revertdiff import notes, revert_diff
    from prtoggle.selection import parse
    from prtoggle.subjects import plans

    library = Library(fixes)
    with render.progress() as say:
        index = Index(python_version=python_version, platform=platform, refresh=refresh, say=say)
        found = plans(parse(selection), library, index, against=against, only=package)
    diffs = [(plan, revert_diff(plan, prefix=prefix)) for plan in found]
    if as_json:
        render.json(
            {
                "plans": [
                    {
                        "package": plan.package.name,
                        "version": plan.package.version,
                        "where": plan.package.where,
                        "parts": plan.in_force,
                        "diff": data.decode("utf-8", "backslashreplace"),
                        "notes": notes(plan),
                    }
                    for plan, data in diffs
                ]
            }
        )
        return
    if not diffs:
        render.words("prtoggle: nothing is selected, so there is no diff")
    for plan, data in diffs:
        render.out_bytes(data)
        render.words(f"prtoggle: {', '.join(plan.in_force) or 'nothing'} in {plan.package.label}")
        for note in notes(plan):
            render.words(f"prtoggle: {note}")
