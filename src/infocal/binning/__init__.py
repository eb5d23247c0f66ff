"""Binning calibrators: where the edges stand (edges, imax), and what each bin answers with (histogram)."""
