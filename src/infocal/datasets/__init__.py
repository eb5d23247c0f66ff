"""Real classifier outputs that ship with the package, to try things on; PROVENANCE.md says where each is from."""

from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from ..arrays import Array, Ints

__all__ = ["Dataset", "load_quickdraw"]


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
    with files(__package__).joinpath("quickdraw.npz").open("rb") as file, np.load(file) as arrays:
        logits, labels = arrays["logits"].astype(np.float32), arrays["labels"].astype(np.int64)
    about = "Quick, Draw! doodles of 345 things, recognised by a small convolutional network"
    return Dataset("quickdraw", about, (logits[:1000], labels[:1000]), (logits[1000:], labels[1000:]))
