"""NumPy's own files, read with care: nothing is run, and nothing is believed before its size is compared with what
the file holds.

Large arrays on disk are not read but mapped, or told where they are (`Packed`), to be read block by block.
"""

import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import IO, BinaryIO

import numpy as np

from ..arrays import Array

__all__ = ["Packed", "check_growth", "read_npy", "read_npz"]

LARGE = 1 << 30  # bytes: below this no claim hurts
GROWTH = 200  # logits and labels never shrink so far; a file made to fill the memory shrinks a thousandfold
HELD = 1 << 26  # bytes: smaller matrices of an archive are read at once
MATRICES = ("logits", "probs")
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclass(frozen=True)
class Packed:
    """A matrix packed into an archive, row after row."""

    path: str
    member: str
    shape: tuple[int, int]
    dtype: np.dtype
    offset: int

    def read(self, step: int) -> Iterator[Array]:
        """Its rows, so many at a time."""
        n, columns = self.shape
        with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as file:
            self._next(file, self.offset)
            for start in range(0, n, step):
                count = min(step, n - start)
                content = self._next(file, count * columns * self.dtype.itemsize, start + count == n)
                yield np.frombuffer(content, self.dtype).reshape(count, columns)

    def _next(self, file: IO[bytes], count: int, last: bool = False) -> bytes:
        """The next so many bytes; before the last are given, the checksum of all is compared."""
        try:
            content = file.read(count)
            if len(content) < count:
                raise EOFError("one that ends too early")
            if last:
                file.read(1)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise ValueError(f"{self.path}: expected an .npz file that is whole, got {error}") from None
        return content


def read_npz(file: BinaryIO, names: Iterable[str]) -> dict[str, Array | Packed]:
    """Those of the named arrays that an `.npz` file has."""
    with zipfile.ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        return {name: _member(file, archive, members[name], name) for name in names if name in members}


def _member(file: BinaryIO, archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> Array | Packed:
    check_growth(info.file_size, info.compress_size)
    with archive.open(info) as member:
        shape, fortran, dtype, offset = _check_header(member, info.file_size)  # type: ignore[arg-type]
    if name in MATRICES and info.file_size > HELD and not isinstance(file, BytesIO):
        if info.compress_type == zipfile.ZIP_STORED:
            return np.memmap(file, dtype, "r", _start(file, info) + offset, shape, "F" if fortran else "C")
        if not fortran and len(shape) == 2:
            return Packed(str(file.name), info.filename, shape, dtype, offset)
    with archive.open(info) as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _start(file: BinaryIO, info: zipfile.ZipInfo) -> int:
    """Where in the archive the content of a member starts: behind its header, its name and its extra field."""
    file.seek(info.header_offset)
    header = file.read(30)
    return info.header_offset + 30 + sum(struct.unpack("<HH", header[26:]))


def read_npy(file: BinaryIO) -> Array:
    """The array of an `.npy` file; that of a file on disk is not copied to memory."""
    start = file.tell()
    size = file.seek(0, os.SEEK_END) - start
    file.seek(start)
    shape, fortran, dtype, offset = _check_header(file, size)
    if isinstance(file, BytesIO) or not math.prod(shape):
        file.seek(start)
        return np.lib.format.read_array(file, allow_pickle=False)
    return np.memmap(file, dtype, "r", offset, shape, "F" if fortran else "C")


def _check_header(file: BinaryIO, size: int) -> tuple[tuple[int, ...], bool, np.dtype, int]:
    """Shape, order, type and offset of the array that starts here, in a file of this many bytes."""
    version = np.lib.format.read_magic(file)
    if version not in HEADERS:
        raise ValueError(f"an array of version {version}")
    shape, fortran, dtype = HEADERS[version](file)
    if dtype.hasobject:
        raise ValueError("an array of Python objects, which are not read since they can run anything")
    if math.prod(shape) * dtype.itemsize > size - file.tell():
        raise ValueError(f"an array that claims the shape {shape} but is not as long")
    return shape, fortran, dtype, file.tell()


def check_growth(claimed: int, stored: int) -> None:
    """Refuse what claims to unpack to more than real data ever would."""
    if claimed > LARGE and claimed > GROWTH * max(stored, 1):
        raise ValueError(f"{stored:,} bytes that claim to unpack to {claimed:,}; if that is so, save them uncompressed")
