"""One-vs-rest calibration: a method for two classes answers for K of them (paper, sec. 3.2).

`groups (K,)` says which member answers for each class, and that is all there is to class-wise, shared and grouped
calibration. Rows are never renormalised: after one-vs-rest each class stands for itself (paper, sec. A.1).
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from . import kernels
from .arrays import Array, Floats, Ints, rows_from
from .binning.histogram import Histogram, Sums, sums_of
from .mapped import row_blocks
from .numerics import log_sigmoid
from .records import IntVector, record

__all__ = ["OneVsRest", "Staged", "Values", "sums_of_rows"]

Lookup = tuple[Floats, Floats, Floats]
Values = Callable[[slice, Floats], Array]  # (rows, their log-odds (b, K)) -> (b, K)
BLOCK = 1 << 20  # log-odds held at a time


@record
class OneVsRest:
    """Calibrated probabilities (n, K) of logits (n, K): each class by the member of its group.

    Members are callables from log-odds to probabilities, such as `Histogram`.
    """

    groups: IntVector
    members: tuple[Callable[[Array], Array], ...]

    def check(self) -> None:
        if sorted(set(self.groups.tolist())) != list(range(len(self.members))):
            raise ValueError(f"OneVsRest.groups: expected every number from 0 to {len(self.members) - 1}")

    def __call__(self, logits: Array) -> Array:
        if logits.shape[1] != len(self.groups):
            raise ValueError(f"logits: expected {len(self.groups)} classes (columns), got {logits.shape[1]}")
        if self._lookup is not None:
            return kernels.apply(logits, *self._lookup, self.groups)
        out = np.empty(logits.shape, dtype=logits.dtype)
        for rows in row_blocks(logits, size=BLOCK):
            with rows_from(rows.start):
                out[rows] = self.from_logodds(kernels.logodds(logits[rows]))
        return out

    def from_logodds(self, logodds: Floats) -> Floats:
        """Probabilities (n, K) of log-odds (n, K)."""
        out = np.empty(logodds.shape)
        for g, member in enumerate(self.members):
            of = self.groups == g
            out[:, of] = member(logodds[:, of])
        return out

    @property
    def edges(self) -> list[Floats]:
        """Interior edges (M-1,) of each group's binning."""
        return [member.edges for member in self._binnings]

    @property
    def representatives(self) -> list[Floats]:
        """Representatives (M,) of each group's binning."""
        return [member.representatives for member in self._binnings]

    @property
    def _binnings(self) -> list[Any]:
        if not all(isinstance(member, Histogram) for member in self.members):
            raise AttributeError("only binned calibrators have edges and representatives")
        return list(self.members)

    @cached_property
    def _lookup(self) -> Lookup | None:
        """Edges, log sigmoid of the edges, and representatives of all groups, padded to one length; None where a
        member is no binning."""
        if not all(isinstance(member, Histogram) for member in self.members):
            return None
        most = max(len(edges) for edges in self.edges)
        edges = np.array([np.pad(e, (0, most - len(e)), constant_values=np.inf) for e in self.edges])
        values = np.array([np.pad(r, (0, most + 1 - len(r)), mode="edge") for r in self.representatives])
        return edges, log_sigmoid(edges), values


@record
class Staged:
    """A binning over a scaling whose log-odds it bins: `binned` takes the scores of `scaler` for logits."""

    scaler: Any
    binned: OneVsRest

    def check(self) -> None:
        if not hasattr(self.scaler, "scores"):
            raise ValueError(f"Staged.scaler: expected a scaling that has scores, got {type(self.scaler).__name__}")

    def __call__(self, logits: Array) -> Array:
        out = np.empty(logits.shape, dtype=logits.dtype)
        for rows in row_blocks(logits, size=BLOCK):
            with rows_from(rows.start):
                out[rows] = self.binned(self.scaler.scores(logits[rows]))
        return out

    @property
    def groups(self) -> Ints:
        """Group of each class (K,)."""
        return self.binned.groups

    @property
    def edges(self) -> list[Floats]:
        """Interior edges (M-1,) of each group's binning, in the log-odds of the scaling."""
        return self.binned.edges

    @property
    def representatives(self) -> list[Floats]:
        """Representatives (M,) of each group's binning."""
        return self.binned.representatives


def sums_of_rows(
    logits: Array, weights: Floats | None, groups: Ints, edges: list[Floats], values: Values
) -> list[Sums]:
    """Totals of each group's bins over the samples themselves; `values` says what is averaged."""
    total = [Sums(*np.zeros((3, len(e) + 1))) for e in edges]
    for rows in row_blocks(logits, size=BLOCK):
        with rows_from(rows.start):
            x = kernels.logodds(logits[rows])
        v = values(rows, x)
        w = np.ones(len(x)) if weights is None else weights[rows]
        for g, e in enumerate(edges):
            of = groups == g
            total[g] += sums_of(e, x[:, of].ravel(), np.repeat(w, of.sum()), v[:, of].ravel())
    return total
