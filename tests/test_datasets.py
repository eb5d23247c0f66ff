"""The packaged logits are what their provenance says."""

from importlib.resources import files

import numpy as np

from infocal import datasets
from infocal.kernels import rank


def test_quickdraw() -> None:
    data = datasets.load_quickdraw()
    for (logits, labels), n in ((data.cal, 1000), (data.test, 3000)):
        assert logits.shape == (n, 345)
        assert logits.dtype == np.float32
        assert 0.35 < (rank(logits, logits, 1)[:, 0] == labels).mean() < 0.42


def test_small_enough_for_a_wheel() -> None:
    packaged = [file for file in files(datasets).iterdir() if file.name.endswith(".npz")]
    assert sum(len(file.read_bytes()) for file in packaged) < 5_000_000
    provenance = files(datasets).joinpath("PROVENANCE.md").read_text()
    assert all(file.name in provenance for file in packaged)
