"""A cell is computed once, survives a stop, and is what `fit` and `evaluate` say."""

from pathlib import Path

import numpy as np
import pytest

import infocal
from infocal.paper.lab import Cell, Lab
from infocal.paper.settings import FULL, Setting
from infocal.paper.splits import Samples
from infocal.paper.store import Store, fingerprint


@pytest.mark.parametrize("recipe", ["imax+gp", "eqsize+temperature", "eqmass+beta", "imax+isotonic"])
def test_shared_fits_change_nothing(lab: Lab, recipe: str) -> None:
    setting, half = Setting(recipe, 400), lab.cal(1, 400)
    whole = infocal.fit(recipe, *half, solver="alternating", rng=1)
    ours = lab.fitted(setting, 1)
    np.testing.assert_array_equal(ours(lab.test(1).logits), whole(lab.test(1).logits))
    assert ours.fit_info["information"] == whole.fit_info["information"]


def test_report_is_of_the_other_half(lab: Lab) -> None:
    half = lab.test(0)
    probs = infocal.fit("temperature", *lab.cal(0, 1000))(half.logits)
    for name, value in infocal.evaluate(probs, half.labels).items():
        assert lab.value(Setting("temperature"), name, 0) == value
    tied = infocal.evaluate(probs, half.labels, ties=half.logits)
    assert lab.value(Setting("temperature"), "top1_ece*", 0) == tied["top1_ece"]


def test_schemes_are_those_of_the_metric(lab: Lab) -> None:
    half = lab.test(0)
    probs = lab.fitted(Setting("temperature"), 0)(half.logits)
    found = [lab.value(Setting("temperature"), f"cw_{scheme}", 0) for scheme in ("size", "mass", "imax")]
    wanted = [
        infocal.metrics.ece(probs, half.labels, kind="classwise", scheme=scheme, threshold="1/K")
        for scheme in ("size", "mass", "imax")
    ]
    assert found == wanted


def test_information_is_below_its_limit(lab: Lab) -> None:
    for setting in (Setting("imax"), Setting("eqmass"), Setting("imax", FULL, "classwise", representatives="own")):
        kept, most = (lab.values(setting, name) for name in ("information", "information_limit"))
        assert (kept > 0).all()
        assert (kept <= most + 1e-12).all()


def test_what_a_set_lacks_is_unknown(samples: Samples) -> None:
    few = Samples("few", samples.logits[:, :3], np.minimum(samples.labels, 2))
    assert np.isnan(Lab(few, 1).values(Setting("eqsize"), "accuracy_top5")).all()
    assert np.isnan(Lab(few, 1).values(Setting("temperature"), "information")).all()


def test_matrix_penalties_are_chosen_once(lab: Lab) -> None:
    setting = Setting("matrix", FULL)
    methods = [lab.fitted(setting, split).method for split in (1, 0)]
    assert methods[0].off_diagonal == methods[1].off_diagonal  # type: ignore[attr-defined]


def test_a_stopped_run_goes_on(samples: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell(Setting("eqsize"), 0, "report")
    first = Lab(samples, 1, store=Store(tmp_path)).compute(cell)
    monkeypatch.setattr(Lab, "fitted", lambda *_: pytest.fail("computed again"))
    assert Lab(samples, 1, store=Store(tmp_path)).compute(cell) == first


def test_a_broken_cell_is_computed_again(samples: Samples, tmp_path: Path) -> None:
    cell = Cell(Setting("eqsize"), 0, "report")
    first = Lab(samples, 1, store=Store(tmp_path)).compute(cell)
    [path] = tmp_path.rglob("*.json")
    path.write_bytes(path.read_bytes()[:20])
    assert Lab(samples, 1, store=Store(tmp_path)).compute(cell) == first


def test_cells_are_kept_apart(samples: Samples) -> None:
    other = Samples(samples.name, samples.logits + 1e-9, samples.labels)
    names = {fingerprint(samples, "exact"), fingerprint(samples, "alternating"), fingerprint(other, "exact")}
    assert len(names) == 3


def test_plan_names_each_cell_once(lab: Lab) -> None:
    needs = [(Setting("imax"), "accuracy"), (Setting("imax"), "top1_ece"), (Setting("imax"), "cw_size")]
    assert len(lab.plan(needs)) == 2 * lab.splits
