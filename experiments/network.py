"""A Wide ResNet (Zagoruyko & Komodakis, 2016) for small grey images."""

from itertools import pairwise
from typing import cast

from torch import Tensor, nn
from torch.nn import functional

__all__ = ["wide_resnet"]


def wide_resnet(n_classes: int, depth: int = 16, width: int = 2) -> nn.Sequential:
    """Three groups of (depth - 4) / 6 blocks with 16, 32 and 64 times `width` channels.

    The first convolution goes in steps of two, which makes the network four times as fast as on the full image.
    """
    if depth % 6 != 4:
        raise ValueError(f"depth: expected 6 * blocks + 4, got {depth}")
    n_blocks, channels = (depth - 4) // 6, [16, 16 * width, 32 * width, 64 * width]
    layers: list[nn.Module] = [nn.Conv2d(1, 16, 3, stride=2, padding=1, bias=False)]
    for group, (before, after) in enumerate(pairwise(channels)):
        layers += [Block(before, after, stride=2 if group else 1)]
        layers += [Block(after, after, stride=1) for _ in range(n_blocks - 1)]
    last = channels[-1]
    head = (nn.BatchNorm2d(last), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, n_classes))
    return nn.Sequential(*layers, *head)


class Block(nn.Module):
    """Two 3x3 convolutions, each after normalisation and ReLU, added to what came in."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(before), nn.BatchNorm2d(after)
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        same = before == after and stride == 1
        self.shortcut = None if same else nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.norm1(x))
        z = self.conv2(functional.relu(self.norm2(self.conv1(y))))
        return cast(Tensor, z + (x if self.shortcut is None else self.shortcut(y)))
