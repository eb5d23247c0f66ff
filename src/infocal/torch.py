"""Calibration in PyTorch: two ways to train a network that doubts itself, and a layer that calibrates what it answers.

The confidence penalty of Pereyra et al. (2017), the paper's entropy regularisation, takes a share of the entropy of
the answer off the loss. Mixup (Zhang et al., 2018; its effect on calibration: Thulasidasan et al., 2019) trains on
sums of two samples. Both are pure functions: randomness comes from the generator that is handed in.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import betaincinv

from .calibrator import Calibrator, Identity
from .onevsrest import OneVsRest
from .scaling.temperature import Temperature

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("infocal.torch works on PyTorch: pip install 'infocal[torch]'") from error

__all__ = [
    "Calibrated",
    "EntropyRegularisedLoss",
    "Mixed",
    "entropy_regularised_loss",
    "mixup",
    "mixup_loss",
]

Reduction = Literal["mean", "sum", "none"]


# -- entropy regularisation ----------------------------------------------------------------------------------------


def entropy_regularised_loss(
    logits: Tensor,
    labels: Tensor,
    strength: float = 0.1,
    *,
    weight: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """-log p_y - strength * H(p), p being the softmax of the logits and H its entropy in nats (Pereyra et al., 2017).

    Logits are (n, K) or (n, K, ...), labels the classes (n,) or (n, ...) as integers. `weight` (K,) says how much a
    sample of each class counts, its entropy included; as in `cross_entropy` the mean is over the weight of the
    samples. Half-precision logits are brought to float32, and so is the loss. A class of logit -inf adds nothing.

    >>> logits = torch.tensor([[0.0, 0.0]])
    >>> loss = entropy_regularised_loss(logits, torch.tensor([1]), strength=0.5)
    >>> print(f"{loss:.4f}")  # half of log 2
    0.3466
    """
    _check_batch(logits, labels)
    if not 0 <= strength < float("inf"):
        raise ValueError(f"strength: expected a finite number of at least 0, got {strength}")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction: expected mean, sum or none, got {reduction!r}")
    log_probs = functional.log_softmax(_at_least_single(logits), dim=1)
    losses = -log_probs.gather(1, labels.long().unsqueeze(1)).squeeze(1) - strength * _entropy(log_probs)
    mass = _mass(labels, weight, log_probs)
    if reduction == "none":
        return losses * mass
    total = (losses * mass).sum()
    return total / mass.sum() if reduction == "mean" else total


def _entropy(log_probs: Tensor) -> Tensor:
    """Entropy of each distribution along axis 1; impossible classes, of log-probability -inf, add 0."""
    finite = log_probs.clamp(min=torch.finfo(log_probs.dtype).min)
    return -(finite.exp() * finite).sum(dim=1)


def _mass(labels: Tensor, weight: Tensor | None, log_probs: Tensor) -> Tensor:
    if weight is None:
        return torch.ones_like(labels, dtype=log_probs.dtype)
    if weight.shape != (log_probs.shape[1],):
        raise ValueError(f"weight: expected one number for each of {log_probs.shape[1]} classes, got {_shape(weight)}")
    return weight.to(log_probs)[labels.long()]


class EntropyRegularisedLoss(nn.Module):
    """`entropy_regularised_loss` as a module, for training loops that take a criterion."""

    weight: Tensor | None

    def __init__(self, strength: float = 0.1, weight: Tensor | None = None, reduction: Reduction = "mean") -> None:
        super().__init__()
        self.strength, self.reduction = strength, reduction
        self.register_buffer("weight", weight)

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        return entropy_regularised_loss(logits, labels, self.strength, weight=self.weight, reduction=self.reduction)

    def extra_repr(self) -> str:
        return f"strength={self.strength}, reduction={self.reduction!r}"


# -- mixup ---------------------------------------------------------------------------------------------------------


class Mixed(NamedTuple):
    """A batch of mixed inputs: `portion` of each is of the class in `first`, the rest of the class in `second`."""

    inputs: Tensor
    first: Tensor
    second: Tensor
    portion: float


def mixup(inputs: Tensor, labels: Tensor, alpha: float = 0.2, *, generator: torch.Generator) -> Mixed:
    """portion * inputs + (1 - portion) * the same inputs in another order (Zhang et al., 2018, eq. 1).

    Inputs are (n, ...) floats and labels (n,). One portion for the batch is drawn from Beta(alpha, alpha): the smaller
    alpha, the closer to 0 or 1; at alpha 0 nothing is mixed. A generator of the CPU draws without waiting for another
    device.

    >>> images, classes = torch.eye(4), torch.arange(4)
    >>> mixed = mixup(images, classes, generator=torch.Generator().manual_seed(0))
    >>> bool((mixed.inputs.sum(1) == 1).all())
    True
    """
    if not inputs.is_floating_point():
        raise ValueError(f"inputs: expected floats, got {inputs.dtype}; convert them first")
    if labels.ndim != 1 or len(inputs) != len(labels):
        raise ValueError(f"labels: expected one for each of {len(inputs)} inputs, got shape {_shape(labels)}")
    if not 0 <= alpha < float("inf"):
        raise ValueError(f"alpha: expected a finite number of at least 0, got {alpha}")
    portion = _portion(alpha, generator)
    order = torch.randperm(len(inputs), generator=generator, device=generator.device).to(inputs.device)
    return Mixed(torch.lerp(inputs[order], inputs, portion), labels, labels[order.to(labels.device)], portion)


def _portion(alpha: float, generator: torch.Generator) -> float:
    """A draw from Beta(alpha, alpha) by its inverse distribution function: PyTorch's own takes no generator."""
    uniform = torch.rand((), dtype=torch.float64, generator=generator, device=generator.device).item()
    return float(betaincinv(alpha, alpha, uniform)) if alpha else 1.0


