"""Every figure is computed before it is drawn, and its numbers obey what they must."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from infocal.paper.drawing import save
from infocal.paper.figures import FIGURES
from infocal.paper.figures.densities import toy_errors
from infocal.paper.figures.merging import distances
from infocal.paper.figures.plane import convergence, truth
from infocal.paper.lab import Lab
from infocal.paper.panels import Figure, figure_json


@pytest.fixture(scope="module")
def figures(lab: Lab) -> dict[str, Figure]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("infocal.paper.figures.plane.BETAS", np.array([4.0, 256.0]))
        patch.setattr("infocal.paper.figures.errors.BOOTSTRAPS", 5)
        patch.setattr("infocal.paper.figures.densities.DRAWS", 2)
        return {label: entry.compute(lab) for label, entry in FIGURES.items()}


@pytest.mark.parametrize("label", FIGURES)
def test_figures_are_data(label: str, figures: dict[str, Figure]) -> None:
    figure = figures[label]
    assert figure.label == label
    assert all(np.isfinite(value) for value in figure.facts.values())
    for panel in figure.panels:
        for curve in panel.curves:
            assert curve.x.shape == curve.y.shape
            assert np.isfinite(curve.y).all()
        for bars in panel.bars:
            assert len(bars.edges) == len(bars.heights) + 1
            assert (bars.heights >= 0).all()
    json.dumps(figure_json(figure), allow_nan=False)


@pytest.mark.parametrize("label", FIGURES)
def test_figures_are_drawn(label: str, figures: dict[str, Figure], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="drawings need the extra plot")
    from matplotlib.image import imread

    save(figures[label], tmp_path / "figure.png")
    pixels = imread(tmp_path / "figure.png")
    assert min(pixels.shape[:2]) > 200
    assert 0.02 < (pixels[..., :3].min(axis=2) < 0.95).mean() < 0.9


def test_own_bins_do_not_see_evaluation_bins(figures: dict[str, Figure]) -> None:
    curves = {curve.name: curve.y for curve in figures["fig:verifiable_ece"].panels[0].curves}
    assert np.ptp(curves["I-Max (sCW)"]) == 0
    assert np.ptp(curves["Baseline"]) > 0


def test_errors_shrink_with_samples(figures: dict[str, Figure]) -> None:
    for curve in figures["fig:verifiable_ece"].panels[1].curves:
        assert curve.y[-1] < curve.y[0]


def test_histograms_hold_all_points(figures: dict[str, Figure]) -> None:
    for label in ("fig:distributions_bins", "fig:post-ha", "fig:kde_fit_plot"):
        for panel in figures[label].panels:
            for bars in panel.bars:
                assert_allclose(bars.heights @ np.diff(bars.edges), 1.0)
    alone, shared = figures["fig:SkvsSmerge"].panels
    assert shared.bars[0].heights.sum() + shared.bars[1].heights.sum() == 10 * (
        alone.bars[0].heights.sum() + alone.bars[1].heights.sum()
    )


def test_no_binning_passes_the_bottleneck(figures: dict[str, Figure]) -> None:
    facts = figures["fig:MI_exp"].facts
    shares = [value for name, value in facts.items() if "limit at its rate" in name]
    assert len(shares) == 3
    assert max(shares) <= 1 + 1e-9


def test_information_rises_over_the_updates(lab: Lab) -> None:
    density = truth(lab, 0)
    for name, kept in convergence(density).items():
        assert kept[-1] > kept[0] - 1e-4, name


def test_shared_samples_are_as_many_for_all(lab: Lab) -> None:
    shared, own = distances(lab, 0, 400)
    assert shared.shape == own.shape == (10,)
    assert ((shared >= 0) & (own <= np.sqrt(np.log(2.0)) + 1e-12)).all()


def test_toy_errors_are_small() -> None:
    assert max(toy_errors(0.5, -1.5).values()) < 0.02
