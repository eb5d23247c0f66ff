"""Training losses against their formulas in NumPy, and the layer against the calibrator it was made of."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

import infocal
from infocal.arrays import Array, Floats, Ints
from infocal.records import Facts
from infocal.scaling.temperature import Temperature
from sources import random_samples

torch = pytest.importorskip("torch", reason="needs PyTorch, the extra `torch`")

from infocal.torch import (  # noqa: E402
    Calibrated,
    EntropyRegularisedLoss,
    Mixed,
    entropy_regularised_loss,
    mixup,
    mixup_loss,
)

cross_entropy = torch.nn.functional.cross_entropy


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """For a dozen samples, threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def batch(seed: int = 0, n: int = 12, n_classes: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return torch.from_numpy(3 * rng.normal(size=(n, n_classes))), torch.from_numpy(rng.integers(n_classes, size=n))


def generator(seed: int = 0) -> Any:
    return torch.Generator().manual_seed(seed)


def softmax(z: Floats) -> Floats:
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def slow_losses(z: Floats, labels: Ints, strength: float) -> Floats:
    """-log p_y - strength * H(p), sample by sample."""
    return np.array([-np.log(p[y]) - strength * stats.entropy(p) for p, y in zip(softmax(z), labels, strict=True)])


# -- entropy regularisation ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [0.0, 0.1, 1.0, 2.5])
def test_loss_is_its_formula(strength: float) -> None:
    logits, labels = batch()
    weight = np.array([0.5, 1.0, 2.0, 0.0, 3.0])
    expected, mass = slow_losses(logits.numpy(), labels.numpy(), strength), weight[labels.numpy()]
    loss = lambda **settings: entropy_regularised_loss(logits, labels, strength, **settings).numpy()  # noqa: E731
    np.testing.assert_allclose(loss(reduction="none"), expected, rtol=1e-12)
    np.testing.assert_allclose(loss(reduction="sum"), expected.sum(), rtol=1e-12)
    np.testing.assert_allclose(loss(), expected.mean(), rtol=1e-12)
    np.testing.assert_allclose(loss(weight=torch.from_numpy(weight)), np.average(expected, weights=mass), rtol=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_without_strength_it_is_the_cross_entropy(reduction: Any, weighted: bool) -> None:
    logits, labels = batch(1)
    weight = torch.arange(1.0, 6.0, dtype=torch.float64) if weighted else None
    ours = entropy_regularised_loss(logits, labels, 0.0, weight=weight, reduction=reduction)
    torch.testing.assert_close(ours, cross_entropy(logits, labels, weight=weight, reduction=reduction))


def test_an_even_answer_loses_its_share_of_log_k() -> None:
    loss = entropy_regularised_loss(torch.zeros(3, 7), torch.tensor([0, 3, 6]), 0.25)
    assert float(loss) == pytest.approx(0.75 * np.log(7))


def test_adding_to_a_row_changes_nothing() -> None:
    logits, labels = batch(2)
    shifted = logits + torch.linspace(-40, 40, len(logits), dtype=torch.float64).unsqueeze(1)
    torch.testing.assert_close(
        entropy_regularised_loss(shifted, labels, 0.3), entropy_regularised_loss(logits, labels, 0.3)
    )


@pytest.mark.parametrize("strength", [0.1, 0.5, 2.0])
def test_the_best_answer_is_never_certain(strength: float) -> None:
    """Of two classes, the loss is least where p * log(p / (1 - p)) = 1 / strength."""
    logodds = brentq(lambda x: x / (1 + np.exp(-x)) - 1 / strength, 0, 100)
    logits = torch.tensor([[logodds, 0.0]], dtype=torch.float64, requires_grad=True)
    entropy_regularised_loss(logits, torch.tensor([0]), strength).backward()
    assert logits.grad.abs().max() < 1e-12


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_gradients(reduction: Any) -> None:
    logits, labels = batch(3, n=4)
    weight = torch.tensor([0.5, 1.0, 2.0, 0.0, 3.0], dtype=torch.float64)
    settings = {"weight": weight, "reduction": reduction}
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda z: entropy_regularised_loss(z, labels, 0.7, **settings), logits)
    assert torch.autograd.gradgradcheck(lambda z: entropy_regularised_loss(z, labels, 0.7, **settings), logits)


def test_gradient_is_its_formula() -> None:
    """dL/dz = p - onehot + strength * p * (log p + H), from Pereyra et al. (2017), sec. 3."""
    logits, labels = batch(4)
    entropy_regularised_loss(logits.requires_grad_(), labels, 0.4, reduction="sum").backward()
    p = softmax(logits.detach().numpy())
    h = stats.entropy(p, axis=1)[:, None]
    expected = p - np.eye(5)[labels.numpy()] + 0.4 * p * (np.log(p) + h)
    np.testing.assert_allclose(logits.grad.numpy(), expected, atol=1e-12)


def test_an_impossible_class_adds_nothing() -> None:
    logits, labels = batch(5, n_classes=4)
    none = torch.full((len(logits), 1), -torch.inf, dtype=torch.float64)
    wide = torch.cat((logits, none), dim=1).requires_grad_()
    loss = entropy_regularised_loss(wide, labels, 0.5)
    torch.testing.assert_close(loss, entropy_regularised_loss(logits, labels, 0.5))
    loss.backward()
    assert torch.isfinite(wide.grad).all()
    assert not wide.grad[:, 4].any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_brought_to_single(dtype: Any) -> None:
    logits, labels = batch(6)
    half = logits.to(dtype)
    loss = entropy_regularised_loss(half, labels, 0.3)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, entropy_regularised_loss(half.float(), labels, 0.3))
    steep = torch.tensor([[6e4, -6e4, 0.0]], dtype=dtype, requires_grad=True)
    loss = entropy_regularised_loss(steep, torch.tensor([1]), 0.3)
    loss.backward()
    assert loss > 1e5
    assert torch.isfinite(steep.grad).all()


