"""Results as text, Markdown, LaTeX and JSON. The first three are one grid of words, set three ways."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .results import TableResult, Value
from .tables import Column

__all__ = ["FORMATS", "Grid", "Set", "grid_of", "json_of"]

MEASURES = {
    "information": "I(y; bin)",
    "accuracy": "accuracy",
    "accuracy_top5": "top-5 accuracy",
    "cw_ece_0": "class-wise ECE",
    "cw_ece_1/K": "class-wise ECE > 1/K",
    "cw_ece_prior": "class-wise ECE > prior",
    "cw_ece_0.5": "class-wise ECE > 0.5",
    "top1_ece": "top-1 ECE",
    "nll_normalised": "NLL",
    "brier_top1": "Brier",
}
SCHEMES = {"size": "dECE", "mass": "mECE", "kmeans": "kECE", "imax": "iECE", "kde-logodds": "kdeECE", "mean": "mean"}
KINDS = {"cw": "class-wise", "top1": "top-1"}


class Grid(NamedTuple):
    """A table of words: a line above it, headings, rows, and a line below it."""

    label: str
    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


Set = Callable[[Grid], str]


def grid_of(result: TableResult) -> Grid:
    """Three rows for each of the table's: ours, the paper's, the difference."""
    table = result.table
    headings = ("", "", *(_heading(column) for column in table.columns))
    rows = []
    for row, values in zip(table.rows, result.values, strict=True):
        forms = [_form(column) for column in table.columns]
        for i, (who, told) in enumerate((("ours", _ours), ("paper", _theirs), ("difference", _difference))):
            cells = (told(value, form) for value, form in zip(values, forms, strict=True))
            rows.append(("" if i else row.name, who, *cells))
    note = f"Printed for {table.printed_for}; ours on {', '.join(result.ran_on)}."
    return Grid(table.label, table.title, headings, tuple(rows), note)


def _heading(column: Column) -> str:
    starred, plain = column.measure.endswith("*"), column.measure.removesuffix("*")
    name = MEASURES.get(plain, "")
    if not name:
        kind, scheme = plain.split("_", 1)
        name = f"{KINDS[kind]} {SCHEMES[scheme]}"
    return (f"{column.part}: " if column.part else "") + name + ("*" if starred else "")


def _form(column: Column) -> str:
    if column.measure.startswith("accuracy"):
        return ".2f"
    return ".6f" if column.measure == "cw_ece_0" else ".4f"


def _ours(value: Value, form: str) -> str:
    if np.isnan(value.mean):
        return "-"
    return f"{value.mean:{form}}" + ("" if np.isnan(value.std) else f" ± {value.std:{form}}")


def _theirs(value: Value, form: str) -> str:
    if value.printed is None:
        return "-"
    std = "" if value.printed.std is None else f" ± {value.printed.std:{form}}"
    return f"{value.printed.value:{form}}{std}"


def _difference(value: Value, form: str) -> str:
    return "" if value.difference is None else f"{value.difference:+{form}}"


# -- settings ------------------------------------------------------------------------------------------------------


def set_text(grid: Grid) -> str:
    """Columns of equal width; what a heading is a part of stands above it."""
    parts = [heading.rpartition(": ") for heading in grid.headings]
    above = [tuple(part for part, _, _ in parts)] if any(part for part, _, _ in parts) else []
    lines = [*above, tuple(name for _, _, name in parts), *grid.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    set_lines = ["  ".join(_aligned(line, widths)).rstrip() for line in lines]
    return "\n".join([f"{grid.label}: {grid.title}", "", *set_lines, *([grid.note] if grid.note else []), ""])


def _aligned(line: tuple[str, ...], widths: list[int]) -> list[str]:
    pairs = enumerate(zip(line, widths, strict=True))
    return [text.ljust(width) if i < 2 else text.rjust(width) for i, (text, width) in pairs]


def set_markdown(grid: Grid) -> str:
    """A pipe table."""
    headings = tuple(heading.replace(": ", ":<br>") for heading in grid.headings)
    rule = ["---" if i < 2 else "---:" for i in range(len(grid.headings))]
    lines = [f"| {' | '.join(line)} |" for line in (headings, rule, *grid.rows)]
    return "\n".join([f"## `{grid.label}`", "", f"{grid.title}. {grid.note}".strip(), "", *lines, ""])


def set_latex(grid: Grid) -> str:
    """A table with the rules of booktabs."""
    lines = [" & ".join(map(_escaped, line)) + r" \\" for line in (grid.headings, *grid.rows)]
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{_escaped(grid.title)}. {_escaped(grid.note)}}}",
            rf"\label{{{grid.label}}}",
            rf"\begin{{tabular}}{{ll{'r' * (len(grid.headings) - 2)}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _escaped(text: str) -> str:
    for plain, set_ in (("_", r"\_"), ("%", r"\%"), (" ± ", r" $\pm$ "), (" > ", " $>$ ")):
        text = text.replace(plain, set_)
    return text


FORMATS: dict[str, Set] = {"text": set_text, "markdown": set_markdown, "latex": set_latex}


def json_of(result: TableResult) -> dict[str, Any]:
    """The same as an object: a list of cells."""
    cells = [
        {
            "row": row.name,
            "column": column.name,
            "mean": _known(value.mean),
            "std": _known(value.std),
            "splits": [_known(x) for x in value.splits],
            "printed": None if value.printed is None else value.printed._asdict(),
            "difference": value.difference,
        }
        for row, values in zip(result.table.rows, result.values, strict=True)
        for column, value in zip(result.table.columns, values, strict=True)
    ]
    return {
        "label": result.table.label,
        "title": result.table.title,
        "printed_for": result.table.printed_for,
        "ran_on": list(result.ran_on),
        "cells": cells,
    }


def _known(x: float) -> float | None:
    return None if np.isnan(x) else x
