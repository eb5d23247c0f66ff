"""Summaries: all that binnings need to know of labelled logits, in memory that does not grow with them.

A summary holds, for every group of classes and cell of the log-odds line, how much lies in it and how much of that came
true (`problems.summarised`). Summaries of parts of the data add up to that of the whole, whoever made them.
"""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import kernels
from .arrays import Array, Floats, Ints, check_labels, check_logits, check_weights, rows_from
from .mapped import numbered, row_blocks
from .persist import read_record, write_record
from .problems import CELLS_PER_UNIT, REACH, Binary, group_classes, in_cells
from .records import IntVector, Square, record

__all__ = ["Summary", "summarise"]

MOST = 1 << 20  # cells of all groups together: where groups are many, cells are wider


@record
class Summary:
    """Labelled logits as cells of the log-odds line: mass of points (G, cells), mass of those that are hits, and mass
    of the smaller of their sigmoid and its complement, by group of classes.

    Summaries over the same `groups` (K,) can be added; `fit` takes one in place of logits and labels.
    """

    n_samples: int
    groups: IntVector
    points: Square
    hits: Square
    smaller: Square

    def check(self) -> None:
        shape = self.points.shape
        if self.hits.shape != shape or self.smaller.shape != shape or shape[0] < 1 or shape[1] != _cells(shape[0]):
            raise ValueError("Summary: expected points, hits and smaller of one shape (groups, cells)")
        if sorted(set(self.groups.tolist())) != list(range(shape[0])):
            raise ValueError(f"Summary.groups: expected every number from 0 to {shape[0] - 1}")
        for name in ("points", "hits", "smaller"):
            values = getattr(self, name)
            if not (np.isfinite(values) & (values >= 0)).all():
                raise ValueError(f"Summary.{name}: expected finite masses of at least 0")

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.groups)

    def __add__(self, other: object) -> "Summary":
        if not isinstance(other, Summary):
            return NotImplemented
        if not np.array_equal(self.groups, other.groups):
            raise ValueError("summary: expected one over the same groups of classes; summarise all parts with the same")
        tables = ("points", "hits", "smaller")
        sums = (getattr(self, name) + getattr(other, name) for name in tables)
        return Summary(self.n_samples + other.n_samples, self.groups, *sums)

    def __radd__(self, other: object) -> "Summary":
        """`sum` begins at 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def questions(self) -> list[Binary]:
        """The one-vs-rest question of each group, in cells."""
        rows = zip(self.points, self.hits, self.smaller, strict=True)
        return [in_cells(*row, self.points.shape[1] / (2 * REACH)) for row in rows]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this summary to a JSON file, which `Summary.load` reads."""
        write_record(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Summary":
        """The summary in a file that `save` wrote, the same to the last bit."""
        summary = read_record(path)
        if not isinstance(summary, Summary):
            raise ValueError(f"{path}: expected a Summary, got a {type(summary).__name__}")
        return summary


def summarise(
    logits: Any,
    labels: npt.ArrayLike | None = None,
    *,
    groups: npt.ArrayLike = "shared",
    weights: npt.ArrayLike | None = None,
) -> Summary:
    """The summary of logits (n, K) and labels (n,), or of an iterable of blocks of them: (logits, labels) or (logits,
    labels, weights), for data that do not fit into memory.

    `groups` and `weights` are those of `fit`; groups of similar prior need all labels at once.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> blocks = [(rng.normal(size=(100, 3)), rng.integers(3, size=100)) for _ in range(4)]
    >>> sum(summarise(*block) for block in blocks).n_samples == summarise(blocks).n_samples == 400
    True
    """
    if labels is None:
        return _of_blocks(logits, groups, weights)
    x = check_logits(logits)
    n, K = x.shape
    y, w = check_labels(labels, n, K), check_weights(weights, n)
    return summary_of(x, y, group_classes(groups, y, K, w), w)


def summary_of(logits: Array, labels: Ints, groups: Ints, weights: Floats | None) -> Summary:
    """The summary of checked samples."""
    cells = _cells(int(groups.max()) + 1)
    total: list[Floats] = []
    for rows in row_blocks(logits):
        w = None if weights is None else weights[rows]
        with rows_from(rows.start):
            part = kernels.summarise(logits[rows], labels[rows], w, groups, REACH, cells / (2 * REACH))
        total = [np.add(a, b, out=a) for a, b in zip(total, part, strict=True)] if total else list(part)
    points, hits, smaller = total
    return Summary(len(labels), groups, points, hits, smaller)


def _of_blocks(blocks: Any, groups: npt.ArrayLike, weights: npt.ArrayLike | None) -> Summary:
    if weights is not None:
        raise ValueError("weights: expected those of blocks in the blocks, as (logits, labels, weights)")
    if isinstance(groups, str) and groups == "prior":
        raise ValueError(
            'groups: "prior" needs all labels at once, which blocks do not give; give the group of each class as an '
            "array (K,)"
        )
    if isinstance(blocks, np.ndarray) or not isinstance(blocks, Iterable):
        raise ValueError("labels: expected the true class of each row, got none; only blocks bring theirs along")
    total, n_classes = None, None
    for i, block in enumerate(blocks):
        with numbered(i, "(logits, labels) or (logits, labels, weights)"):
            x, y, w = (*block, None) if len(block) == 2 else block
            part = summarise(check_logits(x, n_classes), y, groups=groups, weights=w)
        total, n_classes = part if total is None else total + part, part.n_classes
    if total is None:
        raise ValueError("logits: expected at least one block of (logits, labels), got none")
    return total


def _cells(n_groups: int) -> int:
    """Cells of each group's line, a power of two of them to the unit."""
    cells = round(2 * REACH * CELLS_PER_UNIT)
    while n_groups * cells > MOST and cells > 2 * REACH:
        cells //= 2
    return cells
