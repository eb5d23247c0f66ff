"""How each peer does the operations it has; every peer is imported only when it is measured.

Inputs are brought into the form a peer wants outside the clock: where it takes probabilities it is handed the softmax,
where it takes tensors, tensors. `notes` says where a peer does less than the operation asks.
"""

import warnings
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from .measure import Call
from .paths import Inputs, Prepare

__all__ = ["PEERS", "Peer"]


@dataclass(frozen=True)
class Peer:
    """A package, the operations it has, and where it does less than they ask."""

    package: str
    operations: dict[str, Prepare]
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str | None:
        """What is installed; None where nothing is."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


def quiet(call: Call) -> Call:
    """The call, its warnings dropped."""

    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()

    return run


# -- torch ---------------------------------------------------------------------------------------------------------


def torch_softmax(data: Inputs) -> Call:
    import torch

    z = torch.from_numpy(data.logits)
    return lambda: torch.softmax(z / 1.5, dim=1)


def torch_predict(data: Inputs) -> Call:
    import torch

    z = torch.from_numpy(data.logits)
    return lambda: torch.softmax(z / 1.5, dim=1).argmax(dim=1)


def torch_rank(data: Inputs) -> Call:
    import torch

    z = torch.from_numpy(data.logits)
    return lambda: torch.softmax(z / 1.5, dim=1).topk(5, dim=1)


def torch_temperature(data: Inputs) -> Call:
    """The usual recipe: L-BFGS on the cross-entropy of z / T."""
    import torch

    z, y = torch.from_numpy(data.logits), torch.from_numpy(data.labels)

    def call() -> float:
        temperature = torch.ones(1, requires_grad=True)
        search = torch.optim.LBFGS([temperature], max_iter=50, line_search_fn="strong_wolfe")

        def loss() -> Any:
            search.zero_grad()
            value = torch.nn.functional.cross_entropy(z / temperature, y)
            value.backward()
            return value

        search.step(loss)
        return float(temperature)

    return call


# -- scikit-learn --------------------------------------------------------------------------------------------------


def sklearn_calibrated(data: Inputs, rows: slice) -> Any:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Logits(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """A classifier whose samples are their own logits."""

        classes_ = np.arange(data.logits.shape[1])

        def __sklearn_is_fitted__(self) -> bool:
            return True

        def fit(self, X: Any, y: Any) -> "Logits":
            return self

        def decision_function(self, X: Any) -> Any:
            return X

        def predict(self, X: Any) -> Any:
            return X.argmax(axis=1)

    calibrated = CalibratedClassifierCV(FrozenEstimator(Logits()), method="temperature")
    # it wants every class among the labels
    labels = np.append(np.arange(data.logits.shape[1]), data.labels[data.logits.shape[1] :])
    return calibrated.fit(data.logits[rows], labels[rows])


def sklearn_apply(data: Inputs) -> Call:
    calibrated = sklearn_calibrated(data, slice(0, max(1000, 2 * data.logits.shape[1])))
    return lambda: calibrated.predict_proba(data.logits)


def sklearn_fit(data: Inputs) -> Call:
    return lambda: sklearn_calibrated(data, slice(None))


def sklearn_evaluate(data: Inputs) -> Call:
    from sklearn.metrics import brier_score_loss, log_loss

    p, y, classes = data.probs, data.labels, np.arange(data.logits.shape[1])
    return lambda: (log_loss(y, p, labels=classes), brier_score_loss(y, p, labels=classes))


# -- netcal --------------------------------------------------------------------------------------------------------


def netcal_apply(name: str) -> Prepare:
    def prepare(data: Inputs) -> Call:
        fitted = netcal_fitted(name, data, slice(0, max(1000, 2 * data.logits.shape[1])))
        return lambda: fitted.transform(data.probs)

    return prepare


def netcal_fit(name: str) -> Prepare:
    return lambda data: lambda: netcal_fitted(name, data, slice(None))


def netcal_fitted(name: str, data: Inputs, rows: slice) -> Any:
    import netcal.binning
    import netcal.scaling

    K = data.logits.shape[1]
    labels = np.append(np.arange(K), data.labels[K:])[rows]  # it wants every class among the labels
    if name == "TemperatureScaling":
        return netcal.scaling.TemperatureScaling().fit(data.probs[rows], labels)
    return netcal.binning.HistogramBinning(bins=data.n_bins).fit(data.probs[rows], labels)


def netcal_evaluate(data: Inputs) -> Call:
    from netcal.metrics import ECE

    return lambda: ECE(bins=100).measure(data.probs, data.labels)


# -- torchmetrics, probmetrics, uncertainty-calibration --------------------------------------------------------------


def torchmetrics_evaluate(data: Inputs) -> Call:
    import torch
    from torchmetrics.functional.classification import multiclass_calibration_error

    p, y = torch.from_numpy(data.probs), torch.from_numpy(data.labels)
    return lambda: multiclass_calibration_error(p, y, p.shape[1], n_bins=100)


def probmetrics_fitted(data: Inputs, rows: slice) -> Any:
    import torch
    from probmetrics.calibrators import get_calibrator
    from probmetrics.distributions import CategoricalLogits

    given = CategoricalLogits(torch.from_numpy(data.logits[rows]))
    return get_calibrator("temp-scaling").fit_torch(given, torch.from_numpy(data.labels[rows]))


def probmetrics_apply(data: Inputs) -> Call:
    import torch
    from probmetrics.distributions import CategoricalLogits

    fitted, z = probmetrics_fitted(data, slice(0, 1000)), torch.from_numpy(data.logits)
    return lambda: fitted.predict_proba_torch(CategoricalLogits(z)).get_probs()


def probmetrics_fit(data: Inputs) -> Call:
    return lambda: probmetrics_fitted(data, slice(None))


def probmetrics_evaluate(data: Inputs) -> Call:
    import torch
    from probmetrics.metrics import Metrics

    wanted = Metrics.from_names(["logloss", "brier", "accuracy", "ece-15"])
    p, y = torch.from_numpy(data.probs), torch.from_numpy(data.labels)
    return lambda: wanted.compute_all_from_labels_probs(y, p)


def uncertainty_fitted(data: Inputs, rows: slice) -> Any:
    import calibration

    K = data.logits.shape[1]
    labels = np.append(np.arange(K), data.labels[K:])[rows]  # it wants every class among the labels
    fitted = calibration.HistogramMarginalCalibrator(len(labels), data.n_bins)
    fitted.train_calibration(data.probs[rows], labels)
    return fitted


def uncertainty_apply(data: Inputs) -> Call:
    fitted = uncertainty_fitted(data, slice(0, max(1000, 2 * data.logits.shape[1])))
    return lambda: fitted.calibrate(data.probs)


def uncertainty_fit(data: Inputs) -> Call:
    return lambda: uncertainty_fitted(data, slice(None))


def uncertainty_evaluate(data: Inputs) -> Call:
    import calibration

    return lambda: calibration.get_ece(data.probs, data.labels, num_bins=100)


TOP1 = "top-1 ECE alone"
EQUAL_WIDTH = "equal-width bins"
PEERS = (
    Peer(
        "torch",
        {
            "apply, temperature": torch_softmax,
            "predict": torch_predict,
            "rank 5": torch_rank,
            "fit, temperature": torch_temperature,
        },
        {"fit, temperature": "L-BFGS"},
    ),
    Peer(
        "scikit-learn",
        {"apply, temperature": sklearn_apply, "fit, temperature": sklearn_fit, "evaluate": sklearn_evaluate},
        {"evaluate": "log loss and Brier"},
    ),
    Peer(
        "netcal",
        {
            "apply, classwise bins": netcal_apply("HistogramBinning"),
            "apply, temperature": netcal_apply("TemperatureScaling"),
            "fit, classwise bins": netcal_fit("HistogramBinning"),
            "fit, temperature": netcal_fit("TemperatureScaling"),
            "evaluate": netcal_evaluate,
        },
        {"evaluate": TOP1, "fit, classwise bins": EQUAL_WIDTH, "apply, classwise bins": EQUAL_WIDTH},
    ),
    Peer("torchmetrics", {"evaluate": torchmetrics_evaluate}, {"evaluate": TOP1}),
    Peer(
        "probmetrics",
        {
            "apply, temperature": probmetrics_apply,
            "fit, temperature": probmetrics_fit,
            "evaluate": probmetrics_evaluate,
        },
        {"evaluate": "scores and top-1 ECE"},
    ),
    Peer(
        "uncertainty-calibration",
        {
            "apply, classwise bins": uncertainty_apply,
            "fit, classwise bins": uncertainty_fit,
            "evaluate": uncertainty_evaluate,
        },
        {"evaluate": TOP1, "fit, classwise bins": "equal-mass bins", "apply, classwise bins": "equal-mass bins"},
    ),
)
