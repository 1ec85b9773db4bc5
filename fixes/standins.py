"""Stand-ins for modules that a program neither looks at nor calls, so that real SGLang imports without a GPU.

Contract: `install(real, absent)` is called in a child process before SGLang is imported (by `prtoggle.real_runner`, for
a fix's `real.py`). Modules of SGLang in ``real``,
and the packages that hold them, are SGLang's own, untouched; every other module of SGLang is a stand-in. Third-party
packages in ``absent`` are stood in for only where they are not installed. A stand-in can be imported from, subclassed,
subscripted, used as an annotation, a default and a decorator; *calling* one raises `StandInCalled`, so that nothing
under test can lean on it unnoticed. What is replaced on purpose is set by name with `provide`.

prtoggle's finder sits first in ``sys.meta_path`` and asks the others, in order, for the modules of its plan; those are
under test, so they are in ``real``, and no finder here ever answers for them.

Example::

    from prtoggle_fixes import standins

    standins.install(real=("sglang.srt.model_executor.cuda_graph_buffer_registry",), absent=("triton",))
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType, ModuleType
from typing import Any

ROOT = "sglang"
# What is called while modules are imported, whatever is under test: SGLang's root asks for the first two; the others
# say what hardware there is, and answer as on a machine without any.
_HARDWARE = ("is_cuda", "is_hip", "is_npu", "is_xpu", "is_musa", "is_cpu", "is_mps", "is_blackwell_supported")
provided: dict[str, dict[str, Any]] = {
    "sglang.srt.utils.hf_transformers_patches": {"apply_all": lambda: None},
    "sglang.utils": {"LazyImport": lambda module, name: f"{module}.{name}, on demand"},
    "sglang.srt.utils": dict.fromkeys(_HARDWARE, lambda: False),
    "sglang.srt.utils.common": dict.fromkeys(_HARDWARE, lambda: False),
}
stood_in: list[str] = []


class StandInCalled(RuntimeError):
    """Something under test called a stand-in."""


class Thing(type):
    """The type of every name in a stand-in module: a class, whatever it is really."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return thing(f"{cls.__module__}.{cls.__qualname__}", name)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if "stand_in_base" in cls.__dict__:
            # A decorator gives back what it decorates; with arguments only, it is a decorator to be.
            if len(args) == 1 and not kwargs and isinstance(args[0], (FunctionType, type)):
                return args[0]
            raise StandInCalled(f"{cls.__module__}.{cls.__qualname__} is a stand-in and was called")
        return super().__call__(*args, **kwargs)  # a real class with a stand-in among its bases

    def __getitem__(cls, item: Any) -> Any:
        return cls

    def __or__(cls, other: Any) -> Any:
        return cls

    __ror__ = __or__

    def __bool__(cls) -> bool:
        raise StandInCalled(f"{cls.__module__}.{cls.__qualname__} is a stand-in and was asked whether it is true")


def thing(module: str, name: str) -> Any:
    return Thing(name, (), {"__module__": module, "stand_in_base": True})


class StandIn(ModuleType):
    """A module in which every name exists."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        made = thing(self.__name__, name)
        setattr(self, name, made)
        return made


class Loader:
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__path__ = []  # any stand-in may be a package
        module.__version__ = "0.0.0"  # type: ignore[attr-defined]
        stood_in.append(module.__name__)
        for name, value in provided.get(module.__name__, {}).items():
            setattr(module, name, value)


class Finder:
    """Finds the modules that ``wanted`` says; everything else is left to the finders after it."""

    def __init__(self, names: str, wanted: Callable[[str], bool]) -> None:
        self.names = names
        self.wanted = wanted

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not self.wanted(name):
            return None
        return importlib.machinery.ModuleSpec(name, Loader(), is_package=True)  # type: ignore[arg-type]


def provide(module: str, **names: Any) -> None:
    """Give a stand-in module these names, to be called for what they are."""
    provided.setdefault(module, {}).update(names)


def hide(absent: Iterable[str]) -> None:
    """Take the third-party stand-ins out of sight again: SGLang has what it imported, torch must not find them."""
    names = set(absent)
    for name in [name for name, module in sys.modules.items() if isinstance(module, StandIn)]:
        if name.partition(".")[0] in names:
            del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "names", None) != "third parties"]


def install(real: Iterable[str], absent: Iterable[str], root: str = ROOT) -> None:
    """Put the finders in place: that of package ``root`` before the one for folders, the third parties' after all."""
    own = set(real)
    holders = {root} | {name.rsplit(".", count)[0] for name in own for count in range(1, name.count(".") + 1)}
    third = {name for name in absent if importlib.util.find_spec(name) is None}

    def unneeded(name: str) -> bool:
        return name.startswith(root + ".") and name not in own and name not in holders

    before = next(number for number, finder in enumerate(sys.meta_path) if finder is importlib.machinery.PathFinder)
    sys.meta_path.insert(before, Finder(root, unneeded))
    sys.meta_path.append(Finder("third parties", lambda name: name.partition(".")[0] in third))
