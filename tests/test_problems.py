"""Questions hold the same samples however they are cut, ordered, weighted or compressed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from infocal import kernels, problems
from infocal.arrays import Floats
from infocal.numerics import entropy, sigmoid
from infocal.problems import Binary, binary, compress, group_classes, prior_groups, split, summarised
from sources import questions, random_question, random_samples

SVHN_GROUPS = [0, 0, 1, 1, 1, 2, 2, 2, 2, 2]  # {0-1}, {2-4}, {5-9}
SVHN_COUNTS = [5099, 4149, 2882, 2523, 2384, 1977, 2019, 1744, 1660, 1595]  # of its test set, most frequent first


def totals(problem: Binary) -> Floats:
    return np.array([problem.weights.sum(), problem.weights @ problem.hits])


class TestBinary:
    @given(questions)
    def test_points_are_distinct_and_increasing(self, problem: Binary) -> None:
        assert (np.diff(problem.logodds) > 0).all()

    @given(st.integers(0, 1000))
    def test_weighting_equals_repeating_in_any_order(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        x, hits, times = rng.normal(size=20).round(1), rng.integers(2, size=20) * 1.0, rng.integers(0, 4, size=20)
        times[0] = 1
        order = rng.permutation(times.sum())
        weighted = binary(x, hits, times.astype(float))
        repeated = binary(np.repeat(x, times)[order], np.repeat(hits, times)[order])
        assert_array_equal(weighted.logodds, repeated.logodds)
        assert_allclose(weighted.hits, repeated.hits, rtol=1e-14)
        assert_array_equal(weighted.weights, repeated.weights)

    @given(questions)
    def test_separators_part_neighbours(self, problem: Binary) -> None:
        for question in (problem, compress(problem)):
            between = question.separators()
            assert (question.logodds[:-1] < between).all()
            assert (between <= question.logodds[1:]).all()
            assert question.parted_by(between)

    def test_infinite_points_are_parted_by_finite_edges(self) -> None:
        problem = binary(np.array([-np.inf, 0.0, np.inf]), np.array([0.0, 1.0, 1.0]))
        assert_array_equal(problem.separators(), [-1.0, 1.0])

    def test_neighbouring_doubles_are_parted(self) -> None:
        problem = binary(np.array([1.0, np.nextafter(1.0, 2)]), np.array([0.0, 1.0]))
        assert_array_equal(problem.separators(), problem.logodds[1:])


class TestSplit:
    def test_columns_of_a_group_are_stacked(self) -> None:
        logits, labels = random_samples(0, 30, 4)
        logodds, groups = kernels.logodds(logits), np.array([0, 1, 0, 1])
        for g, problem in enumerate(split(logits, labels, groups)):
            of = groups == g
            assert_array_equal(problem.logodds, np.unique(logodds[:, of]))
            assert_allclose(totals(problem), [of.sum() * 30, np.isin(labels, np.flatnonzero(of)).sum()])

    def test_summary_equals_compressed_points(self) -> None:
        logits, labels = random_samples(1, 200, 5)
        weights, groups = np.random.default_rng(0).random(200), np.array([0, 1, 0, 2, 2])
        pairs = zip(
            summarised(logits, labels, groups, weights),
            map(compress, split(logits, labels, groups, weights)),
            strict=True,
        )
        for cells, points in pairs:
            for name in ("logodds", "hits", "weights"):
                assert_allclose(getattr(cells, name), getattr(points, name), rtol=1e-9, atol=1e-12)

    def test_many_points_are_summarised(self, monkeypatch: pytest.MonkeyPatch) -> None:
        logits, labels = random_samples(1, 200, 5)
        shared = np.zeros(5, dtype=np.int64)
        assert problems.questions(logits, labels, shared)[0].width == 0
        monkeypatch.setattr(problems, "MANY", 10)
        monkeypatch.setattr(problems, "CELLS", 10)
        assert problems.questions(logits, labels, shared)[0].width > 0


class TestCompress:
    @given(questions)
    def test_masses_are_kept(self, problem: Binary) -> None:
        assert_allclose(totals(compress(problem)), totals(problem), rtol=1e-12)

    @given(questions)
    def test_compressing_again_changes_nothing(self, problem: Binary) -> None:
        once = compress(problem)
        assert_allclose(compress(once).logodds, once.logodds, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("spread", [1.0, 5.0, 30.0])
    def test_hidden_information_is_bounded(self, spread: float) -> None:
        x = spread * np.random.default_rng(0).normal(size=100_000)
        problem = binary(x, np.zeros(len(x)))
        cells = compress(problem)
        of = lambda p: entropy(p.weights * sigmoid(p.logodds), p.weights * sigmoid(-p.logodds)).sum()  # noqa: E731
        lost = (of(cells) - of(problem)) / len(x)
        assert 0 <= lost <= cells.hidden + 1e-12
        assert cells.hidden < 2e-6
        assert problem.hidden == 0

    def test_far_points_stay_in_the_end_cells(self) -> None:
        cells = compress(binary(np.array([-np.inf, -1e4, 0.0, 1e4, np.inf]), np.array([0.0, 0, 1, 1, 1])))
        assert_array_equal(cells.weights, [2, 1, 2])
        assert np.isfinite(cells.logodds).all()


class TestGroups:
    def test_names(self) -> None:
        labels = np.array([0, 1, 2])
        assert_array_equal(group_classes("shared", labels, 3, None), [0, 0, 0])
        assert_array_equal(group_classes("classwise", labels, 3, None), [0, 1, 2])
        assert_array_equal(group_classes([7, 5, 7], labels, 3, None), [1, 0, 1])

    def test_grouping_of_svhn(self) -> None:
        assert_array_equal(group_classes(SVHN_GROUPS, np.arange(10), 10, None), SVHN_GROUPS)
        assert_array_equal(prior_groups(np.array(SVHN_COUNTS), 3), [2, 2, 1, 1, 1, 0, 0, 0, 0, 0])

    def test_balanced_classes_are_one_group(self) -> None:
        counts = np.random.default_rng(0).multinomial(1000, np.full(100, 0.01))
        assert prior_groups(counts).max() == 0

    @given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30), st.randoms())
    def test_relabelling_classes_relabels_groups(self, counts: list[int], random: object) -> None:
        values = np.array(sorted(set(counts)), dtype=float)
        order = np.random.default_rng(0).permutation(len(values))
        assert_array_equal(prior_groups(values[order]), prior_groups(values)[order])
        assert (np.diff(prior_groups(values)) >= 0).all()

    @pytest.mark.parametrize(
        ("groups", "n_groups", "message"),
        [
            ("alphabetic", None, 'groups: expected "shared", "classwise", "prior" or an array'),
            ([0, 1], None, r"groups: expected one group for each of the 3 classes, got shape \(2,\)"),
            ([0.0, 1.0, 2.0], None, "groups: expected integers"),
            ("shared", 2, 'n_groups: only groups="prior"'),
            ("prior", 4, "n_groups: expected a whole number from 1 to 3, got 4"),
        ],
    )
    def test_bad_input(self, groups: object, n_groups: int | None, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            group_classes(groups, np.array([0, 1, 2]), 3, None, n_groups)  # type: ignore[arg-type]


def test_random_questions_have_ties() -> None:
    assert len(random_question(0).logodds) < 50
