"""The table on the terminal: 100 columns, one row for each operation and package."""

from typing import Any, NamedTuple

import numpy as np

from .measure import Cost, best_time

__all__ = ["NOTHING", "Row", "heading", "line"]

NOTHING = Cost(float("nan"), float("nan"))


class Row(NamedTuple):
    """What an operation costs a package, on one thread and on many."""

    operation: str
    package: str
    note: str = ""
    one: Cost = NOTHING
    many: Cost = NOTHING


def heading(logits: np.ndarray[Any, Any], threads: int) -> str:
    """Names of the columns, and what one unit of them is."""
    n, n_classes = logits.shape
    copy = np.empty_like(logits)
    milliseconds = 1e3 * best_time(lambda: np.copyto(copy, logits), 0.3, least=10)
    title = (
        f"\n{n:,} x {n_classes:,} float32: times are multiples of np.copyto of it ({milliseconds:.3g} ms, 1 thread),\n"
        f"of processor time on one thread and of time on more; memory is what is held beyond input and\n"
        f"result, as a multiple of the input ({logits.nbytes / 1e6:.3g} MB)\n"
    )
    many = f"{threads} threads" if threads > 1 else ""
    return f"{title}\n{'':<22} {'':<23}{'1 thread':>9}{many:>11}{'memory':>9}   target"


def line(row: Row, target: float | None = None) -> str:
    """One row of the table."""
    text = f"{row.operation:<22} {row.package:<23}"
    if np.isnan(row.one.time):
        return f"{text} {row.note:>8}"
    mark = row.note if target is None else f"{target:g} {'met' if row.one.time <= target else 'MISSED'}"
    return f"{text}{_number(row.one.time):>9}{_number(row.many.time):>11}{row.one.memory:>9.2f}   {mark}".rstrip()


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.1f}" if value < 100 else f"{value:,.0f}"