def test_under_autocast() -> None:
    logits, labels = batch(7)
    layer = torch.nn.Linear(5, 5)
    with torch.autocast("cpu", torch.bfloat16):
        answer = layer(logits.float())
        loss = entropy_regularised_loss(answer, labels, 0.3)
    assert answer.dtype == torch.bfloat16
    torch.testing.assert_close(loss, entropy_regularised_loss(answer.float(), labels, 0.3))
    loss.backward()
    assert layer.weight.grad.dtype == torch.float32


def test_maps_are_many_samples() -> None:
    """Logits (n, K, height, width), as of segmentation, are those of n * height * width samples."""
    rng = np.random.default_rng(0)
    logits = torch.from_numpy(rng.normal(size=(2, 4, 3, 5)))
    labels = torch.from_numpy(rng.integers(4, size=(2, 3, 5)))
    weight = torch.arange(4.0)
    flat = logits.movedim(1, -1).reshape(-1, 4), labels.reshape(-1)
    torch.testing.assert_close(
        entropy_regularised_loss(logits, labels, 0.2, weight=weight),
        entropy_regularised_loss(*flat, 0.2, weight=weight),
    )


def test_module_is_the_function() -> None:
    logits, labels = batch(8)
    weight = torch.arange(1.0, 6.0)
    module = EntropyRegularisedLoss(0.2, weight, "sum")
    torch.testing.assert_close(
        module(logits, labels), entropy_regularised_loss(logits, labels, 0.2, weight=weight, reduction="sum")
    )
    assert "strength=0.2" in repr(module)
    assert list(module.state_dict()) == ["weight"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strength": -0.1}, "strength: expected"),
        ({"strength": float("nan")}, "strength: expected"),
        ({"reduction": "average"}, "reduction: expected mean, sum or none"),
        ({"weight": torch.ones(4)}, "weight: expected one number for each of 5 classes"),
        ({"labels": torch.zeros(12)}, "labels: expected classes as integers"),
        ({"labels": torch.zeros(11, dtype=torch.int64)}, "labels: expected one class for each sample"),
        ({"labels": torch.zeros(12, 5, dtype=torch.int64)}, "labels: expected one class for each sample"),
        ({"logits": torch.zeros(12, dtype=torch.int64)}, "logits: expected floats"),
    ],
)
def test_loss_refuses(change: dict[str, Any], message: str) -> None:
    logits, labels = batch()
    with pytest.raises(ValueError, match=message):
        entropy_regularised_loss(**{"logits": logits, "labels": labels, **change})


# -- mixup ---------------------------------------------------------------------------------------------------------


