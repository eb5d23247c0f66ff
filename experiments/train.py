"""Train a small Wide ResNet on Fashion-MNIST in one of three modes, and keep its logits of images it has not seen.

    python -m experiments.train plain --data FOLDER --out fashion_plain.npz

`plain` minimises the cross-entropy, `entropy` with the confidence penalty, `mixup` on mixed images. The file has
`logits` (float16) and `labels`: first the validation half, then the test half. Beside it a JSON file says with what
settings and from what data it was made, and its hash. On one machine the same command writes the same bytes.
"""

import argparse
import hashlib
import json
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from infocal.files import replaced, write_arrays
from infocal.torch import entropy_regularised_loss, mixup, mixup_loss

from .images import FILES, Bytes, Images, read_fashion
from .network import wide_resnet

__all__ = ["MODES", "Settings", "main", "run", "train"]

N_CLASSES = 10
Report = Callable[[str], None]


@dataclass(frozen=True)
class Settings:
    """All that the logits depend on besides the images.

    Few images and many epochs: the network learns them by heart and becomes overconfident, as large networks do.
    """

    mode: str
    seed: int = 0
    epochs: int = 20
    n_train: int = 10_000
    n_val: int = 10_000
    batch: int = 128
    rate: float = 0.1  # the highest, of one cycle
    momentum: float = 0.9
    decay: float = 5e-4
    depth: int = 16
    width: int = 2
    strength: float = 0.1  # of the confidence penalty, what Pereyra et al. (2017) use for CIFAR-10
    alpha: float = 0.2  # of mixup, between 0.1 and 0.4, where Zhang et al. (2018) see the gain on ImageNet
    threads: int = 1


# -- modes: the loss of a batch ------------------------------------------------------------------------------------

Loss = Callable[[nn.Module, Tensor, Tensor, Settings, torch.Generator], Tensor]


def _plain(network: nn.Module, x: Tensor, y: Tensor, settings: Settings, generator: torch.Generator) -> Tensor:
    return functional.cross_entropy(network(x), y)


def _entropy(network: nn.Module, x: Tensor, y: Tensor, settings: Settings, generator: torch.Generator) -> Tensor:
    return entropy_regularised_loss(network(x), y, settings.strength)


def _mixup(network: nn.Module, x: Tensor, y: Tensor, settings: Settings, generator: torch.Generator) -> Tensor:
    mixed = mixup(x, y, settings.alpha, generator=generator)
    return mixup_loss(network(mixed.inputs), mixed)


MODES: dict[str, Loss] = {"plain": _plain, "entropy": _entropy, "mixup": _mixup}


# -- a run ---------------------------------------------------------------------------------------------------------


def run(images: Images, settings: Settings, report: Report) -> dict[str, npt.NDArray[Any]]:
    """Train, and give `logits` and `labels` of the validation half and the test half."""
    scale = float(images.train[0].mean()), float(images.train[0].std())
    x, y = _tensor(images.train[0], scale), torch.from_numpy(images.train[1].astype(np.int64))
    network = train(x, y, settings, report)
    logits = [_logits(network, _tensor(part, scale)) for part, _ in (images.val, images.test)]
    return {"logits": np.concatenate(logits), "labels": np.concatenate((images.val[1], images.test[1]))}


def train(x: Tensor, y: Tensor, settings: Settings, report: Report) -> nn.Module:
    """The network after all epochs of stochastic gradient descent, its rate going through one cycle."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = wide_resnet(N_CLASSES, settings.depth, settings.width).to(memory_format=torch.channels_last)
    generator = torch.Generator().manual_seed(settings.seed)
    optimizer = torch.optim.SGD(
        network.parameters(), settings.rate, settings.momentum, weight_decay=settings.decay, nesterov=True
    )
    steps = settings.epochs * -(-len(x) // settings.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.rate, total_steps=steps)
    loss_of = MODES[settings.mode]
    for epoch in range(settings.epochs):
        total = 0.0
        for batch in torch.randperm(len(x), generator=generator).split(settings.batch):
            optimizer.zero_grad()
            loss = loss_of(network, x[batch], y[batch], settings, generator)
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(batch)
        report(f"epoch {epoch + 1} of {settings.epochs}: loss {total / len(x):.4f}")
    return network.eval()


def _tensor(images: Bytes, scale: tuple[float, float]) -> Tensor:
    """Images (n, 1, height, width), the grey values of those trained on having mean 0 and deviation 1."""
    mean, deviation = scale
    x = torch.from_numpy(images.astype(np.float32)).unsqueeze(1)
    return ((x - mean) / deviation).contiguous(memory_format=torch.channels_last)


@torch.no_grad()
def _logits(network: nn.Module, x: Tensor) -> npt.NDArray[np.float16]:
    return torch.cat([network(part) for part in x.split(500)]).half().numpy()


# -- the command ---------------------------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> None:
    parser = _parser()
    options = vars(parser.parse_args(arguments))
    folder, out = options.pop("data"), options.pop("out")
    settings = Settings(**options)
    if out.suffix != ".npz" or not out.parent.is_dir():
        parser.error(f"--out: expected an .npz file in a folder that exists, got {out}")
    try:
        images = read_fashion(folder, settings.n_train, settings.n_val)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(settings.threads)
    began = time.process_time()
    arrays = run(images, settings, _say)
    write_arrays(out, **arrays)
    facts = _facts(arrays, settings.n_val) | {"cpu_seconds": round(time.process_time() - began)}
    data = {name: _sha256(folder / name) for name in FILES}
    about = {"sha256": _sha256(out), "settings": asdict(settings), "facts": facts, "data": data, "made_by": _versions()}
    with replaced(out.with_suffix(".json")) as file:
        file.write((json.dumps(about, indent=2) + "\n").encode())
    _say(f"{out}: test accuracy {facts['test_accuracy']:.2%}, {facts['cpu_seconds']} s of processor time")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments.train", description=__doc__.split("\n")[0])
    parser.add_argument("mode", choices=sorted(MODES))
    parser.add_argument("--data", type=Path, required=True, help="the folder with the four files of Fashion-MNIST")
    parser.add_argument("--out", type=Path, required=True, help="the .npz file to write")
    for name, default in asdict(Settings("plain")).items():
        if name != "mode":
            parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    return parser


def _facts(arrays: dict[str, npt.NDArray[Any]], n_val: int) -> dict[str, float]:
    correct = arrays["logits"].argmax(axis=1) == arrays["labels"]
    return {"val_accuracy": float(correct[:n_val].mean()), "test_accuracy": float(correct[n_val:].mean())}


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
