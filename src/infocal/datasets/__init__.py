"""Real classifier outputs that ship with the package, to try things on; PROVENANCE.md says where each is from."""

from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from ..arrays import Array, Ints

__all__ = ["TRAININGS", "Dataset", "load_fashion", "load_quickdraw"]

TRAININGS = {
    "plain": "trained by cross-entropy",
    "entropy": "trained with a confidence penalty",
    "mixup": "trained with mixup",
}


@dataclass(frozen=True)
class Dataset:
    """Logits (n, K) and labels (n,) of samples that the classifier was not trained on, in two parts.

    `cal` is for fitting a calibrator and `test` for judging it; each is a pair (logits, labels).
    """

    name: str
    about: str
    cal: tuple[Array, Ints]
    test: tuple[Array, Ints]


def load_quickdraw() -> Dataset:
    """Doodles of 345 things: 1,000 calibration and 3,000 test drawings, 38 % of them recognised.

    >>> load_quickdraw().test[0].shape
    (3000, 345)
    """
    return _dataset(
        "quickdraw", "Quick, Draw! doodles of 345 things, recognised by a small convolutional network", 1000
    )


def load_fashion(training: str = "plain") -> Dataset:
    """Photographs of 10 kinds of clothing: 10,000 calibration and 10,000 test images, about 90 % of them recognised.

    `training` is how the network learned them: "plain", "entropy" (with the confidence penalty of Pereyra et al.,
    2017) or "mixup" (Zhang et al., 2018). All three saw the same images, and these are others.

    >>> load_fashion("mixup").cal[0].shape
    (10000, 10)
    """
    if training not in TRAININGS:
        raise ValueError(f"training: expected one of {', '.join(TRAININGS)}, got {training!r}")
    about = f"Fashion-MNIST clothing of 10 kinds, recognised by a small Wide ResNet {TRAININGS[training]}"
    return _dataset(f"fashion_{training}", about, 10_000)


def _dataset(name: str, about: str, n_cal: int) -> Dataset:
    """The packaged arrays of that name; their first rows are the calibration part."""
    with files(__package__).joinpath(f"{name}.npz").open("rb") as file, np.load(file) as arrays:
        logits, labels = arrays["logits"].astype(np.float32), arrays["labels"].astype(np.int64)
    return Dataset(name, about, (logits[:n_cal], labels[:n_cal]), (logits[n_cal:], labels[n_cal:]))
