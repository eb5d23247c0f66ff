"""Results as files that the same commands read again."""

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..arrays import Array, Ints
from .whole import replaced

__all__ = ["FORMATS", "check_format", "write_arrays", "write_blocks", "write_probs"]

Name = str | os.PathLike[str]
FORMATS = (".npz", ".npy", ".csv", ".parquet")


def write_arrays(path: Name, **arrays: Array) -> None:
    """Write named arrays to an `.npz` file."""
    with replaced(path) as file:
        np.savez(file, allow_pickle=False, **arrays)


def check_format(path: Name) -> str:
    """The format that a name asks for; "-", the standard output, asks for `.csv`."""
    suffix = ".csv" if os.fspath(path) == "-" else Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"{path}: expected a name that ends in {', '.join(FORMATS)}, or - for CSV to standard output")
    if suffix == ".parquet":
        _pyarrow()
    return suffix


def write_probs(path: Name, probs: Array, labels: Ints | None, classes: Sequence[str] | None) -> None:
    """Write probabilities (n, K), labels and names of classes in the format that the name asks for.

    Columns of tables are named `probs:NAME`, so that nobody takes them for logits.
    """
    suffix = check_format(path)
    if suffix == ".npz":
        known = {"labels": labels, "classes": None if classes is None else np.array(classes)}
        write_arrays(path, probs=probs, **{name: array for name, array in known.items() if array is not None})
        return
    names = [f"probs:{name}" for name in classes or range(probs.shape[1])]
    with replaced(path) as file:
        if suffix == ".npy":
            np.save(file, probs, allow_pickle=False)
        elif suffix == ".csv":
            _write_csv(file, names, probs, _named(labels, classes))
        else:
            _write_parquet(file, names, probs, _named(labels, classes))


def write_blocks(path: Name, blocks: Iterable[Array], shape: tuple[int, ...], dtype: Any) -> None:
    """Write an array of this shape and type to an `.npy` file, from blocks of its rows, without ever holding it."""
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    with replaced(path) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks:
            file.write(np.ascontiguousarray(block).data)


def _named(labels: Ints | None, classes: Sequence[str] | None) -> list[Any] | None:
    if labels is None:
        return None
    return labels.tolist() if classes is None else [classes[y] for y in labels]


def _write_csv(file: BinaryIO, names: list[str], probs: Array, labels: list[Any] | None) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names if labels is None else [*names, "label"])
        cell = "{:.9g}".format if probs.dtype == np.float32 else repr  # digits that read back the same
        for i, row in enumerate(probs):
            cells = list(map(cell, row.tolist()))
            writer.writerow(cells if labels is None else [*cells, labels[i]])
        text.flush()
    finally:
        text.detach()


def _write_parquet(file: BinaryIO, names: list[str], probs: Array, labels: list[Any] | None) -> None:
    pyarrow = _pyarrow()
    columns = dict(zip(names, probs.T, strict=True)) | ({} if labels is None else {"label": labels})
    table = pyarrow.table({name: pyarrow.array(column) for name, column in columns.items()})
    pyarrow.parquet.write_table(table, file)


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError("Parquet needs pyarrow: pip install 'infocal[parquet]'") from None
    return pyarrow
