"""Files in and out: logits with their labels in, results out, whole or not at all."""

import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from .arrays import Array, Ints, check_labels, check_logits, check_probs
from .numerics import logits_from_probs

__all__ = ["Data", "read_data", "replaced", "write_arrays"]


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` when all is written; on failure `path` stays as it was."""
    target = Path(path)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@dataclass(frozen=True)
class Data:
    """What a file holds: logits (n, K), the probabilities they were made from if it has those instead, labels (n,)."""

    path: str
    logits: Array
    probs: Array | None
    labels: Ints | None

    def require_labels(self) -> Ints:
        if self.labels is None:
            raise ValueError(f"{self.path}: expected an array named labels with the true class of each row")
        return self.labels


def read_data(path: str | os.PathLike[str]) -> Data:
    """Data of an `.npz` file with the arrays `logits` or `probs`, and `labels` where they are known."""
    arrays = _read_npz(path)
    if "logits" not in arrays and "probs" not in arrays:
        raise ValueError(f"{path}: expected an array named logits or probs, and one named labels")
    try:
        probs = None if "logits" in arrays else check_probs(arrays["probs"])
        logits = check_logits(arrays["logits"]) if probs is None else logits_from_probs(probs)
        labels = check_labels(arrays["labels"], *logits.shape) if "labels" in arrays else None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return Data(str(path), logits, probs, labels)


def _read_npz(path: str | os.PathLike[str]) -> dict[str, Array]:
    expected = f"{path}: expected an .npz file with logits (or probs) and labels"
    with open(path, "rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError(f"{expected}, got something else or a part of one")
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files if name in ("logits", "probs", "labels")}
        except (ValueError, EOFError, zipfile.BadZipFile, MemoryError, OverflowError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ValueError(f"{expected} ({reason})") from None


def write_arrays(path: str | os.PathLike[str], **arrays: Array) -> None:
    """Write named arrays to an `.npz` file."""
    with replaced(path) as file:
        np.savez(file, allow_pickle=False, **arrays)
