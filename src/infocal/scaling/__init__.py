"""Scaling: smooth maps from logits, or from the log-odds of one class, to calibrated probabilities."""
