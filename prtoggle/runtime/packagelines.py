"""The packages that a reverse patch is for, read off its lines, also when the file does not load.

A file that is broken must still block the packages that it was meant for, so this reads no YAML: whatever follows
``package:`` counts, and the first name of whatever follows ``target:``, in block or flow style, quoted or not. Too
many names block too much, which is loud; too few would let a process run without the revert that it was asked for.

Example::

    package_names("variants:\\n  - package: sglang\\n    patches: [") == ("sglang",)

Imports nothing.
"""

from __future__ import annotations

_SPACE = " \t"
_QUOTES = "\"'"
_ENDS = " \n\t\r\"',}]#"
_WINDOW = 200  # this runs at a target's start, so the usual value is cut out by a few calls, not sign by sign


def package_names(text: str) -> tuple[str, ...]:
    """The names that stand behind ``package:`` and ``target:`` in ``text``, in order, once each."""
    names: dict[str, None] = {}
    for key in ("package", "target"):
        at = text.find(key)
        while at >= 0:
            end = at + len(key)
            if _starts_key(text, at):
                name = _value(text, end)
                if key == "target":
                    name = name.partition(":")[0].partition(".")[0]
                if name and all(piece.isidentifier() for piece in name.split(".")):
                    names[name] = None
            at = text.find(key, end)
    return tuple(names)


def _starts_key(text: str, at: int) -> bool:
    """Whether a key can start at ``at``: nothing before it on its line but white space and YAML's own signs."""
    return at == 0 or text[at - 1] in " \t\r\n{,-?[\"'\ufeff"


def _value(text: str, at: int) -> str:
    """What stands behind the colon that follows a key ending at ``at``, also when it stands on the next line."""
    if text[at : at + 1] in _QUOTES and at < len(text):
        at += 1
    while text[at : at + 1] in _SPACE and at < len(text):
        at += 1
    if text[at : at + 1] != ":":
        return ""
    at += 1
    while at < len(text) and text[at] in " \t\r\n\"'":
        at += 1
    value = text[at : at + _WINDOW]
    for sign in _ENDS:
        value = value.partition(sign)[0]
    if len(value) < _WINDOW:
        return value
    end = at + _WINDOW
    while end < len(text) and text[end] not in _ENDS:
        end += 1
    return text[at:end]
