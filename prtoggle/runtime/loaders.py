"""Loads a planned module: its edited source, through the loader that the other finders gave, in place of the file's.

A loader built on :class:`importlib.machinery.SourceFileLoader` (Python's own, or of an import hook that overrides
``source_to_code``) is copied into a subclass whose ``get_data`` serves the edited bytes for the module's own file,
and which neither reads nor writes ordinary ``.pyc`` files. Every other kind is refused by name. ``__file__``,
``__spec__`` and package data stay.
"""

from __future__ import annotations

import sys

from prtoggle.runtime import cache, view
from prtoggle.runtime.refused import RevertRefusedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec, SourceFileLoader
    from types import CodeType, ModuleType
    from typing import Any

    from prtoggle.runtime.resolve import Planned
else:
    SourceFileLoader = sys.modules["_frozen_importlib_external"].SourceFileLoader  # without importing importlib

_classes: dict[tuple[str, type], type] = {}
_CODE = type((lambda: None).__code__)
_PLAIN = ("get_code", "source_to_code", "exec_module", "get_data", "path_stats", "_cache_bytecode")


def revert(spec: ModuleSpec, planned: Planned) -> ModuleSpec:
    """Make ``spec`` load the reverted text. Raises RevertRefusedError where its loader cannot."""
    loader = spec.loader
    if f"{type(loader).__module__}.{type(loader).__name__}" == "importlib.util.LazyLoader":
        inner = loader.loader  # type: ignore[union-attr]
        loader.loader = _reverting(inner, planned)  # type: ignore[union-attr]
        return spec
    spec.loader = _reverting(loader, planned)
    return spec


def after_load(spec: ModuleSpec, action: object) -> ModuleSpec:
    """Call ``action(module)`` when the module of ``spec`` has been executed."""
    loader = spec.loader
    made = _derived("after", type(loader), _after_class)
    copied = _copy(loader, made)
    copied._prtoggle_action = action
    spec.loader = copied
    return spec


def refuse(spec: ModuleSpec, reason: str) -> ModuleSpec:
    """Make the module of ``spec`` raise RevertRefusedError when it is imported or run, while finding it stays
    possible."""
    spec.loader = _Refusing(reason)  # type: ignore[assignment]
    return spec


class _Refusing:
    def __init__(self, reason: str) -> None:
        self.reason = reason

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        raise RevertRefusedError(self.reason)

    def exec_module(self, module: ModuleType) -> None:
        raise RevertRefusedError(self.reason)

    def get_code(self, fullname: str) -> CodeType:
        raise RevertRefusedError(self.reason)

    def is_package(self, fullname: str) -> bool:
        return False


def _reverting(loader: object, planned: Planned) -> Any:
    kind = type(loader)
    if not isinstance(loader, SourceFileLoader):
        raise RevertRefusedError(
            f"{planned.name} is loaded by {kind.__module__}.{kind.__qualname__}, which does not read Python source "
            "through importlib's SourceFileLoader; prtoggle cannot give it the reverted text"
        )
    made = _derived("revert", kind, _reverting_class)
    copied = _copy(loader, made)
    copied._prtoggle = planned
    copied._prtoggle_served = False
    return copied


def _copy(loader: object, kind: Any) -> Any:
    copied = kind.__new__(kind)
    copied.__dict__.update(loader.__dict__)
    return copied


def _derived(role: str, kind: type, make: object) -> type:
    if (role, kind) not in _classes:
        _classes[role, kind] = make(kind)  # type: ignore[operator]
    return _classes[role, kind]


def _after_class(kind: type) -> type:
    class After(kind):  # type: ignore[misc]
        def exec_module(self, module: ModuleType) -> None:
            super().exec_module(module)
            self._prtoggle_action(module)

    After.__name__ = After.__qualname__ = kind.__name__
    return After


def _reverting_class(kind: type) -> type:
    plain = all(getattr(kind, name, None) is getattr(SourceFileLoader, name, None) for name in _PLAIN)

    class Reverting(kind):  # type: ignore[misc]
        _prtoggle: Planned

        def get_data(self, path: str) -> bytes:
            if path == self.path:
                self._prtoggle_check(super().get_data(path))
                self._prtoggle_served = True
                return self._prtoggle.reverted
            if path.endswith((".pyc", ".pyo")) and path != self.path:
                raise OSError("prtoggle: no bytecode of a reverted module on disk")
            data: bytes = super().get_data(path)
            return data

        def _cache_bytecode(self, source_path: str, cache_path: str, data: bytes) -> None:
            """Ordinary bytecode files stay as they are."""

        def set_data(self, path: str, data: bytes, *args: object, **options: object) -> None:
            """Ordinary bytecode files stay as they are."""

        def _prtoggle_check(self, found: bytes) -> None:
            planned = self._prtoggle
            planned.found = found
            if cache.content(found) != planned.before:
                reason = (
                    f"{self.path} is not the file that the plan was made from ({planned.file}): it changed, or "
                    f"another copy of {planned.name} was found"
                )
                planned.on_refusal(reason)
                raise RevertRefusedError(reason)

        def get_code(self, fullname: str) -> CodeType:
            planned = self._prtoggle
            if plain:
                self._prtoggle_check(SourceFileLoader.get_data(self, self.path))
                code = _cached_code(self, planned, fullname)
            else:
                code = super().get_code(fullname)
                if not self._prtoggle_served:
                    reason = f"{kind.__module__}.{kind.__qualname__} did not read {fullname} through its get_data"
                    planned.on_refusal(reason)
                    raise RevertRefusedError(reason)
            self._prtoggle_served = True
            view.register(self.path, planned.reverted)
            planned.on_load(self.path)
            return code

        def get_source(self, fullname: str) -> str:
            from importlib.util import decode_source

            return decode_source(self._prtoggle.reverted)

        def exec_module(self, module: ModuleType) -> None:
            super().exec_module(module)
            if not self._prtoggle_served:
                reason = f"{kind.__module__}.{kind.__qualname__} executed {module.__name__} without its reverted text"
                self._prtoggle.on_refusal(reason)
                raise RevertRefusedError(reason)

    Reverting.__name__ = Reverting.__qualname__ = kind.__name__
    return Reverting


def _cached_code(loader: SourceFileLoader, planned: Planned, fullname: str) -> CodeType:
    """The code of the reverted text: from the private store, or compiled and kept there."""
    if planned.trace is not None:
        tree = planned.trace(planned, loader.path)
        return loader.source_to_code(tree, loader.path)
    key = cache.digest(planned.after.encode(), loader.path.encode("utf-8", "surrogateescape"), flags())
    kept = cache.read("code", key)
    if type(kept) is _CODE:
        return kept
    code = loader.source_to_code(planned.reverted, loader.path)
    cache.write("code", key, code)
    return code


def flags() -> bytes:
    """What, besides its text and file name, decides a module's bytecode."""
    external = sys.modules["_frozen_importlib_external"]
    return repr(
        (
            sys.implementation.cache_tag,
            external.MAGIC_NUMBER,
            sys.flags.optimize,
            sys.flags.dev_mode,
            "no_debug_ranges" in sys._xoptions,
        )
    ).encode()
