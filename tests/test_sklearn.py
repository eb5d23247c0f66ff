"""The scikit-learn door keeps scikit-learn's contract, and infocal's."""

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("sklearn", reason="needs the extra sklearn")

import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import infocal
from infocal.sklearn import (
    CalibratedClassifier,
    _folds,
    brier_scorer,
    classwise_ece_scorer,
    nll_scorer,
    top1_brier_scorer,
    top1_ece_scorer,
)

SCORERS = (top1_ece_scorer, classwise_ece_scorer, nll_scorer, brier_scorer, top1_brier_scorer)
RECIPES = ["imax", "temperature", "isotonic"]
X, Y = make_classification(
    500, 12, n_informative=6, n_classes=4, n_clusters_per_class=1, class_sep=0.8, flip_y=0.05, random_state=0
)
NAMES = np.array(["ash", "birch", "cedar", "date"], dtype=object)[Y]


def calibrated(**settings: Any) -> CalibratedClassifier:
    return CalibratedClassifier(**{"estimator": GaussianNB(), "recipe": "imax", "cv": 3, **settings})


class Fixed(ClassifierMixin, BaseEstimator):
    """Answers with its input, as probabilities."""

    def __init__(self, classes: Any = (0, 1, 2)) -> None:
        self.classes = classes

    def fit(self, X: Any, y: Any) -> "Fixed":
        self.classes_ = np.asarray(self.classes)
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.asarray(X)


@parametrize_with_checks(
    [CalibratedClassifier(LogisticRegression(), recipe=recipe, cv=3) for recipe in RECIPES]
    + [
        CalibratedClassifier(LogisticRegression(), recipe="svs", cv=0.4, random_state=0),
        CalibratedClassifier(LogisticRegression(), recipe="imax+temperature", cv=3, ensemble=False),
    ]
)
@pytest.mark.filterwarnings("ignore")  # of classifiers that the checks feed on purpose with what they cannot fit
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


class TestProbabilities:
    @pytest.mark.parametrize("recipe", [*RECIPES, "eqsize", "imax+gp", "identity"])
    @pytest.mark.parametrize("classes", [4, 2])
    def test_rows_sum_to_one_and_agree_with_predict(self, recipe: str, classes: int) -> None:
        kept = classes > Y
        model = calibrated(recipe=recipe).fit(X[kept], NAMES[kept])
        probs = model.predict_proba(X)
        assert probs.shape == (len(X), classes)
        assert ((probs >= 0) & (probs <= 1)).all()
        assert_allclose(probs.sum(axis=1), 1.0, rtol=1e-12)
        assert_array_equal(model.classes_[probs.argmax(axis=1)], model.predict(X))

    @pytest.mark.parametrize("recipe", ["temperature", "gp", "ets"])
    def test_what_keeps_rankings_keeps_every_prediction(self, recipe: str) -> None:
        model = calibrated(recipe=recipe, cv="prefit", estimator=GaussianNB().fit(X, NAMES)).fit(X, NAMES)
        assert_array_equal(model.predict(X), model.estimator.predict(X))

    def test_few_bins_keep_every_prediction(self) -> None:
        base = RandomForestClassifier(20, random_state=0).fit(X[:250], Y[:250])
        model = calibrated(estimator=base, cv="prefit", n_bins=2, options={"monotone": True}).fit(X[250:], Y[250:])
        first, second = np.sort(base.predict_proba(X), axis=1)[:, -2:].T
        told = first > second  # a forest's own ties are decided by rounding
        assert_array_equal(model.predict(X)[told], base.predict(X)[told])

    def test_a_row_of_zeros_is_the_classifiers_own(self) -> None:
        rng = np.random.default_rng(0)
        answers = rng.dirichlet(np.ones(3), 300)
        answers[:100] = [0.34, 0.33, 0.33]
        labels = answers.argmax(axis=1)
        model = calibrated(estimator=Fixed(), cv="prefit")
        model.estimator.fit(None, None)
        model.fit(answers, labels)
        flat = np.array([[0.4, 0.3, 0.3]])
        model.calibrator_ = lambda logits: np.zeros(logits.shape)
        assert_allclose(model.predict_proba(flat), flat, rtol=1e-12)

    def test_calibrates(self) -> None:
        overconfident = calibrated(cv="prefit", estimator=GaussianNB().fit(X, Y), recipe="identity").fit(X, Y)
        big, labels = make_classification(
            4000, 12, n_informative=3, n_classes=4, n_clusters_per_class=1, n_redundant=9, random_state=1
        )
        before = -top1_ece_scorer(GaussianNB().fit(big[:2000], labels[:2000]), big[2000:], labels[2000:])
        for recipe in ("imax", "isotonic", "auto"):
            model = calibrated(recipe=recipe).fit(big[:2000], labels[:2000])
            assert -top1_ece_scorer(model, big[2000:], labels[2000:]) < before / 2
        assert_allclose(overconfident.predict_proba(X), overconfident.estimator.predict_proba(X), atol=1e-9)

    def test_zeros_of_a_forest_can_be_revised(self) -> None:
        model = calibrated(estimator=RandomForestClassifier(10, random_state=0), recipe="temperature").fit(X, Y)
        assert model.floor_ == pytest.approx(0.05)
        assert (model.predict_proba(X) > 0).all()


