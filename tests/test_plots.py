"""Pictures hold what the tables say, on the axes they were given, and touch nothing else."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import infocal
from infocal.metrics import Reliability, bootstrap, ece, reliability
from infocal.metrics.bands import clopper_pearson
from infocal.numerics import softmax
from infocal.problems import split
from sources import random_samples

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.container import ErrorbarContainer  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from infocal.plots import draw_ece, draw_information, draw_logodds, draw_reliability  # noqa: E402

LOGITS, LABELS = random_samples()
PROBS = softmax(LOGITS)
TABLE = reliability(PROBS, LABELS, n_bins=12)
CLASSES = reliability(PROBS, LABELS, kind="classwise", n_bins=12)
IMAX = infocal.fit("imax", LOGITS, LABELS, n_bins=6, groups=[0, 0, 1, 1, 1, 1])
AFTER = reliability(IMAX(LOGITS), LABELS, scheme="own")


def points(ax: Axes) -> list[ErrorbarContainer]:
    return [c for c in ax.containers if isinstance(c, ErrorbarContainer)]


def bars(drawn: ErrorbarContainer) -> np.ndarray:
    """Lower and upper ends (M, 2) of the intervals of a diagram."""
    return np.array([segment[:, 1] for segment in drawn[2][0].get_segments()])


class TestReliability:
    def test_shows_the_table(self) -> None:
        ax = draw_reliability(TABLE, level=0.8)
        (drawn,) = points(ax)
        assert_allclose(drawn[0].get_xdata(), TABLE.mean)
        assert_allclose(drawn[0].get_ydata(), TABLE.frequency)
        assert_allclose(bars(drawn), np.transpose(clopper_pearson(TABLE.hits, TABLE.weights, 0.2)))
        assert ax.get_legend() is None

    def test_strip_shows_the_shares(self) -> None:
        (strip,) = draw_reliability(TABLE).child_axes
        assert_allclose(strip.lines[0].get_xdata(), TABLE.mean)
        assert_allclose(strip.lines[0].get_ydata(), TABLE.share)
        assert not draw_reliability(TABLE, histogram=False).child_axes

    def test_before_and_after(self) -> None:
        ax = draw_reliability({"before": TABLE, "after": AFTER})
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["before", "after"]
        for drawn, table in zip(points(ax), (TABLE, AFTER), strict=True):
            assert_allclose(drawn[0].get_xdata(), table.mean)
        one, other = (drawn[0] for drawn in points(ax))
        assert one.get_marker() != other.get_marker()
        assert one.get_linestyle() != other.get_linestyle()
        assert one.get_markerfacecolor() != other.get_markerfacecolor()

    def test_one_class(self) -> None:
        of = CLASSES.question == 2
        (drawn,) = points(draw_reliability(CLASSES, question=2))
        assert_allclose(drawn[0].get_xdata(), CLASSES.mean[of])
        assert_allclose(drawn[0].get_ydata(), CLASSES.frequency[of])

    def test_all_classes_together(self) -> None:
        (drawn,) = points(draw_reliability(CLASSES, n_bins=4))
        cell = np.minimum(PROBS.ravel() * 4, 3).astype(int)
        hits = np.equal.outer(LABELS, np.arange(6)).ravel()
        assert_allclose(drawn[0].get_ydata(), [hits[cell == m].mean() for m in range(4)])
        assert_allclose(drawn[0].get_xdata(), [PROBS.ravel()[cell == m].mean() for m in range(4)])

    def test_logodds_scale_keeps_every_point_on_the_axes(self) -> None:
        table = Reliability(1, np.zeros(4), [-1.0, 0.0, 0.0, 0.1], [5.0, 10.0, 10.0, 5.0], [1.0, 0.0, 5.0, 5.0])
        extreme = Reliability(1, np.zeros(2), [1e-12, -1e-12], [1.0, 1.0], [0.0, 1.0])
        for tables in (table, extreme, {"a": table, "b": extreme}):
            ax = draw_reliability(tables, scale="logodds")
            (low, high), (bottom, top) = ax.get_xlim(), ax.get_ylim()
            assert 0 < low < high < 1
            assert (low, high) == (bottom, top)
            for drawn in points(ax):
                x, y = drawn[0].get_data()
                assert ((low <= x) & (x <= high) & (low <= y) & (y <= high)).all()
            ax.figure.canvas.draw()

    def test_logodds_scale_merges_on_the_log_odds_line(self) -> None:
        fine = reliability(PROBS, LABELS, kind="classwise", scheme="own")
        (drawn,) = points(draw_reliability(fine, n_bins=8, scale="logodds"))
        x = np.log(drawn[0].get_xdata()) - np.log1p(-drawn[0].get_xdata())
        assert len(x) == 8
        assert (np.diff(x) > 0).all()

    def test_merging_keeps_the_mass(self) -> None:
        merged = CLASSES.merged(np.array([0.3, 0.6]))
        assert merged.questions == 1
        for name in ("excess", "weights", "hits"):
            assert getattr(merged, name).sum() == pytest.approx(getattr(CLASSES, name).sum())

    @pytest.mark.parametrize(
        ("tables", "options", "words"),
        [
            (TABLE, {"scale": "log"}, "scale: expected"),
            (TABLE, {"level": 90}, "level: expected a fraction"),
            (TABLE, {"question": 1}, "question: expected a number from 0 to 0, got 1"),
            (TABLE, {"n_bins": 0}, "n_bins: expected a whole number"),
            (CLASSES, {}, "bins of 6 classes; draw one of them with question="),
            ({}, {}, "tables: expected at least one"),
            ({"x": PROBS}, {}, r"tables\['x'\]: expected what metrics.reliability returns, got ndarray"),
            (reliability(PROBS, LABELS, threshold=1.0), {}, "at least one bin with samples"),
        ],
    )
    def test_bad_input(self, tables: object, options: dict[str, object], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            draw_reliability(tables, **options)


class TestLogodds:
    def test_counts_every_answer(self) -> None:
        ax = draw_logodds(LOGITS, LABELS)
        others, true = (patch.get_data().values.sum() for patch in ax.patches)
        assert (others, true) == (400 * 5, 400)

    def test_edges_of_a_group(self) -> None:
        ax = draw_logodds(LOGITS, LABELS, calibrator=IMAX, group=1)
        assert_allclose([line.get_xdata()[0] for line in ax.lines], IMAX.edges[1])
        problem = split(LOGITS, LABELS, IMAX.groups)[1]
        others, true = (patch.get_data().values.sum() for patch in ax.patches)
        assert others + true == problem.weights.sum() == 1600
        assert true == pytest.approx(problem.weights @ problem.hits)
        assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "5 bin edges"

    def test_certainty_and_masked_classes(self) -> None:
        logits = LOGITS.copy()
        logits[:9, 1] = -np.inf
        logits[9:12, 2] = 900.0
        ax = draw_logodds(logits, LABELS)
        assert sum(patch.get_data().values.sum() for patch in ax.patches) == 2400
        ax.figure.canvas.draw()

    def test_bad_input(self) -> None:
        with pytest.raises(ValueError, match="group: expected a number from 0 to 1, got 2"):
            draw_logodds(LOGITS, LABELS, calibrator=IMAX, group=2)
        with pytest.raises(ValueError, match="expected 6 classes"):
            draw_logodds(LOGITS[:, :4], LABELS, calibrator=IMAX)
        with pytest.raises(AttributeError, match="'identity' has no groups"):
            draw_logodds(LOGITS, LABELS, calibrator=infocal.fit("identity", LOGITS, LABELS))


class TestErrorsOverBins:
    COUNTS = (5, 20, 80)

    def errors(self, probs: np.ndarray, labels: np.ndarray) -> list[float]:
        return [ece(probs, labels, n_bins=M) for M in self.COUNTS]

    def test_shows_the_errors_and_their_bands(self) -> None:
        told = bootstrap(self.errors, PROBS, LABELS, n_resamples=20, method="percentile")
        ax = draw_ece(self.COUNTS, {"softmax": told, "imax": [0.1, 0.2, 0.3]})
        assert_allclose(ax.lines[0].get_ydata(), told.estimate)
        assert_array_equal(ax.lines[1].get_ydata(), [0.1, 0.2, 0.3])
        assert_array_equal(ax.lines[1].get_xdata(), self.COUNTS)
        (area,) = ax.collections
        corners = area.get_paths()[0].vertices
        assert {*np.round(told.low, 12), *np.round(told.high, 12)} <= {*np.round(corners[:, 1], 12)}

    def test_many_counts_are_not_all_written(self) -> None:
        counts = np.arange(1, 101)
        assert draw_ece(counts, {"x": counts / 100}).get_xscale() == "linear"
        ax = draw_ece(self.COUNTS, {"x": [1, 2, 3]})
        assert_array_equal(ax.get_xticks(), self.COUNTS)

    @pytest.mark.parametrize(
        ("n_bins", "errors", "words"),
        [
            ([5, 10], {"x": [0.1]}, r"errors\['x'\]: expected 2 numbers, .* got 1"),
            ([5, 10], {"x": [0.1, np.nan]}, r"errors\['x'\]: expected finite numbers, got nan in place 1"),
            ([0, 10], {"x": [0.1, 0.1]}, "n_bins: expected numbers of at least 1, got 0"),
            (["a"], {"x": [0.1]}, "n_bins: expected a row of numbers"),
            ([5], {}, "errors: expected at least one"),
        ],
    )
    def test_bad_input(self, n_bins: object, errors: object, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            draw_ece(n_bins, errors)


class TestInformation:
    def test_shows_the_points(self) -> None:
        ax = draw_information({"imax": ([1, 2], [0.2, 0.24]), "eqmass": (2.0, 0.21)})
        assert_array_equal(ax.lines[0].get_xydata(), [[1, 0.2], [2, 0.24]])
        assert_array_equal(ax.lines[1].get_xydata(), [[2.0, 0.21]])

    def test_limit_and_curve(self) -> None:
        ax = draw_information({"imax": (1.0, 0.2)}, limit=0.25, curve=([0, 1, 2], [0, 0.22, 0.24]), unit="bits")
        assert ax.get_ylabel() == "information I(label; bin), bits"
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels == ["limit I(label; log-odds)", "bottleneck curve", "imax"]
        assert set(ax.lines[0].get_ydata()) == {0.25}
        assert_array_equal(ax.lines[1].get_ydata(), [0, 0.22, 0.24])

    def test_bad_input(self) -> None:
        with pytest.raises(ValueError, match=r"binnings\['imax'\]\[1\]: expected 2 numbers"):
            draw_information({"imax": ([1, 2], [0.2])})
        with pytest.raises(ValueError, match=r"curve\[1\]: expected 1 numbers"):
            draw_information({"imax": (1, 0.2)}, curve=([1.0], [0.1, 0.2]))


DRAWN = [
    lambda ax: draw_reliability({"before": TABLE, "after": AFTER}, ax=ax),
    lambda ax: draw_reliability(CLASSES, n_bins=10, scale="logodds", ax=ax),
    lambda ax: draw_logodds(LOGITS, LABELS, calibrator=IMAX, ax=ax),
    lambda ax: draw_ece([5, 10], {"a": [0.1, 0.2]}, ax=ax),
    lambda ax: draw_information({"a": (1, 0.2)}, limit=0.3, ax=ax),
]


@pytest.mark.parametrize("draw", DRAWN)
def test_draws_on_the_axes_it_is_given(draw: object) -> None:
    left, right = Figure().subplots(1, 2)
    assert draw(right) is right
    assert not left.has_data()
    assert right.get_xlabel()
    assert right.get_ylabel()
    right.figure.canvas.draw()


@pytest.mark.parametrize("draw", DRAWN)
def test_changes_no_setting(draw: object) -> None:
    before = dict(matplotlib.rcParams)
    draw(None).figure.canvas.draw()
    assert dict(matplotlib.rcParams) == before


def test_loads_no_pyplot() -> None:
    code = (
        "import sys, infocal, infocal.plots as plots;"
        "plots.draw_ece([5, 10], {'a': [0.1, 0.2]}).figure.savefig(sys.stdout.buffer, format='svg');"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert b"<svg" in made.stdout


def test_says_what_to_install() -> None:
    code = "import sys; sys.modules['matplotlib.axes'] = None; import infocal.plots"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'infocal[plot]'" in made.stderr
