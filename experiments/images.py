"""Fashion-MNIST (Xiao et al., 2017) as its files have it, and the parts of it that the experiments use."""

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["FILES", "Images", "read_fashion", "read_idx"]

FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
BYTES = 8  # the code of unsigned bytes in the header

Bytes = npt.NDArray[np.uint8]
Part = tuple[Bytes, Bytes]


@dataclass(frozen=True)
class Images:
    """Images (n, height, width) and labels (n,): to train on, to calibrate on, to judge by."""

    train: Part
    val: Part
    test: Part


def read_fashion(folder: Path, n_train: int, n_val: int) -> Images:
    """The first `n_train` and the last `n_val` of the images to train on, which come in random order; all to test."""
    images, labels, *test = (read_idx(folder / name) for name in FILES)
    if n_train < 1 or n_val < 1 or n_train + n_val > len(images):
        raise ValueError(f"n_train, n_val: expected at least 1 each and {len(images)} in all, got {n_train}, {n_val}")
    return Images((images[:n_train], labels[:n_train]), (images[-n_val:], labels[-n_val:]), (test[0], test[1]))


def read_idx(path: Path) -> Bytes:
    """The array in a compressed IDX file: two zeros, type, number of axes, their lengths (big-endian), values."""
    with gzip.open(path, "rb") as file:
        content = file.read()
    if len(content) < 4 or content[:3] != bytes((0, 0, BYTES)):
        raise ValueError(f"{path}: expected an IDX file of unsigned bytes")
    start = 4 + 4 * content[3]
    shape = np.frombuffer(content[4:start], dtype=">u4").astype(int)
    if len(content) != start + shape.prod():
        raise ValueError(f"{path}: expected {shape.prod()} values, got {len(content) - start}")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)
