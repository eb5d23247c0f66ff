"""Matrices of files, which need not fit into memory: their rows block by block, as often as they are wanted."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from .. import mapped
from ..arrays import Array, RowError, rows_from

__all__ = ["Rows", "told_of"]


@contextmanager
def told_of(path: str) -> Iterator[None]:
    """Errors about rows tell the file as well."""
    try:
        yield
    except RowError as error:
        raise ValueError(f"{path}: {error}") from None


@dataclass(frozen=True)
class Rows:
    """A matrix (n, K) of floats that a file holds or that is made of one block by block.

    `read` gives blocks of so many rows, from the first one on; `array` is all of them where they are in memory or
    mapped as they are.
    """

    path: str
    shape: tuple[int, int]
    dtype: np.dtype
    read: Callable[[int], Iterable[Array]]
    array: Array | None = None

    @staticmethod
    def of(path: str, array: Array) -> "Rows":
        """Those of an array."""
        n, K = array.shape

        def read(step: int) -> Iterator[Array]:
            return (array[rows] for rows in mapped.row_blocks(array, size=step * K))

        return Rows(path, (n, K), array.dtype, read, array)

    @property
    def held(self) -> bool:
        """Whether they are in memory."""
        return self.array is not None and not mapped.is_mapped(self.array)

    def through(self, change: Callable[[Array], Array], dtype: np.dtype | None = None) -> "Rows":
        """What a function makes of every block, of the same type unless another is given."""
        return Rows(self.path, self.shape, dtype or self.dtype, lambda step: map(change, self.read(step)))

    def columns(self, order: list[int]) -> "Rows":
        """The same with the columns in this order."""
        if self.array is not None and self.held:
            return Rows.of(self.path, self.array[:, order])
        return self.through(lambda block: np.take(block, order, axis=1))

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        """Rows and what they hold, block by block. Errors tell the file, and the row's number in it."""
        n, K = self.shape
        step = -(-mapped.BLOCK // (2 * K))  # what is made of them takes room as well
        blocks, start = iter(self.read(step)), 0
        while start < n:
            with told_of(self.path), rows_from(start):
                block = next(blocks)
            rows = slice(start, start + len(block))
            yield rows, block
            start = rows.stop
            del block  # the next one may have its memory

    def blocks(self) -> Iterator[Array]:
        """What the blocks hold."""
        return (block for _, block in self)

    def whole(self) -> Array:
        """All of it in one array."""
        if self.array is not None:
            return self.array
        whole = np.empty(self.shape, self.dtype)
        for rows, block in self:
            whole[rows] = block
        return whole
