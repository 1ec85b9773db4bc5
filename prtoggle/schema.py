"""The JSON Schema of ``revert.yaml``, for editors: draft 07, made of the loader's own names and shapes.

It says what a schema can say. What ties places together (parts that exist, targets in their package, versions that
overlap) and what YAML itself must not do only the loader knows; a test keeps the two in agreement. Draft 07, since
every editor knows it; beside a ``$ref`` stand only words, which draft 07 lets a validator pass over.

``FILE`` is the schema as it lies in the package, written by ``scripts/make_docs.py``, and :func:`modeline` the comment
that names it in the first line of a reverse patch.

Example::

    modeline(Path("fixes/pr1_x/revert.yaml"))
    # "# yaml-language-server: $schema=../../prtoggle/reverse-patch.schema.json"
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from prtoggle.yamlfile import FIELDS, NUMBER, PROJECT, REQUIRED, RESERVED_PARTS, VERSION
from prtoggle.yamlfile.edits import ACTIONS
from prtoggle.yamlfile.fields import PART
from prtoggle.yamlfile.variants import PACKAGE, PATCH_FIELDS, TARGET, VARIANT_FIELDS

Schema = dict[str, Any]

FILE = Path(__file__).absolute().with_name("reverse-patch.schema.json")
"""The published schema."""

_PROJECT_MARKS = (".git", "pyproject.toml")
_AS_IT_STANDS = re.compile(r"[\w./+@~-]+", re.ASCII)
"""Paths that editors read as they stand: they stop at a space, and take ``#`` and ``%`` for something else."""

_TEXT: Schema = {"type": ["string", "number", "boolean"], "pattern": r"\S"}
_CODE: Schema = {"type": "string", "pattern": r"\S"}
_CODE_OR_EMPTY: Schema = {"type": "string"}
_VERSIONS: Schema = {
    "type": "string",
    "pattern": r"\S",
    "description": "A version specifier such as >=0.5.13, in quotes.",
}
_LARGEST = 10**12 - 1


def modeline(at: Path) -> str:
    """The first line of a reverse patch that lies, or is to lie, at ``at``, for editors: where the schema is.

    Relative to ``at`` where the two move together (one checkout, one ``site-packages``, one project with its
    environment in it), otherwise the schema's own URI, which holds on this machine alone.
    """
    return f"# yaml-language-server: $schema={_relative(at) or FILE.as_uri()}"


def _relative(at: Path) -> str:
    """The way from ``at``'s folder to the schema, or an empty string where there is no lasting one."""
    for yaml, file in ((at.absolute(), FILE), (at.resolve(), FILE.resolve())):
        roots = (file.parents[1], _project(yaml))
        if any(root and root in yaml.parents and root in file.parents for root in roots):
            way = os.path.relpath(file, yaml.parent).replace(os.sep, "/")
            # Editors go up by the letters of the path: through a link that may lead elsewhere.
            there = os.path.normpath(at.absolute().parent / way)
            if _AS_IT_STANDS.fullmatch(way) and os.path.exists(there) and os.path.samefile(there, FILE):
                return way
    return ""


def _project(file: Path) -> Path | None:
    """The nearest folder above ``file`` that is a project's root."""
    return next((each for each in file.parents if any((each / mark).exists() for mark in _PROJECT_MARKS)), None)


def text() -> str:
    """What ``FILE`` is to hold."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def schema() -> Schema:
    """The schema, as plain values."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "prtoggle reverse patch",
        "type": "object",
        "if": {
            "required": ["patches"],
            "not": {"anyOf": [{"required": [name]} for name in ("prtoggle", "fix", "variants")]},
        },
        "then": {"$ref": "#/definitions/foreign"},
        "else": {"$ref": "#/definitions/fix"},
        "definitions": {
            "fix": _fix(),
            "part": {"type": "string", "pattern": _whole(PART.pattern), "not": {"enum": list(RESERVED_PARTS)}},
            "parts": _list({"$ref": "#/definitions/part"}, uniqueItems=True),
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
        "project": {"type": "string", "pattern": _whole(PROJECT.pattern), "description": "The project: owner/name."},
        "merged": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$", "description": "The date, such as 2026-06-06."},
        "symptom": {**_TEXT, "description": "What is seen where the fix is missing."},
        "links": _list(_TEXT, description="Reports, changes, discussions."),
        "contains": {
            "type": "object",
            "description": "Which releases of a package hold the fix, whatever the text looks like.",
            "additionalProperties": {"oneOf": [_VERSIONS, _bounded()]},
        },
        "parts": {
            "type": "object",
            "description": "Pieces of the fix that can be taken out alone, and what each does.",
            "minProperties": 1,
            "propertyNames": {"$ref": "#/definitions/part"},
            "additionalProperties": {**_TEXT, "description": "What this part does, in a few words."},
        },
        "default": {"$ref": "#/definitions/parts", "description": "What the bare number means; without it, all parts."},
        "variants": _list({"$ref": "#/definitions/variant"}, description="Reverse patches, each for one package."),
    }
    assert tuple(properties) == FIELDS and NUMBER.fullmatch(str(_LARGEST))  # the loader takes no larger one
    return _object(properties, required=list(REQUIRED))