class TestLabels:
    @pytest.mark.parametrize("labels", [NAMES, NAMES.astype(str), Y + 7, Y * 1.0 - 2, Y - 3], ids=repr)
    def test_any_labels(self, labels: Any) -> None:
        model = calibrated().fit(X, labels)
        assert_array_equal(model.classes_, np.unique(labels))
        assert_allclose(model.predict_proba(X), calibrated().fit(X, Y).predict_proba(X), rtol=1e-9)
        assert set(model.predict(X)) <= set(labels)

    def test_truth_values(self) -> None:
        model = calibrated().fit(X, Y > 1)
        assert model.predict(X).dtype == bool
        assert model.predict_proba(X).shape == (len(X), 2)

    @pytest.mark.parametrize("ensemble", [True, False])
    @pytest.mark.parametrize("estimator", [GaussianNB(), LinearSVC()], ids=["probs", "scores"])
    @pytest.mark.parametrize("recipe", RECIPES)
    def test_classes_missing_from_a_fold(self, recipe: str, estimator: Any, ensemble: bool) -> None:
        rare = np.r_[np.flatnonzero(Y < 3), np.flatnonzero(Y == 3)[:1]]  # one sample: some fold has not seen it
        model = calibrated(recipe=recipe, estimator=estimator, ensemble=ensemble).fit(X[rare], NAMES[rare])
        probs = model.predict_proba(X)
        assert probs.shape == (len(X), 4)
        assert np.isfinite(probs).all()
        assert_allclose(probs.sum(axis=1), 1.0, rtol=1e-12)

    def test_an_unseen_class_is_judged_by_those_who_know_it(self) -> None:
        rare = np.r_[np.flatnonzero(Y < 3), np.flatnonzero(Y == 3)[:2]]
        model = calibrated(recipe="temperature").fit(X[rare], Y[rare])
        assert sorted(len(e.classes_) for e in model.estimators_) == [4, 4, 4]
        alone = calibrated(recipe="temperature").fit(X[rare[:-1]], Y[rare[:-1]])
        assert sorted(len(e.classes_) for e in alone.estimators_) == [3, 4, 4]
        assert (alone.predict_proba(X)[:, 3] > 0).any()

    def test_fitted_classifier_that_does_not_know_a_label(self) -> None:
        fitted = GaussianNB().fit(X[Y < 3], NAMES[Y < 3])
        with pytest.raises(ValueError, match="y: expected labels that the classifier knows, got 'date' in row"):
            calibrated(estimator=fitted, cv="prefit").fit(X, NAMES)

    def test_fitted_classifier_that_knows_more(self) -> None:
        fitted = GaussianNB().fit(X, NAMES)
        some = Y < 3
        assert calibrated(estimator=fitted, cv="prefit").fit(X[some], NAMES[some]).predict_proba(X).shape[1] == 4


