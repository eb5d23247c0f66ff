"""Data larger than memory: mapped files and blocks give what arrays in memory give, in memory that does not grow."""

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import infocal
from infocal import fitting, kernels, mapped, tally
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
        for count in (1, 2):
            with infocal.threads(count):
                assert_array_equal(calibrator.rank(there), kernels.rank(probs, here, 5))
        in_place = here.copy()
        assert_array_equal(calibrator(in_place, out=in_place), probs)

    @pytest.mark.parametrize("recipe", ["imax", "temperature"])
    def test_apply_to_a_file_is_the_same(self, recipe: str, on_disk: Array, tmp_path: Path) -> None:
        calibrator = infocal.fit(recipe, LOGITS, LABELS)
        for name, logits in (("a.npy", on_disk), ("b.npy", LOGITS), ("c.npy", LOGITS.astype(np.float32))):
            probs = calibrator(logits, out=tmp_path / name)
            assert is_mapped(probs)
            assert_array_equal(np.load(tmp_path / name), calibrator(logits))
            assert_array_equal(probs, calibrator(logits))

    def test_a_file_is_written_whole_or_not_at_all(self, tmp_path: Path) -> None:
        spoilt = LOGITS.copy()
        spoilt[2345, 6] = np.nan
        calibrator = infocal.fit("imax", LOGITS, LABELS)
        with pytest.raises(ValueError, match="got nan in row 2345, class 6"):
            calibrator(saved(tmp_path / "x.npy", spoilt), out=str(tmp_path / "p.npy"))
        with pytest.raises(ValueError, match=r"out: expected an array or the name of an \.npy file, got 'p\.csv'"):
            calibrator(LOGITS, out="p.csv")
        assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]

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

    @pytest.mark.parametrize("weights", [None, WEIGHTS, np.where(np.arange(3000) < 700, 0, WEIGHTS)])
    def test_an_iterator_beside_all_labels_gives_what_arrays_give(self, weights: Floats | None) -> None:
        alone = infocal.evaluate(self.probs, LABELS, weights=weights)
        ranked = infocal.evaluate(self.probs, LABELS, LOGITS, weights, per_class=True)
        parts = infocal.evaluate((p for (p,) in blocks(self.probs)), LABELS, weights=weights)
        assert list(parts) == list(alone)
        assert_allclose(list(parts.values()), list(alone.values()), rtol=1e-9, atol=1e-12)
        parts = infocal.evaluate(blocks(self.probs, LOGITS), LABELS, weights=weights, per_class=True)
        assert_allclose(list(parts.values()), list(ranked.values()), rtol=1e-9, atol=1e-12)
        assert parts.per_class is not None
        assert ranked.per_class is not None
        assert_allclose(parts.per_class.hits, ranked.per_class.hits, rtol=1e-9, atol=1e-12)

    def test_bad_blocks_beside_labels(self) -> None:
        spoilt = self.probs.copy()
        spoilt[1234, 5] = 2.0
        for given, labels, message in (
            ((spoilt,), LABELS, "probs: expected numbers from 0 to 1, got 2.0 in row 1234, class 5"),
            ((self.probs, np.where(self.probs == spoilt, LOGITS, np.nan)), LABELS, "ties: .* nan in row 1234, class 5"),
            ((self.probs,), LABELS[:-1], "labels: expected one label for each sample, got 2999 and more samples"),
            ((self.probs[:-1],), LABELS, "probs: expected a row for each of the 3000 labels, got 2999"),
            ((self.probs,), LABELS + 1, "labels: expected integers from 0 to 7"),
        ):
            with pytest.raises(ValueError, match=message):
                infocal.evaluate((b if len(b) > 1 else b[0] for b in blocks(*given)), labels)
        with pytest.raises(ValueError, match="probs: expected a row for each of the 3000 labels, got 0"):
            infocal.evaluate(iter([]), LABELS)
        with pytest.raises(ValueError, match="ties, level: expected none beside an iterator"):
            infocal.evaluate(iter([self.probs]), LABELS, ties=LOGITS)

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


LATE = """
import sys
import numpy as np
import infocal
fit, evaluate = infocal.fit, infocal.evaluate
logits, labels = np.zeros((2200, 1000), dtype=np.float32), np.arange(2200) % 1000
logits[np.arange(2200), labels] = 9.0
np.save(sys.argv[1], logits)
mapped, before = np.load(sys.argv[1], mmap_mode="r"), set(sys.modules)
evaluate(fit("imax", mapped, labels)(mapped), labels)
print(sorted(name for name in set(sys.modules) - before if "." not in name or name.startswith("numpy")))
"""


def test_a_first_call_imports_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LATE, str(tmp_path / "x.npy")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_at_odd_addresses_are_copied(dtype: type) -> None:
    there = LOGITS.astype(dtype)
    odd = np.empty(there.nbytes + 1, dtype=np.uint8)[1:].view(dtype).reshape(there.shape)
    odd[:] = there
    assert not odd.flags.aligned
    assert_array_equal(infocal.fit("imax", odd, LABELS)(odd), infocal.fit("imax", there, LABELS)(there))


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


COMMANDS = """
import sys
from infocal.cli import main
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
before = peak()
for command in sys.argv[1].split(";"):
    assert main(command.split()) == 0
print((peak() - before) / 120e6)
"""
CHAINS = {
    "stored": "fit stored.npz -o a.json;apply a.json stored.npz -o p.npz;evaluate p.npz;evaluate stored.npz",
    "packed": "fit packed.npz -o a.json;apply a.json packed.npz -o p.npy;evaluate packed.npz --calibrator a.json",
    "probs": "fit probs.npz -o a.json;apply a.json probs.npz -o p.npz;evaluate p.npz --calibrator a.json",
}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 120 MB of logits in an `.npy` file, and labels."""
    rng, (n, K), folder = np.random.default_rng(0), (30_000, 1000), tmp_path_factory.mktemp("large")
    labels: Ints = rng.integers(K, size=n)
    logits = np.lib.format.open_memmap(folder / "logits.npy", mode="w+", dtype=np.float32, shape=(n, K))
    for start in range(0, n, 5000):
        logits[start : start + 5000] = 3 * rng.standard_normal((5000, K), dtype=np.float32)
    logits[np.arange(n), labels] += 12
    logits.flush()
    np.save(folder / "labels.npy", labels)
    return folder


def measured(code: str, argument: str, folder: Path) -> float:
    run = subprocess.run([sys.executable, "-c", code, argument], capture_output=True, text=True, check=True, cwd=folder)
    return float(run.stdout.splitlines()[-1])


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
class TestPeak:
    def test_of_functions(self, large: Path) -> None:
        assert measured(PEAK, str(large), large) < 0.6  # of the logits; it does not grow with them

    @pytest.mark.parametrize("name", CHAINS)
    def test_of_commands(self, name: str, large: Path) -> None:
        logits, labels = np.load(large / "logits.npy", mmap_mode="r"), np.load(large / "labels.npy")
        if name == "stored":
            np.savez(large / "stored.npz", logits=logits, labels=labels)
        elif name == "probs":
            infocal.fit("identity", logits[:1], labels[:1])(logits, out=large / "probs.npy")
            np.savez(large / "probs.npz", probs=np.load(large / "probs.npy", mmap_mode="r"), labels=labels)
        else:
            with zipfile.ZipFile(large / "packed.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                for key, array in (("logits", logits), ("labels", labels)):
                    with archive.open(f"{key}.npy", "w") as member:
                        np.lib.format.write_array(member, np.asarray(array))
        assert measured(COMMANDS, CHAINS[name], large) < 0.8
