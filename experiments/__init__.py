"""Experiments that need more than the package: networks trained with and without calibration in mind."""