class TestSamples:
    @pytest.mark.parametrize("estimator", [GaussianNB(), LinearSVC(), make_pipeline(StandardScaler(), LinearSVC())])
    @pytest.mark.parametrize("cv", [2, 0.3, StratifiedKFold(3, shuffle=True, random_state=0)], ids=str)
    def test_any_classifier_and_splitter(self, estimator: Any, cv: Any) -> None:
        model = calibrated(estimator=estimator, cv=cv, random_state=0).fit(X, NAMES)
        assert model.score(X, NAMES) > clone(estimator).fit(X, NAMES).score(X, NAMES) - 0.05

    @pytest.mark.parametrize("n_splits", [2, 3, 5, 500])
    def test_folds_are_even_and_hold_neighbours(self, n_splits: int) -> None:
        place = np.empty(len(Y), dtype=int)
        for fold, (train, out) in enumerate(_folds(Y, n_splits)):
            place[out] = fold
            assert_array_equal(np.sort(np.r_[train, out]), np.arange(len(Y)))
        assert np.ptp(np.bincount(place, minlength=n_splits)) <= 1
        for k in range(4):
            assert np.ptp(np.bincount(place[k == Y], minlength=n_splits)) <= 1
            assert (np.diff(place[k == Y]) >= 0).all()

    def test_one_calibrator_is_fitted_to_all_out_of_fold_scores(self) -> None:
        model = calibrated(recipe="temperature").fit(X, Y)
        scores, labels = [], []
        for (_, out), member in zip(_folds(Y, 3), model.estimators_, strict=True):
            scores.append(np.log(np.maximum(member.predict_proba(X[out]), model.floor_)))
            labels.append(Y[out])
        expected = infocal.fit("temperature", np.concatenate(scores), np.concatenate(labels))
        assert model.calibrator_.temperature == pytest.approx(expected.temperature, rel=1e-9)
        rows = [expected(np.log(np.maximum(m.predict_proba(X), model.floor_))) for m in model.estimators_]
        assert_allclose(model.predict_proba(X), np.mean(rows, axis=0), rtol=1e-9)

    def test_without_an_ensemble_one_classifier_knows_all_samples(self) -> None:
        model = calibrated(ensemble=False, recipe="temperature").fit(X, Y)
        assert_allclose(model.estimators_[0].theta_, GaussianNB().fit(X, Y).theta_)
        assert len(model.estimators_) == 1
        assert_allclose(
            model.calibrator_.temperature, calibrated(recipe="temperature").fit(X, Y).calibrator_.temperature
        )

    def test_frozen_is_prefit(self) -> None:
        base = GaussianNB().fit(X[:200], NAMES[:200])
        frozen = calibrated(estimator=FrozenEstimator(base)).fit(X[200:], NAMES[200:])
        prefit = calibrated(estimator=base, cv="prefit").fit(X[200:], NAMES[200:])
        assert_array_equal(frozen.predict_proba(X), prefit.predict_proba(X))
        assert frozen.calibrator_.fit_info["n_samples"] == 300

    def test_held_out_part(self) -> None:
        model = calibrated(cv=0.25, random_state=0).fit(X, Y)
        assert model.calibrator_.fit_info["n_samples"] == pytest.approx(125, abs=4)
        assert_array_equal(calibrated(cv=0.25, random_state=0).fit(X, Y).predict_proba(X), model.predict_proba(X))

    def test_tables_of_pandas_and_polars(self) -> None:
        pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
        expected, names = calibrated().fit(X, NAMES).predict_proba(X), [f"x{i}" for i in range(X.shape[1])]
        table = pandas.DataFrame(X, columns=names)
        model = calibrated().fit(table, pandas.Series(NAMES))
        assert_array_equal(model.feature_names_in_, names)
        assert model.n_features_in_ == len(names)
        assert_allclose(model.predict_proba(table), expected)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(table[names[::-1]])
        table = polars.DataFrame(X, schema=names)
        assert_allclose(calibrated().fit(table, polars.Series(NAMES.tolist())).predict_proba(table), expected)

    def test_texts(self) -> None:
        texts = np.array([f"{name} tree {i % 7}" for i, name in enumerate(NAMES)])
        model = calibrated(estimator=make_pipeline(CountVectorizer(), MultinomialNB())).fit(texts.tolist(), NAMES)
        assert model.score(texts.tolist(), NAMES) == 1.0


