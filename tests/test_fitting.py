"""A binning over a scaling: what its bins answer with, and whose log-odds they stand on."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import infocal
from conftest import (
    REFERENCE_NAMES,
    needs_shared,
    real_logits,
    reference_arrays,
    reference_metrics,
    reference_split,
)
from infocal.arrays import Array, Floats, Ints
from infocal.binning.imax import measured
from infocal.fitting import Finder, Task, fit_over
from infocal.kernels import logodds
from infocal.numerics import bin_of, sigmoid
from infocal.recipes import BINNINGS, SCALINGS
from sources import random_samples

LOGITS, LABELS = random_samples()
SOFTMAX = [name for name in SCALINGS if name not in ("platt", "beta", "isotonic")]
GROUPS = ["shared", "classwise", [0, 0, 1, 1, 1, 0]]


def means(calibrator: infocal.Calibrator, x: Floats, values: Array) -> None:
    """Every bin that has points answers with their mean value."""
    for g, (edges, found) in enumerate(zip(calibrator.edges, calibrator.representatives, strict=True)):
        of = calibrator.groups == g
        bins = bin_of(x[:, of], edges)
        for m in np.unique(bins):
            assert found[m] == pytest.approx(values[:, of][bins == m].mean(), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("scaling", SCALINGS)
class TestOver:
    @pytest.mark.parametrize("binning", BINNINGS)
    def test_bins_of_raw_logodds_answer_with_mean_scaled_probabilities(self, binning: str, scaling: str) -> None:
        for groups in GROUPS:
            over = infocal.fit(f"{binning}+{scaling}", LOGITS, LABELS, groups=groups)
            scaled = infocal.fit(scaling, LOGITS, LABELS, groups=groups)(LOGITS)
            means(over, logodds(LOGITS), scaled)
            alone = infocal.fit(binning, LOGITS, LABELS, groups=groups)
            for edges, same in zip(over.edges, alone.edges, strict=True):
                assert_array_equal(edges, same)

    @pytest.mark.parametrize("binning", BINNINGS)
    def test_scaled_stage_bins_scaled_logodds(self, binning: str, scaling: str) -> None:
        for groups in GROUPS:
            settings = {"groups": groups, "stage": "scaled", "n_bins": 6}
            over = infocal.fit(f"{binning}+{scaling}", LOGITS, LABELS, **settings)  # type: ignore[arg-type]
            often = infocal.fit(f"{binning}+{scaling}", LOGITS, LABELS, representatives="frequency", **settings)  # type: ignore[arg-type]
            probs = infocal.fit(scaling, LOGITS, LABELS, groups=groups, n_bins=6)(LOGITS)
            assert_allclose(often(LOGITS).sum(), len(LABELS))
            for answers in (over(LOGITS), often(LOGITS)):
                for g in range(over.groups.max() + 1):
                    of = over.groups == g
                    assert self.answers_of_intervals(probs[:, of].ravel(), answers[:, of].ravel(), 6)

    @staticmethod
    def answers_of_intervals(probs: Floats, answers: Floats, n_bins: int) -> bool:
        """Whether answers are constant on at most `n_bins` intervals of the scaled probabilities. Equal ones, up to
        rounding, may lie on both sides of an edge."""
        order = np.lexsort((answers, probs.round(9)))
        return int(np.count_nonzero(np.diff(answers[order]))) < n_bins + 1

    @pytest.mark.parametrize("stage", ["raw", "scaled"])
    def test_survives_a_file(self, stage: str, scaling: str, tmp_path: Path) -> None:
        calibrator = infocal.fit(f"imax+{scaling}", LOGITS, LABELS, stage=stage, groups="prior")
        calibrator.save(tmp_path / "cal.json")
        again = infocal.load(tmp_path / "cal.json")
        assert_array_equal(again(LOGITS), calibrator(LOGITS))
        assert dict(again.fit_info) == dict(calibrator.fit_info)

    def test_says_what_it_found(self, scaling: str) -> None:
        facts = infocal.fit(f"imax+{scaling}", LOGITS, LABELS, stage="scaled").fit_info
        assert 0 < facts["information"] <= facts["information_limit"] + 1e-12
        if scaling != "isotonic" and scaling != "ets":
            assert facts["gradient"] < 1e-6
            assert facts["separable"] in (False, True)

    @pytest.mark.parametrize("stage", ["raw", "scaled"])
    def test_few_points_and_one_class(self, stage: str, scaling: str) -> None:
        for n, labels in ((1, [2]), (5, [0, 1, 2, 3, 4]), (5, [3, 3, 3, 3, 3])):
            probs = infocal.fit(f"imax+{scaling}", LOGITS[:n], labels, stage=stage)(LOGITS)
            assert ((probs >= 0) & (probs <= 1)).all()


@pytest.mark.parametrize("scaling", SOFTMAX)
def test_scores_are_logits_of_the_probabilities(scaling: str) -> None:
    masked = LOGITS.copy()
    masked[::7, 3] = -np.inf
    masked[np.arange(len(LABELS)), LABELS] = LOGITS[np.arange(len(LABELS)), LABELS]
    for logits in (LOGITS, masked, masked.astype(np.float32)):
        method = infocal.fit(scaling, logits, LABELS).method
        scores = method.scores(logits)  # type: ignore[attr-defined]
        assert scores.dtype == logits.dtype
        assert_array_equal(np.isneginf(scores), np.isneginf(logits))
        assert_allclose(sigmoid(logodds(scores)), method(logits), rtol=1e-5 if logits.dtype == np.float32 else 1e-9)


def test_a_falling_line_keeps_its_bins() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(500, 2))
    labels = (logits[:, 0] + 0.3 * rng.normal(size=500) > logits[:, 1]).astype(int)  # the least likely class is true
    calibrator = infocal.fit("imax+platt", logits, labels, stage="scaled", n_bins=4, representatives="frequency")
    assert np.all(np.diff(calibrator.representatives[0]) < 0)
    assert infocal.evaluate(calibrator(logits), labels)["accuracy"] > 0.8


def test_scaling_binning_is_equal_mass_over_platt() -> None:
    one = infocal.fit("scaling-binning", LOGITS, LABELS)
    assert_array_equal(one(LOGITS), infocal.fit("eqmass+platt", LOGITS, LABELS)(LOGITS))


@pytest.mark.parametrize(
    ("recipe", "options", "message"),
    [
        ("imax+identity", {}, "recipe: expected one of identity, .* or one of eqsize, .* 'imax[+]gp'.* got"),
        ("gp+imax", {}, "recipe: expected one of"),
        ("imax+", {}, "recipe: expected one of"),
        (["imax"], {}, "recipe: expected one of"),
        ("imax+gp", {"stage": "middle"}, "stage: expected one of raw, scaled, got 'middle'"),
        ("imax", {"stage": "raw"}, "stage: 'imax' takes representatives, "),
        ("imax", {"representatives": "scaled"}, "representatives: expected one of frequency, own, got 'scaled'"),
        ("matrix", {"off_diagonal": -1.0}, "off_diagonal: expected a finite number of at least 0, got -1.0"),
        ("imax+matrix", {"on_bias": np.inf}, "on_bias: expected a finite number of at least 0, got inf"),
        ("imax+gp", {"n_inducing": 1}, "n_inducing: expected a whole number from 2 to 128, got 1"),
    ],
)
def test_bad_settings_are_named(recipe: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        infocal.fit(recipe, LOGITS, LABELS, **options)  # type: ignore[arg-type]


@needs_shared
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["cifar10_wrn16-4", "cifar100_wrn16-4"])
class TestReference:
    @pytest.mark.parametrize(
        ("key", "scaling"), [("wTS", "temperature"), ("wPlatt", "platt"), ("wBeta", "beta"), ("wIR", "isotonic")]
    )
    def test_imax_over(self, name: str, seed: int, key: str, scaling: str) -> None:
        """The exact edges differ from the reference's, so these are given."""
        task, held, labels = reference_task(name, seed)
        edges = reference_arrays(name, seed)["imax_sCW_edges"][0]
        method, _ = fit_over(Finder(lambda _, problem: measured(problem, edges)), SCALINGS[scaling].scale, task)
        assert_allclose(method.representatives[0], reference_arrays(name, seed)[f"imax_sCW_{key}_repr_prob"], atol=1e-6)  # type: ignore[attr-defined]
        assert_equal_reference(method(held), labels, name, seed, f"imax_sCW_{key}")

    @pytest.mark.parametrize("binning", ["eqmass", "eqsize"])
    def test_others_over_temperature(self, name: str, seed: int, binning: str) -> None:
        task, held, labels = reference_task(name, seed)
        calibrator = infocal.fit(f"{binning}+temperature", task.logits, task.labels)
        assert_equal_reference(calibrator(held), labels, name, seed, f"{binning}_sCW_wTS")


def reference_task(name: str, seed: int) -> tuple[Task, Floats, Ints]:
    """The fit of the reference to a thousand samples; logits and labels that it is judged on."""
    logits, labels = real_logits(name)
    fitted, held = reference_split(name, seed)
    rows = fitted[:1000]
    groups = np.zeros(logits.shape[1], dtype=np.int64)
    task = Task(logits[rows], labels[rows], None, groups, 15, "exact", np.random.default_rng(0))
    return task, logits[held], labels[held]


def assert_equal_reference(probs: Floats, labels: Ints, name: str, seed: int, method: str) -> None:
    report, reference = infocal.evaluate(probs, labels), reference_metrics(name, seed)[method]
    for ours, theirs in REFERENCE_NAMES.items():
        assert report[ours] == pytest.approx(reference[theirs], abs=1e-6), ours
