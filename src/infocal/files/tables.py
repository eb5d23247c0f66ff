"""Tables, `.csv` and `.parquet`: one column per class, a column of labels, and perhaps one of weights.

Class columns are all columns that are neither; or, where some are named `logits:NAME` or `probs:NAME`, those alone.
Labels are names of classes or, where no class is named by a number, their places from 0 on.
"""

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from ..arrays import Array, Ints
from .npy import check_growth

__all__ = ["LABELS", "read_csv", "read_parquet"]

LABELS = ("label", "labels")  # names of the column of labels, unless another is asked for
KINDS = ("logits", "probs")


@dataclass(frozen=True)
class Columns:
    """Which of so many columns (by place) are what; `kind` is None where their names do not say it."""

    width: int
    kind: str | None
    classes: tuple[str, ...]
    values: tuple[int, ...]
    labels: int | None
    weights: int | None


def columns_of(header: Sequence[str], label: str | None, weights: str | None) -> Columns:
    """What the columns of these names are."""
    _check_header(header)
    for name in (label, weights):
        if name is not None and name not in header:
            raise ValueError(f"expected a column named {name}, got {_some(header)}")
    place = {name: i for i, name in enumerate(header)}
    labels = next((place[name] for name in ((label,) if label else LABELS) if name in place), None)
    mass = None if weights is None else place[weights]
    kinds = [kind for kind in KINDS if any(name.startswith(f"{kind}:") for name in header)]
    if len(kinds) > 1:
        raise ValueError("expected columns of logits or of probs, got both")
    kind = kinds[0] if kinds else None
    prefix = f"{kind}:" if kind else ""
    values = tuple(i for i, name in enumerate(header) if i not in (labels, mass) and name.startswith(prefix))
    if len(values) < 2:
        raise ValueError(f"expected a column for each of 2 or more classes, got {_some(header)}")
    return Columns(len(header), kind, tuple(header[i].removeprefix(prefix) for i in values), values, labels, mass)


def _check_header(header: Sequence[str]) -> None:
    if "" in header:
        raise ValueError(f"expected a name for each column, got none for column {list(header).index('') + 1}")
    if len(set(header)) < len(header):
        twice = next(name for i, name in enumerate(header) if name in header[:i])
        raise ValueError(f"expected different names of columns, got {twice!r} twice")
    number = next((name for name in header if _number(name) and not name.isdecimal()), None)
    if number is not None:
        raise ValueError(f"expected the names of the columns in the first line, got the number {number}")


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.lower() not in ("nan", "inf", "infinity")  # which might be names


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f", ... {len(names)} in all" if len(names) > 5 else "")


# -- text ----------------------------------------------------------------------------------------------------------


def read_csv(file: BinaryIO, label: str | None, weights: str | None) -> tuple[dict[str, Array], str | None]:
    """The arrays of a text table, parted by tabs, semicolons or commas, whichever its first line has."""
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    try:
        first = lines.readline()
        parted = next((sign for sign in "\t;" if sign in first), ",")
        reader = csv.reader(itertools.chain([first], lines), delimiter=parted)
        columns = columns_of([name.strip() for name in next(reader)], label, weights)
        rows = _rows(reader, columns.width)
        return _arrays(columns, rows), columns.kind
    except UnicodeDecodeError:
        raise ValueError("expected an .npz, .npy, .csv or .parquet file, got something else") from None
    except csv.Error as error:
        raise ValueError(str(error)) from None
    finally:
        lines.detach()  # closing belongs to who opened


def _rows(reader: Any, width: int) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row."""
    for row in reader:
        if row and len(row) != width:
            raise ValueError(f"expected {width} cells as in the first line, got {len(row)} in line {reader.line_num}")
        if row:
            yield reader.line_num, row


def _arrays(columns: Columns, rows: Iterable[tuple[int, list[str]]]) -> dict[str, Array]:
    values, labels, weights = [], [], []
    for line, row in rows:
        values.append(_numbers(line, [row[i] for i in columns.values], columns.classes))
        if columns.labels is not None:
            labels.append(row[columns.labels])
        if columns.weights is not None:
            weights.append(_numbers(line, [row[columns.weights]], ("of weights",)))
    if not values:
        raise ValueError("expected rows of numbers, got a header alone")
    arrays = {"values": np.array(values), "classes": np.array(columns.classes, dtype=str)}
    if columns.labels is not None:
        arrays["labels"] = places(labels, columns.classes)
    return arrays | ({"weights": np.concatenate(weights)} if weights else {})


def _numbers(line: int, cells: list[str], names: Sequence[str]) -> Array:
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        for name, cell in zip(names, cells, strict=True):
            try:
                float(cell)
            except ValueError:
                shown = f"{cell:.20}"
                raise ValueError(f"expected numbers, got {shown!r} in line {line}, column {name}") from None
        raise


def places(labels: Sequence[str], classes: tuple[str, ...]) -> Ints:
    """The class (n,) that each label names."""
    place = {name: k for k, name in enumerate(classes)}
    if not any(name.isdecimal() for name in classes):
        place |= {str(k): k for k in range(len(classes))}
    found = np.array([place.get(label.strip(), -1) for label in labels], dtype=np.int64)
    if (found < 0).any():
        row = int((found < 0).argmax())
        wrong = f"{labels[row]:.20}"
        raise ValueError(f"labels: expected one of the classes {_some(classes)}, got {wrong!r} in row {row}")
    return found


# -- parquet -------------------------------------------------------------------------------------------------------


def read_parquet(file: BinaryIO, label: str | None, weights: str | None) -> tuple[dict[str, Array], str | None]:
    """The arrays of a Parquet table."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError("Parquet needs pyarrow: pip install 'infocal[parquet]'") from None
    try:
        opened = pyarrow.parquet.ParquetFile(file)
        facts = opened.metadata
        check_growth(8 * facts.num_rows * facts.num_columns, facts.serialized_size + file.seek(0, io.SEEK_END))
        table = opened.read()
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(str(error).splitlines()[0]) from None
    columns = columns_of(table.column_names, label, weights)
    if not table.num_rows:
        raise ValueError("expected rows of numbers, got none")
    arrays = {
        "values": np.column_stack([_column(table, i) for i in columns.values]),
        "classes": np.array(columns.classes, dtype=str),
    }
    if columns.labels is not None:
        labels = [str(label) for label in table.column(columns.labels).to_pylist()]
        arrays["labels"] = places(labels, columns.classes)
    return arrays | ({} if columns.weights is None else {"weights": _column(table, columns.weights)}), columns.kind


def _column(table: Any, i: int) -> Array:
    column = table.column(i)
    if column.null_count:
        raise ValueError(f"expected numbers, got {column.null_count} missing ones in column {table.column_names[i]}")
    values = np.asarray(column.to_numpy())
    if values.dtype.kind not in "fiu":
        raise ValueError(f"expected numbers, got {column.type} in column {table.column_names[i]}")
    return values
