"""A reverse patch: from the text of a ``revert.yaml`` to a :class:`prtoggle.spec.Fix`, with everything checked.

Every problem is found, each with its place, and all are raised together as one MalformedError. Scalars are never
resolved: the field says what a text means. SGLang's own documents (``patches:`` at the top) are read too, as SGLang
reads them.

Example::

    fix = load("fixes/pr27360_fa3_draft_expand/revert.yaml")
    (fix.id, fix.default_parts) == ("27360", ("slice",))
"""

from __future__ import annotations

import datetime
import os
import re
from types import MappingProxyType

from prtoggle.errors import MalformedError, Place, RefusedError, did_you_mean
from prtoggle.runtime.sources import folder_number, read
from prtoggle.spec import ONLY_PART, Fix, Origin
from prtoggle.versionrange import common, is_bounded_above
from prtoggle.yamlfile.fields import PART, Reader
from prtoggle.yamlfile.foreign import is_foreign, read_foreign
from prtoggle.yamlfile.nodes import Mapping, Node, Scalar, Sequence, compose, decode
from prtoggle.yamlfile.variants import read_variants

VERSION = "1"
FIELDS = (
    "prtoggle",
    "fix",
    "title",
    "project",
    "merged",
    "symptom",
    "links",
    "contains",
    "parts",
    "default",
    "variants",
)
REQUIRED = {
    "prtoggle": "prtoggle: 1",
    "fix": "the PR number",
    "title": "one line that says what the fix is",
    "variants": "a list of reverse patches",
}
NUMBER = re.compile(r"[1-9][0-9]{0,11}")
PROJECT = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")
RESERVED_PARTS = ("all",)


def load(path: str | os.PathLike[str], *, origin: Origin | None = None) -> Fix:
    """The fix in the file at ``path``, whose folder is called ``pr<number>_<slug>``.

    Raises:
        MalformedError: all that is wrong with it, its being unreadable included.
    """
    name = os.fspath(path)
    try:
        data = read(path)
    except OSError as error:
        problem = RefusedError(f"cannot be read: {error.strerror or error}", place=Place(name))
        raise MalformedError((problem,)) from None
    number = folder_number(path)
    if not number:
        folder = os.path.basename(os.path.dirname(os.path.abspath(path)))
        problem = RefusedError(f"the folder is called '{folder}', expected pr<number>_<slug>", place=Place(name))
        raise MalformedError((problem,), hint="call the folder pr27360_draft_expand, say")
    return loads(decode(data, name), name, id=number, origin=origin or Origin("dir", os.path.dirname(name)))


def loads(text: str, name: str, *, id: str | None = None, origin: Origin | None = None) -> Fix:
    """The fix that ``text`` describes; ``name`` is what the text is called in places.

    Args:
        id: the number that ``fix`` must be, and that of a document without one.
        origin: where the fix came from.

    Raises:
        MalformedError: all that is wrong with it.
    """
    reader = Reader(compose(text, name))
    origin = origin or Origin("dir", name)
    if is_foreign(reader.tree.root):
        return _foreign(reader, id or "", package="", project="", origin=origin)
    fix = _fix(reader, id, origin)
    return _checked(reader, fix)


def loads_foreign(
    text: str, name: str, *, id: str, package: str, project: str, origin: Origin, first_line: int = 1
) -> Fix:
    """The fix that a document of SGLang's kind describes: one part, one variant, edits one after another.

    Args:
        first_line: the line of ``name`` at which the text starts, where it stands inside another file.
    """
    reader = Reader(compose(text, name, first_line=first_line))
    return _foreign(reader, id, package=package, project=project, origin=origin)


def _checked(reader: Reader, fix: Fix | None) -> Fix:
    if reader.problems or fix is None:
        key = lambda problem: (problem.place.line, problem.place.column) if problem.place else (0, 0)  # noqa: E731
        raise MalformedError(tuple(sorted(reader.problems, key=key)))
    return fix


def _foreign(reader: Reader, id: str, *, package: str, project: str, origin: Origin) -> Fix:
    root = reader.tree.root
    place = reader.place(root) if root is not None else Place(reader.tree.name)
    if not id:
        reader.bad(place, "a document without a number, expected a folder called pr<number>_<slug>")
    variant = read_foreign(reader, package)
    if variant is None:
        return _checked(reader, None)
    fix = Fix(
        id=id,
        title=f"what {variant.package} itself takes out for {id}",
        project=project,
        merged="",
        symptom="",
        contains=MappingProxyType({}),
        parts=MappingProxyType({ONLY_PART: "the whole fix"}),
        default=(),
        variants=(variant,),
        place=place,
        origin=origin,
    )
    return _checked(reader, fix)


