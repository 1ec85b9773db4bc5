"""The variants of a reverse patch and their patches, from nodes to :mod:`prtoggle.spec`, with the rules that tie them
together.

Example::

    variants = read_variants(reader, node, parts=("slice", "assert"))
    variants[0].patches[0].target     # "sglang.srt.layers.attention.flashattention_backend"
"""

from __future__ import annotations

import re

from prtoggle.spec import Patch, Variant
from prtoggle.versionrange import common
from prtoggle.yamlfile.edits import read_edit, read_preamble
from prtoggle.yamlfile.fields import Reader
from prtoggle.yamlfile.nodes import Node

VARIANT_FIELDS = ("package", "versions", "lacks", "baked_in", "patches")
PATCH_FIELDS = ("target", "preamble", "edits")

_NAME = r"[^\W\d]\w*"
PACKAGE = re.compile(rf"{_NAME}(\.{_NAME})*")
_DEFINITION = rf"{_NAME}([@#]\w+)*"
TARGET = re.compile(rf"{_DEFINITION}(\.{_DEFINITION})*|{_NAME}(\.{_NAME})*:{_DEFINITION}(\.{_DEFINITION})*")


def read_variants(reader: Reader, node: Node | None, parts: tuple[str, ...]) -> tuple[Variant, ...]:
    if node is None:
        return ()
    found: list[Variant] = []
    for item in reader.items(node, "'variants'", expected="reverse patches, each for one package"):
        fields = reader.fields(
            item,
            "the variant",
            known=VARIANT_FIELDS,
            required={"package": "the name that its package is imported by", "patches": "a list of targets and edits"},
        )
        if fields is None:
            continue
        variant = _variant(reader, item, fields, parts)
        if variant.package and bool(variant.versions) == ("versions" in fields):  # what was read is what was meant
            _check_overlap(reader, fields.get("versions", item), variant, found)
        found.append(variant)
    return tuple(found)


def _variant(reader: Reader, node: Node, fields: dict[str, Node], parts: tuple[str, ...]) -> Variant:
    before = len(reader.problems)
    package = reader.shaped(fields.get("package"), "package", PACKAGE, "the name that it is imported by")
    versions = (reader.versions(fields["versions"], "'versions'") or "") if "versions" in fields else ""
    lacks = reader.parts(fields["lacks"], "'lacks'", parts) if "lacks" in fields else ()
    baked_in = (
        reader.texts(fields["baked_in"], "'baked_in'", expected="names such as cuda-graph")
        if "baked_in" in fields
        else ()
    )
    if versions and not common(versions):
        reader.bad(fields["versions"], f"no version is '{versions}', expected a range that holds one")
    patches: list[Patch] = []
    if "patches" in fields:
        for item in reader.items(fields["patches"], "'patches'", expected="targets with their edits"):
            patch = _patch(reader, item, package, parts)
            if patch is not None:
                patches.append(patch)
    if "patches" in fields and len(reader.problems) == before:
        _check_parts(reader, node, parts, lacks, patches)
    return Variant(package, versions, lacks, baked_in, tuple(patches), reader.place(node))


def _check_parts(
    reader: Reader, node: Node, parts: tuple[str, ...], lacks: tuple[str, ...], patches: list[Patch]
) -> None:
    """Every part is taken out by an edit, or declared to be lacking; not both."""
    edits = [edit for patch in patches for edit in patch.edits]
    for part in parts:
        mine = [edit for edit in edits if part in edit.parts]
        if not mine and part not in lacks:
            reader.bad(node, f"no edit takes out part '{part}', expected one, or the part in 'lacks'")
        if mine and part in lacks:
            what = f"an edit takes out part '{part}', which stands in 'lacks', expected one or the other"
            reader.bad(mine[0].place, what)


def _check_overlap(reader: Reader, node: Node, variant: Variant, others: list[Variant]) -> None:
    for other in others:
        if other.package == variant.package:
            both = common(variant.versions, other.versions)
            if both:
                what = f"two variants take {variant.package} {both} (the other is in line {other.place.line})"
                reader.bad(node, f"{what}, expected versions that do not overlap")


def _patch(reader: Reader, node: Node, package: str, parts: tuple[str, ...]) -> Patch | None:
    fields = reader.fields(
        node,
        "the patch",
        known=PATCH_FIELDS,
        required={"target": "a module, or a definition in it", "edits": "a list of edits"},
    )
    if fields is None:
        return None
    target = read_target(reader, fields["target"], package) if "target" in fields else ""
    items = reader.items(fields["edits"], "'edits'", expected="edits") if "edits" in fields else ()
    edits = [edit for edit in (read_edit(reader, item, parts) for item in items) if edit is not None]
    if "preamble" in fields:
        preamble = read_preamble(reader, fields["preamble"], edits)
        edits = [*([preamble] if preamble else []), *edits]
    return Patch(target, tuple(edits), reader.place(node))


def read_target(reader: Reader, node: Node, package: str) -> str:
    """The target, as written; its package must be the variant's."""
    target = reader.shaped(node, "target", TARGET, "package.module, package.module.Class.method or module:Class.method")
    if package and target and target != package and not target.startswith((f"{package}.", f"{package}:")):
        reader.bad(node, f"'target' is '{target}', expected one in the variant's package '{package}'")
    return target
