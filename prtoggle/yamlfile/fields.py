"""Reads nodes as what our files mean by them, and collects everything that is wrong on the way.

A reading that fails notes a problem and returns None (or leaves the thing out), and the caller goes on: so all
problems of a file are found at once.

Example::

    reader = Reader(tree)
    fields = reader.fields(node, "the edit", known=("match", "replacement"), required=("match",))
    match = reader.code(fields["match"], "match")
    reader.problems     # e.g. "revert.yaml:7:9: unknown field 'mach', expected one of: match, replacement"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from prtoggle.errors import Place, PrtoggleError, RefusedError, did_you_mean
from prtoggle.versionrange import is_specifier
from prtoggle.yamlfile import nodes
from prtoggle.yamlfile.nodes import Node, Scalar, Tree

PART = re.compile(r"[a-z][a-z0-9-]*")
NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_IN_A_BLOCK = "code stands in a | block or in single quotes"


class Reader:
    """Typed readings of the nodes of one tree. ``problems`` starts with those of the tree itself."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.problems: list[PrtoggleError] = list(tree.problems)

    def place(self, node: Node) -> Place:
        return self.tree.place(node)

    def bad(self, where: Node | Place, what: str, *, nearest: str = "", hint: str = "") -> None:
        """Note a problem at ``where``."""
        place = where if isinstance(where, Place) else self.place(where)
        self.problems.append(RefusedError(what, place=place, nearest=nearest, hint=hint))

    def fields(
        self, node: Node, what: str, *, known: Sequence[str], required: Mapping[str, str] | None = None
    ) -> dict[str, Node] | None:
        """The fields of a mapping; ``required`` says what each that must be there holds. None where it is no
        mapping."""
        if not isinstance(node, nodes.Mapping):
            self.bad(node, f"{what} is {_kind(node)}, expected a mapping with {_listed(known)}")
            return None
        found = {}
        for key, value in node.entries:
            if key.text in known:
                found[key.text] = value
            else:
                self.bad(
                    key,
                    f"unknown field '{key.text}', expected {_listed(known)}",
                    nearest=did_you_mean(key.text, tuple(known)),
                )
        for name, meaning in (required or {}).items():
            if name not in found:
                self.bad(node, f"{what} has no field '{name}', expected {meaning}")
        return found

    def text(self, node: Node, what: str, *, expected: str = "text") -> str | None:
        """Text in any style, not empty."""
        if not isinstance(node, Scalar):
            self.bad(node, f"{what} is {_kind(node)}, expected {expected}")
            return None
        if not node.text.strip() or (node.style == "" and node.text in NULLS):
            self.bad(node, f"{what} is empty, expected {expected}")
            return None
        return node.text.strip() if node.style in ("|", ">") else node.text

    def shaped(self, node: Node | None, name: str, shape: re.Pattern[str], expected: str) -> str:
        """Text of a certain shape; an empty string where there is none, or it has another shape."""
        text = self.text(node, f"'{name}'", expected=expected) if node is not None else None
        if node is not None and text is not None and not shape.fullmatch(text):
            self.bad(node, f"'{name}' is '{text}', expected {expected}")
            return ""
        return text or ""

    def code(self, node: Node, what: str, *, empty: str = "") -> str | None:
        """Code, kept byte for byte, in a style that YAML cannot change. ``empty`` says why it must not be empty, if
        so."""
        if not isinstance(node, Scalar):
            self.bad(node, f"{what} is {_kind(node)}, expected code", hint=_IN_A_BLOCK)
            return None
        if node.style == "" and node.text in NULLS:
            self.bad(node, f"{what} is empty, expected code", hint="write '' where nothing is meant")
        elif node.style == ">":
            self.bad(node, f"{what} is a folded '>' block, which joins lines, expected a '|' block", hint=_IN_A_BLOCK)
        elif node.style == '"' and node.text:
            self.bad(
                node,
                f"{what} is in double quotes, where \\ means something to YAML, expected single ones",
                hint=_IN_A_BLOCK,
            )
        elif node.style == "":
            self.bad(
                node,
                f"{what} is plain text, of which YAML may cut off or join something, expected quotes",
                hint=_IN_A_BLOCK,
            )
        elif node.style == "'" and node.line != node.last_line:
            self.bad(
                node,
                f"{what} is in quotes over several lines, which YAML joins, expected a '|' block",
                hint=_IN_A_BLOCK,
            )
        elif empty and not node.text.strip():
            self.bad(node, f"{what} is empty, expected {empty}")
        else:
            return node.text
        return None

    def items(self, node: Node, what: str, *, expected: str) -> tuple[Node, ...]:
        """The items of a list."""
        if not isinstance(node, nodes.Sequence):
            nearest = f"[{node.text}]" if isinstance(node, Scalar) and node.text and not node.style else ""
            self.bad(node, f"{what} is {_kind(node)}, expected a list of {expected}", nearest=nearest)
            return ()
        if not node.items:
            self.bad(node, f"{what} is an empty list, expected {expected}")
        return node.items

    def texts(self, node: Node, what: str, *, expected: str) -> tuple[str, ...]:
        """A list of texts."""
        read = [self.text(item, f"an item of {what}") for item in self.items(node, what, expected=expected)]
        return tuple(text for text in read if text is not None)

    def parts(self, node: Node, what: str, known: Iterable[str], *, one: bool = False) -> tuple[str, ...]:
        """Names of known parts, each once: a list, or where ``one`` a single name too."""
        known = tuple(known)
        items: Sequence[Node] = (
            (node,) if one and isinstance(node, Scalar) else self.items(node, what, expected="part names")
        )
        found: list[str] = []
        for item in items:
            name = self.text(item, what, expected="a part's name")
            if name is None:
                continue
            if name not in known:
                what_else = f"expected {'one of ' if len(known) > 1 else ''}{', '.join(known)}"
                self.bad(item, f"unknown part '{name}' in {what}, {what_else}", nearest=did_you_mean(name, known))
            elif name in found:
                self.bad(item, f"part '{name}' twice in {what}, expected each once")
            else:
                found.append(name)
        return tuple(found)

    def versions(self, node: Node, what: str) -> str | None:
        """A version specifier, not empty."""
        text = self.text(node, what, expected="a version specifier such as '>=0.5.13'")
        if text is not None and not is_specifier(text):
            number = text.lstrip("=<>!~ ")  # '==>3' is a version with some sign before it
            near = f"=={text}" if is_specifier(f"=={text}") and text == number else f">={number}" if number else ""
            near = near if is_specifier(near) else ""
            self.bad(node, f"{what} is '{text}', expected a version specifier such as '>=0.5.13'", nearest=near)
            return None
        return text


def _kind(node: Node) -> str:
    if isinstance(node, nodes.Mapping):
        return "a mapping"
    if isinstance(node, nodes.Sequence):
        return "a list"
    return "text" if node.text or node.style else "empty"


def _listed(names: Sequence[str]) -> str:
    return f"the field {names[0]}" if len(names) == 1 else f"one of: {', '.join(names)}"
