"""A gather that does not look where it reads, like a hand-written kernel: what stale index pointers are handed to.

Contract: returns ``table[index[i]]`` by address, without comparing an index with the table's length. On CUDA it is a
Triton kernel; on the CPU the same addresses are read inside the table's own storage, and IndexError is raised beyond
it.

Example::

    gather_unchecked(arena[:16], torch.tensor([17]))      # arena[17]
"""

from __future__ import annotations

import importlib
from typing import Any

import torch

# Triton is looked for only where it can run; kernels resolve ``tl`` among the module's globals.
tl: Any = importlib.import_module("triton.language") if torch.cuda.is_available() else None


# Triton reads annotations as values, so these parameters have none.
def _load_rows(table, index, out, width, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0)
    row = tl.load(index + i).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    live = lane < width
    tl.store(out + i * width + lane, tl.load(table + row * width + lane, mask=live, other=0), mask=live)


_load_rows_kernel: Any = importlib.import_module("triton").jit(_load_rows) if tl is not None else None


def gather_unchecked(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """``[len(index), width]`` (or ``[len(index)]`` from a flat table): the rows at these addresses.

    Args:
        table: contiguous ``[rows]`` or ``[rows, width]``.
        index: integers, from 0; may exceed the table's rows.

    Raises:
        IndexError: an address outside the table's storage (CPU only).
    """
    width = table.shape[1] if table.dim() == 2 else 1
    out = torch.empty((index.shape[0], width), dtype=table.dtype, device=table.device)
    if table.is_cuda:
        block = 1 << (width - 1).bit_length()
        _load_rows_kernel[(index.shape[0],)](table, index.contiguous(), out, width, BLOCK=block)
    else:
        storage = torch.empty(0, dtype=table.dtype).set_(table.untyped_storage())
        places = int(table.storage_offset()) + index[:, None].long() * width + torch.arange(width)
        if int(places.max()) >= storage.numel():
            raise IndexError("an address lies outside the table's storage")
        out = storage[places]
    return out if table.dim() == 2 else out[:, 0]
