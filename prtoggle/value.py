"""Frozen values without :mod:`dataclasses`, whose import alone costs more than boot may take.

For what runs inside the target's processes before a selection is known to matter. A value names its fields in order;
equality, hash, repr and pickling go by them.

Example::

    class Point(Value):
        _fields = ("x", "y")
        __slots__ = _fields
        x: int
        y: int

        def __init__(self, x: int, y: int) -> None:
            self._set(x, y)

Imports nothing.
"""

from __future__ import annotations


class Value:
    """Base of frozen values: a subclass lists its fields and calls :meth:`_set` once."""

    _fields: tuple[str, ...] = ()
    __slots__ = _fields

    def _set(self, *values: object) -> None:
        for name, value in zip(self._fields, values, strict=True):
            object.__setattr__(self, name, value)

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self._fields)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {name}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self).__name__, *self._values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self._values(), strict=True))
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), self._values())
