"""What the paper prints: mean and standard deviation over five splits by table, row and column, from `printed.csv`.

Accuracies are percentages there. Means are the paper's digits; tables of its main part have no deviations.
"""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

__all__ = ["Printed", "printed"]


class Printed(NamedTuple):
    """A printed number, and its standard deviation where there is one."""

    value: float
    std: float | None


@cache
def _all() -> dict[tuple[str, str, str], Printed]:
    with files(__package__).joinpath("printed.csv").open(encoding="utf-8") as file:
        return {
            (line["table"], line["row"], line["column"]): Printed(
                float(line["value"]), float(line["std"]) if line["std"] else None
            )
            for line in csv.DictReader(file)
        }


def printed(table: str, row: str, column: str) -> Printed | None:
    """The number of a cell; None where the paper leaves it out.

    >>> printed("tab:app_tab2_CIFAR100_wrn", "I-Max", "top1_ece")
    Printed(value=0.0231, std=0.0067)
    """
    return _all().get((table, row, column))
