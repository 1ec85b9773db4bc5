"""The JSON Schema of ``revert.yaml``, for editors: draft 2020-12, made of the loader's own names and shapes.

It says what a schema can say. What ties places together (parts that exist, targets in their package, versions that
overlap) and what YAML itself must not do only the loader knows; a test keeps the two in agreement.

Example::

    # yaml-language-server: $schema=revert.schema.json
    prtoggle: 1

with the file written by ``prtoggle schema > revert.schema.json``.
"""

from __future__ import annotations

from typing import Any

from prtoggle.yamlfile import FIELDS, NUMBER, PROJECT, REQUIRED, RESERVED_PARTS, VERSION
from prtoggle.yamlfile.edits import ACTIONS
from prtoggle.yamlfile.fields import PART
from prtoggle.yamlfile.variants import PACKAGE, PATCH_FIELDS, TARGET, VARIANT_FIELDS

Schema = dict[str, Any]

_TEXT: Schema = {"type": ["string", "number", "boolean"], "pattern": r"\S"}
_CODE: Schema = {"type": "string", "pattern": r"\S"}
_CODE_OR_EMPTY: Schema = {"type": "string"}
_VERSIONS: Schema = {
    "type": "string",
    "pattern": r"\S",
    "description": "A version specifier such as >=0.5.13, in quotes.",
}
_LARGEST = 10**12 - 1


def schema() -> Schema:
    """The schema, as plain values."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "prtoggle reverse patch",
        "type": "object",
        "if": {
            "required": ["patches"],
            "not": {"anyOf": [{"required": [name]} for name in ("prtoggle", "fix", "variants")]},
        },
        "then": {"$ref": "#/$defs/foreign"},
        "else": {"$ref": "#/$defs/fix"},
        "$defs": {
            "fix": _fix(),
            "part": {"type": "string", "pattern": _whole(PART.pattern), "not": {"enum": list(RESERVED_PARTS)}},
            "parts": _list({"$ref": "#/$defs/part"}, uniqueItems=True),
            "variant": _variant(),
            "patch": _patch(),
            "edit": _edit(),
            "foreign": _foreign(),
        },
    }


def _fix() -> Schema:
    properties: Schema = {
        "prtoggle": {"const": int(VERSION), "description": "The version of this format."},
        "fix": {"type": "integer", "minimum": 1, "maximum": _LARGEST, "description": "The PR number."},
        "title": {**_TEXT, "description": "What the fix is, in one line."},
        "project": {"type": "string", "pattern": _whole(PROJECT.pattern), "description": "owner/name."},
        "merged": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$", "description": "The date, such as 2026-06-06."},
        "symptom": {**_TEXT, "description": "What is seen where the fix is missing."},
        "links": _list(_TEXT, description="Reports, changes, discussions."),
        "contains": {
            "type": "object",
            "description": "Which releases of a package hold the fix, whatever the text looks like.",
            "additionalProperties": {
                "oneOf": [_VERSIONS, _object({"versions": _VERSIONS, "reason": _TEXT}, required=["versions", "reason"])]
            },
        },
        "parts": {
            "type": "object",
            "description": "Pieces of the fix that can be taken out alone, and what each does.",
            "minProperties": 1,
            "propertyNames": {"$ref": "#/$defs/part"},
            "additionalProperties": _TEXT,
        },
        "default": {"$ref": "#/$defs/parts", "description": "What the bare number means; without it, all parts."},
        "variants": _list({"$ref": "#/$defs/variant"}, description="Reverse patches, each for one package."),
    }
    assert tuple(properties) == FIELDS and NUMBER.fullmatch(str(_LARGEST))  # the loader takes no larger one
    return _object(properties, required=list(REQUIRED))


def _variant() -> Schema:
    properties: Schema = {
        "package": {**_name(PACKAGE.pattern), "description": "The name it is imported by."},
        "versions": {**_VERSIONS, "description": "Where this text works; says nothing about where the fix is."},
        "lacks": {"$ref": "#/$defs/parts", "description": "Parts that these releases do not have."},
        "baked_in": _list(_TEXT, description="Where old code survives a live toggle, such as cuda-graph."),
        "patches": _list({"$ref": "#/$defs/patch"}),
    }
    assert tuple(properties) == VARIANT_FIELDS
    return _object(properties, required=["package", "patches"])


def _patch() -> Schema:
    properties: Schema = {
        "target": _target(),
        "preamble": {**_CODE, "description": "Lines to put at the start of the function."},
        "edits": _list({"$ref": "#/$defs/edit"}),
    }
    assert tuple(properties) == PATCH_FIELDS
    return _object(properties, required=["target", "edits"])


def _edit() -> Schema:
    """One object for each way to find a place, so that an editor offers what goes together."""
    shapes: Schema = {
        "match": {**_CODE, "description": "Whole lines to find."},
        "replacement": _CODE_OR_EMPTY,
        "prepend": _CODE,
        "append": _CODE,
        "find": {**_CODE, "description": "A code pattern: $X is one expression, $...X a run."},
        "put": {**_CODE_OR_EMPTY, "description": "What comes there; '' deletes a whole statement."},
        "unfixed": {
            "description": "How the place looks without the fix; a list where it can look in several ways.",
            "anyOf": [_CODE, {"type": "array", "items": _CODE, "minItems": 1}],
        },
        "diff": {**_CODE, "description": "A unified diff of the target's file, applied as it stands."},
        "merged_diff": {**_CODE, "description": "The fix's own diff of the target's file, taken backwards."},
    }
    part = {"oneOf": [{"$ref": "#/$defs/part"}, {"$ref": "#/$defs/parts"}]}
    ways = [["match"], *(["match", action] for action in ACTIONS), ["find", "put"], ["find", "put", "unfixed"]]
    ways += [["diff"], ["merged_diff"]]
    return {"oneOf": [_object({"part": part, **{name: shapes[name] for name in way}}, required=way) for way in ways]}


def _foreign() -> Schema:
    """A document of SGLang's own kind, in which an empty text is one that is not set."""
    any_text: Schema = {"type": ["string", "number", "boolean"]}
    alone = [
        {"required": [one, other], "properties": {one: _SAYS, other: _SAYS}} for one, other in _pairs(tuple(ACTIONS))
    ]
    edit = {
        **_object({"match": _TEXT, **dict.fromkeys(ACTIONS, any_text)}, required=["match"]),
        "not": {"anyOf": alone},
    }
    patch = _object({"target": _target(), "edits": _list(edit), "preamble": any_text}, required=["target", "edits"])
    return _object({"patches": _list(patch)}, required=["patches"])


_SAYS: Schema = {"anyOf": [{"type": "string", "pattern": r"\S"}, {"type": ["number", "boolean"]}]}


def _target() -> Schema:
    return {
        **_name(TARGET.pattern),
        "description": "package.module, or a definition in it: package.module.Class.method or module:Class.method.",
    }


def _name(pattern: str) -> Schema:
    """A dotted name. ``true`` is one too, which YAML takes for a boolean and the loader does not."""
    return {"type": ["string", "boolean"], "pattern": _whole(pattern)}


def _pairs(names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(one, other) for index, one in enumerate(names) for other in names[index + 1 :]]


def _whole(pattern: str) -> str:
    return f"^({pattern})$"


def _object(properties: Schema, *, required: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _list(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, "minItems": 1, **more}
