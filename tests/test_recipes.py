"""Every recipe fits what it is given: laws that hold for all, then what is special to some."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import infocal
from conftest import SETS, needs_shared, real_logits
from infocal import problems
from infocal.arrays import Array, Floats
from infocal.kernels import logodds
from infocal.numerics import bin_of, sigmoid
from sources import random_samples

BINNINGS = ["eqsize", "eqmass", "kmeans", "imax"]
GROUPS = ["shared", "classwise", "prior", [0, 0, 1, 1, 1, 0]]
LOGITS, LABELS = random_samples()


def means(x: Floats, values: Array, edges: Floats) -> Floats:
    """Mean value of each bin that has points, NaN for the others."""
    bins = bin_of(x, edges)
    return np.array([values[bins == m].mean() if (bins == m).any() else np.nan for m in range(len(edges) + 1)])


@pytest.mark.parametrize("recipe", infocal.RECIPES)
class TestLaws:
    def test_probabilities(self, recipe: str) -> None:
        probs = infocal.fit(recipe, LOGITS, LABELS)(LOGITS)
        assert probs.shape == LOGITS.shape
        assert ((probs >= 0) & (probs <= 1)).all()

    def test_type_follows_the_logits(self, recipe: str) -> None:
        calibrator = infocal.fit(recipe, LOGITS.astype(np.float32), LABELS)
        single, double = calibrator(LOGITS.astype(np.float32)), calibrator(LOGITS.astype(np.float32).astype(float))
        assert (single.dtype, double.dtype) == (np.float32, np.float64)
        assert_allclose(single, double, atol=1e-5)

    def test_permuting_samples_changes_nothing(self, recipe: str) -> None:
        order = np.random.default_rng(1).permutation(len(LABELS))
        one, other = infocal.fit(recipe, LOGITS, LABELS), infocal.fit(recipe, LOGITS[order], LABELS[order])
        assert_allclose(other(LOGITS), one(LOGITS), rtol=1e-6, atol=1e-9)

    def test_relabelling_classes_changes_nothing(self, recipe: str) -> None:
        order = np.random.default_rng(2).permutation(6)
        relabelled = infocal.fit(recipe, LOGITS[:, order], np.argsort(order)[LABELS])
        assert_allclose(relabelled(LOGITS[:, order]), infocal.fit(recipe, LOGITS, LABELS)(LOGITS)[:, order], atol=1e-6)

    def test_weighting_equals_repeating(self, recipe: str) -> None:
        times = np.random.default_rng(3).integers(0, 3, size=len(LABELS))
        weighted = infocal.fit(recipe, LOGITS, LABELS, weights=times)
        repeated = infocal.fit(recipe, np.repeat(LOGITS, times, axis=0), np.repeat(LABELS, times))
        assert_allclose(weighted(LOGITS), repeated(LOGITS), rtol=1e-6, atol=1e-9)

    def test_adding_a_constant_to_a_row_changes_nothing(self, recipe: str) -> None:
        shifted = LOGITS + np.random.default_rng(4).normal(size=(len(LOGITS), 1)).round(3)
        calibrator = infocal.fit(recipe, LOGITS, LABELS)
        assert_allclose(np.median(np.abs(calibrator(shifted) - calibrator(LOGITS))), 0, atol=1e-9)

    def test_fitting_twice_gives_the_same_and_changes_nothing(self, recipe: str) -> None:
        before, state = (LOGITS.copy(), LABELS.copy()), np.random.get_state()[1].copy()  # type: ignore[union-attr] # noqa: NPY002
        first = infocal.fit(recipe, LOGITS, LABELS)
        answers = first(LOGITS)
        infocal.fit(recipe, -LOGITS, LABELS)
        assert_array_equal(infocal.fit(recipe, LOGITS, LABELS)(LOGITS), answers)
        assert_array_equal(first(LOGITS), answers)
        assert_array_equal(before[0], LOGITS)
        assert_array_equal(before[1], LABELS)
        assert_array_equal(np.random.get_state()[1], state)  # type: ignore[arg-type] # noqa: NPY002

    def test_a_row_is_calibrated_alone_as_in_a_batch(self, recipe: str) -> None:
        calibrator = infocal.fit(recipe, LOGITS, LABELS)
        alone = np.concatenate([calibrator(LOGITS[i : i + 1]) for i in range(20)])
        assert_allclose(alone, calibrator(LOGITS)[:20], rtol=1e-12)

    @pytest.mark.parametrize(
        "labels", [np.zeros(30, dtype=int), np.full(30, 5), np.arange(30) % 2], ids=["first", "last", "some"]
    )
    @pytest.mark.parametrize(
        "logits", [LOGITS[:30], np.zeros((30, 6)), np.round(LOGITS[:30])], ids=["any", "0", "ties"]
    )
    def test_classes_without_samples(self, recipe: str, logits: Floats, labels: Array) -> None:
        probs = infocal.fit(recipe, logits, labels)(LOGITS)
        assert np.isfinite(probs).all()

    @pytest.mark.parametrize("n", [1, 2, 5])
    def test_fewer_points_than_bins(self, recipe: str, n: int) -> None:
        assert np.isfinite(infocal.fit(recipe, LOGITS[:n], LABELS[:n])(LOGITS)).all()

    def test_extreme_and_masked_logits(self, recipe: str) -> None:
        extreme = np.where(np.abs(LOGITS) > 5, 1e4 * np.sign(LOGITS), LOGITS)
        extreme[::3, 0] = -np.inf
        extreme[np.arange(len(LABELS)), LABELS] = np.maximum(extreme[np.arange(len(LABELS)), LABELS], -50)
        assert np.isfinite(infocal.fit(recipe, extreme, LABELS)(extreme)).all()

    def test_a_row_of_the_table_tells_what_it_is(self, recipe: str) -> None:
        row = infocal.RECIPES[recipe]
        assert row.about
        assert row.citation
        assert recipe in repr(infocal.fit(recipe, LOGITS, LABELS))


@pytest.mark.parametrize("recipe", BINNINGS)
@pytest.mark.parametrize("groups", GROUPS, ids=str)
class TestBinnings:
    def test_representatives_are_frequencies(self, recipe: str, groups: object) -> None:
        calibrator = infocal.fit(recipe, LOGITS, LABELS, groups=groups, n_bins=5)  # type: ignore[arg-type]
        x, hits = logodds(LOGITS), np.equal.outer(LABELS, np.arange(6))
        for g, (edges, found) in enumerate(zip(calibrator.edges, calibrator.representatives, strict=True)):
            of = calibrator.groups == g
            expected = means(x[:, of], hits[:, of], edges)
            assert (len(edges), len(found)) == (4, 5)
            assert_allclose(found[~np.isnan(expected)], expected[~np.isnan(expected)], atol=1e-12)

    def test_calibrated_on_its_own_data(self, recipe: str, groups: object) -> None:
        calibrator = infocal.fit(recipe, LOGITS, LABELS, groups=groups)  # type: ignore[arg-type]
        assert_allclose(calibrator(LOGITS).sum(), len(LABELS), rtol=1e-9)
        assert 0 < calibrator.fit_info["information"] <= calibrator.fit_info["information_limit"] + 1e-12

    def test_cells_and_points_agree(self, recipe: str, groups: object, monkeypatch: pytest.MonkeyPatch) -> None:
        points = infocal.fit(recipe, LOGITS, LABELS, groups=groups, n_bins=6)  # type: ignore[arg-type]
        monkeypatch.setattr(problems, "MANY", 0)
        monkeypatch.setattr(problems, "CELLS", 1)
        cells = infocal.fit(recipe, LOGITS, LABELS, groups=groups, n_bins=6)  # type: ignore[arg-type]
        for name in ("information", "information_limit"):
            assert_allclose(cells.fit_info[name], points.fit_info[name], atol=3e-5)
        assert_allclose(cells(LOGITS).sum(), len(LABELS), rtol=1e-9)
        if recipe == "eqsize":
            assert_array_equal(cells(LOGITS), points(LOGITS))


class TestOptions:
    def test_own_representatives_average_the_sigmoid(self) -> None:
        calibrator = infocal.fit("imax", LOGITS, LABELS, representatives="own")
        x = logodds(LOGITS)
        assert_allclose(calibrator.representatives[0], means(x, sigmoid(x), calibrator.edges[0]), rtol=1e-12)

    @pytest.mark.parametrize("groups", ["shared", "classwise"])
    def test_given_values_are_averaged(self, groups: str) -> None:
        values = np.random.default_rng(0).random(LOGITS.shape)
        calibrator = infocal.fit("eqmass", LOGITS, LABELS, representatives=values, groups=groups, n_bins=4)
        x = logodds(LOGITS)
        for g, edges in enumerate(calibrator.edges):
            of = calibrator.groups == g
            assert_allclose(calibrator.representatives[g], means(x[:, of], values[:, of], edges), rtol=1e-12)

    def test_given_sigmoids_are_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        own = infocal.fit("imax", LOGITS, LABELS, representatives="own", solver="alternating")
        monkeypatch.setattr(problems, "MANY", 0)
        monkeypatch.setattr(problems, "CELLS", 1)
        given_values = sigmoid(logodds(LOGITS))
        for representatives in ("own", given_values):
            other = infocal.fit("eqsize", LOGITS, LABELS, representatives=representatives)
            assert_allclose(other(LOGITS).sum(), own(LOGITS).sum(), rtol=1e-9)

    def test_prior_count_without_end_is_the_own_mean(self) -> None:
        heavy = infocal.fit("imax", LOGITS, LABELS, prior_count=1e12)
        own = infocal.fit("imax", LOGITS, LABELS, representatives="own")
        assert_allclose(heavy.representatives[0], own.representatives[0], rtol=1e-6)

    @given(st.integers(0, 1000), st.sampled_from(BINNINGS))
    def test_monotone_shared_keeps_every_ranking(self, seed: int, recipe: str) -> None:
        logits, labels = random_samples(seed, 60)
        calibrator = infocal.fit(recipe, logits, labels, monotone=True)
        order = np.argsort(-logits, axis=1, kind="stable")
        assert_array_equal(calibrator.rank(logits, 6), order)
        assert_array_equal(calibrator.predict(logits), order[:, 0])

    def test_alternating_draws_from_the_seed(self) -> None:
        fits = [infocal.fit("imax", LOGITS, LABELS, solver="alternating", rng=rng) for rng in (0, 0, 1)]
        assert_array_equal(fits[0].edges[0], fits[1].edges[0])
        assert not np.array_equal(fits[0].edges[0], fits[2].edges[0])

    @pytest.mark.parametrize("posterior", ["sigmoid", "affine", "kde", "isotonic"])
    @pytest.mark.parametrize("solver", ["exact", "alternating"])
    def test_posteriors(self, posterior: str, solver: str) -> None:
        calibrator = infocal.fit("imax", LOGITS, LABELS, posterior=posterior, solver=solver)
        assert calibrator.fit_info["information"] > 0.9 * calibrator.fit_info["information_limit"]

    def test_number_of_prior_groups(self) -> None:
        assert infocal.fit("imax", LOGITS, LABELS, groups="prior", n_groups=3).groups.max() == 2


@needs_shared
@pytest.mark.parametrize("name", SETS)
def test_monotone_shared_keeps_the_ranking_of_real_logits(name: str) -> None:
    logits, labels = real_logits(name)
    rows = np.random.default_rng(0).permutation(len(labels))
    calibrator = infocal.fit("imax", logits[rows[:1000]], labels[rows[:1000]], monotone=True)
    order = np.argsort(-logits, axis=1, kind="stable")[:, :5]
    assert_array_equal(calibrator.rank(logits, 5), order)
    assert_array_equal(calibrator.predict(logits), order[:, 0])


X, Y = LOGITS[:6], LABELS[:6]
NAN, INF, MASKED = X.copy(), X.copy(), X.copy()
NAN[3, 2], INF[4, 0], MASKED[5] = np.nan, np.inf, -np.inf


class TestBadInput:
    @pytest.mark.parametrize(
        ("logits", "labels", "settings", "message"),
        [
            (NAN, Y, {}, r"logits: expected finite numbers \(or -inf for a masked class\), got nan in row 3, class 2"),
            (INF, Y, {}, "logits: .* got inf in row 4, class 0"),
            (MASKED, Y, {}, "logits: row 5 is -inf in every class; at least one class must be possible"),
            (X[0], Y, {}, r"logits: expected a matrix of shape \(samples, classes\), got shape \(6,\)"),
            (X[:, :1], Y, {}, "logits: expected at least 1 sample and 2 classes"),
            (X[:0], Y[:0], {}, "logits: expected at least 1 sample"),
            (X.astype(str), Y, {}, "logits: expected real numbers, got dtype"),
            (X + 1j, Y, {}, "logits: expected real numbers, got dtype complex128"),
            (X, Y[:5], {}, r"labels: expected one label for each of the 6 samples, got shape \(5,\)"),
            (X, [0, 1, 2, 3, 4, 6], {}, "labels: expected integers from 0 to 5, got 6 in row 5"),
            (X, [0, 1, -1, 3, 4, 5], {}, "labels: expected integers from 0 to 5, got -1 in row 2"),
            (X, [0.5] * 6, {}, "labels: expected integers from 0 to 5, got dtype float64; number the classes"),
            (X, list("abcdef"), {}, "labels: expected integers"),
            (X, Y, {"n_bins": 1}, "n_bins: expected a whole number from 2 to 4096, got 1"),
            (X, Y, {"n_bins": 2.5}, "n_bins: expected a whole number"),
            (X, Y, {"n_bins": True}, "n_bins: expected a whole number"),
            (X, Y, {"groups": [0, 1]}, "groups: expected one group for each of the 6 classes"),
            (X, Y, {"groups": "alphabetic"}, 'groups: expected "shared", "classwise", "prior" or an array'),
            (X, Y, {"weights": [1, 1, -1, 1, 1, 1]}, "weights: .* got -1.0 in row 2"),
            (X, Y, {"weights": [1, 1, 1, np.nan, 1, 1]}, "weights: .* got nan in row 3"),
            (X, Y, {"weights": np.zeros(6)}, "weights: expected a positive sum, got 0 in all rows"),
            (X, Y, {"weights": [1.0]}, "weights: expected one number for each of the 6 samples"),
            (X, Y, {"solver": "magic"}, "solver: expected one of exact, alternating, got 'magic'"),
            (X, Y, {"posterior": "magic"}, "posterior: expected one of sigmoid, affine, kde, isotonic"),
            (X, Y, {"representatives": "magic"}, "representatives: expected one of frequency, own"),
            (X, Y, {"representatives": X[:2] * 0}, "representatives: expected the shape of the logits"),
            (X, Y, {"representatives": X * 0 + 2}, "representatives: expected numbers from 0 to 1, got 2.0 in row 0"),
            (X, Y, {"prior_count": -1}, "prior_count: expected a finite number of at least 0, got -1"),
            (X, Y, {"bins": 3}, "bins: 'imax' takes representatives, monotone"),
        ],
    )
    def test_is_named(self, logits: Array, labels: object, settings: dict[str, object], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            infocal.fit("imax", logits, labels, **settings)  # type: ignore[arg-type]

    def test_unknown_recipe(self) -> None:
        with pytest.raises(ValueError, match=r"recipe: expected one of identity, .*, got 'magic'"):
            infocal.fit("magic", X, Y)

    @pytest.mark.parametrize("recipe", infocal.RECIPES)
    @pytest.mark.parametrize("logits", [NAN, INF, MASKED], ids=["nan", "inf", "masked"])
    def test_every_recipe_refuses_impossible_rows(self, recipe: str, logits: Floats) -> None:
        calibrator, before = infocal.fit(recipe, LOGITS, LABELS), logits.copy()
        with pytest.raises(ValueError, match=r"logits: .*row [345]"):
            calibrator(logits)
        if recipe != "identity":
            with pytest.raises(ValueError, match=r"logits: .*row [345]"):
                infocal.fit(recipe, logits, Y)
        assert_array_equal(logits, before)

    def test_of_a_fitted_calibrator(self) -> None:
        calibrator = infocal.fit("imax", LOGITS, LABELS)
        with pytest.raises(ValueError, match=r"logits: expected 6 classes \(columns\), as in the fit, got 5"):
            calibrator(LOGITS[:, :5])
        with pytest.raises(ValueError, match="k: expected a whole number from 1 to 6, got 7"):
            calibrator.rank(LOGITS, 7)
