"""Results as files that the same commands read again."""

import csv
import io
import os
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from ..arrays import Array, Ints
from .rows import Rows
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


def write_probs(path: Name, probs: Array | Rows, labels: Ints | None, classes: Sequence[str] | None) -> None:
    """Write probabilities (n, K), labels and names of classes in the format that the name asks for, block by block.

    Columns of tables are named `probs:NAME`, so that nobody takes them for logits.
    """
    suffix = check_format(path)
    rows = probs if isinstance(probs, Rows) else Rows.of(str(path), probs)
    names = [f"probs:{name}" for name in classes or range(rows.shape[1])]
    with replaced(path) as file:
        if suffix == ".npy":
            _write_npy(file, rows.blocks(), rows.shape, rows.dtype)
        elif suffix == ".npz":
            _write_npz(file, rows, labels=labels, classes=None if classes is None else np.array(classes))
        elif suffix == ".csv":
            _write_csv(file, names, rows, _named(labels, classes))
        else:
            _write_parquet(file, names, rows, _named(labels, classes))


def write_blocks(path: Name, blocks: Iterable[Array], shape: tuple[int, ...], dtype: Any) -> None:
    """Write an array of this shape and type to an `.npy` file, from blocks of its rows, without ever holding it."""
    with replaced(path) as file:
        _write_npy(file, blocks, shape, dtype)


def _write_npy(file: IO[bytes], blocks: Iterable[Array], shape: tuple[int, ...], dtype: Any) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for block in blocks:
        file.write(np.ascontiguousarray(block).data)
        del block  # the next one may have its memory


def _write_npz(file: BinaryIO, rows: Rows, **more: Array | None) -> None:
    """What `np.savez` writes, the rows under the name of probs."""
    with zipfile.ZipFile(file, "w") as archive:
        with archive.open("probs.npy", "w", force_zip64=True) as member:
            _write_npy(member, rows.blocks(), rows.shape, rows.dtype)
        for name, array in more.items():
            if array is not None:
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)


def _named(labels: Ints | None, classes: Sequence[str] | None) -> list[Any] | None:
    if labels is None:
        return None
    return labels.tolist() if classes is None else [classes[y] for y in labels]


def _write_csv(file: BinaryIO, names: list[str], rows: Rows, labels: list[Any] | None) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names if labels is None else [*names, "label"])
        cell = "{:.9g}".format if rows.dtype == np.float32 else repr  # digits that read back the same
        for part, block in rows:
            for i, row in enumerate(block, part.start):
                cells = list(map(cell, row.tolist()))
                writer.writerow(cells if labels is None else [*cells, labels[i]])
        text.flush()
    finally:
        text.detach()


def _write_parquet(file: BinaryIO, names: list[str], rows: Rows, labels: list[Any] | None) -> None:
    pyarrow = _pyarrow()
    writer = None
    for part, block in rows:
        columns = dict(zip(names, block.T, strict=True)) | ({} if labels is None else {"label": labels[part]})
        table = pyarrow.table({name: pyarrow.array(column) for name, column in columns.items()})
        writer = writer or pyarrow.parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError("Parquet needs pyarrow: pip install 'infocal[parquet]'") from None
    return pyarrow
