"""Measures of probabilities against labels: scores of single samples, calibration errors, and how far to trust them."""

from .calibration import Reliability as Reliability
from .calibration import ece as ece
from .calibration import reliability as reliability
from .intervals import Band as Band
from .intervals import Interval as Interval
from .intervals import band as band
from .intervals import bootstrap as bootstrap
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
