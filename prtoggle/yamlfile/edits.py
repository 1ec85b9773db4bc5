"""The edits of a reverse patch, from nodes to :mod:`prtoggle.edits.kinds`: each has exactly one way to find its place.

Example::

    edit = read_edit(reader, node, parts=("slice", "assert"), default=None)
    edit.kind     # PatternEdit(find="cache_loc = cache_loc[:, :$N]", put="")
"""

from __future__ import annotations

from typing import Literal

from prtoggle import diffs
from prtoggle.edits import pattern
from prtoggle.edits.kinds import DiffEdit, EditKind, LinesEdit, PatternEdit, PreambleEdit
from prtoggle.errors import MalformedError, PrtoggleError
from prtoggle.spec import Edit
from prtoggle.yamlfile.fields import Reader
from prtoggle.yamlfile.nodes import Node, Scalar, Sequence

WAYS = {
    "match": ("replacement", "prepend", "append"),
    "find": ("put", "unfixed"),
    "diff": (),
    "merged_diff": (),
}
"""Each way to find a place, and the fields that go with it."""

_HEADERS = "--- a/target.py\n+++ b/target.py\n"
FIELDS = ("part", *(name for way, others in WAYS.items() for name in (way, *others)))
ACTIONS: dict[str, Literal["replace", "prepend", "append"]] = {
    "replacement": "replace",
    "prepend": "prepend",
    "append": "append",
}


def read_edit(reader: Reader, node: Node, parts: tuple[str, ...]) -> Edit | None:
    """The edit that ``node`` describes, or None with its problems noted. ``parts`` are those of the fix."""
    fields = reader.fields(node, "the edit", known=FIELDS)
    if fields is None:
        return None
    mine = _parts(reader, node, fields, parts)
    kind = _kind(reader, node, fields)
    return Edit(mine, kind, reader.place(node)) if kind is not None else None


def _parts(reader: Reader, node: Node, fields: dict[str, Node], parts: tuple[str, ...]) -> tuple[str, ...]:
    if "part" in fields:
        return reader.parts(fields["part"], "part", parts, one=True)
    if len(parts) != 1:
        reader.bad(node, f"the edit has no field 'part', expected one or more of {', '.join(parts)}")
        return ()
    return parts


def _kind(reader: Reader, node: Node, fields: dict[str, Node]) -> EditKind | None:
    ways = [way for way in WAYS if way in fields]
    if len(ways) != 1:
        where = fields[ways[1]] if ways else node
        found = f"{' and '.join(ways)} stand in one edit" if ways else "the edit has no way to find its place"
        reader.bad(where, f"{found}, expected exactly one of {', '.join(WAYS)}")
        return None
    way = ways[0]
    good = True
    for name in fields:
        if name != "part" and name != way and name not in WAYS[way]:
            owner = next(other for other, others in WAYS.items() if name in others)
            allowed = f"only {' or '.join(WAYS[way])} beside {way}" if WAYS[way] else f"nothing but part beside {way}"
            reader.bad(fields[name], f"'{name}' goes with '{owner}', expected {allowed}")
            good = False
    if way == "match":
        kind: EditKind | None = _lines(reader, fields)
    elif way == "find":
        kind = _pattern(reader, node, fields)
    else:
        kind = _diff(reader, fields[way], way)
    return kind if good else None


def _lines(reader: Reader, fields: dict[str, Node]) -> LinesEdit | None:
    match = reader.code(fields["match"], "match", empty="the lines to find")
    actions = [name for name in fields if name in ACTIONS]
    if len(actions) > 1:
        reader.bad(
            fields[actions[1]], f"{' and '.join(actions)} stand in one edit, expected only one of {', '.join(ACTIONS)}"
        )
        return None
    if not actions:  # a bare match deletes
        return LinesEdit(match, "replace", "") if match is not None else None
    name = actions[0]
    text = reader.code(fields[name], name, empty="" if name == "replacement" else "the lines to insert")
    return LinesEdit(match, ACTIONS[name], text) if match is not None and text is not None else None


def _pattern(reader: Reader, node: Node, fields: dict[str, Node]) -> PatternEdit | None:
    find = reader.code(fields["find"], "find", empty="the code to find")
    put = None
    unfixed: tuple[str, ...] | None = ()
    if "put" in fields:
        put = reader.code(fields["put"], "put")
    else:
        reader.bad(node, "the edit has 'find' and no field 'put', expected the code to put there, or '' to delete")
    if "unfixed" in fields:
        unfixed = _unfixed(reader, fields["unfixed"])
    if find is None or put is None or unfixed is None:
        return None
    edit = PatternEdit(find, put, unfixed)
    problems = pattern.check(edit)
    node_list = fields.get("unfixed")
    looks = node_list.items if isinstance(node_list, Sequence) else (node_list,)
    scalars = {**fields, **dict(zip(pattern.unfixed_fields(edit), looks, strict=False))}
    for problem in problems:
        scalar = scalars[problem.field]
        assert isinstance(scalar, Scalar)
        place = reader.tree.place_in(scalar, problem.line, problem.column)
        reader.bad(place, problem.what, hint=problem.hint)
    return None if problems else edit


def _unfixed(reader: Reader, node: Node) -> tuple[str, ...] | None:
    """One pattern, or a list of them; None where one is wrong."""
    expected = "how the place looks without the fix"
    items = reader.items(node, "unfixed", expected=expected) if isinstance(node, Sequence) else (node,)
    found = [reader.code(item, "unfixed", empty=expected) for item in items]
    good = tuple(text for text in found if text is not None)
    return good if good and len(good) == len(found) else None


def _diff(reader: Reader, node: Node, name: str) -> DiffEdit | None:
    text = reader.code(node, name, empty="a unified diff")
    if text is None:
        return None
    assert isinstance(node, Scalar)
    first = 1
    if text.lstrip("\n").startswith("@@ "):  # the target says which file it is
        text, first = _HEADERS + text, 1 - _HEADERS.count("\n")
    try:
        files = diffs.parse(text, name=reader.tree.name, reverse=name == "merged_diff", first=first)
    except PrtoggleError as error:
        for problem in error.problems if isinstance(error, MalformedError) else (error,):
            line = problem.place.line if problem.place else 0
            place = reader.tree.place_in(node, line, max(1, problem.place.column)) if line and problem.place else node
            reader.bad(place, problem.what, nearest=problem.nearest, hint=problem.hint)
        return None
    if len(files) != 1:
        reader.bad(node, f"{name} changes {len(files)} files, expected one: the target's")
        return None
    file = files[0]
    if file.kind != "modified" or not file.edit.hunks:
        what = f"{name} makes a file {file.kind}" if file.kind != "modified" else f"{name} has no hunk"
        reader.bad(node, f"{what}, expected hunks that change the target's file")
        return None
    return file.edit


def read_preamble(reader: Reader, node: Node, edits: list[Edit]) -> Edit | None:
    """A patch's preamble: what its edits need at the start of the function, so it belongs to the parts of all of
    them."""
    text = reader.code(node, "preamble", empty="the lines to put at the start of the function")
    if text is None:
        return None
    parts = dict.fromkeys(part for edit in edits for part in edit.parts)
    return Edit(tuple(parts), PreambleEdit(text), reader.place(node))