class TestWeights:
    @pytest.mark.parametrize("recipe", RECIPES)
    def test_weighting_equals_repeating(self, recipe: str) -> None:
        times = np.random.default_rng(0).integers(0, 3, len(Y))
        base = GaussianNB().fit(X, Y)
        weighted = calibrated(estimator=base, cv="prefit", recipe=recipe).fit(X, Y, sample_weight=times)
        repeated = calibrated(estimator=base, cv="prefit", recipe=recipe).fit(X.repeat(times, axis=0), Y.repeat(times))
        assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6, atol=1e-9)

    def test_weights_reach_classifier_and_calibrator(self) -> None:
        weights = np.where(Y == 0, 10.0, 1.0)
        plain, weighted = calibrated().fit(X, Y), calibrated().fit(X, Y, sample_weight=weights)
        assert weighted.estimators_[0].class_prior_[0] > plain.estimators_[0].class_prior_[0]
        assert weighted.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.1

    def test_negative_weights_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"[Nn]egative"):
            calibrated().fit(X, Y, sample_weight=-np.ones(len(Y)))

    def test_metadata_are_routed(self) -> None:
        groups, weights = np.arange(len(Y)) % 5, np.random.default_rng(0).random(len(Y)) + 0.1
        with sklearn.config_context(enable_metadata_routing=True):
            asking = GaussianNB().set_fit_request(sample_weight=True)
            model = calibrated(estimator=asking, cv=GroupKFold(5)).set_fit_request(sample_weight=True)
            model.fit(X, Y, sample_weight=weights, groups=groups)
            deaf = calibrated(estimator=GaussianNB().set_fit_request(sample_weight=False), cv=GroupKFold(5))
            deaf.set_fit_request(sample_weight=True).fit(X, Y, sample_weight=weights, groups=groups)
            with pytest.raises(TypeError, match="unexpected"):
                calibrated(estimator=asking).set_fit_request(sample_weight=True).fit(X, Y, nonsense=groups)
        assert len(model.estimators_) == 5
        assert not np.allclose(model.estimators_[0].theta_, deaf.estimators_[0].theta_)

    def test_weights_in_a_search_with_routing(self) -> None:
        weights = np.random.default_rng(0).random(len(Y)) + 0.1
        with sklearn.config_context(enable_metadata_routing=True):
            model = calibrated(estimator=GaussianNB().set_fit_request(sample_weight=True))
            model.set_fit_request(sample_weight=True)
            scorer = nll_scorer.set_score_request(sample_weight=True)
            search = GridSearchCV(model, {"recipe": RECIPES[:2]}, scoring=scorer, cv=2)
            search.fit(X, Y, sample_weight=weights)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


class TestComposition:
    def test_clone_and_parameters(self) -> None:
        model = calibrated(recipe="imax+gp", n_bins=7, options={"stage": "scaled"})
        copy = clone(model)
        assert copy.get_params(deep=False).keys() == model.get_params(deep=False).keys()
        assert copy.set_params(n_bins=9, estimator__var_smoothing=1e-3).estimator.var_smoothing == 1e-3
        assert model.n_bins == 7
        assert "imax+gp" in repr(model)

    def test_refitting_forgets(self) -> None:
        model = calibrated().fit(X[::-1], -Y)
        assert_array_equal(model.fit(X, Y).predict_proba(X), calibrated().fit(X, Y).predict_proba(X))

    def test_in_a_pipeline_with_frames(self) -> None:
        pytest.importorskip("pandas")
        frame, labels = load_iris(return_X_y=True, as_frame=True)
        pipeline = make_pipeline(StandardScaler(), calibrated(recipe="temperature")).set_output(transform="pandas")
        pipeline.fit(frame, labels)
        assert_array_equal(pipeline[-1].feature_names_in_, frame.columns)
        assert pipeline.score(frame, labels) > 0.9

    def test_grid_search_over_recipes_and_bins(self) -> None:
        grid = {"recipe": ["imax", "temperature"], "n_bins": [5, 15], "estimator__var_smoothing": [1e-9, 1e-2]}
        scoring = {"nll": nll_scorer, "ece": top1_ece_scorer, "accuracy": "accuracy"}
        search = GridSearchCV(calibrated(), grid, scoring=scoring, refit="nll", cv=2).fit(X, NAMES)
        assert len(search.cv_results_["params"]) == 8
        assert np.isfinite(search.cv_results_["mean_test_ece"]).all()
        assert search.predict_proba(X).shape == (len(X), 4)

    def test_pickle(self) -> None:
        model = calibrated(recipe="imax+gp").fit(X, NAMES)
        assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))

    def test_folds_in_parallel(self) -> None:
        assert_array_equal(calibrated(n_jobs=2).fit(X, Y).predict_proba(X), calibrated().fit(X, Y).predict_proba(X))

    def test_auto_tells_what_it_chose(self) -> None:
        model = calibrated(recipe="auto", options={"candidates": ("temperature", "svs")}).fit(X, Y)
        assert model.calibrator_.fit_info["chosen"] in ("temperature", "svs")

    def test_groups_follow_the_classes(self) -> None:
        assert_array_equal(calibrated(groups=[0, 0, 1, 1]).fit(X, NAMES).calibrator_.groups, [0, 0, 1, 1])


