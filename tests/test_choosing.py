"""The choice: laws of its folds and its verdict on fits of known quality, then the row "auto"."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import infocal
from infocal.arrays import Array
from infocal.calibrator import Identity
from infocal.chain import Chain, floor_of
from infocal.choosing import FOLDS, ROUNDS, Candidate, Choice, Part, _distinct, _layouts, _squared_error, choose
from infocal.fitting import Task
from infocal.numerics import softmax
from infocal.recipes import _after, _binned, _fitted
from infocal.simulate import source
from sources import random_samples

LOGITS, LABELS = random_samples(0, 300)
SOURCE = source(4, signal=1.5, slope=2.5)
DRAW = SOURCE.draw(1500)


def part(logits: Array = DRAW.logits, labels: Array = DRAW.labels, weights: Any = None) -> Part:
    return Part(logits, labels, np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=float))


def chosen(methods: dict[str, Callable[[Array], Array]], samples: Part | None = None) -> Choice:
    """The choice among methods that are what they are, whatever they are fitted to."""
    return choose(lambda candidate, _: methods[candidate.recipe], samples or part(), [Candidate(m) for m in methods])


def softened(inverse: float) -> Callable[[Array], Array]:
    return lambda logits: softmax(inverse * logits)


def _fitted_candidate(candidate: Candidate) -> Callable[[Array], Array]:
    groups = np.zeros(LOGITS.shape[1], dtype=np.int64)
    task = Task(LOGITS, LABELS, None, groups, 15, "exact", np.random.default_rng(0))
    return _fitted(task, candidate)[0]


class TestFolds:
    def test_every_class_is_in_every_fold(self) -> None:
        for folds in _layouts(LABELS, np.random.default_rng(0).random(len(LABELS))):
            counts = np.array([np.bincount(folds[k == LABELS], minlength=FOLDS) for k in range(6)])
            assert (np.abs(counts - counts.mean(axis=1, keepdims=True)) <= 2).all()
            assert np.ptp(np.bincount(folds)) <= 1

    def test_rounds_part_samples_anew(self) -> None:
        first, second = _layouts(LABELS, np.random.default_rng(0).random(len(LABELS)))
        together = [np.equal.outer(folds, folds) for folds in (first, second)]
        assert ROUNDS == 2
        assert (together[0] & together[1]).sum() < 0.3 * together[0].sum()

    def test_no_sample_is_judged_by_a_fit_to_its_copy(self) -> None:
        seen: list[set[bytes]] = []

        def fit(_: Candidate, inside: Part) -> Callable[[Array], Array]:
            seen.append({row.tobytes() for row in inside.logits})

            def method(outside: Array) -> Array:
                assert not seen[-1] & {row.tobytes() for row in outside}
                return softmax(outside)

            return method

        choose(fit, part(np.repeat(LOGITS, 3, axis=0), np.repeat(LABELS, 3)), [Candidate("any")])
        assert len(seen) == FOLDS * ROUNDS

    def test_distinct_samples(self) -> None:
        times = np.random.default_rng(0).integers(0, 4, len(LABELS))
        one = _distinct(part(LOGITS, LABELS, times))
        other = _distinct(part(np.repeat(LOGITS, times, axis=0), np.repeat(LABELS, times)))
        for a, b in zip(one, other, strict=True):
            assert_allclose(a, b, rtol=1e-12)
        assert len(one.labels) == (times > 0).sum()
        assert_allclose(one.weights.sum(), times.sum() ** 2 / (times**2).sum())


class TestVerdict:
    def test_the_true_posterior_wins(self) -> None:
        choice = chosen({"raw": softened(1.0), "true": softened(0.4), "flat": softened(0.1)})
        assert choice.chosen.recipe == "true"
        assert choice.reason.startswith("true is the first of those as good as the least loss")
        assert choice.measures["true"]["nll"] == min(m["nll"] for m in choice.measures.values())

    def test_what_loses_accuracy_is_out(self) -> None:
        def swapped(logits: Array) -> Array:
            """As good in loss as only the true posterior, but it takes the second class where two are close."""
            probs = softmax(0.4 * logits)
            order = np.argsort(-probs, axis=1)
            rows = np.arange(len(probs))
            first, second = probs[rows, order[:, 0]], probs[rows, order[:, 1]]
            close = first - second < 0.3
            probs[rows[close], order[close, 0]], probs[rows[close], order[close, 1]] = second[close], first[close]
            return probs

        choice = chosen({"overconfident": softened(2.0), "swapped": swapped})
        assert choice.measures["swapped"]["nll"] < choice.measures["overconfident"]["nll"]
        assert choice.measures["swapped"]["accuracy"] < choice.measures["overconfident"]["accuracy"]
        assert choice.chosen.recipe == "overconfident"

    def test_among_equals_the_first_is_chosen(self) -> None:
        methods = {"a": softened(0.41), "b": softened(0.4), "c": softened(0.39)}
        assert chosen(methods).chosen.recipe == "a"
        assert chosen(dict(reversed(methods.items()))).chosen.recipe == "c"

    def test_calibration_may_cost_next_to_nothing(self) -> None:
        """Of two candidates of nearly the same loss the honest one is taken, and its price is named."""
        draw = source(2, signal=1.0).draw(20_000)
        label_of = {row.tobytes(): y for row, y in zip(draw.logits, draw.labels, strict=True)}

        def knowing(logits: Array) -> Array:
            """Exaggerates, and makes up for it by knowing some of the labels."""
            labels = np.array([label_of[row.tobytes()] for row in logits])
            told = np.where(logits[:, :1] % 0.01 < 0.0005, 1.9, 0.0) * (np.eye(2)[labels] - 0.5)
            return softmax(1.39 * logits + told)

        choice = chosen({"knowing": knowing, "honest": softmax}, part(draw.logits, draw.labels))
        sharp, honest = choice.measures["knowing"], choice.measures["honest"]
        assert sharp["nll"] < honest["nll"] <= 1.005 * sharp["nll"], choice.table  # else this is no test
        assert choice.chosen.recipe == "honest"
        assert "lowers the class-wise error from" in choice.reason

    def test_the_hopeless_get_one_round(self) -> None:
        measures = chosen({"true": softened(0.4), "wrong": softened(-1.0)}).measures
        assert (measures["true"]["rounds"], measures["wrong"]["rounds"]) == (ROUNDS, 1)

    def test_variants_are_of_the_best(self) -> None:
        asked: list[Candidate] = []

        def variants(best: Candidate) -> list[Candidate]:
            asked.append(best)
            return [Candidate(best.recipe, (("warmer", True),)), best]

        scale = {"raw": 1.0, "better": 0.6}
        choice = choose(
            lambda c, _: softened(scale[c.recipe] - (0.2 if c.options else 0.0)),
            part(),
            [Candidate("raw"), Candidate("better")],
            variants,
        )
        assert asked == [Candidate("better")]
        assert str(choice.chosen) == "better (warmer=True)"
        assert list(choice.measures) == ["raw", "better", "better (warmer=True)"]

    def test_too_few_samples(self) -> None:
        few = part(np.repeat(LOGITS[:3], 9, axis=0), np.repeat(LABELS[:3], 9))
        choice = chosen({"first": softmax, "other": softmax}, few)
        assert choice.chosen.recipe == "first"
        assert "fewer than 5 distinct samples" in choice.reason
        assert choice.measures == {}

    def test_table(self) -> None:
        choice = chosen({"raw": softened(1.0), "true": softened(0.4)})
        lines = choice.table.splitlines()
        assert [line[:1] for line in lines] == [" ", " ", "*"]
        assert len({len(line) for line in lines}) == 1
        json.dumps(choice.facts, allow_nan=False)


class TestMeasures:
    def test_loss_and_accuracy_are_those_of_the_report(self) -> None:
        measures = chosen({"true": softened(0.4)}).measures["true"]
        report = infocal.evaluate(softened(0.4)(DRAW.logits), DRAW.labels, ties=DRAW.logits)
        assert measures["nll"] == pytest.approx(report["nll_normalised"])
        assert measures["accuracy"] == pytest.approx(report["accuracy"])

    def test_intervals_cover(self) -> None:
        """The 90 % intervals hold the loss of a very large sample in about that share of small ones."""
        large = SOURCE.draw(200_000, 99)
        truth = infocal.metrics.nll(softened(0.4)(large.logits), large.labels)
        found = [
            chosen({"true": softened(0.4)}, part(d.logits, d.labels)).measures["true"]
            for d in (SOURCE.draw(200, seed) for seed in range(60))
        ]
        share = np.mean([m["nll_low"] <= truth <= m["nll_high"] for m in found])
        assert 0.8 <= share <= 0.98

    def test_the_error_is_debiased(self) -> None:
        """Of the true posterior the squared error is 0 in the mean over samples, and of another what it is."""
        draws = [SOURCE.draw(400, seed) for seed in range(60)]
        honest = [_squared_error(softened(0.4)(d.logits), part(d.logits, d.labels)) for d in draws]
        raw = [_squared_error(softened(1.0)(d.logits), part(d.logits, d.labels)) for d in draws]
        large = SOURCE.draw(100_000, 7)
        assert abs(np.mean(honest)) < 3 * np.std(honest) / np.sqrt(len(honest)) + 1e-4
        expected = _squared_error(softened(1.0)(large.logits), part(large.logits, large.labels))
        assert np.mean(raw) == pytest.approx(expected, rel=0.1)


class TestAuto:
    def test_over_many_samples_nothing_is_much_better(self) -> None:
        draw, test = SOURCE.draw(800, 1), SOURCE.draw(20_000, 2)
        calibrator = infocal.fit("auto", draw.logits, draw.labels)
        loss = {
            name: infocal.metrics.nll(
                infocal.fit(name, draw.logits, draw.labels)(test.logits), test.labels, normalised=True
            )
            for name in ("identity", "temperature", "svs", "gp", "isotonic", "imax")
        }
        auto = infocal.metrics.nll(calibrator(test.logits), test.labels, normalised=True)
        assert auto <= 1.01 * min(loss.values())

    def test_what_a_curve_cannot_mend_is_mended_class_by_class(self) -> None:
        draw = source(5, slope=1.8, shift=[-2.0, -1.0, 0.0, 1.0, 2.0]).draw(1000)
        info = infocal.fit("auto", draw.logits, draw.labels).fit_info
        assert info["candidates"]["svs"]["nll"] < info["candidates"]["gp"]["nll"]
        assert "svs" in info["chosen"] or "sms" in info["chosen"] or "classwise" in info["chosen"]

    def test_tells_its_choice_and_saves_it(self, tmp_path: Path) -> None:
        calibrator = infocal.fit("auto", LOGITS, LABELS)
        info = calibrator.fit_info
        assert {"chosen", "reason", "table", "candidates", "n_samples"} <= info.keys()
        assert info["chosen"] in info["candidates"]
        assert info["reason"] in infocal.fit("auto", LOGITS, LABELS).fit_info["reason"]
        calibrator.save(tmp_path / "auto.json")
        again = infocal.load(tmp_path / "auto.json")
        assert_array_equal(again(LOGITS), calibrator(LOGITS))
        assert again.fit_info["candidates"] == info["candidates"]

    def test_binnings_are_tried_over_the_best(self) -> None:
        assert [str(candidate) for candidate in _binned(Candidate("gp"))] == [
            "imax (prior_count=1.0)",
            "imax+gp",
            "imax (representatives=own, after=gp)",
            "imax (prior_count=1.0, after=gp)",
        ]
        chain = _after(Candidate("gp"), "svs")
        assert [str(candidate) for candidate in _binned(chain)][1:] == [
            "imax (representatives=own, after=svs (after=gp))",
            "imax (prior_count=1.0, after=svs (after=gp))",
        ]

    def test_no_freedom_is_rewarded_where_none_is_needed(self) -> None:
        """Where one temperature is the truth, no freer candidate may seem better again and again."""
        found = [
            infocal.fit("auto", d.logits, d.labels, candidates=["temperature", "isotonic", "svs"]).fit_info[
                "candidates"
            ]
            for d in (SOURCE.draw(400, seed) for seed in range(12))
        ]
        for freer in ("isotonic", "svs"):
            cost = np.array([f[freer]["nll"] - f["temperature"]["nll"] for f in found])
            assert cost.mean() > -2 * cost.std() / np.sqrt(len(cost))

    def test_binning_after_a_scaling_is_binning_at_its_stage(self) -> None:
        after = _fitted_candidate(_after(Candidate("temperature"), "imax", representatives="own"))
        staged = infocal.fit("imax+temperature", LOGITS, LABELS, stage="scaled")
        assert_allclose(after(LOGITS), staged(LOGITS), atol=1e-6)

    def test_given_candidates_are_all(self) -> None:
        info = infocal.fit("auto", LOGITS, LABELS, candidates=["identity", "imax+gp"]).fit_info
        assert list(info["candidates"]) == ["identity", "imax+gp"]

    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_the_table_does_not_depend_on_the_order_of_samples(self, order: int) -> None:
        rows = np.random.default_rng(order).permutation(len(LABELS))
        names = ["temperature", "svs", "isotonic"]
        one = infocal.fit("auto", LOGITS, LABELS, candidates=names).fit_info
        other = infocal.fit("auto", LOGITS[rows], LABELS[rows], candidates=names).fit_info
        assert one["candidates"] == other["candidates"]

    @pytest.mark.parametrize("candidates", [["magic"], ["auto"], "imax", [], [3]], ids=str)
    def test_bad_candidates_are_named(self, candidates: Any) -> None:
        with pytest.raises(ValueError, match="candidates: expected names of recipes other than auto"):
            infocal.fit("auto", LOGITS, LABELS, candidates=candidates)


class TestChain:
    def test_is_one_method_after_another(self) -> None:
        first, second = (infocal.fit(name, LOGITS, LABELS).method for name in ("gp", "svs"))
        chain = Chain(first, 1e-6, second)
        assert_allclose(chain(LOGITS), second(np.log(np.maximum(first(LOGITS), 1e-6))))
        assert chain(LOGITS.astype(np.float32)).dtype == np.float32
        tiny = Chain(Identity(), 1e-300, Identity())
        assert_allclose(tiny(np.array([[0.0, -1e6]], dtype=np.float32)), [[1.0, 0.0]])

    def test_a_zero_can_be_revised_but_an_impossible_class_not(self) -> None:
        logits = np.array([[0.0, -100.0, -np.inf]])
        probs = Chain(Identity(), 1e-3, Identity())(logits)
        assert_allclose(probs, [[1 / 1.001, 0.001 / 1.001, 0.0]])

    def test_floor_is_half_of_what_is_least(self) -> None:
        assert floor_of(np.array([[0.0, 0.2, 0.8], [0.1, 0.9, 0.0]])) == 0.05
        assert floor_of(np.array([[0.0, 1e-320, 1.0]])) == np.finfo(np.float64).tiny
        assert floor_of(np.zeros((1, 2))) == 0.5

    @pytest.mark.parametrize("floor", [0.0, 1.0, -1.0])
    def test_floor_is_a_probability(self, floor: float) -> None:
        with pytest.raises(ValueError, match=r"Chain\.floor: expected a probability between 0 and 1"):
            Chain(Identity(), floor, Identity())
