"""Measures of probabilities against labels: scores of single samples, calibration errors, and how far to trust them."""

from .bands import Band as Band
from .bands import band as band
from .calibration import Reliability as Reliability
from .calibration import ece as ece
from .calibration import reliability as reliability
from .resampling import Interval as Interval
from .resampling import bootstrap as bootstrap
from .scores import accuracy as accuracy
from .scores import brier as brier
from .scores import brier_top1 as brier_top1
from .scores import nll as nll

__all__ = [
    "Band",
    "Interval",
    "Reliability",
    "accuracy",
    "band",
    "bootstrap",
    "brier",
    "brier_top1",
    "ece",
    "nll",
    "reliability",
]
