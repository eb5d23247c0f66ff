"""The native softmax loops equal their slow twins, on every instruction set."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from infocal import kernels
from infocal.arrays import Array
from infocal.kernels import _native

SHAPES = [(1, 2), (3, 3), (5, 63), (4, 64), (4, 65), (2, 1000)]


@pytest.fixture(params=_native.instruction_sets())
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    before = _native.instruction_set()
    _native.use_instruction_set(request.param)
    yield request.param
    _native.use_instruction_set(before)


def masked_logits(seed: int, n: int, n_classes: int, scale: float) -> Array:
    rng = np.random.default_rng(seed)
    logits = scale * rng.normal(size=(n, n_classes))
    logits[rng.random(logits.shape) < 0.2] = -np.inf
    logits[:, 0] = np.where(np.isneginf(logits).all(axis=1), 0.0, logits[:, 0])
    return logits


@pytest.mark.usefixtures("instruction_set")
class TestSoftmaxLoops:
    @pytest.mark.parametrize(("n", "K"), SHAPES)
    @pytest.mark.parametrize("inverse", [0.0, 0.3, 2.0])
    @pytest.mark.parametrize("scale", [1.0, 1e4])
    def test_softmax_equals_the_definition(self, n: int, K: int, inverse: float, scale: float) -> None:
        logits = masked_logits(K, n, K, scale)
        expected = [oracles.softmax(row, inverse) for row in logits.tolist()]
        assert_allclose(kernels.softmax(logits, inverse), expected, rtol=1e-9, atol=1e-15)
        single = logits.astype(np.float32)
        expected = [oracles.softmax(row, float(np.float32(inverse))) for row in single.tolist()]
        assert_allclose(kernels.softmax(single, inverse), expected, rtol=3e-5 * max(1, scale / 10), atol=1e-7)

    @pytest.mark.parametrize(("n", "K"), SHAPES)
    @pytest.mark.parametrize("inverse", [0.0, 0.5, 2.0])
    @pytest.mark.parametrize("scale", [1.0, 1e4])
    def test_sums_equal_the_definition(self, n: int, K: int, inverse: float, scale: float) -> None:
        logits, rng = masked_logits(K + 1, n, K, scale), np.random.default_rng(K)
        labels, weights = rng.integers(K, size=n), rng.integers(3, size=n).astype(float)
        expected = oracles.tempered(logits, labels, weights, inverse)
        assert_allclose(kernels.tempered(logits, labels, weights, inverse), expected, rtol=1e-11, atol=1e-11 * scale)
        single = logits.astype(np.float32)
        expected = oracles.tempered(single, labels, weights, inverse)
        tolerance = 2e-6 * scale if inverse else 2e-6 * scale**2
        assert_allclose(kernels.tempered(single, labels, weights, inverse), expected, rtol=2e-5, atol=tolerance)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_names_the_first_bad_row(self, value: float, dtype: type) -> None:
        logits = np.zeros((400, 300), dtype=dtype)
        logits[[217, 390], 7] = value
        for call in (kernels.softmax, lambda z: kernels.tempered(z, np.zeros(400, dtype=np.int64), None, 1.0)):
            with pytest.raises(ValueError, match="row 217, class 7"):
                call(logits)

    def test_takes_any_layout(self) -> None:
        logits = masked_logits(3, 40, 30, 3.0)
        labels = np.zeros(20, dtype=np.int64)
        for view in (logits[::2], np.asfortranarray(logits[::2]), logits[::2, ::-1]):
            assert_array_equal(kernels.softmax(view), kernels.softmax(np.ascontiguousarray(view)))
            assert kernels.tempered(view, labels, None, 0.7) == kernels.tempered(view.copy(), labels, None, 0.7)


def test_results_do_not_depend_on_the_instruction_set() -> None:
    logits = masked_logits(0, 30, 300, 4.0)
    labels = np.zeros(30, dtype=np.int64)
    before, found = _native.instruction_set(), []
    for name in _native.instruction_sets():
        _native.use_instruction_set(name)
        found += [
            (kernels.softmax(z, 0.8).tobytes(), kernels.tempered(z, labels, None, 0.8))
            for z in (logits, logits.astype(np.float32))
        ]
    _native.use_instruction_set(before)
    assert all(result == found[i % 2] for i, result in enumerate(found))


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    logits = np.random.default_rng(0).normal(size=(3000, 1000)).astype(np.float32)
    labels, found = np.zeros(3000, dtype=np.int64), []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("INFOCAL_NUM_THREADS", threads)
        found.append((kernels.softmax(logits).tobytes(), kernels.tempered(logits, labels, None, 1.1)))
    assert found[0] == found[1] == found[2]
