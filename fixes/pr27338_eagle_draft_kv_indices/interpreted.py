"""Runs a simple Triton kernel's own Python text on a CPU, one program after another, so that a release's real kernel
can be watched where it writes.

Contract: the kernel's module names Triton's language ``tl``; what it uses of it is what :class:`Language` has, and
anything else raises ``AttributeError``. A write outside of the tensor's storage raises ``IndexError``; inside it,
nobody compares anything with a tensor's shape, as on a device.

Example::

    Interpreted(kernel)[(3, 2, 4)](tensor, 5)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch


@dataclass(frozen=True)
class Pointer:
    """An address, or a block of them, in the storage of one tensor."""

    memory: Any
    place: Any

    def __add__(self, offset: Any) -> Pointer:
        return Pointer(self.memory, self.place + offset)

    __radd__ = __add__

    def checked(self, mask: Any) -> Any:
        """The places that the mask leaves, all inside the storage."""
        places = np.atleast_1d(self.place)
        live = places if mask is None else places[np.broadcast_to(mask, places.shape)]
        if live.size and (live.min() < 0 or live.max() >= self.memory.size):
            raise IndexError(f"an address outside of a storage of {self.memory.size}")
        return live


def pointer_to(tensor: torch.Tensor) -> Pointer:
    """The address of the tensor's first element."""
    whole = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    return Pointer(whole.numpy(), int(tensor.storage_offset()))


class Language:
    """What draft kernels use of ``triton.language``, for one program of a grid."""

    constexpr = int

    def __init__(self, program: tuple[int, ...], grid: tuple[int, ...]) -> None:
        self.program, self.grid = program, grid

    def program_id(self, axis: int) -> int:
        return self.program[axis]

    def num_programs(self, axis: int) -> int:
        return self.grid[axis]

    @staticmethod
    def arange(start: int, end: int) -> Any:
        return np.arange(start, end)

    @staticmethod
    def cdiv(whole: int, part: int) -> int:
        return -(-whole // part)

    @staticmethod
    def sum(values: Any, axis: int = 0) -> Any:
        return np.sum(values, axis=axis)

    minimum = staticmethod(np.minimum)
    maximum = staticmethod(np.maximum)
    where = staticmethod(np.where)

    @staticmethod
    def load(pointer: Pointer, mask: Any = None, other: int = 0) -> Any:
        live = pointer.memory[pointer.checked(mask)]
        if np.ndim(pointer.place) == 0:
            return int(live[0]) if live.size else other
        loaded = np.full(np.shape(pointer.place), other, dtype=np.int64)
        loaded[slice(None) if mask is None else np.broadcast_to(mask, loaded.shape)] = live
        return loaded

    @staticmethod
    def store(pointer: Pointer, value: Any, mask: Any = None) -> None:
        places = np.atleast_1d(pointer.place)
        values = np.broadcast_to(value, places.shape)
        pointer.memory[pointer.checked(mask)] = values if mask is None else values[np.broadcast_to(mask, places.shape)]


class Interpreted:
    """A kernel that is launched as a compiled one is: ``Interpreted(kernel)[grid](*arguments)``."""

    def __init__(self, kernel: Any) -> None:
        # Triton, where installed, has wrapped it, and so the kernels that it calls by name.
        self.kernel: Callable[..., Any] = getattr(kernel, "fn", kernel)
        wrapped = () if self.kernel is kernel else type(kernel)
        self.called = {name: it.fn for name, it in self.kernel.__globals__.items() if isinstance(it, wrapped)}

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        def launch(*given: Any, **named: Any) -> None:
            arguments = [pointer_to(value) if isinstance(value, torch.Tensor) else value for value in given]
            names = self.kernel.__globals__
            before = {name: names[name] for name in ("tl", *self.called)}
            try:
                names.update(self.called)
                for program in product(*map(range, grid)):
                    names["tl"] = Language(program, grid)
                    self.kernel(*arguments, **named)
            finally:
                names.update(before)

        return launch