def _fix(reader: Reader, id: str | None, origin: Origin) -> Fix | None:
    root = reader.tree.root
    if root is None:
        reader.bad(Place(reader.tree.name, 1, 1), "the file is empty, expected a reverse patch")
        return None
    fields = reader.fields(root, "the file", known=FIELDS, required=REQUIRED)
    if fields is None:
        return None
    _check_version(reader, fields.get("prtoggle"))
    number = _number(reader, fields.get("fix"), id)
    text = {
        name: reader.text(fields[name], f"'{name}'") or "" if name in fields else "" for name in ("title", "symptom")
    }
    parts = _declared_parts(reader, fields.get("parts"), text["title"])
    default = reader.parts(fields["default"], "'default'", parts) if "default" in fields else ()
    variants = read_variants(reader, fields.get("variants"), tuple(parts))
    contains, reasons = _contains(reader, fields.get("contains"), [variant.package for variant in variants])
    return Fix(
        id=number,
        title=text["title"],
        project=reader.shaped(fields.get("project"), "project", PROJECT, "owner/name"),
        merged=_merged(reader, fields.get("merged")),
        symptom=text["symptom"],
        contains=MappingProxyType(contains),
        parts=MappingProxyType(parts),
        default=default,
        variants=variants,
        place=reader.place(root),
        origin=origin,
        contains_reason=MappingProxyType(reasons),
        links=reader.texts(fields["links"], "'links'", expected="addresses") if "links" in fields else (),
    )


def _check_version(reader: Reader, node: Node | None) -> None:
    if node is None:
        return
    if not (isinstance(node, Scalar) and node.style == "" and NUMBER.fullmatch(node.text)):
        reader.bad(node, "'prtoggle' is no number, expected prtoggle: 1")
    elif node.text != VERSION:
        hint = "a newer prtoggle may read it"
        reader.bad(
            node, f"version {node.text} of the format is not known here, expected prtoggle: {VERSION}", hint=hint
        )


def _number(reader: Reader, node: Node | None, id: str | None) -> str:
    if node is None:
        return id or ""
    if not (isinstance(node, Scalar) and node.style == "" and NUMBER.fullmatch(node.text)):
        shown = f"'{node.text}'" if isinstance(node, Scalar) else "no number"
        near = node.text.lstrip("0#prPR") if isinstance(node, Scalar) else ""
        near = near if NUMBER.fullmatch(near) else ""
        reader.bad(node, f"'fix' is {shown}, expected a PR number, without quotes or zeros before it", nearest=near)
        return id or ""
    if id is not None and node.text != id:
        what = f"'fix' is {node.text}, and the folder's name says {id}, expected the same number"
        reader.bad(node, what, hint=f"call the folder pr{node.text}_<slug>, or write fix: {id}")
    return node.text


def _merged(reader: Reader, node: Node | None) -> str:
    text = reader.text(node, "'merged'", expected="a date such as 2026-06-06") if node is not None else None
    if node is None or text is None:
        return ""
    try:
        good = len(text) == 10 and bool(datetime.date.fromisoformat(text))
    except ValueError:
        good = False
    if not good:
        reader.bad(node, f"'merged' is '{text}', expected a date such as 2026-06-06")
    return text


def _declared_parts(reader: Reader, node: Node | None, title: str) -> dict[str, str]:
    """The parts that the fix declares; its only part where it declares none."""
    if node is None:
        return {ONLY_PART: title}
    if not isinstance(node, Mapping) or not node.entries:
        reader.bad(node, "'parts' is no mapping of names to what they do, expected at least one name")
        items = node.items if isinstance(node, Sequence) else ()
        return {item.text: "" for item in items if isinstance(item, Scalar)} or {ONLY_PART: title}
    parts = {}
    for key, value in node.entries:
        if key.text in RESERVED_PARTS:
            reader.bad(key, f"a part called '{key.text}', which means every part in a selection, expected another name")
        elif not PART.fullmatch(key.text):
            near = re.sub(r"[^a-z0-9-]+", "-", key.text.lower()).strip("-")
            what = f"a part called '{key.text}', expected a lower-case letter, then lower-case letters, digits and '-'"
            reader.bad(key, what, nearest=near if PART.fullmatch(near) else "")
        parts[key.text] = reader.text(value, f"what part '{key.text}' does") or ""
    return parts


def _contains(reader: Reader, node: Node | None, packages: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Package -> specifier, and package -> why it is bounded above."""
    contains: dict[str, str] = {}
    reasons: dict[str, str] = {}
    if node is None:
        return contains, reasons
    if not isinstance(node, Mapping):
        reader.bad(
            node, "'contains' is not a mapping, expected a version specifier for each package: {package: '>=1.2'}"
        )
        return contains, reasons
    for key, value in node.entries:
        package, what = key.text, f"the versions of '{key.text}' in 'contains'"
        if packages and all(packages) and package not in packages:
            reader.bad(
                key,
                f"'contains' names '{package}', expected a package of a variant",
                nearest=did_you_mean(package, packages),
            )
        versions, reason = value, None
        if isinstance(value, Mapping):
            fields = reader.fields(
                value, what, known=("versions", "reason"), required={"versions": "a version specifier", "reason": "why"}
            )
            if not fields or "versions" not in fields:
                continue
            versions = fields["versions"]
            reason = (reader.text(fields["reason"], "'reason'") if "reason" in fields else None) or ""
        text = reader.versions(versions, what)
        if text is None:
            continue
        if not common(text):
            reader.bad(versions, f"no version is '{text}', expected a range that holds one")
        elif reason is None and is_bounded_above(text):
            near = f"{{versions: '{text}', reason: '...'}}"
            reader.bad(versions, f"'{text}' has an upper bound without a reason, expected one", nearest=near)
        contains[package] = text
        if reason:
            reasons[package] = reason
    return contains, reasons
