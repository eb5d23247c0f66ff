"""Arrays larger than memory: rows of a memory-mapped file a block at a time.

Pages of a mapped file count as memory of the process once they are touched. A loop over `row_blocks` gives those of
each block back when it is done with it; they stay in the file, and are read again if they are asked for. It also asks
for large pages: to make a new file of small ones takes three times as long, and to read it again.
"""

import mmap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from .arrays import Array

__all__ = ["BLOCK", "is_mapped", "numbered", "release", "row_blocks"]

BLOCK = 1 << 21  # elements of the blocks that are read at a time
SHARED = ("r", "r+", "w+")  # modes of maps whose pages are those of the file; to drop others would undo writing
CAN_RELEASE = hasattr(mmap, "MADV_DONTNEED")


def row_blocks(*arrays: Array, size: int | None = None) -> Iterator[slice]:
    """Rows of matrices of one shape, together all of them: of arrays in memory at once, or at least `size` elements at
    a time if that is given; of mapped ones in blocks, whose pages are given back when the next is asked for."""
    n, columns = arrays[0].shape
    if size is None and any(map(is_mapped, arrays)):
        size = BLOCK
    for array in arrays:
        _enlarge_pages(array)
    step = n if size is None else -(-size // columns)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        yield rows
        for array in arrays:
            release(array[rows])


@contextmanager
def numbered(block: int, form: str) -> Iterator[None]:
    """Errors in a block tell its number and what it should look like."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"block {block}: expected {form}: {error}") from None


def is_mapped(array: Array) -> bool:
    """Whether an array, or what it is a view of, is a file mapped by NumPy."""
    return _map_of(array) is not None


def release(rows: Array) -> None:
    """Give back the pages of mapped rows; nothing happens to others."""
    base = _map_of(rows)
    if base is None or not CAN_RELEASE or base.mode not in SHARED or not rows.size:
        return
    pages: Any = base.base
    first = np.frombuffer(pages, np.uint8).ctypes.data
    low, high = np.lib.array_utils.byte_bounds(rows)
    start = (low - first) // mmap.PAGESIZE * mmap.PAGESIZE
    pages.madvise(mmap.MADV_DONTNEED, start, high - first - start)


def _enlarge_pages(array: Array) -> None:
    """Ask for large pages of a mapped file, where the system has them."""
    base = _map_of(array)
    if base is not None and hasattr(mmap, "MADV_HUGEPAGE"):
        pages: Any = base.base
        with suppress(OSError):  # its kernel may have none
            pages.madvise(mmap.MADV_HUGEPAGE)


def _map_of(array: Any) -> Any:
    """The map that an array is a view of, or None."""
    while isinstance(array, np.ndarray):
        owner: Any = array.base
        if isinstance(array, np.memmap) and isinstance(owner, mmap.mmap):
            return array
        array = owner
    return None
