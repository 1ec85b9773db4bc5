"""SGLang's own documents: ``patches:`` at the top, each with ``target``, ``edits`` and ``preamble``, edits one after
another.

Read as SGLang reads them: an empty text is one that is not set, a bare ``match`` deletes, code may stand in any style
of scalar, only one of ``replacement``, ``prepend`` and ``append`` may say something.

Example::

    variant = read_foreign(Reader(compose(text, name)), package="sglang")
    variant.sequential      # True
"""

from __future__ import annotations

from prtoggle.edits.kinds import LinesEdit, PreambleEdit
from prtoggle.spec import ONLY_PART, Edit, Patch, Variant
from prtoggle.yamlfile.edits import ACTIONS
from prtoggle.yamlfile.fields import NULLS, Reader
from prtoggle.yamlfile.nodes import Mapping, Node, Scalar
from prtoggle.yamlfile.variants import read_target

_OURS = frozenset({"prtoggle", "fix", "variants"})


def is_foreign(root: Node | None) -> bool:
    """Whether a document is one of SGLang's kind rather than ours."""
    keys = {key.text for key, _ in root.entries} if isinstance(root, Mapping) else set()
    return "patches" in keys and not keys & _OURS


def read_foreign(reader: Reader, package: str) -> Variant | None:
    """The variant that a document of SGLang's kind describes. Without ``package``, the first target says which it
    is."""
    root = reader.tree.root
    if root is None:
        return None
    fields = reader.fields(
        root, "the document", known=("patches",), required={"patches": "a list of targets and edits"}
    )
    if not fields or "patches" not in fields:
        return None
    patches = []
    for item in reader.items(fields["patches"], "'patches'", expected="targets with their edits"):
        patch = _patch(reader, item, package)
        if patch is not None:
            package = package or patch.target.partition(":")[0].partition(".")[0]
            patches.append(patch)
    return Variant(package, "", (), (), tuple(patches), reader.place(root), sequential=True)


def _patch(reader: Reader, node: Node, package: str) -> Patch | None:
    required = {"target": "a definition in the package", "edits": "a list of edits"}
    fields = reader.fields(node, "the patch", known=("target", "edits", "preamble"), required=required)
    if fields is None:
        return None
    target = read_target(reader, fields["target"], package) if "target" in fields else ""
    edits: list[Edit] = []
    preamble = _text(reader, fields, "preamble")
    if preamble and preamble.strip():
        edits.append(Edit((ONLY_PART,), PreambleEdit(preamble), reader.place(fields["preamble"])))
    if "edits" in fields:
        for item in reader.items(fields["edits"], "'edits'", expected="edits"):
            edit = _edit(reader, item)
            if edit is not None:
                edits.append(edit)
    return Patch(target, tuple(edits), reader.place(node)) if target else None


def _edit(reader: Reader, node: Node) -> Edit | None:
    required = {"match": "the lines to find"}
    fields = reader.fields(node, "the edit", known=("match", *ACTIONS), required=required)
    if fields is None or "match" not in fields:
        return None
    match = _text(reader, fields, "match")
    texts = {name: _text(reader, fields, name) for name in ACTIONS}
    said = {name: text for name, text in texts.items() if text and text.strip()}
    if match is None or None in texts.values():
        return None
    if not match.strip():
        reader.bad(fields["match"], "match is empty, expected the lines to find")
        return None
    if len(said) > 1:
        what = f"{' and '.join(said)} stand in one edit, expected only one of {', '.join(ACTIONS)}"
        reader.bad(fields[list(said)[1]], what)
        return None
    name, text = next(iter(said.items()), ("replacement", ""))
    return Edit((ONLY_PART,), LinesEdit(match, ACTIONS[name], text), reader.place(node))


def _text(reader: Reader, fields: dict[str, Node], name: str) -> str | None:
    """The text of a field, empty where it is not set; None where it is no text."""
    node = fields.get(name)
    if node is None:
        return ""
    if isinstance(node, Scalar) and (node.style or node.text not in NULLS):
        return node.text
    reader.text(node, f"'{name}'")  # says what is wrong with it
    return None