def test_mixup_is_its_formula() -> None:
    images, labels = torch.randn(16, 3, 4, 4, generator=generator()), torch.arange(16)
    before = images.clone()
    mixed = mixup(images, labels, 0.7, generator=generator(1))
    assert torch.equal(images, before)
    assert torch.equal(mixed.first, labels)
    assert sorted(mixed.second.tolist()) == labels.tolist()
    expected = mixed.portion * images + (1 - mixed.portion) * images[mixed.second]
    torch.testing.assert_close(mixed.inputs, expected)


@pytest.mark.parametrize("alpha", [0.1, 0.4, 1.0, 8.0])
def test_portions_follow_the_beta_distribution(alpha: float) -> None:
    rng, x, y = generator(), torch.zeros(1, 1), torch.zeros(1, dtype=torch.int64)
    portions = [mixup(x, y, alpha, generator=rng).portion for _ in range(2000)]
    assert stats.kstest(portions, stats.beta(alpha, alpha).cdf).pvalue > 0.01


def test_without_alpha_nothing_is_mixed() -> None:
    images = torch.randn(8, 2, generator=generator())
    mixed = mixup(images, torch.arange(8), 0.0, generator=generator())
    assert torch.equal(mixed.inputs, images)
    logits, _ = batch(n=8, n_classes=8)
    torch.testing.assert_close(mixup_loss(logits, mixed), cross_entropy(logits, torch.arange(8)))


