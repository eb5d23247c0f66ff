"""Data larger than memory: mapped files and blocks give what arrays in memory give, in memory that does not grow."""

import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import infocal
from infocal import fitting, mapped, tally
from infocal.arrays import Array, Floats, Ints
from infocal.mapped import is_mapped, release, row_blocks
from sources import random_samples

LOGITS, LABELS = random_samples(0, 3000, 8)
WEIGHTS = np.random.default_rng(1).random(3000)
CUTS = [0, 1, 700, 701, 2500, 3000]


@pytest.fixture
def on_disk(tmp_path: Path) -> Array:
    """The logits as a mapped file."""
    return saved(tmp_path / "logits.npy", LOGITS)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a hundred rows."""
    monkeypatch.setattr(mapped, "BLOCK", 800)
    monkeypatch.setattr(fitting, "BLOCK", 800)
    monkeypatch.setattr(tally, "BLOCK", 800)
    monkeypatch.setattr("infocal.calibrator.BLOCK", 800)
    monkeypatch.setattr("infocal.onevsrest.BLOCK", 800)


def saved(path: Path, array: Array) -> Array:
    np.save(path, array)
    return np.load(path, mmap_mode="r")


def blocks(*arrays: Array) -> Iterator[tuple[Array, ...]]:
    for a, b in pairwise(CUTS):
        yield tuple(array[a:b] for array in arrays)


class TestMaps:
    def test_views_of_a_map_are_known(self, on_disk: Array) -> None:
        for view in (on_disk, np.asarray(on_disk), on_disk[5:9], on_disk[:, ::2], on_disk.T):
            assert is_mapped(view)
        for other in (LOGITS, on_disk + 1, on_disk.copy(), np.array(on_disk), np.float64(1)):
            assert not is_mapped(other)

    @pytest.mark.parametrize("mode", ["r", "r+", "c"])
    def test_released_rows_are_read_again(self, tmp_path: Path, mode: str) -> None:
        np.save(tmp_path / "x.npy", LOGITS)
        array = np.load(tmp_path / "x.npy", mmap_mode=mode)
        changed = LOGITS.copy()
        if mode != "r":
            array[1000:1500] = changed[1000:1500] = 7.0
        for view in (array, array[3:4], np.asarray(array)[100:2000, ::3], array[:0]):
            release(view)
        assert_array_equal(array, changed)

    def test_written_rows_reach_the_file(self, tmp_path: Path) -> None:
        out = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float64, shape=LOGITS.shape)
        out[:] = LOGITS
        release(out)
        assert_array_equal(np.load(tmp_path / "x.npy"), LOGITS)

    @pytest.mark.parametrize("size", [None, 1, 800, 10**9])
    def test_blocks_cover_all_rows(self, on_disk: Array, size: int | None) -> None:
        for array in (LOGITS, on_disk):
            rows = [r for block in row_blocks(array, size=size) for r in range(block.start, block.stop)]
            assert rows == list(range(3000))


@pytest.mark.usefixtures("small_blocks")
class TestMapped:
    @pytest.mark.parametrize("groups", ["shared", "classwise", "prior"])
    @pytest.mark.parametrize("recipe", ["imax", "eqsize", "platt", "imax+platt", "imax+temperature"])
    def test_fit_is_that_of_the_summary(
        self, recipe: str, groups: str, on_disk: Array, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        there = infocal.fit(recipe, on_disk, LABELS, groups=groups, n_bins=5)
        monkeypatch.setattr("infocal.problems.MANY", 10)
        monkeypatch.setattr("infocal.problems.CELLS", 10)
        here = infocal.fit(recipe, LOGITS, LABELS, groups=groups, n_bins=5)
        assert_allclose(there(LOGITS), here(LOGITS), rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("recipe", ["temperature", "vector", "identity"])
    def test_fit_of_rows_is_the_same(self, recipe: str, on_disk: Array) -> None:
        there, here = (infocal.fit(recipe, x, LABELS)(LOGITS) for x in (on_disk, LOGITS))
        assert_array_equal(there, here)

    @pytest.mark.parametrize("recipe", ["imax", "isotonic", "temperature", "imax+gp"])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_apply_is_the_same(self, recipe: str, dtype: type, tmp_path: Path) -> None:
        calibrator = infocal.fit(recipe, LOGITS[:500], LABELS[:500])
        here = LOGITS.astype(dtype)
        there = saved(tmp_path / "x.npy", here)
        probs = calibrator(here)
        assert_array_equal(calibrator(there), probs)
        assert not is_mapped(calibrator(there))
        out = np.lib.format.open_memmap(tmp_path / "p.npy", mode="w+", dtype=dtype, shape=here.shape)
        assert calibrator(there, out=out) is out
        assert_array_equal(np.load(tmp_path / "p.npy"), probs)
        assert_array_equal(np.concatenate(list(calibrator(x for (x,) in blocks(here)))), probs)
        assert_array_equal(calibrator.rank(there), calibrator.rank(here))
        in_place = here.copy()
        assert_array_equal(calibrator(in_place, out=in_place), probs)

    def test_evaluate_is_the_same(self, on_disk: Array, tmp_path: Path) -> None:
        probs = infocal.fit("imax", LOGITS, LABELS)(LOGITS)
        there = saved(tmp_path / "probs.npy", probs)
        one = infocal.evaluate(there, LABELS, on_disk, WEIGHTS, per_class=True)
        other = infocal.evaluate(probs, LABELS, LOGITS, WEIGHTS, per_class=True)
        assert_allclose(list(one.values()), list(other.values()), rtol=1e-12, atol=1e-12)
        assert one.per_class is not None
        assert other.per_class is not None
        assert_allclose(one.per_class.weights, other.per_class.weights, rtol=1e-12)

    def test_bad_rows_are_told_by_their_number(self, tmp_path: Path) -> None:
        spoilt = LOGITS.copy()
        spoilt[2345, 6] = np.nan
        there = saved(tmp_path / "x.npy", spoilt)
        calibrator = infocal.fit("imax", LOGITS, LABELS)
        calls = (
            lambda: infocal.fit("imax", there, LABELS),
            lambda: infocal.fit("imax+temperature", there, LABELS),
            lambda: calibrator(there),
            lambda: calibrator.rank(there),
            lambda: infocal.fit("platt", LOGITS, LABELS)(there),
            lambda: infocal.evaluate(there, LABELS),
        )
        for call in calls[:-1]:
            with pytest.raises(ValueError, match="got nan in row 2345, class 6"):
                call()
        with pytest.raises(ValueError, match=r"probs: expected numbers from 0 to 1, got .* in row 0"):
            calls[-1]()
        with pytest.raises(ValueError, match=r"ties: .* got nan in row 2345, class 6"):
            infocal.evaluate(calibrator(LOGITS), LABELS, ties=there)


class TestOut:
    @pytest.mark.parametrize(
        ("out", "message"),
        [
            (np.empty((3000, 8), dtype=np.float32), "got float32 of shape"),
            (np.empty((2999, 8)), r"got float64 of shape \(2999, 8\)"),
            ([[0.0] * 8] * 3000, "got list"),
            (np.broadcast_to(0.0, (3000, 8)), "can be written to"),
        ],
    )
    def test_bad_ones(self, out: Array, message: str) -> None:
        calibrator = infocal.fit("imax", LOGITS, LABELS)
        with pytest.raises(ValueError, match=f"out: expected .*{message}"):
            calibrator(LOGITS, out=out)

    def test_blocks_have_none(self) -> None:
        calibrator = infocal.fit("imax", LOGITS, LABELS)
        with pytest.raises(ValueError, match="out: expected none beside an iterator"):
            calibrator(iter([LOGITS]), out=np.empty_like(LOGITS))  # type: ignore[call-overload]


class TestEvaluateBlocks:
    probs: Floats = infocal.fit("imax", LOGITS, LABELS)(LOGITS)

    def test_blocks_give_what_arrays_give(self) -> None:
        whole = infocal.evaluate(self.probs, LABELS, LOGITS, WEIGHTS)
        parts = infocal.evaluate(list(blocks(self.probs, LABELS, LOGITS, WEIGHTS)))
        assert list(parts) == list(whole)
        assert_allclose(list(parts.values()), list(whole.values()), rtol=1e-12, atol=1e-12)
        assert (parts.n, parts.n_classes) == (3000, 8)
        for name in ("top1", "classwise"):
            for field in ("excess", "weights", "hits"):
                one, other = (getattr(getattr(report, name), field) for report in (parts, whole))
                assert_allclose(one, other, rtol=1e-9, atol=1e-9)

    def test_an_iterator_cannot_know_the_priors(self) -> None:
        whole = dict(infocal.evaluate(self.probs, LABELS))
        del whole["cw_ece_prior"]
        parts = infocal.evaluate(blocks(self.probs, LABELS))
        assert list(parts) == list(whole)
        assert_allclose(list(parts.values()), list(whole.values()), rtol=1e-12, atol=1e-12)

    def test_parts_of_no_weight_count_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tally, "ROWS", 100)
        weights = WEIGHTS.copy()
        weights[:1500] = 0
        spared = infocal.evaluate(self.probs, LABELS, weights=weights)
        kept = infocal.evaluate(self.probs[1500:], LABELS[1500:], weights=weights[1500:])
        assert_allclose(list(spared.values()), list(kept.values()), rtol=1e-9)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ([], "probs: expected at least one block"),
            (iter([]), "probs: expected at least one block"),
            (LOGITS, "labels: expected the true class"),
            ([(LOGITS, LABELS)], "block 0: .* probs: expected numbers from 0 to 1"),
            ([LOGITS[:0]], "block 0: expected"),
            ([(np.full((2, 3), 0.3), [0, 1]), (np.full((2, 4), 0.2), [0, 1])], "block 1: .* expected 3 classes"),
        ],
    )
    def test_bad_blocks(self, given: object, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            infocal.evaluate(given)

    def test_ties_and_weights_are_in_the_blocks(self) -> None:
        with pytest.raises(ValueError, match="ties, weights, level: expected none beside blocks"):
            infocal.evaluate([(self.probs, LABELS)], weights=WEIGHTS)


PEAK = """
import resource, sys
import numpy as np
import infocal
infocal.fit, infocal.evaluate
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
folder = sys.argv[1]
before = peak()
logits, labels = np.load(folder + "/logits.npy", mmap_mode="r"), np.load(folder + "/labels.npy")
calibrator = infocal.fit("imax", logits, labels)
out = np.lib.format.open_memmap(folder + "/probs.npy", mode="w+", dtype=logits.dtype, shape=logits.shape)
calibrator(logits, out=out)
infocal.evaluate(np.load(folder + "/probs.npy", mmap_mode="r"), labels, ties=logits)
print((peak() - before) / logits.nbytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_files_larger_than_what_is_held(tmp_path: Path) -> None:
    rng, (n, K) = np.random.default_rng(0), (30_000, 1000)
    labels: Ints = rng.integers(K, size=n)
    logits = np.lib.format.open_memmap(tmp_path / "logits.npy", mode="w+", dtype=np.float32, shape=(n, K))
    for start in range(0, n, 5000):
        logits[start : start + 5000] = 3 * rng.standard_normal((5000, K), dtype=np.float32)
    logits[np.arange(n), labels] += 12
    logits.flush()
    np.save(tmp_path / "labels.npy", labels)
    run = subprocess.run([sys.executable, "-c", PEAK, str(tmp_path)], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 0.6  # 120 MB of logits, twice as much in all; the peak does not grow with them
