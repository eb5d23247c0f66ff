"""Tables run on any set, in every format, with our numbers beside the printed ones."""

import json

import numpy as np
import pytest

from infocal.paper.lab import Lab
from infocal.paper.layout import FORMATS, grid_of, json_of
from infocal.paper.printed import printed
from infocal.paper.results import run_table
from infocal.paper.run import reproduce, targets
from infocal.paper.settings import Setting
from infocal.paper.tables import TABLES
from infocal.paper.trained import give_parts

LABEL = "tab:app_acc_fix_ImageNet_inceptionresnet"


def quiet(*_: object) -> None:
    """Progress that nobody looks at."""


@pytest.mark.parametrize("label", TABLES)
def test_every_table_runs(label: str, lab: Lab) -> None:
    result = run_table(TABLES[label], lab)
    values = np.array([[value.mean for value in row] for row in result.values])
    columns = [column.measure for column in TABLES[label].columns]
    without = [i for i, name in enumerate(columns) if name != "information"]
    assert np.isfinite(values[:, without]).all()
    assert (values[:, without] >= 0).all()


def test_values_are_means_over_splits(lab: Lab) -> None:
    table = TABLES[LABEL]
    result = run_table(table, lab)
    splits = 100 * lab.values(Setting("imax"), "accuracy*")
    value = result.values[3][1]
    assert value.mean == pytest.approx(splits.mean())
    assert value.std == pytest.approx(splits.std(ddof=1))
    assert value.printed == printed(LABEL, "I-Max", "accuracy*") == (80.33, None)
    assert value.difference == pytest.approx(splits.mean() - 80.33)


def test_one_split_has_no_deviation(lab: Lab) -> None:
    result = run_table(TABLES[LABEL], Lab(lab.samples, 1))
    assert np.isnan(result.values[0][0].std)
    assert "nan" not in FORMATS["text"](grid_of(result))


def test_parts_run_on_their_own_logits(lab: Lab) -> None:
    table, whole = TABLES["tab:during_training_calibration"], Lab(lab.samples, 2)
    other = Lab(lab.samples._replace(name="mixup", logits=lab.samples.logits / 2), 2)
    whole.parts["Mixup"] = other
    result = run_table(table, whole)
    assert result.ran_on == ("small", "mixup")
    assert result.values[0][0].mean == result.values[0][2].mean != result.values[0][4].mean


def test_imbalanced_table_runs_on_drawn_priors(lab: Lab) -> None:
    result = run_table(TABLES["tab:imbalanced_svhn_table"], lab)
    assert result.ran_on == ("small, SVHN priors",)
    assert lab.imbalanced.fitted(Setting("imax", groups="similar"), 0).groups.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2, 2]


def test_formats_hold_the_same_words(lab: Lab) -> None:
    grid = grid_of(run_table(TABLES[LABEL], lab))
    set_text = {name: form(grid) for name, form in FORMATS.items()}
    for text in set_text.values():
        assert "80.33" in text
        assert text.count("paper") >= 4
    assert set_text["latex"].count(r"\\") == 1 + len(grid.rows)
    assert set_text["markdown"].count("\n|") == 2 + len(grid.rows)
    assert len({line.count("|") for line in set_text["markdown"].splitlines() if line.startswith("|")}) == 1


def test_json_is_json(lab: Lab) -> None:
    content = json.loads(json.dumps(json_of(run_table(TABLES["table:cw_vs_cw_merge_binning"], lab)), allow_nan=False))
    unknown = [cell for cell in content["cells"] if cell["mean"] is None]
    assert {(cell["row"], cell["column"]) for cell in unknown} == {("Baseline", "information")}


def test_targets() -> None:
    everything = targets(["all"])
    assert everything.tables == tuple(TABLES)
    assert everything.claims
    assert targets(["MI_exp"]).figures == ("fig:MI_exp",)
    with pytest.raises(ValueError, match=r"LABEL: expected .* got 'nothing'"):
        targets(["nothing"])


def test_tables_run_on_the_set_they_are_of(lab: Lab) -> None:
    sets = [Lab(lab.samples._replace(name=name), 1, store=lab.store) for name in ("cifar10_x", "cifar100_x", "other")]
    labels = ["app_tab1_CIFAR100_wrn", "app_tab1_CIFAR10_wrn", "app_tab1_ImageNet_densenet"]
    found = reproduce(targets(labels), sets, quiet)
    ran_on = {result.table.label: result.ran_on for result in found.tables}
    assert ran_on["tab:app_tab1_CIFAR100_wrn"] == ("cifar100_x",)
    assert ran_on["tab:app_tab1_CIFAR10_wrn"] == ("cifar10_x",)
    assert ran_on["tab:app_tab1_ImageNet_densenet"] == ("cifar10_x",)


def test_progress_counts_every_step(lab: Lab) -> None:
    told: list[tuple[int, int]] = []
    reproduce(targets([LABEL, "SkvsSmerge"]), [lab], lambda done, steps, _: told.append((done, steps)))
    steps = 4 * lab.splits + 1
    assert told == [(i, steps) for i in range(steps + 1)]


def test_files_of_three_trainings_are_its_parts(lab: Lab) -> None:
    sets = [
        Lab(lab.samples._replace(name=f"made_{name}"), 1, store=lab.store) for name in ("plain", "entropy", "mixup")
    ]
    give_parts(sets)
    result = run_table(TABLES["tab:during_training_calibration"], sets[0])
    assert result.ran_on == ("made_plain", "made_entropy", "made_mixup")


def test_packaged_logits_are_the_parts_otherwise(lab: Lab) -> None:
    whole = Lab(lab.samples, 1)
    give_parts([whole])
    names = {part: of.samples.name for part, of in whole.parts.items()}
    assert names == {
        "No Train Calibration": "fashion_plain",
        "Entr. Reg.": "fashion_entropy",
        "Mixup": "fashion_mixup",
    }
    assert all(of.samples.balanced for of in whole.parts.values())


def test_wide_headings_are_broken(lab: Lab) -> None:
    grid = grid_of(run_table(TABLES["table:bigcomparison"], lab))
    lines = FORMATS["text"](grid).splitlines()
    assert "CIFAR100 (WRN)" in lines[2]
    assert "top-1 ECE" in lines[3]
    assert max(map(len, lines)) < 250