def test_all_randomness_is_the_generators() -> None:
    images, labels = torch.randn(8, 2, generator=generator()), torch.arange(8)
    state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first, again = (mixup(images, labels, generator=generator(5)) for _ in range(2))
    assert all(torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(first, again, strict=True))
    assert torch.equal(torch.get_rng_state(), state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002
    rng = generator(5)
    assert mixup(images, labels, generator=rng).portion != mixup(images, labels, generator=rng).portion


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_mixup_keeps_the_type(dtype: Any) -> None:
    images = torch.randn(8, 2, generator=generator()).to(dtype)
    assert mixup(images, torch.arange(8), generator=generator()).inputs.dtype == dtype


@pytest.mark.parametrize("portion", [0.0, 0.3, 1.0])
def test_mixed_loss_is_the_cross_entropy_of_mixed_labels(portion: float) -> None:
    logits, first = batch(9)
    second = first.flip(0)
    targets = portion * np.eye(5)[first] + (1 - portion) * np.eye(5)[second]
    expected = -(targets * np.log(softmax(logits.numpy()))).sum(axis=1).mean()
    assert float(mixup_loss(logits, Mixed(logits, first, second, portion))) == pytest.approx(expected, rel=1e-12)


def test_mixed_loss_takes_any_loss() -> None:
    logits, first = batch(10)
    mixed = Mixed(logits, first, first.flip(0), 0.3)
    values = (entropy_regularised_loss(logits, labels, 0.5) for labels in (first, first.flip(0)))
    expected = sum(share * value for share, value in zip((0.3, 0.7), values, strict=True))
    torch.testing.assert_close(mixup_loss(logits, mixed, EntropyRegularisedLoss(0.5)), expected)
    assert torch.autograd.gradcheck(
        lambda z: mixup_loss(z, mixed, EntropyRegularisedLoss(0.5)), logits.clone().requires_grad_()
    )
    assert mixup_loss(logits.half(), mixed).dtype == torch.float32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": torch.zeros(4, 2, dtype=torch.uint8)}, "inputs: expected floats"),
        ({"labels": torch.arange(3)}, "labels: expected one for each of 4"),
        ({"alpha": -1.0}, "alpha: expected"),
        ({"alpha": float("inf")}, "alpha: expected"),
    ],
)
def test_mixup_refuses(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mixup(**{"inputs": torch.zeros(4, 2), "labels": torch.arange(4), "generator": generator(), **change})


# -- a calibrator as a layer ---------------------------------------------------------------------------------------

WRAPPED = ("identity", "temperature", "eqsize", "eqmass", "kmeans", "imax", "imax+temperature", "imax+platt")


def fitted(recipe: str, **settings: Any) -> infocal.Calibrator:
    return infocal.fit(recipe, *random_samples(), **settings)


def fresh(dtype: Any = np.float64) -> Array:
    return random_samples(1)[0].astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("groups", ["shared", "classwise", [0, 1, 0, 1, 2, 2]])
@pytest.mark.parametrize("recipe", WRAPPED)
def test_layer_answers_as_the_calibrator(recipe: str, groups: Any, dtype: Any) -> None:
    calibrator, logits = fitted(recipe, groups=groups), fresh(dtype)
    layer = Calibrated(calibrator)
    probs = layer(torch.from_numpy(logits))
    rtol = 1e-6 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(probs.numpy(), calibrator(logits), rtol=rtol)
    assert probs.numpy().dtype == dtype
    assert np.array_equal(layer.predict(torch.from_numpy(logits)).numpy(), calibrator.predict(logits))
    assert recipe in repr(layer)


@pytest.mark.parametrize("recipe", ["identity", "temperature", "imax"])
def test_layer_at_the_ends(recipe: str) -> None:
    calibrator = fitted(recipe)
    logits = np.array([[900.0, 0, 0, 0, 0, 0], [-900.0] * 6, [0, -np.inf, 1, 2, -np.inf, 3], [-np.inf] * 5 + [0]])
    np.testing.assert_allclose(Calibrated(calibrator)(torch.from_numpy(logits)).numpy(), calibrator(logits), atol=1e-15)


@pytest.mark.parametrize("recipe", ["identity", "temperature", "imax"])
def test_layer_says_nan_where_the_calibrator_raises(recipe: str) -> None:
    logits = torch.zeros(4, 6)
    logits[0, 2], logits[1, 5], logits[2] = torch.nan, torch.inf, -torch.inf
    probs = Calibrated(fitted(recipe))(logits)
    assert probs[:3].isnan().all()
    assert torch.isfinite(probs[3]).all()


@pytest.mark.parametrize("recipe", ["identity", "temperature", "imax"])
def test_layer_survives_a_network_in_half_precision(recipe: str) -> None:
    calibrator, logits = fitted(recipe), fresh(np.float16)
    network = torch.nn.Sequential(torch.nn.Identity(), Calibrated(calibrator)).half()
    probs = network(torch.from_numpy(logits))
    assert probs.dtype == torch.float32
    np.testing.assert_allclose(probs.numpy(), calibrator(logits), rtol=1e-6)


def test_layer_is_in_the_state_of_the_network() -> None:
    layer, other = Calibrated(fitted("imax")), Calibrated(infocal.fit("imax", *random_samples(7)))
    logits = torch.from_numpy(fresh())
    assert not torch.equal(layer(logits), other(logits))
    other.load_state_dict(layer.state_dict())
    assert torch.equal(layer(logits), other(logits))


def test_temperature_passes_gradients() -> None:
    layer = Calibrated(fitted("temperature"))
    assert torch.autograd.gradcheck(layer, torch.from_numpy(fresh()[:4]).requires_grad_())


def test_temperature_of_infinity_leaves_the_impossible_out() -> None:
    flat = infocal.Calibrator("temperature", 3, Temperature(0.0, 0.0, 0.0, False), Facts({}))
    probs = Calibrated(flat)(torch.tensor([[1.0, -torch.inf, 5.0]]))
    assert probs.tolist() == [[0.5, 0.0, 0.5]]


@pytest.mark.parametrize("recipe", ["gp", "platt", "bbq"])
def test_layer_refuses_other_calibrators(recipe: str) -> None:
    with pytest.raises(ValueError, match=f"calibrator: expected identity, temperature or bins .*, got '{recipe}'"):
        Calibrated(fitted(recipe))


def test_layer_refuses_bins_of_scaled_logits() -> None:
    with pytest.raises(ValueError, match="calibrator: expected identity"):
        Calibrated(fitted("imax+temperature", stage="scaled"))


def test_layer_refuses_other_shapes() -> None:
    layer = Calibrated(fitted("imax"))
    shapes: list[Callable[[], Any]] = [lambda: torch.zeros(3, 5), lambda: torch.zeros(6)]
    for logits in shapes:
        with pytest.raises(ValueError, match=r"logits: expected shape \(samples, 6\)"):
            layer(logits())


# -- the door ------------------------------------------------------------------------------------------------------


def test_without_pytorch_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['torch'] = None; import infocal.torch"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr.endswith("infocal.torch works on PyTorch: pip install 'infocal[torch]'\n")
