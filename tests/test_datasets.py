"""The packaged logits are what their provenance says."""

import hashlib
import json
import re
from dataclasses import asdict
from importlib.resources import files

import numpy as np
import pytest

from infocal import datasets
from infocal.kernels import rank

PACKAGED = [file for file in files(datasets).iterdir() if file.name.endswith(".npz")]
PROVENANCE = files(datasets).joinpath("PROVENANCE.md").read_text()


def accuracy(logits: np.ndarray, labels: np.ndarray) -> float:
    return float((rank(logits, logits, 1)[:, 0] == labels).mean())


def test_quickdraw() -> None:
    data = datasets.load_quickdraw()
    for (logits, labels), n in ((data.cal, 1000), (data.test, 3000)):
        assert logits.shape == (n, 345)
        assert logits.dtype == np.float32
        assert 0.35 < accuracy(logits, labels) < 0.42


@pytest.mark.parametrize("training", list(datasets.TRAININGS))
def test_fashion(training: str) -> None:
    data = datasets.load_fashion(training)
    for logits, labels in (data.cal, data.test):
        assert logits.shape == (10_000, 10)
        assert logits.dtype == np.float32
        assert np.isfinite(logits).all()
        assert 0.87 < accuracy(logits, labels) < 0.93
    assert np.bincount(data.test[1]).tolist() == [1000] * 10
    assert data.name == f"fashion_{training}"


def test_trainings_saw_the_same_images() -> None:
    labels = [datasets.load_fashion(training).cal[1] for training in datasets.TRAININGS]
    assert all(np.array_equal(labels[0], others) for others in labels)


def test_other_trainings_are_refused() -> None:
    with pytest.raises(ValueError, match="training: expected one of plain, entropy, mixup, got 'dropout'"):
        datasets.load_fashion("dropout")


def test_hashes_are_on_record() -> None:
    recorded = dict(re.findall(r"\| `(\w+\.npz)` \|.*\| `([0-9a-f]{64})` \|", PROVENANCE))
    assert recorded == {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in PACKAGED}


@pytest.mark.parametrize("training", list(datasets.TRAININGS))
def test_settings_are_on_record(training: str) -> None:
    """The JSON file is of these logits, and its settings are those the command has when none is given."""
    about = json.loads(files(datasets).joinpath(f"fashion_{training}.json").read_text())
    assert about["sha256"] in PROVENANCE
    pytest.importorskip("torch", reason="needs PyTorch, the extra `torch`")
    from experiments.train import Settings

    assert about["settings"] == asdict(Settings(training))


def test_small_enough_for_a_wheel() -> None:
    assert sum(len(file.read_bytes()) for file in PACKAGED) < 5_000_000
