"""infocal: probabilities that mean what they say, for multi-class classifiers."""

from . import metrics as metrics
from . import simulate as simulate
from .numerics import logits_from_probs as logits_from_probs
from .report import Report as Report
from .report import evaluate as evaluate

__version__ = "0.1.0"

__all__ = ["Report", "evaluate", "logits_from_probs", "metrics", "simulate"]
