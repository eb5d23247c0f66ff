"""Summaries add up: parts, in any cut and order, make the summary of the whole, and fits from either agree."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import infocal
from infocal import Summary, problems, summarise
from infocal.problems import REACH, summarised
from infocal.recipes import RECIPES, SCALINGS, takes_summary
from sources import random_samples

LOGITS, LABELS = random_samples(0, 500, 6)
WEIGHTS = np.random.default_rng(0).random(500)
GROUPS = [0, 1, 1, 0, 2, 2]


def parts(cuts: list[int], groups: object = "shared") -> list[Summary]:
    ends = [0, *sorted(cuts), len(LABELS)]
    rows = [slice(a, b) for a, b in pairwise(ends) if b > a]
    return [summarise(LOGITS[r], LABELS[r], groups=groups, weights=WEIGHTS[r]) for r in rows]


def equal(one: Summary, other: Summary, rtol: float = 0.0) -> None:
    assert one.n_samples == other.n_samples
    assert_array_equal(one.groups, other.groups)
    for name in ("points", "hits", "smaller"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=rtol)


class TestAddition:
    @given(st.lists(st.integers(0, 500), max_size=5), st.sampled_from(["shared", "classwise", GROUPS]))
    def test_parts_add_up_to_the_whole(self, cuts: list[int], groups: object) -> None:
        whole = summarise(LOGITS, LABELS, groups=groups, weights=WEIGHTS)
        equal(sum(parts(cuts, groups)), whole, rtol=1e-12)
        equal(sum(parts(cuts, groups)[::-1]), whole, rtol=1e-12)

    def test_whole_masses_add_up_exactly(self) -> None:
        halves = [summarise(LOGITS[rows], LABELS[rows]) for rows in (slice(0, 123), slice(123, None))]
        whole = summarise(LOGITS, LABELS)
        assert_array_equal((halves[0] + halves[1]).points, whole.points)
        assert_array_equal((halves[0] + halves[1]).hits, whole.hits)

    def test_masses_are_those_of_the_samples(self) -> None:
        summary = summarise(LOGITS, LABELS, groups=GROUPS, weights=WEIGHTS)
        assert_allclose(summary.points.sum(axis=1), 2 * WEIGHTS.sum())
        assert_allclose(summary.hits.sum(), WEIGHTS.sum())
        assert summary.n_classes == 6

    def test_blocks_equal_their_sum(self) -> None:
        blocks = [(LOGITS[i : i + 100], LABELS[i : i + 100], WEIGHTS[i : i + 100]) for i in range(0, 500, 100)]
        equal(summarise(iter(blocks), groups=GROUPS), sum(parts([100, 200, 300, 400], GROUPS)))

    def test_other_groups_do_not_add(self) -> None:
        with pytest.raises(ValueError, match="summary: expected one over the same groups"):
            summarise(LOGITS, LABELS) + summarise(LOGITS, LABELS, groups="classwise")
        with pytest.raises(TypeError):
            summarise(LOGITS, LABELS) + 1


class TestQuestions:
    @pytest.mark.parametrize("groups", ["shared", "classwise", GROUPS])
    def test_they_are_those_of_the_samples_in_cells(self, groups: object) -> None:
        numbers = problems.group_classes(groups, LABELS, 6, None)  # type: ignore[arg-type]
        for cells, points in zip(
            summarise(LOGITS, LABELS, groups=groups).questions(), summarised(LOGITS, LABELS, numbers), strict=True
        ):
            for name in ("logodds", "hits", "weights"):
                assert_allclose(getattr(cells, name), getattr(points, name), rtol=1e-12)

    def test_many_groups_have_wider_cells_whose_loss_is_known(self) -> None:
        rng = np.random.default_rng(0)
        logits = np.tile(LOGITS, (1, 40)) + rng.normal(size=(500, 240))
        summary = summarise(logits, LABELS, groups="classwise")
        assert summary.points.size <= 1 << 20
        assert summary.points.shape[1] == 64 * round(2 * REACH)
        assert all(question.width == 1 / 64 for question in summary.questions())
        lost = infocal.fit("imax", summary).fit_info["information_hidden"]
        exact = infocal.fit("imax", logits, LABELS, groups="classwise").fit_info["information_limit"]
        found = infocal.fit("imax", summary).fit_info["information_limit"]
        assert 0 <= exact - found <= lost < 1e-5


class TestFit:
    @pytest.mark.parametrize("recipe", ["imax", "eqmass", "eqsize", "kmeans", "platt", "isotonic", "imax+platt", "bbq"])
    @pytest.mark.parametrize("groups", ["shared", GROUPS])
    def test_it_is_nearly_that_of_the_samples(self, recipe: str, groups: object) -> None:
        summary = summarise(LOGITS, LABELS, groups=groups)
        near = infocal.fit(recipe, summary, n_bins=6)(LOGITS)
        exact = infocal.fit(recipe, LOGITS, LABELS, groups=groups, n_bins=6)(LOGITS)
        assert np.mean(np.abs(near - exact) > 0.02) < 0.03
        assert infocal.fit(recipe, summary).fit_info["n_samples"] == 500

    def test_it_is_that_of_the_cells(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(problems, "MANY", 10)
        monkeypatch.setattr(problems, "CELLS", 10)
        exact = infocal.fit("imax", LOGITS, LABELS, n_bins=6)
        monkeypatch.undo()
        for given_ in (summarise(LOGITS, LABELS), [(LOGITS[:200], LABELS[:200]), (LOGITS[200:], LABELS[200:])]):
            fitted = infocal.fit("imax", given_, n_bins=6)
            assert_array_equal(fitted.edges[0], exact.edges[0])
            assert_array_equal(fitted.representatives[0], exact.representatives[0])

    @pytest.mark.parametrize("options", [{}, {"representatives": "own"}, {"solver": "alternating"}])
    def test_edges_stand_between_cells(self, options: dict[str, object]) -> None:
        for recipe in ("imax", "eqsize", "kmeans"):
            fitted = infocal.fit(recipe, summarise(LOGITS, LABELS), n_bins=6, **options)
            assert_array_equal(fitted.edges[0] * 256, np.round(fitted.edges[0] * 256))

    @pytest.mark.parametrize("recipe", sorted({*RECIPES, *(f"imax+{name}" for name in SCALINGS)}))
    def test_recipes_tell_whether_they_take_one(self, recipe: str) -> None:
        summary = summarise(LOGITS, LABELS)
        if takes_summary(recipe) or recipe == "identity":
            assert infocal.fit(recipe, summary).n_classes == 6
        else:
            with pytest.raises(ValueError, match="recipe: expected a binning or a map of log-odds"):
                infocal.fit(recipe, summary)

    @pytest.mark.parametrize("recipe", ["temperature", "gp", "vector", "imax+temperature"])
    def test_other_recipes_need_samples(self, recipe: str) -> None:
        with pytest.raises(ValueError, match="recipe: expected a binning or a map of log-odds"):
            infocal.fit(recipe, summarise(LOGITS, LABELS))

    @pytest.mark.parametrize(
        "more", [{"labels": LABELS}, {"weights": WEIGHTS}, {"groups": "classwise"}, {"groups": "prior", "n_groups": 2}]
    )
    def test_a_summary_has_everything(self, more: dict[str, object]) -> None:
        with pytest.raises(ValueError, match="logits: expected no labels, weights or groups beside a Summary"):
            infocal.fit("imax", summarise(LOGITS, LABELS), **more)  # type: ignore[arg-type]

    def test_representatives_from_rows_are_refused(self) -> None:
        with pytest.raises(ValueError, match="representatives: expected a name"):
            infocal.fit("imax", summarise(LOGITS, LABELS), representatives=np.full((500, 6), 0.5))


class TestFiles:
    def test_saved_and_loaded_is_the_same(self, tmp_path: Path) -> None:
        summary = summarise(LOGITS, LABELS, groups=GROUPS, weights=WEIGHTS)
        summary.save(tmp_path / "part.json")
        equal(Summary.load(tmp_path / "part.json"), summary)

    def test_only_summaries_are_loaded(self, tmp_path: Path) -> None:
        infocal.fit("identity", LOGITS, LABELS).save(tmp_path / "cal.json")
        with pytest.raises(ValueError, match="expected a Summary, got a Calibrator"):
            Summary.load(tmp_path / "cal.json")
        summarise(LOGITS, LABELS).save(tmp_path / "part.json")
        with pytest.raises(ValueError, match="expected a Calibrator, got a Summary"):
            infocal.load(tmp_path / "part.json")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"points": np.zeros((1, 7))}, "one shape"),
            ({"groups": [0, 2]}, "expected every number from 0 to 0"),
            ({"hits": np.full((1, 16384), np.nan)}, "finite masses"),
            ({"hits": np.full((1, 16384), -1.0)}, "finite masses"),
        ],
    )
    def test_what_does_not_fit_together(self, changes: dict[str, object], message: str) -> None:
        fields = {name: np.zeros((1, 16384)) for name in ("points", "hits", "smaller")}
        with pytest.raises(ValueError, match=message):
            Summary(**{"n_samples": 1, "groups": [0, 0], **fields, **changes})  # type: ignore[arg-type]


class TestBadBlocks:
    @pytest.mark.parametrize(
        ("blocks", "message"),
        [
            ([], "expected at least one block"),
            ([(LOGITS, LABELS), (LOGITS[:, :5], LABELS % 5)], "block 1: .* expected 6 classes"),
            ([(LOGITS, LABELS), (LOGITS, LABELS + 1)], "block 1: .* labels: expected integers from 0 to 5, got 6"),
            ([LOGITS], "block 0: expected"),
            ([(LOGITS,)], "block 0: expected"),
            ([(np.where(LOGITS > 5, np.nan, LOGITS), LABELS)], "block 0: .* got nan in row"),
            (LOGITS, "labels: expected the true class of each row, got none"),
            (3, "labels: expected the true class of each row, got none"),
        ],
    )
    def test_they_are_named(self, blocks: object, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            infocal.fit("imax", blocks)

    def test_settings_that_need_all_labels(self) -> None:
        with pytest.raises(ValueError, match='groups: "prior" needs all labels at once'):
            summarise([(LOGITS, LABELS)], groups="prior")
        with pytest.raises(ValueError, match="weights: expected those of blocks in the blocks"):
            summarise([(LOGITS, LABELS)], weights=WEIGHTS)
        with pytest.raises(ValueError, match='n_groups: only groups="prior"'):
            infocal.fit("imax", [(LOGITS, LABELS)], n_groups=2)
