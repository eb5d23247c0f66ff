"""The printed numbers are the paper's: each is a cell of a table, and each number of the paper's source is there."""

import csv
import re
from collections import Counter
from importlib.resources import files
from itertools import chain

import pytest

from conftest import SHARED, needs_shared
from infocal.paper.figures import FIGURES
from infocal.paper.printed import printed
from infocal.paper.tables import TABLES

SPANNING = {"I-Max", "I-Max w. GP"}  # rows of tab:app_ece_evals with one number for all schemes


def lines() -> list[dict[str, str]]:
    with files("infocal.paper").joinpath("printed.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def paper() -> str:
    return next((SHARED / "paper").glob("*.txt")).read_text()


def numbers(label: str) -> Counter[float]:
    """Every number with a decimal point in the body of a table of the paper's source, comments left out."""
    text = re.sub(r"(?<!\\)%.*", "", paper())
    environments = re.findall(r"\\begin\{table\*?\}.*?\\end\{table\*?\}", text, re.DOTALL)
    body = next(part for part in environments if rf"\label{{{label}}}" in part)
    tabular = re.search(r"\\begin\{tabular\}\{.*?\}\s*\n(.*)\\end\{tabular\}", body, re.DOTALL)
    assert tabular
    clean = re.sub(r"\[gray\]\{[\d.]+\}|\\setlength.*|\\renewcommand.*", "", tabular[1])
    return Counter(float(number) for number in re.findall(r"\d+\.\d+", clean))


def test_each_line_is_a_cell() -> None:
    cells = {(t.label, row.name, column.name) for t in TABLES.values() for row in t.rows for column in t.columns}
    found = [(line["table"], line["row"], line["column"]) for line in lines()]
    assert set(found) <= cells
    assert len(set(found)) == len(found)


def test_each_row_is_printed() -> None:
    rows = {(line["table"], line["row"]) for line in lines()}
    assert rows == {(table.label, row.name) for table in TABLES.values() for row in table.rows}


def test_unprinted_cells_are_none() -> None:
    assert printed("table:cw_vs_cw_merge_binning", "Baseline", "information") is None
    assert printed("table:bigcomparison", "TS", "CIFAR100 (WRN): top1_ece") == (0.0511, None)


@needs_shared
@pytest.mark.parametrize("label", TABLES)
def test_numbers_are_those_of_the_source(label: str) -> None:
    told = [line for line in lines() if line["table"] == label]
    if label == "tab:app_ece_evals":
        # a number over all schemes is there once; the accuracy of either half is told once
        told = [t for t in told if not (t["row"] in SPANNING and t["column"].split("_")[-1] in ("mass", "kmeans"))]
        told = [t for t in told if not (t["row"] in SPANNING and t["column"].split("_")[-1] in ("imax", "kde-logodds"))]
        told = [t for t in told if not (t["row"] in SPANNING and t["column"].endswith("mean"))]
        told += [t for t in told if t["column"] == "accuracy"]
    ours = Counter(float(x) for x in chain.from_iterable((t["value"], t["std"]) for t in told) if x)
    assert ours == numbers(label)


@needs_shared
def test_every_label_is_there() -> None:
    labels = re.findall(r"\\label\{((?:tab|table|fig):[^}]*)\}", paper())
    assert set(labels) == {*TABLES, *FIGURES}
