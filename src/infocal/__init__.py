"""infocal: probabilities that mean what they say, for multi-class classifiers."""

from .numerics import logits_from_probs as logits_from_probs

__version__ = "0.1.0"

__all__ = ["logits_from_probs"]
