"""``docs/reference/api.md`` from the docstrings of what a program may import.

Example::

    text()      # the whole document
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator

PUBLIC: dict[str, tuple[str, tuple[str, ...]]] = {
    "In a running process": ("prtoggle", ("revert", "restore", "reverted", "status", "on_toggle")),
    "What a callback is given": ("prtoggle.runtime.live", ("Event",)),
    "Scenarios": ("prtoggle.scenario", ("Case", "CannotRun")),
    "Errors": (
        "prtoggle.errors",
        (
            "PrtoggleError",
            "UsageError",
            "SelectionError",
            "RefusedError",
            "MalformedError",
            "EditError",
            "ConflictError",
            "InconclusiveError",
            "Place",
        ),
    ),
    "Where an import was refused": ("prtoggle.runtime.refused", ("RevertRefusedError",)),
    "Editors": ("prtoggle.schema", ("schema", "modeline")),
}
"""Section -> the module that its names are imported from, and the names."""

HEAD = """\
# Python API

<!-- Made by scripts/make_docs.py from the docstrings: do not edit. -->

What a program may import; everything else is the inside of prtoggle, and may change. How it behaves:
[in a running process](../live.md). In tests use the [pytest plugin](../guides/guard-a-fix-with-a-test.md) instead.
"""

_ITEM = re.compile(r"(?:``)?([\w, *]+?)(?:``)?: (.*)")


def text() -> str:
    """The document."""
    parts = [HEAD]
    for title, (module, names) in PUBLIC.items():
        parts.append(f"## {title}\n\n`from {module} import {', '.join(names)}`\n")
        parts += [entry(module, name) for name in names]
    return "\n".join(parts)


def entry(module: str, name: str) -> str:
    """One function or class."""
    value = getattr(importlib.import_module(module), name)
    doc = inspect.getdoc(value)
    assert doc, f"{module}.{name} says nothing of itself"
    lines = [f"### {name}", "", "```python", signature(name, value), "```", "", *markdown(doc), ""]
    if isinstance(value, type) and issubclass(value, BaseException) and "exit_code" in value.__dict__:
        lines += [f"A command that ends with it has the [exit code](exit-codes.md) {value.__dict__['exit_code']}.", ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def signature(name: str, value: object) -> str:
    """How it is called; of an error, what it is a kind of."""
    if isinstance(value, type) and issubclass(value, BaseException):
        return f"class {name}({value.__bases__[0].__name__})"
    function = inspect.unwrap(value)  # type: ignore[arg-type]
    kind = "class " if isinstance(value, type) else ""
    called = str(_as_written(inspect.signature(function)))
    if isinstance(value, type):
        called = called.replace(" -> None", "")
    elif inspect.isgeneratorfunction(function):
        kind, called = "with ", called.partition(" -> ")[0]
    return f"{kind}{name}{called}"


class _Written:
    """An annotation, which stands as text in the code and is shown without quotes."""

    def __init__(self, text: object) -> None:
        self.text = text

    def __repr__(self) -> str:
        return str(self.text)


def _as_written(made: inspect.Signature) -> inspect.Signature:
    parameters = [each.replace(annotation=_Written(each.annotation)) for each in made.parameters.values()]
    return made.replace(parameters=parameters, return_annotation=_Written(made.return_annotation))


def markdown(doc: str) -> Iterator[str]:
    """A docstring as Markdown: its sections as lists, its examples as code."""
    lines = doc.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line in ("Args:", "Attributes:", "Returns:", "Raises:"):
            inner = []
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at]):
                inner.append(lines[at][4:])
                at += 1
            yield f"{line.removesuffix(':')}:"
            yield ""
            yield from (f"- {_inline(item)}" for item in _items(inner))
            yield ""
        elif line.endswith("::"):
            code = []
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at]):
                code.append(lines[at][4:])
                at += 1
            yield from (_inline(line[:-1]), "", "```python", *"\n".join(code).strip("\n").splitlines(), "```", "")
        else:
            yield _inline(line)


def _items(lines: list[str]) -> Iterator[str]:
    """The entries of a section, each on a line."""
    gathered: list[str] = []
    for line in lines:
        if line.startswith(" ") or (gathered and not _ITEM.fullmatch(line)):
            gathered.append(line.strip())
            continue
        if gathered:
            yield _entry(" ".join(gathered).strip())
        gathered = [line.strip()] if line.strip() else []
    if gathered:
        yield _entry(" ".join(gathered).strip())


def _entry(text: str) -> str:
    found = _ITEM.fullmatch(text)
    return f"`{found[1]}`: {found[2]}" if found else text


def _inline(text: str) -> str:
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return text.replace("``", "`")
