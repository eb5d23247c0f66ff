"""The experiments run from files to logits to table, in small, and give the same again."""

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments import table
from experiments.images import FILES, read_fashion, read_idx

import infocal
from infocal.datasets import TRAININGS, Dataset

SMALL = ["--epochs=1", "--n-train=96", "--n-val=40", "--batch=32", "--depth=10", "--width=1"]


def write_idx(path: Path, array: Any) -> None:
    header = bytes((0, 0, 8, array.ndim)) + np.array(array.shape, dtype=">u4").tobytes()
    path.write_bytes(gzip.compress(header + array.astype(np.uint8).tobytes()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """140 images to train on and 60 to test, in which each class is a brighter row."""
    rng = np.random.default_rng(0)
    for part, n in (("train", 140), ("t10k", 60)):
        labels = rng.integers(10, size=n)
        images = rng.integers(100, size=(n, 28, 28)) + 150 * (np.arange(28)[:, None] // 2 == labels[:, None, None])
        write_idx(tmp_path / f"{part}-images-idx3-ubyte.gz", images)
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", labels)
    return tmp_path


# -- images --------------------------------------------------------------------------------------------------------


def test_parts_do_not_overlap(folder: Path) -> None:
    everything = read_idx(folder / FILES[0])
    images = read_fashion(folder, 100, 40)
    assert np.array_equal(images.train[0], everything[:100])
    assert np.array_equal(images.val[0], everything[100:])
    assert [len(labels) for _, labels in (images.train, images.val, images.test)] == [100, 40, 60]
    with pytest.raises(ValueError, match="n_train, n_val: expected at least 1 each and 140 in all, got 101, 40"):
        read_fashion(folder, 101, 40)


def test_damaged_files_are_refused(folder: Path) -> None:
    whole = gzip.decompress((folder / FILES[0]).read_bytes())
    for content, message in ((b"\0\0", "expected an IDX file"), (whole[:-1], "expected 109760 values, got 109759")):
        (folder / "bad.gz").write_bytes(gzip.compress(content))
        with pytest.raises(ValueError, match=message):
            read_idx(folder / "bad.gz")


# -- training ------------------------------------------------------------------------------------------------------


@pytest.fixture
def train() -> Iterator[Any]:
    """The module, on one thread; what its command sets for the whole process is put back."""
    torch = pytest.importorskip("torch", reason="needs PyTorch, the extra `torch`")
    from experiments import train

    before = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    torch.set_num_threads(1)
    yield train
    torch.use_deterministic_algorithms(before[0])
    torch.set_num_threads(before[1])


@pytest.mark.parametrize("mode", list(TRAININGS))
def test_training_writes_the_same_logits_again(train: Any, mode: str, folder: Path) -> None:
    outs = [folder / f"{name}.npz" for name in ("first", "again")]
    for out in outs:
        train.main([mode, f"--data={folder}", f"--out={out}", *SMALL])
    first, again = (out.read_bytes() for out in outs)
    assert first == again
    with np.load(outs[0]) as arrays:
        assert arrays["logits"].shape == (100, 10)
        assert arrays["logits"].dtype == np.float16
        assert np.array_equal(arrays["labels"][40:], read_idx(folder / FILES[3]))
    about = json.loads(outs[0].with_suffix(".json").read_text())
    assert about["sha256"] == hashlib.sha256(first).hexdigest()
    assert about["settings"]["mode"] == mode
    assert about["data"][FILES[0]] == hashlib.sha256((folder / FILES[0]).read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"out": "absent/x.npz"}, "--out: expected an .npz file in a folder that exists"),
        ({"out": "x.json"}, "--out: expected an .npz file"),
        ({"data": "absent"}, "No such file or directory"),
        ({"n-train": "141"}, "n_train, n_val: expected"),
    ],
)
def test_bad_usage_is_said_before_training(train: Any, change: Any, message: str, folder: Path, capsys: Any) -> None:
    options = {"data": str(folder), "out": str(folder / "x.npz"), "n-train": "96", "n-val": "40"} | change
    with pytest.raises(SystemExit, match="2"):
        train.main(["plain", *(f"--{name}={value}" for name, value in options.items())])
    assert message in capsys.readouterr().err


