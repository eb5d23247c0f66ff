"""infocal: probabilities that mean what they say, for multi-class classifiers."""

from .calibrator import Calibrator as Calibrator
from .numerics import logits_from_probs as logits_from_probs
from .persist import load as load
from .recipes import RECIPES as RECIPES
from .recipes import fit as fit

__version__ = "0.1.0"

__all__ = ["RECIPES", "Calibrator", "fit", "load", "logits_from_probs"]
