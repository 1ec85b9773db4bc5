"""``prtoggle new``: a reverse patch from a commit, a diff or two releases, tried at once."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prtoggle.cli import render
from prtoggle.cli.context import against_options, index_of, json_option
from prtoggle.errors import UsageError

if TYPE_CHECKING:
    from prtoggle.authoring.asked import Answer
    from prtoggle.authoring.trying import Seen

_EPILOG = """\b
Examples:
  prtoggle new 27360 --commit 1f2e3d4 --repo ~/sglang
  gh pr diff 27360 | prtoggle new 27360 --diff - --against sglang==0.5.16
  prtoggle new 101 --diff fix.patch --dry-run > revert.yaml
  prtoggle new 101 --between engine==1.2 engine==1.3 \\
      --only engine/core.py::Runner.step --against 'engine>=1.0'

\b
Exit codes: 0 written, and it applies wherever the fix is; 1 written, and it
does not apply to something that was named or is installed; 2 what was typed
names nothing, or several things; 3 nothing can be taken out, or a folder for
the number is there; 4 a release could not be had.
"""


@click.command("new", epilog=_EPILOG)
@click.argument("number")
@click.option("--commit", metavar="SHA", help="The merged commit; a merge is taken against its first parent.")
@click.option(
    "--repo", metavar="DIR", type=click.Path(path_type=Path), help="The git repository of --commit.  [default: .]"
)
@click.option(
    "--diff", metavar="FILE", help="The merged diff, as git show, git format-patch or a forge gives it; - is stdin."
)
@click.option(
    "--between", metavar="OLD NEW", nargs=2, help="Two releases, such as engine==1.2 engine==1.3; wheels, folders."
)
@click.option(
    "--only", metavar="PATH::NAME", multiple=True, help="Of --between, this definition alone, or this file; repeatable."
)
@click.option(
    "--against",
    metavar="WHAT",
    multiple=True,
    help="Try it there too: a requirement such as 'sglang>=0.5.13', a wheel, a folder; repeatable. --diff takes its "
    "texts from the first of them that has the change.",
)
@click.option("--package", metavar="NAME", help="The import name of the package, where several are changed.")
@click.option("--title", metavar="TEXT", help="What the fix is, in one line; without it, what the commit says.")
@click.option(
    "--out",
    metavar="DIR",
    default="fixes",
    help="Where its folder goes.  [default: fixes]",
)
@click.option("--dry-run", is_flag=True, help="The YAML on stdout, and nothing written.")
@against_options
@json_option
def command(
    number: str,
    commit: str | None,
    repo: Path | None,
    diff: str | None,
    between: tuple[str, str] | None,
    only: tuple[str, ...],
    against: tuple[str, ...],
    package: str | None,
    title: str | None,
    out: str,
    dry_run: bool,
    python_version: str | None,
    platform: str | None,
    refresh: bool,
    as_json: bool,
) -> int:
    """Write a reverse patch: from a merged commit, from its diff, or from two releases.

    Writes DIR/prNUMBER_TITLE/ with revert.yaml, scenario.py and a test, and
    never over anything. The reverse patch takes the change out exactly where it
    was made from; stderr says what else it meets, and what is left to do.
    """
    from prtoggle.authoring.asked import Asked, answer
    from prtoggle.authoring.folder import keep

    if not out.strip():
        raise UsageError(
            "--out is empty", hint="--out DIR names the folder that the fix's folder goes into; . is this one"
        )
    _one_source(number, commit, repo, diff, between, only)
    with render.progress() as say:
        index = index_of(say, python_version=python_version, platform=platform, refresh=refresh)
        asked = Asked(
            number,
            commit or "",
            repo or Path(),
            _read(diff) if diff else None,
            between or None,
            only,
            package,
            against,
            _title(title),
            Path(out),
        )
        found = answer(asked, index, dry=dry_run)
    written = () if dry_run else keep(found.folder, found.files)
    if as_json:
        render.json(_data(found, written))
    elif dry_run:
        render.out_bytes(found.files["revert.yaml"].encode())
    else:
        for path in written:
            render.out(str(path))
    _say(found)
    if written:
        fixes = shlex.quote(str(written[0].parent.parent))
        render.words(f"  to try it: prtoggle run --fixes {fixes} {found.number} -- COMMAND")
    return found.tried.exit_code


def _one_source(
    number: str,
    commit: str | None,
    repo: Path | None,
    diff: str | None,
    between: tuple[str, str] | None,
    only: tuple[str, ...],
) -> None:
    from prtoggle.yamlfile import NUMBER

    if not NUMBER.fullmatch(number):
        near = number.lstrip("#").lstrip("0")
        raise UsageError(f"{number!r} is no number of a fix", nearest=near if NUMBER.fullmatch(near) else "")
    given = [name for name, value in (("--commit", commit), ("--diff", diff), ("--between", between)) if value]
    if len(given) != 1:
        what = f"{' and '.join(given)} are two sources" if given else "nothing to make it from"
        raise UsageError(what, hint="name one of --commit SHA, --diff FILE and --between OLD NEW")
    if repo is not None and not commit:
        raise UsageError(f"--repo goes with --commit, not with {given[0]}")
    if only and not between:
        raise UsageError(f"--only goes with --between, not with {given[0]}")


def _title(text: str | None) -> str:
    from prtoggle.authoring.told import one_line

    title = one_line(text or "")
    if text is not None and not title:
        raise UsageError("--title is empty")
    return title


def _read(name: str) -> tuple[str, str]:
    from prtoggle.difffix import text_of

    if name == "-":
        if sys.stdin is None:
            raise UsageError("--diff -: stdin is closed", hint="gh pr diff N | prtoggle new N --diff -")
        return sys.stdin.buffer.read().decode("utf-8", "surrogateescape").removeprefix("\ufeff"), "-"
    return text_of(name), name


def _say(found: Answer) -> None:
    """What was made, what it meets, what is left as it is, and what is left to do."""
    count = f"{len(found.fix.parts)} parts" if len(found.fix.parts) > 1 else "one part"
    render.words(f"prtoggle: {found.number}: {count}, from {found.change.came}")
    hints: set[str] = set()  # each is said once: a change of many parts would repeat it
    for each in (*found.home, *found.tried.seen):
        name = found.number if len(found.fix.parts) == 1 else f"{found.number}/{each.part}"
        render.words(f"  {name}: {each.verdict} in {each.release}: {_reason(each)}")
        for label, text in (("nearest", each.nearest), ("hint", each.hint)):
            if text and text not in hints:
                render.words(f"    {label}: {text}")
            hints.update((text,) if label == "hint" else ())
    for subject in found.tried.gone:
        render.words(f"  {subject.label} could not be had: {subject.problem}")
    for left in found.change.left:
        render.words(f"  {_WORDS[left.kind]} {left.path}: {left.why}")
    for note in found.notes:
        render.words(f"  note: {note}")
    render.words("  left to do:")
    for todo in found.todo:
        render.words(f"    {todo}")


_WORDS = {"skipped": "left out", "stays": "left in place", "refused": "cannot be taken out:"}


def _reason(each: Seen) -> str:
    if not each.definitions:
        return each.reason
    results: dict[str, list[str]] = {}
    for definition in each.definitions:
        results.setdefault(definition.result, []).append(_shown(definition.name))
    return f"{each.reason}; as before: " + "; ".join(
        f"{', '.join(names)} {result}" for result, names in results.items()
    )


def _shown(definition: str) -> str:
    owner, _, last = definition.rpartition(".")
    return definition if last != "<body>" else f"the body of {owner}" if owner else "what is outside of definitions"


def _data(found: Answer, written: tuple[Path, ...]) -> dict[str, Any]:
    return {
        "fix": found.number,
        "title": found.title,
        "package": found.change.home.name,
        "from": found.change.came,
        "folder": str(found.folder),
        "written": [str(path) for path in written],
        "contains": found.ranges.contains,
        "versions": found.ranges.versions,
        "parts": [
            {
                "part": part.name,
                "what": part.what,
                "changes": [{"module": module, "definition": unit} for module, unit in part.units],
            }
            for part in found.parts
        ],
        "verdicts": [
            {
                "release": each.release,
                "part": each.part,
                "verdict": each.verdict,
                "healthy": each.healthy,
                "reason": each.reason,
                "nearest": each.nearest,
                "hint": each.hint,
                "definitions": [vars(definition) for definition in each.definitions],
            }
            for each in (*found.home, *found.tried.seen)
        ],
        "unavailable": [{"release": each.label, "problem": str(each.problem)} for each in found.tried.gone],
        "left": [{"path": each.path, "kind": each.kind, "why": each.why} for each in found.change.left],
        "notes": found.notes,
        "todo": found.todo,
        "yaml": found.files["revert.yaml"],
    }
