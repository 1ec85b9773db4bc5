"""``prtoggle show``: one fix, all that is known of it here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from prtoggle.cli import completion, render
from prtoggle.cli.context import fixes_option, json_option

if TYPE_CHECKING:
    from prtoggle.compare import Comparison
    from prtoggle.portrait import Here, Portrait
    from prtoggle.spec import Fix
    from prtoggle.verdict import Decision

_EPILOG = """\b
Examples:
  prtoggle show 27360
  prtoggle show 27360/slice+assert --diff
  prtoggle show sgl-project/sglang#24401 --json

\b
Exit codes: 0; 2 nobody knows the fix; 3 its file is malformed.
"""


@click.command("show", epilog=_EPILOG)
@click.argument("selection", metavar="ID", shell_complete=completion.selection)
@click.option("--diff", "with_diff", is_flag=True, help="Also the revert as a diff, as it applies here.")
@fixes_option
@json_option
def command(selection: str, with_diff: bool, fixes: tuple[Path, ...], as_json: bool) -> None:
    """One fix: symptom, parts, variants, links, what it would do here, and where SGLang's own toggle differs.

    A part that a bare number takes out is marked with a star.
    """
    from prtoggle.library import Library
    from prtoggle.portrait import data, portrait
    from prtoggle.revertdiff import revert_diff
    from prtoggle.selection import parse

    seen = portrait(parse(selection), Library(fixes))
    diffs = [(here.package.label, revert_diff(here.plan)) for here in seen.here if here.plan is not None]
    if as_json:
        described = data(seen)
        if with_diff:
            described["diffs"] = {label: diff.decode("utf-8", "backslashreplace") for label, diff in diffs}
        render.json(described)
        return
    _show(seen)
    if with_diff:
        for _, diff in diffs:
            render.out()
            render.out_bytes(diff)
        for comparison in seen.comparisons:
            if comparison.difference:
                render.out(f"\nfrom {comparison.ours.origin.kind} to {comparison.theirs.origin.kind}:")
                render.out_bytes(comparison.difference)


def _show(seen: Portrait) -> None:
    for index, fix in enumerate(seen.fixes):
        if index:
            render.out()
        _show_fix(fix)
    render.out()
    for here in seen.here:
        _show_here(here)
    for name in seen.absent:
        render.out(f"{name} is not installed")
    for comparison in seen.comparisons:
        render.out(_comparison(comparison))


def _show_fix(fix: Fix) -> None:
    from prtoggle.portrait import edits, links

    render.out(f"{render.colour(fix.id, bold=True)}  {fix.title}")
    rows = [("project", fix.project), ("merged", fix.merged), ("symptom", fix.symptom)]
    rows += [("contains", f"{name} {specifier}") for name, specifier in fix.contains.items()]
    rows += [("link", link) for link in links(fix)]
    rows += [("source", f"{fix.origin.kind} {fix.place}")]
    render.table([row for row in rows if row[1]], indent="  ")
    star = "*" if len(fix.parts) > 1 else ""
    render.out("  parts")
    render.table(
        [(name + (star if name in fix.default_parts else ""), text) for name, text in fix.parts.items()], indent="    "
    )
    for variant in fix.variants:
        words = [f"{variant.package} {variant.versions or '(any version)'}"]
        words += [f"lacks {', '.join(variant.lacks)}"] if variant.lacks else []
        words += [f"baked in: {', '.join(variant.baked_in)}"] if variant.baked_in else []
        render.out(f"  variant {'; '.join(words)}")
        for target, parts, _ in edits(variant):
            render.out(f"    {', '.join(parts)}: {target}")


def _show_here(here: Here) -> None:
    render.out(f"{here.package.label}  {here.package.where}  ({here.fix.origin.kind})")
    rows = [(decision.part, decision.verdict.value, _reason(decision)) for decision in here.decisions]
    render.table(rows, indent="  ")
    if here.refused:
        render.out(f"  refused: {here.refused}")


def _reason(decision: Decision) -> str:
    from prtoggle.refusals import back_into_files

    restore = back_into_files(decision)
    return decision.reason + (f"; {restore} puts it back" if restore else "")


def _comparison(comparison: Comparison) -> str:
    whose = f"{comparison.theirs.origin} {comparison.theirs.id} in {comparison.package.label}"
    if comparison.refused:
        return f"{whose}: does not apply: {comparison.refused}"
    if not comparison.same_as:
        return f"{whose}: differs from {comparison.ours.origin.kind} (--diff shows how)"
    left = f"; {', '.join(comparison.left)} stays" if comparison.left else ""
    return f"{whose}: takes out the same as {' or '.join(comparison.same_as)}{left}"