def _bounded() -> Schema:
    """A range with an upper bound, which needs a reason."""
    reason: Schema = {**_TEXT, "description": "Why releases from the upper bound on do not hold the fix."}
    return _object({"versions": _VERSIONS, "reason": reason}, required=["versions", "reason"])


def _variant() -> Schema:
    properties: Schema = {
        "package": {**_name(PACKAGE.pattern), "description": "The name it is imported by."},
        "versions": {**_VERSIONS, "description": "Where this text works; says nothing about where the fix is."},
        "lacks": {"$ref": "#/definitions/parts", "description": "Parts that these releases do not have."},
        "baked_in": _list(_TEXT, description="Where old code survives a live toggle, such as cuda-graph."),
        "patches": _list({"$ref": "#/definitions/patch"}, description="What is changed: targets with their edits."),
    }
    assert tuple(properties) == VARIANT_FIELDS
    return _object(properties, required=["package", "patches"])


def _patch() -> Schema:
    properties: Schema = {
        "target": _target(),
        "preamble": {**_CODE, "description": "Lines to put at the start of the function."},
        "edits": _list({"$ref": "#/definitions/edit"}, description=_EDITS),
    }
    assert tuple(properties) == PATCH_FIELDS
    return _object(properties, required=["target", "edits"])


def _edit() -> Schema:
    """One object for each way to find a place, so that an editor offers what goes together."""
    shapes: Schema = {
        "match": {**_CODE, "description": "Whole lines to find."},
        "replacement": {**_CODE_OR_EMPTY, "description": _DOES["replacement"]},
        "prepend": {**_CODE, "description": _DOES["prepend"]},
        "append": {**_CODE, "description": _DOES["append"]},
        "find": {**_CODE, "description": "A code pattern: $X is one expression, $...X a run."},
        "put": {**_CODE_OR_EMPTY, "description": "What comes there; '' deletes a whole statement."},
        "unfixed": {
            "description": "How the place looks without the fix; a list where it can look in several ways.",
            "anyOf": [_CODE, {"type": "array", "items": _CODE, "minItems": 1}],
        },
        "diff": {**_CODE, "description": "A unified diff of the target's file, applied as it stands."},
        "merged_diff": {**_CODE, "description": "The fix's own diff of the target's file, taken backwards."},
    }
    part: Schema = {
        "description": "The part, or the list of parts, that this edit takes out.",
        "oneOf": [{"$ref": "#/definitions/part"}, {"$ref": "#/definitions/parts"}],
    }
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
        **_object(
            {
                "match": {**_TEXT, "description": "Whole lines to find; without more, they are deleted."},
                **{action: {**any_text, "description": _DOES[action]} for action in ACTIONS},
            },
            required=["match"],
        ),
        "not": {"anyOf": alone},
    }
    properties: Schema = {
        "target": _target(),
        "edits": _list(edit, description="Changes of the target, each made to what the one before made."),
        "preamble": {**any_text, "description": "Lines to put at the start of the function."},
    }
    patches = _list(_object(properties, required=["target", "edits"]), description="Targets with their edits.")
    return _object({"patches": patches}, required=["patches"])


_EDITS = "Changes of the target, all found in its original text; each is found exactly once."
_DOES = {
    "replacement": "Lines that come in place of those matched.",
    "prepend": "Lines to put before those matched.",
    "append": "Lines to put behind those matched.",
}
_SAYS: Schema = {"anyOf": [{"type": "string", "pattern": r"\S"}, {"type": ["number", "boolean"]}]}


def _target() -> Schema:
    return {
        **_name(TARGET.pattern),
        "description": "What is edited: package.module, or a definition in it, package.module:Class.method.",
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
