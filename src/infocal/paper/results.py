"""Tables run: our numbers beside the printed ones."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .lab import Cell, Lab
from .printed import Printed, printed
from .settings import Setting
from .tables import Column, Row, Table, setting_of

__all__ = ["TableResult", "Value", "plan", "run_table"]


class Value(NamedTuple):
    """Our mean and standard deviation over splits, and what the paper prints; accuracies in per cent."""

    mean: float
    std: float
    splits: tuple[float, ...]
    printed: Printed | None

    @property
    def difference(self) -> float | None:
        """Ours less theirs, where both exist."""
        return None if self.printed is None or np.isnan(self.mean) else self.mean - self.printed.value


class TableResult(NamedTuple):
    """A table run on a set of logits: a row of values for each of its rows."""

    table: Table
    ran_on: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]


def plan(tables: Iterable[Table], lab: Lab) -> list[tuple[Lab, Cell]]:
    """The cells that tables need, each once and with the lab that computes it."""
    needs: dict[int, tuple[Lab, list[tuple[Setting, str]]]] = {}
    for table in tables:
        for row in table.rows:
            for column in table.columns:
                at = lab.of(table, column.part)
                needs.setdefault(id(at), (at, []))[1].append((setting_of(row, column), column.measure))
    return [(at, cell) for at, asked in needs.values() for cell in at.plan(asked)]


def run_table(table: Table, lab: Lab) -> TableResult:
    """A table on a lab's set of logits."""
    values = tuple(tuple(_value(table, lab, row, column) for column in table.columns) for row in table.rows)
    labs = dict.fromkeys(lab.of(table, column.part).samples.name for column in table.columns)
    return TableResult(table, tuple(labs), values)


def _value(table: Table, lab: Lab, row: Row, column: Column) -> Value:
    scale = 100.0 if column.measure.startswith("accuracy") else 1.0
    splits = scale * lab.of(table, column.part).values(setting_of(row, column), column.measure)
    theirs = printed(table.label, row.name, column.name)
    std = float(splits.std(ddof=1)) if len(splits) > 1 else np.nan
    return Value(float(splits.mean()), std, tuple(splits.tolist()), theirs)