class TestScorers:
    @pytest.mark.parametrize("scorer", SCORERS, ids=repr)
    def test_minus_the_error(self, scorer: Any) -> None:
        model = GaussianNB().fit(X, NAMES)
        probs = model.predict_proba(X)
        expected = {
            "top1_ece_scorer": infocal.metrics.ece(probs, Y),
            "classwise_ece_scorer": infocal.metrics.ece(probs, Y, kind="classwise"),
            "nll_scorer": infocal.metrics.nll(probs, Y),
            "brier_scorer": infocal.metrics.brier(probs, Y),
            "top1_brier_scorer": infocal.metrics.brier_top1(probs, Y),
        }
        assert scorer(model, X, NAMES) == pytest.approx(-expected[scorer.name])
        assert np.isfinite(cross_val_score(model, X, NAMES, scoring=scorer, cv=3)).all()

    @pytest.mark.parametrize("scorer", SCORERS, ids=repr)
    def test_two_classes(self, scorer: Any) -> None:
        assert np.isfinite(cross_val_score(GaussianNB(), X, NAMES == "ash", scoring=scorer, cv=3)).all()

    @pytest.mark.parametrize("scorer", SCORERS, ids=repr)
    def test_classes_that_one_side_lacks(self, scorer: Any) -> None:
        some = Y < 3
        for known, asked in ((some, slice(None)), (slice(None), some)):
            score = scorer(GaussianNB().fit(X[known], NAMES[known]), X[asked], NAMES[asked])
            assert np.isfinite(score)
            assert score < 0

    def test_weights_count_samples(self) -> None:
        model, times = GaussianNB().fit(X, Y), np.random.default_rng(0).integers(0, 3, len(Y))
        for scorer in SCORERS:
            repeated = scorer(model, X.repeat(times, axis=0), Y.repeat(times))
            assert scorer(model, X, Y, sample_weight=times) == pytest.approx(repeated)

    def test_several_at_once(self) -> None:
        found = cross_validate(GaussianNB(), X, Y, scoring={s.name: s for s in SCORERS}, cv=2)
        assert all(np.isfinite(found[f"test_{s.name}"]).all() for s in SCORERS)


class TestBadInput:
    def test_not_fitted(self) -> None:
        with pytest.raises(NotFittedError):
            calibrated().predict_proba(X)
        with pytest.raises(NotFittedError):
            calibrated(cv="prefit").fit(X, Y)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"cv": 1}, "cv: expected from 2 folds .* got 1"),
            ({"cv": 501}, "cv: expected from 2 folds .* n_samples=500, got 501"),
            ({"cv": 1.5}, "cv: expected a fraction between 0 and 1 to hold out, got 1.5"),
            ({"cv": 1e-9}, "cv: expected a fraction that holds out samples, got 1e-09 of 500 samples"),
            ({"cv": "prefitted"}, "cv: expected a number, a splitter, splits or \"prefit\", got 'prefitted'"),
            ({"recipe": "magic"}, "recipe: expected one of .*, got 'magic'"),
            ({"options": {"bins": 3}}, "bins: 'imax' takes "),
            ({"n_bins": 1}, "n_bins: expected a whole number"),
            ({"groups": [0, 1]}, "groups: expected one group for each of the 4 classes"),
        ],
    )
    def test_is_named(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            calibrated(**settings).fit(X, Y)

    def test_one_class(self) -> None:
        with pytest.raises(ValueError, match="y: expected samples of at least 2 classes, got those of 1 class"):
            calibrated().fit(X, np.zeros(len(X)))

    @pytest.mark.parametrize("answers", [[0.5, np.nan, 0.5], [0.5, np.inf, 0.5]], ids=str)
    def test_answers_that_are_no_numbers(self, answers: list[float]) -> None:
        table = np.tile([0.2, 0.3, 0.5], (30, 1))
        table[4] = answers
        with pytest.raises(ValueError, match=r"estimator: expected finite numbers from predict_proba, .* in row 4"):
            calibrated(estimator=Fixed().fit(None, None), cv="prefit").fit(table, np.arange(30) % 3)

    def test_answers_of_the_wrong_number(self) -> None:
        with pytest.raises(ValueError, match="estimator: expected predict_proba to give a value for each of 4 classes"):
            calibrated(estimator=Fixed([0, 1, 2, 3]).fit(None, None), cv="prefit").fit(
                np.full((8, 3), 1 / 3), np.arange(8) % 4
            )

    def test_folds_that_share_no_class(self) -> None:
        splits = [(np.flatnonzero(Y < 2), np.flatnonzero(Y >= 2))]
        with pytest.raises(ValueError, match="cv: expected folds whose classes the other folds hold too"):
            calibrated(cv=splits).fit(X, Y)