def mixup_loss(
    logits: Tensor, mixed: Mixed, loss: Callable[[Tensor, Tensor], Tensor] = functional.cross_entropy
) -> Tensor:
    """portion * loss(logits, first) + (1 - portion) * loss(logits, second), for logits of mixed inputs.

    Of the cross-entropy this is the cross-entropy against the mixed one-hot labels. Any loss of logits and labels will
    do, such as an `EntropyRegularisedLoss`.
    """
    values = loss(_at_least_single(logits), mixed.first), loss(_at_least_single(logits), mixed.second)
    return mixed.portion * values[0] + (1 - mixed.portion) * values[1]


# -- a calibrator as a layer ---------------------------------------------------------------------------------------


class Calibrated(nn.Module):
    """A fitted calibrator as the last layer of a network: logits (n, K) in, calibrated probabilities (n, K) out.

    `nn.Sequential(network, Calibrated(calibrator))` serves what `calibrator(logits)` answers, wherever the network
    runs. Takes `identity`, `temperature` and every binning of the raw log-odds, over a scaling or not. Half-precision
    logits give float32 probabilities; a row with NaN or infinity gives a row of NaN. The probabilities of a binned
    calibrator are steps: no gradient passes through them.
    """

    inverse: Tensor
    edges: Tensor
    representatives: Tensor

    def __init__(self, calibrator: Calibrator) -> None:
        super().__init__()
        self.recipe, self.n_classes = calibrator.recipe, calibrator.n_classes
        for name, value in _tables(calibrator).items():
            self.register_buffer(name, _as_bits(value))

    def forward(self, logits: Tensor) -> Tensor:
        """Calibrated probabilities (n, K)."""
        if logits.ndim != 2 or logits.shape[1] != self.n_classes:
            raise ValueError(f"logits: expected shape (samples, {self.n_classes}), got {_shape(logits)}")
        binned = hasattr(self, "edges")
        probs = self._binned(logits.double()) if binned else self._scaled(logits.double())
        return probs.to(_at_least_single(logits).dtype)

    def predict(self, logits: Tensor) -> Tensor:
        """The most probable class (n,); equal probabilities are decided by the logits."""
        probs = self(logits)
        return torch.where(probs == probs.amax(dim=1, keepdim=True), logits, -torch.inf).argmax(dim=1)

    def _scaled(self, logits: Tensor) -> Tensor:
        scaled = torch.where(logits == -torch.inf, logits, _as_numbers(self.inverse) * logits)
        return scaled.softmax(dim=1)

    def _binned(self, logits: Tensor) -> Tensor:
        logodds = _logodds(logits).T.contiguous()
        bins = torch.searchsorted(_as_numbers(self.edges), logodds, right=True)
        probs = _as_numbers(self.representatives).gather(1, bins)
        return torch.where(logodds.isnan(), torch.nan, probs).T

    def extra_repr(self) -> str:
        return f"recipe={self.recipe!r}, n_classes={self.n_classes}"


def _tables(calibrator: Calibrator) -> dict[str, Any]:
    """What the layer looks up: an inverse temperature, or the edges (K, M-1) and representatives (K, M) of each class,
    padded to one length."""
    method = calibrator.method
    if isinstance(method, Identity):
        return {"inverse": 1.0}
    if isinstance(method, Temperature):
        return {"inverse": method.inverse}
    if not isinstance(method, OneVsRest) or not hasattr(method, "edges"):
        raise ValueError(
            f"calibrator: expected identity, temperature or bins of the raw log-odds, got {calibrator.recipe!r}; "
            "apply this one to the logits outside of the network"
        )
    most = max(map(len, method.edges))
    edges = np.array([np.pad(e, (0, most - len(e)), constant_values=np.inf) for e in method.edges])
    values = np.array([np.pad(r, (0, most + 1 - len(r)), mode="edge") for r in method.representatives])
    return {"edges": edges[method.groups], "representatives": values[method.groups]}


def _as_bits(value: Any) -> Tensor:
    """Doubles as integers of the same bits: `half()` of the network around them rounds all buffers of floats."""
    return torch.as_tensor(value, dtype=torch.float64).view(torch.int64)


def _as_numbers(bits: Tensor) -> Tensor:
    return bits.view(torch.float64)


def _logodds(logits: Tensor) -> Tensor:
    """z_k - log sum_{j != k} e^{z_j}; for the largest of a row the others are summed, for nothing cancels then."""
    log_probs = logits.log_softmax(dim=1)
    top = logits.argmax(dim=1, keepdim=True)
    others = log_probs.scatter(1, top, -torch.inf).logsumexp(dim=1, keepdim=True)
    one_minus = torch.log1p(-log_probs.exp()).scatter(1, top, others)
    return log_probs - one_minus


# -- what both check -----------------------------------------------------------------------------------------------


def _check_batch(logits: Tensor, labels: Tensor) -> None:
    """Shapes and types alone: to look at values would wait for the device."""
    if logits.ndim < 2 or not logits.is_floating_point():
        raise ValueError(f"logits: expected floats (samples, classes), got {logits.dtype} of shape {_shape(logits)}")
    if labels.shape != logits.shape[:1] + logits.shape[2:]:
        raise ValueError(f"labels: expected one class for each sample, got {_shape(labels)} for {_shape(logits)}")
    if labels.is_floating_point() or labels.dtype == torch.bool:
        raise ValueError(f"labels: expected classes as integers, got {labels.dtype}")


def _at_least_single(logits: Tensor) -> Tensor:
    return logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape)
