"""What one function is to become, and the setting of many in one step.

Example::

    set_all([Change(step, new_code), Change(helper, new_code, doc="new")])
"""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType, FunctionType
    from typing import Any

KEEP: Any = object()
"""For an attribute of a function that stays as it is."""

_ATTRIBUTES = ("__defaults__", "__kwdefaults__", "__annotations__", "__doc__", "__code__")


class Change:
    """What one function is to become; an attribute that is :data:`KEEP` stays."""

    __slots__ = ("annotations", "code", "defaults", "doc", "function", "kwdefaults")

    def __init__(
        self,
        function: FunctionType,
        code: CodeType,
        defaults: tuple[object, ...] | None = KEEP,
        kwdefaults: dict[str, object] | None = KEEP,
        annotations: dict[str, object] = KEEP,
        doc: object = KEEP,
    ) -> None:
        self.function = function
        self.code = code
        self.defaults = function.__defaults__ if defaults is KEEP else defaults
        self.kwdefaults = function.__kwdefaults__ if kwdefaults is KEEP else kwdefaults
        self.annotations = function.__annotations__ if annotations is KEEP else annotations
        self.doc = function.__doc__ if doc is KEEP else doc

    def values(self) -> tuple[object, ...]:
        """In the order of ``_ATTRIBUTES``: the code last, so that it never meets another's defaults."""
        return (self.defaults, self.kwdefaults, self.annotations, self.doc, self.code)


def set_each(functions: Iterable[FunctionType], names: Iterable[str], values: Iterable[object]) -> None:
    """Set attributes in one call into C."""
    deque(map(setattr, functions, names, values), maxlen=0)


def set_all(changes: list[Change]) -> None:
    """Give functions all that they are to become, in one call into C."""
    functions = [change.function for change in changes for _ in _ATTRIBUTES]
    values = [value for change in changes for value in change.values()]
    set_each(functions, list(_ATTRIBUTES) * len(changes), values)
