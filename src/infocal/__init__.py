"""infocal: probabilities that mean what they say, for multi-class classifiers."""

from . import metrics as metrics
from .calibrator import Calibrator as Calibrator
from .compare import Comparison as Comparison
from .compare import compare as compare
from .numerics import logits_from_probs as logits_from_probs
from .persist import load as load
from .recipes import RECIPES as RECIPES
from .recipes import fit as fit
from .report import Report as Report
from .report import evaluate as evaluate

__version__ = "0.1.0"

__all__ = [
    "RECIPES",
    "Calibrator",
    "Comparison",
    "Report",
    "compare",
    "evaluate",
    "fit",
    "load",
    "logits_from_probs",
    "metrics",
]