def test_modes_and_seeds_differ(train: Any, folder: Path) -> None:
    images = read_fashion(folder, 96, 40)
    said: list[str] = []

    def logits(mode: str, seed: int = 0) -> Any:
        settings = train.Settings(mode, seed, epochs=1, n_train=96, n_val=40, batch=32, depth=10, width=1)
        return train.run(images, settings, said.append)["logits"].tobytes()

    assert sorted(train.MODES) == sorted(TRAININGS)
    assert len({logits("plain"), logits("entropy"), logits("mixup"), logits("plain", 1)}) == 4
    assert all(line.startswith("epoch 1 of 1: loss ") for line in said)


def test_training_learns(train: Any, folder: Path) -> None:
    images = read_fashion(folder, 100, 40)
    losses: list[str] = []
    arrays = train.run(images, train.Settings("plain", epochs=8, n_val=40, batch=10, depth=10, width=1), losses.append)
    assert float(losses[-1].split()[-1]) < float(losses[0].split()[-1]) / 2
    assert (arrays["logits"].argmax(axis=1) == arrays["labels"]).mean() > 0.5


def test_networks_have_whole_blocks(train: Any) -> None:
    with pytest.raises(ValueError, match="depth: expected"):
        train.wide_resnet(10, depth=15)


# -- the table -----------------------------------------------------------------------------------------------------


def test_draws_are_balanced_and_the_same_for_all() -> None:
    labels = np.random.default_rng(0).integers(4, size=200)
    logits = np.arange(200.0)[:, None] + np.zeros(4)
    data = Dataset("", "", (logits, labels), (logits, labels))
    first, again = (list(table.draws(data, 40, 3)) for _ in range(2))
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0][0], first[1][0])
    for x, y in first:
        assert np.bincount(y).tolist() == [10] * 4
        assert np.array_equal(labels[x[:, 0].astype(int)], y)
        assert len(np.unique(x[:, 0])) == 40
    with pytest.raises(ValueError, match="samples: expected a multiple of 4 up to"):
        next(table.draws(data, 42, 1))


def test_cells_are_what_compare_says() -> None:
    cells = table.measure(100, 1, {"identity": "Baseline", "imax": "I-Max"})
    data = infocal.datasets.load_fashion("mixup")
    (cal,) = table.draws(data, 100, 1)
    expected = infocal.compare(["imax"], cal, data.test)["imax"]
    for name in table.MEASURES:
        assert cells[name, "imax", "mixup"] == table.Cell(expected[name], 0.0)
    text = table.to_markdown(cells)
    assert text.count("| identity | Baseline |") == text.count("| imax | I-Max |") == len(table.MEASURES)
    assert text.count("| recipe | in the paper | plain | entropy | mixup |") == len(table.MEASURES)


def test_the_table_in_the_repository_is_what_comes_out() -> None:
    written = Path(table.__file__).with_name("table.md").read_text()
    for line in table.to_markdown(table.measure(1000, 5, {"identity": "", "imax": ""})).splitlines():
        name, numbers = line.split("|")[1:2], [float(x) for x in re.findall(r"0\.\d{4}", line)]
        if numbers:
            rows = [row for row in written.splitlines() if row.split("|")[1:2] == name]
            assert any(
                np.allclose([float(x) for x in re.findall(r"0\.\d{4}", row)], numbers, atol=2e-4) for row in rows
            )


def test_every_recipe_of_the_table_exists() -> None:
    samples = np.tile(np.eye(3), (10, 1)) + np.random.default_rng(0).normal(size=(30, 3))
    labels = np.tile(np.arange(3), 10)
    assert list(infocal.compare(table.RECIPES, (samples, labels), (samples, labels))) == list(table.RECIPES)


@pytest.mark.parametrize("training", list(TRAININGS))
def test_bins_after_training_help_every_training(training: str) -> None:
    """The paper's recommendation: both. Bins that never decrease keep every answer, ties going to the logits."""
    data = infocal.datasets.load_fashion(training)
    (cal,) = table.draws(data, 1000, 1)
    before = infocal.compare(["identity"], cal, data.test)["identity"]
    for settings in ({}, {"monotone": True}):
        after = infocal.compare(["imax"], cal, data.test, **settings)["imax"]
        assert after["top1_ece"] < 0.7 * before["top1_ece"]
        assert after["cw_ece_prior"] < 0.7 * before["cw_ece_prior"]
    assert after["accuracy"] == before["accuracy"]
