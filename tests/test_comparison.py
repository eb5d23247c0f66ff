"""Recipes beside each other, with intervals: what is measured, what is best, and the forms it takes."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import infocal
from infocal.comparison import COLUMNS, _intervals, _measures
from infocal.metrics import Interval
from infocal.numerics import softmax
from infocal.simulate import source
from sources import random_samples

LOGITS, LABELS = random_samples(0, 500)
CAL, TEST = (LOGITS[:250], LABELS[:250]), (LOGITS[250:], LABELS[250:])
RECIPES = ["identity", "temperature", "imax"]


@pytest.fixture(scope="module")
def table() -> infocal.Comparison:
    return infocal.compare(RECIPES, CAL, TEST, n_resamples=100, n_bins=5)


def test_judges_what_it_fits(table: infocal.Comparison) -> None:
    assert list(table) == RECIPES
    for recipe in RECIPES:
        made = infocal.fit(recipe, *CAL, n_bins=5)
        assert dict(table[recipe]) == dict(infocal.evaluate(made(TEST[0]), TEST[1], ties=TEST[0]))
        assert_allclose(table.calibrators[recipe](TEST[0]), made(TEST[0]))


def test_best(table: infocal.Comparison) -> None:
    for key, recipe in table.best.items():
        values = [report[key] for report in table.values()]
        assert table[recipe][key] == (max(values) if key == "accuracy" else min(values))


class TestIntervals:
    def test_hold_what_is_measured(self, table: infocal.Comparison) -> None:
        for recipe, ends in table.intervals.items():
            for key, (value, low, high) in ends.items():
                assert value == pytest.approx(table[recipe][key], rel=1e-12)
                assert 0 <= low < value < high

    def test_widen_with_the_level_and_narrow_with_the_samples(self) -> None:
        def width(n: int, level: float) -> float:
            test = (LOGITS[:n], LABELS[:n])
            found = infocal.compare(["identity"], CAL, test, level=level, n_resamples=200).intervals["identity"]
            return found["nll_normalised"].high - found["nll_normalised"].low

        assert width(400, 0.5) < width(400, 0.9) < width(100, 0.9)

    def test_are_the_same_again(self) -> None:
        one, other = (infocal.compare(["imax"], CAL, TEST, n_resamples=20).intervals for _ in range(2))
        assert one == other

    def test_can_be_left_out(self) -> None:
        table = infocal.compare(["imax"], CAL, TEST, n_resamples=0)
        assert not table.intervals
        assert "±" not in str(table)
        assert "low" not in table.to_json()

    def test_cover_what_so_many_samples_show(self) -> None:
        """Of many sets of samples, about nine in ten intervals hold the mean of what is measured on all of them."""
        classifier = source(3, signal=1.5, slope=2.0)
        draws = [classifier.draw(300, seed) for seed in range(80)]
        found = [
            _intervals(_measures(softmax(d.logits), d.labels, d.logits), 300, level=0.9, n_resamples=100) for d in draws
        ]
        for key in COLUMNS:
            mean = np.mean([ends[key].estimate for ends in found])
            share = np.mean([ends[key].low <= mean <= ends[key].high for ends in found])
            assert 0.78 <= share <= 1.0, key

    @pytest.mark.parametrize("K", [2, 6])
    def test_drawn_samples_are_measured_as_any(self, K: int) -> None:
        logits, labels = random_samples(1, 200, K)
        probs = np.round(softmax(logits), 2)
        rows = np.random.default_rng(0).integers(0, 200, 200)
        report = infocal.evaluate(probs[rows], labels[rows], ties=logits[rows])
        found = _measures(probs, labels, logits)(rows)
        assert_allclose(found, [report[key] for key in COLUMNS], rtol=1e-12)


class TestForms:
    def test_text(self, table: infocal.Comparison) -> None:
        lines = str(table).splitlines()
        assert [line.split()[0] for line in lines] == ["recipe", *RECIPES, "*"]
        assert len({line.rindex("±") for line in lines[1:4]}) == 1
        assert sum(line.count("*") for line in lines[1:4]) == len(COLUMNS)
        assert "90%" in lines[-1]

    def test_json(self, table: infocal.Comparison) -> None:
        content = json.loads(table.to_json())
        assert content["level"] == 0.9
        assert content["best"] == table.best
        for recipe in RECIPES:
            assert {key: facts["value"] for key, facts in content["recipes"][recipe].items()} == dict(table[recipe])
            assert content["recipes"][recipe]["accuracy"]["low"] == table.intervals[recipe]["accuracy"].low

    def test_frame(self, table: infocal.Comparison) -> None:
        pytest.importorskip("pandas")
        frame = table.to_frame()
        assert list(frame.index) == RECIPES
        assert frame.loc["imax", "top1_ece"] == table["imax"]["top1_ece"]
        assert frame.loc["imax", "top1_ece_high"] == table.intervals["imax"]["top1_ece"].high

    def test_latex(self, table: infocal.Comparison) -> None:
        text = table.to_latex()
        assert text.count(r" \\") == 1 + len(RECIPES)
        assert text.count(r"\textbf") == len(COLUMNS)
        assert text.count("&") == len(COLUMNS) * (1 + len(RECIPES))
        assert r"\%" in text
        assert "%" not in text.replace(r"\%", "")

    def test_of_nothing(self) -> None:
        assert str(infocal.Comparison({}, {})) == "no recipes"

    def test_made_by_hand(self, table: infocal.Comparison) -> None:
        some = {"mine": table["imax"]}
        ends = {"mine": {key: Interval(value, value / 2, value * 2) for key, value in table["imax"].items()}}
        assert "mine" in str(infocal.Comparison(some, {}))
        assert json.loads(infocal.Comparison(some, {}, ends, 0.5).to_json())["level"] == 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": 90}, "level: expected a fraction"),
        ({"n_resamples": 1}, "n_resamples: expected a whole number"),
        ({"bins": 3}, "bins: 'imax' takes"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        infocal.compare(["imax"], CAL, TEST, **settings)
