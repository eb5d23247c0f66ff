"""What a file of logits or probabilities holds, whichever format it is in."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from ..arrays import Array, Floats, Ints, check_labels, check_logits, check_matrix, check_probs, check_weights
from ..mapped import is_mapped
from ..numerics import logits_from_probs
from .npy import Packed, read_npy, read_npz
from .rows import Rows
from .tables import read_csv, read_parquet

__all__ = ["Data", "read_data"]

MAGIC = 6  # bytes that tell the formats apart
NAMES = ("logits", "probs", "labels", "classes")  # of the arrays that are read
Name = str | os.PathLike[str]
T = TypeVar("T")


@dataclass(frozen=True)
class Data:
    """What a file holds: rows of scores or of answers, its logits and probabilities (n, K), at least one of them;
    labels (n,), weights (n,) and the names of the classes (K,) where it has these."""

    path: str
    scores: Rows | None
    answers: Rows | None
    labels: Ints | None
    weights: Floats | None = None
    classes: tuple[str, ...] | None = None

    @property
    def held(self) -> bool:
        """Whether all of it is in memory."""
        return all(rows is None or rows.held for rows in (self.scores, self.answers))

    @cached_property
    def rows(self) -> Rows:
        """Logits, or the logarithms of the probabilities, block by block."""
        if self.scores is not None:
            return self.scores
        assert self.answers is not None
        return self.answers.through(logits_from_probs, np.dtype(np.float64))

    @cached_property
    def logits(self) -> Array:
        """The same in one array (n, K), mapped where it can be."""
        return self.rows.whole()

    @cached_property
    def probs(self) -> Array | None:
        """Probabilities (n, K) in one array, where the file has them."""
        return None if self.answers is None else self.answers.whole()

    def require_labels(self) -> Ints:
        if self.labels is None:
            raise ValueError(
                f"{self.path}: expected an array named labels with the true class of each row (in a table a column "
                "named label, for x_logits.npy a file x_labels.npy)"
            )
        return self.labels

    def ordered(self, classes: Sequence[str]) -> "Data":
        """The same with the classes in this order; data without names are taken to be in it."""
        if self.classes is None or self.classes == tuple(classes):
            return self
        missing = sorted(set(classes) ^ set(self.classes))
        if missing:
            raise ValueError(f"{self.path}: expected the classes of the fit, differs in {', '.join(missing[:5])}")
        order = [self.classes.index(name) for name in classes]
        labels = None if self.labels is None else np.argsort(order)[self.labels]
        scores, answers = (rows and rows.columns(order) for rows in (self.scores, self.answers))
        return replace(self, scores=scores, answers=answers, labels=labels, classes=tuple(classes))


def read_data(path: Name, *, probs: bool = False, label: str | None = None, weights: str | None = None) -> Data:
    """Data of a file; "-" is the standard input. What it holds tells the format, not its name.

    - `.npz`: arrays `logits` or `probs`, and `labels`; perhaps `classes`, the names of the classes.
    - `.npy`: one array, in a file named so: `x_logits.npy` or `x_probs.npy`, with `x_labels.npy` beside it.
    - `.csv`, `.parquet`: a column per class, named by it, and a column `label` (or the one named here). They hold
      logits unless `probs` says otherwise or their names do: `probs:NAME`.

    `weights` names the array or column with the mass of each sample.

    Large arrays of `.npy` and `.npz` files stay on disk. Nothing in a file is run, and a file that claims more than it
    holds is refused, with a `ValueError`.
    """
    name = "standard input" if os.fspath(path) == "-" else str(path)
    with _opened(path) as file:
        try:
            return _checked(name, _read(file, name, probs, label, weights), weights)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None


@contextmanager
def _opened(path: Name) -> Iterator[BinaryIO]:
    """A file to read from any place in it."""
    if os.fspath(path) == "-":
        yield BytesIO(sys.stdin.buffer.read())
        return
    with open(path, "rb") as file:
        yield file if file.seekable() else BytesIO(file.read())


def _read(file: BinaryIO, path: str, probs: bool, label: str | None, weights: str | None) -> dict[str, Any]:
    """Arrays by name: logits or probs or both; labels, weights and classes where it has them."""
    magic = file.read(MAGIC)
    file.seek(0)
    if not magic:
        raise ValueError("expected logits or probs, got an empty file")
    if magic.startswith(b"PK"):
        names = {name: name for name in NAMES} | ({"weights": weights} if weights else {})
        found = _foreign("an .npz file", read_npz, file, names.values())
        return {name: found[key] for name, key in names.items() if key in found}
    if magic.startswith(b"\x93NUMPY"):
        return _read_beside(file, Path(path), weights)
    read = read_parquet if magic.startswith(b"PAR1") else read_csv
    arrays, kind = read(file, label, weights)
    return _told(arrays, kind or ("probs" if probs else None))


def _read_beside(file: BinaryIO, path: Path, weights: str | None) -> dict[str, Any]:
    """The array of an `.npy` file, which its name tells the meaning of, and those in the files beside it."""
    kind = next((kind for kind in ("logits", "probs") if kind in path.stem), None)
    if kind is None:
        raise ValueError("expected logits or probs in the name of an .npy file, as in val_logits.npy")
    arrays = {kind: _foreign("an .npy file", read_npy, file)}
    for name, key in {"labels": "labels", "classes": "classes", "weights": weights}.items():
        other = path.with_name(path.name.replace(kind, key or ""))
        if key and other.exists():
            with open(other, "rb") as beside:
                arrays[name] = _foreign(f"an .npy file in {other.name}", read_npy, beside)
    return arrays


def _foreign(expected: str, read: Callable[..., T], *given: Any) -> T:
    """What NumPy or zipfile make of a file from anywhere, which can fail in any way."""
    try:
        return read(*given)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"expected {expected} with logits (or probs) and labels, got {reason:.200}") from None


def _told(arrays: dict[str, Array], kind: str | None) -> dict[str, Array]:
    """The numbers of a table under their own name. Nothing is guessed: what might be either must be told."""
    values = arrays.pop("values")
    if kind is None and values.size and ((values >= 0) & (values <= 1)).all():
        raise ValueError(
            "expected logits, got numbers from 0 to 1 alone; for probabilities say --probs (probs=True), for logits "
            "name the columns logits:NAME"
        )
    return {kind or "logits": values} | arrays


def _checked(path: str, arrays: dict[str, Any], weights: str | None) -> Data:
    answers = _rows(path, arrays["probs"], "probs", check_probs) if "probs" in arrays else None
    scores = _rows(path, arrays["logits"], "logits", check_logits) if "logits" in arrays else None
    known = scores or answers
    if known is None:
        raise ValueError("expected an array named logits or probs, and one named labels")
    if answers is not None and answers.shape != known.shape:
        raise ValueError(f"probs: expected the shape {known.shape} of the logits, got {answers.shape}")
    if weights is not None and "weights" not in arrays:
        raise ValueError(f"expected weights named {weights}")
    n, K = known.shape
    return Data(
        path,
        scores,
        answers,
        check_labels(arrays["labels"], n, K) if "labels" in arrays else None,
        check_weights(arrays["weights"], n) if weights is not None else None,
        _names(arrays["classes"], K) if "classes" in arrays else None,
    )


def _rows(path: str, found: Array | Packed, name: str, check: Callable[[Array], Array]) -> Rows:
    """Rows of a matrix: checked as a whole where it is in memory, block by block as they are read where it is not."""
    if not isinstance(found, Packed) and not is_mapped(found):
        return Rows.of(path, check(found))
    dtype = check_matrix(found.shape, found.dtype, name=name)
    if isinstance(found, Packed):
        return Rows(path, found.shape, dtype, found.read).through(check)
    if name == "logits" and found.dtype == dtype and found.flags.aligned:
        return Rows.of(path, check(found))
    return Rows.of(path, np.asarray(found)).through(check, dtype)


def _names(classes: Array, n_classes: int) -> tuple[str, ...]:
    names = tuple(str(name) for name in classes.ravel())
    if len(names) != n_classes or len(set(names)) < n_classes:
        raise ValueError(f"classes: expected {n_classes} different names, got {len(set(names))} in {len(names)}")
    return names
