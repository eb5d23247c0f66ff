"""NumPy's own files, read with care: nothing is run, and nothing is believed before its size is compared with what
the file holds."""

import math
import os
import zipfile
from collections.abc import Iterable
from io import BytesIO
from typing import BinaryIO

import numpy as np

from ..arrays import Array

__all__ = ["check_growth", "read_npy", "read_npz"]

LARGE = 1 << 30  # bytes: below this no claim hurts
GROWTH = 200  # logits and labels never shrink so far; a file made to fill the memory shrinks a thousandfold
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_npz(file: BinaryIO, names: Iterable[str]) -> dict[str, Array]:
    """Those of the named arrays that an `.npz` file has."""
    with zipfile.ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        return {name: _member(archive, members[name]) for name in names if name in members}


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    check_growth(info.file_size, info.compress_size)
    with archive.open(info) as file:
        _check_header(file, info.file_size)  # type: ignore[arg-type]
    with archive.open(info) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


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
