"""Measures of probabilities against labels: scores of single samples, and calibration errors."""

from .calibration import Reliability as Reliability
from .calibration import ece as ece
from .calibration import reliability as reliability
from .scores import accuracy as accuracy
from .scores import brier as brier
from .scores import brier_top1 as brier_top1
from .scores import nll as nll

__all__ = ["Reliability", "accuracy", "brier", "brier_top1", "ece", "nll", "reliability"]
