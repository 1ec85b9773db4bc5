"""A scatter that does not look where it writes, like a hand-written kernel: the silent half of fix 27360's symptom.

Contract: writes ``pages`` into ``page_table`` by row and column without comparing the column with the row's width. A
column past the row lands in the next row, or behind the table. On CUDA it is a Triton kernel; on the CPU the same
addresses are computed and written inside the table's own storage, so that a process never writes to memory that it
does not own.

Example::

    arena = torch.full((64,), -7, dtype=torch.int32)
    table = arena[16:32].view(8, 2)
    scatter_unchecked(table, columns, pages)      # a third column of row 7 changes arena[32]
"""

from __future__ import annotations

import importlib
from typing import Any

import torch

# Triton is looked for only where it can run; kernels resolve ``tl`` among the module's globals.
tl: Any = importlib.import_module("triton.language") if torch.cuda.is_available() else None


# Triton reads annotations as values, so these parameters have none.
def _store_rows(table, columns, pages, width, stride, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    live = lane < width
    column = tl.load(columns + row * width + lane, mask=live, other=0)
    page = tl.load(pages + row * width + lane, mask=live, other=0)
    tl.store(table + row * stride + column, page, mask=live)


_store_rows_kernel: Any = importlib.import_module("triton").jit(_store_rows) if tl is not None else None


def scatter_unchecked(page_table: torch.Tensor, columns: torch.Tensor, pages: torch.Tensor) -> None:
    """Write ``page_table[row, columns[row, i]] = pages[row, i]`` by address.

    Args:
        page_table: int32 ``[rows, table width]``, rows contiguous.
        columns: int64 ``[rows, width]``, from 0; may exceed the table's width.
        pages: int32 ``[rows, width]``.

    Raises:
        IndexError: an address outside the table's storage (CPU only).
    """
    rows, width = columns.shape
    if rows == 0:
        return
    if page_table.is_cuda:
        block = 1 << (width - 1).bit_length()
        grid = (rows,)
        _store_rows_kernel[grid](
            page_table, columns.contiguous(), pages.contiguous(), width, page_table.stride(0), BLOCK=block
        )
        return
    storage = torch.empty(0, dtype=page_table.dtype).set_(page_table.untyped_storage())
    starts = torch.arange(rows)[:, None] * page_table.stride(0) + int(page_table.storage_offset())
    addresses = (starts + columns).flatten()
    if int(addresses.max()) >= storage.numel():
        raise IndexError("an address lies outside the page table's storage")
    # One address may be written twice; as on a device, one of the values stays.
    storage.scatter_(0, addresses, pages.flatten())
